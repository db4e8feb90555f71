"""Stage 9: the plan as a prompt for a language model, within a budget of tokens."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence, Set
from typing import Any

import attrs
from attrs import frozen

from cairn.discovery.plan import SECTIONS
from cairn.protocol.evidence import AnswerPlan, Bullet, Section
from cairn.settings.discovery import FormatStyle, PromptRenderConfig, SectionType

# The prompt's words are S1's (stage 9).
TITLE = "Context from Vector Database"
INSTRUCTIONS = (
    "Format the following information into a clear, concise answer. "
    "Keep citations [source_id] intact. Organize by the sections provided."
)
UNCITED_INSTRUCTIONS = (
    "Format the following information into a clear, concise answer. Organize by the sections provided."
)
"""S1's, without the sentence about citations, for prompts that carry none."""
ASK_FIRST = "The question is not clear. Before you answer, ask the user:"
ASK_INSTEAD = "There is no evidence for this question here. Do not answer it; ask the user:"
CHARACTERS_PER_TOKEN = 4
"""S1's estimate, for callers without a tokenizer."""

TokenCounter = Callable[[str], int]


def estimate_tokens(text: str) -> int:
    """Tokens of `text` by S1's rule of four characters each, rounded up."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def render_llm_prompt(
    plan: AnswerPlan,
    bullets: Sequence[Bullet],
    config: PromptRenderConfig,
    count_tokens: TokenCounter = estimate_tokens,
    query: str = "",
    ask: str = "",
) -> str:
    """The prompt for `plan`, never more than `config.max_prompt_tokens` by `count_tokens` (S1, stage 9).

    Over the budget whole bullets are left out, the lowest scored first, and sections and sources that
    lose their last bullet; the counts in the prompt are of what it holds. When no bullet fits the prompt
    says how many were found; when that does not fit either, or there is no evidence, it is empty.

    `ask` is a question to put to the user before the answer, or instead of one where there is no evidence.
    `bullets` are shown, as one section, only where the plan placed none of them. `query` is put before the
    instructions: S1's prompt leaves it out, and a model would not know what to answer.
    """
    sections = plan.sections or _unplaced(bullets)
    ranking = _best_first(sections)
    layout = _LAYOUTS[config.format_style]

    def fits(prompt: str) -> bool:
        return count_tokens(prompt) <= config.max_prompt_tokens

    if not ranking:
        frames = layout.empty(f"{ASK_INSTEAD} {ask}") if ask else ()
        return next((frame for frame in frames if fits(frame)), "")

    def best_bullets(count: int) -> str:
        return layout.prompt(_keep(sections, set(ranking[:count])), config, query, ask)

    if fits(everything := best_bullets(len(ranking))):
        return everything
    # So many of the best fit.
    count = bisect_left(range(1, len(ranking)), True, key=lambda count: not fits(best_bullets(count)))
    if count:
        return best_bullets(count)
    note = (
        f"{len(ranking)} pieces of information were found; none fits into {config.max_prompt_tokens} tokens."
    )
    return next((frame for frame in layout.empty(note) if fits(frame)), "")


def _unplaced(bullets: Sequence[Bullet]) -> tuple[Section, ...]:
    title = SECTIONS[SectionType.OTHER][1]
    return (Section(title, SectionType.OTHER, 1, tuple(bullets)),) if bullets else ()


def _best_first(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """The places (section, bullet) of all bullets, best first; of equals, the first in the plan."""
    scores = {
        (s, b): bullet.score for s, section in enumerate(sections) for b, bullet in enumerate(section.bullets)
    }
    return sorted(scores, key=lambda place: (-scores[place], place))


def _keep(sections: Sequence[Section], places: Set[tuple[int, int]]) -> list[Section]:
    kept = [
        attrs.evolve(
            section, bullets=tuple(bullet for b, bullet in enumerate(section.bullets) if (s, b) in places)
        )
        for s, section in enumerate(sections)
    ]
    return [section for section in kept if section.bullets]


def _sources(sections: Sequence[Section]) -> dict[str, list[str]]:
    """Each source id, in order of first use, with the citations of its bullets that know their lines."""
    sources: dict[str, dict[str, None]] = {}
    for section in sections:
        for bullet in section.bullets:
            citations = sources.setdefault(bullet.source_id, {})
            if bullet.lines:
                citations[bullet.citation] = None
    return {source_id: list(citations) for source_id, citations in sources.items()}


@frozen
class _TextLayout:
    """Markdown, or the same lines without its marks."""

    title: str = ""
    heading: str = ""
    subheading: str = ""
    item: str = ""

    def prompt(self, sections: Sequence[Section], config: PromptRenderConfig, query: str, ask: str) -> str:
        """The whole prompt for `sections`, which hold at least one bullet."""
        sources = _sources(sections)
        total = sum(len(section.bullets) for section in sections)
        parts = [
            f"{self.title}{TITLE}\n\n",
            f"Found {total} relevant pieces of information from {len(sources)} sources.\n\n",
            f"{self.heading}Question\n{query.strip()}\n\n" if query.strip() else "",
            f"{self.heading}Clarification\n{ASK_FIRST} {ask}\n\n" if ask else "",
            f"{self.heading}Instructions\n{_instructions(config)}\n\n",
            f"{self.heading}Evidence\n\n",
        ]
        for section in sections:
            parts.append(f"{self.subheading}{section.title}\n\n")
            parts.extend(
                f"{number}. {_evidence(bullet, config)}\n" for number, bullet in enumerate(section.bullets, 1)
            )
            parts.append("\n")
        if config.include_sources:
            parts.append(f"{self.heading}Sources\n\n")
            parts.extend(
                f"{self.item}{' '.join([f'[{source_id}]', ', '.join(citations)]).strip()}\n"
                for source_id, citations in sources.items()
            )
        return "".join(parts)

    def empty(self, note: str) -> Sequence[str]:
        """Prompts that hold no evidence but say why, the longest first."""
        return f"{self.title}{TITLE}\n\n{note}\n", f"{note}\n"


class _JsonLayout:
    """One JSON object."""

    def prompt(self, sections: Sequence[Section], config: PromptRenderConfig, query: str, ask: str) -> str:
        sources = _sources(sections)
        prompt: dict[str, Any] = {
            "context": TITLE,
            "found": {
                "pieces": sum(len(section.bullets) for section in sections),
                "sources": len(sources),
            },
            **({"question": query.strip()} if query.strip() else {}),
            **({"clarification": f"{ASK_FIRST} {ask}"} if ask else {}),
            "instructions": _instructions(config),
            "sections": [
                {
                    "title": section.title,
                    "evidence": [_json_evidence(bullet, config) for bullet in section.bullets],
                }
                for section in sections
            ],
        }
        if config.include_sources:
            prompt["sources"] = [{"id": key, "citations": value} for key, value in sources.items()]
        return json.dumps(prompt, ensure_ascii=False)

    def empty(self, note: str) -> Sequence[str]:
        return json.dumps({"context": TITLE, "note": note}), json.dumps({"note": note})


def _instructions(config: PromptRenderConfig) -> str:
    return INSTRUCTIONS if config.include_sources else UNCITED_INSTRUCTIONS


def _evidence(bullet: Bullet, config: PromptRenderConfig) -> str:
    parts = [bullet.text]
    if config.include_sources:
        parts.append(f"[{bullet.source_id}]")
    if config.include_metadata:
        parts.append(f"({bullet.path}, score {bullet.score:.2f}, {bullet.category})")
    return " ".join(parts)


def _json_evidence(bullet: Bullet, config: PromptRenderConfig) -> dict[str, Any]:
    evidence: dict[str, Any] = {"text": bullet.text}
    if config.include_sources:
        evidence["source"] = bullet.source_id
    if config.include_metadata:
        evidence |= {"path": bullet.path, "score": round(bullet.score, 2), "category": bullet.category}
    return evidence


_LAYOUTS: dict[FormatStyle, _TextLayout | _JsonLayout] = {
    FormatStyle.MARKDOWN: _TextLayout(title="# ", heading="## ", subheading="### ", item="- "),
    FormatStyle.PLAIN: _TextLayout(),
    FormatStyle.JSON: _JsonLayout(),
}
