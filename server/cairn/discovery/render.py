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
    sections = plan.sections
    if bullets and not sections:
        sections = (Section(SECTIONS[SectionType.OTHER][1], SectionType.OTHER, 1, tuple(bullets)),)
    ranking = _best_first(sections)

    def fits(prompt: str) -> bool:
        return count_tokens(prompt) <= config.max_prompt_tokens

    def best_bullets(count: int) -> str:
        kept = _keep(sections, set(ranking[:count]))
        return _written(_content(kept, config, query, ask), config.format_style)

    def first_that_fits(note: str) -> str:
        frames = ({"context": TITLE, "note": note}, {"note": note})
        return next(filter(fits, (_written(frame, config.format_style) for frame in frames)), "")

    if not ranking:
        return first_that_fits(f"{ASK_INSTEAD} {ask}") if ask else ""
    if fits(everything := best_bullets(len(ranking))):
        return everything
    # So many of the best fit.
    count = bisect_left(range(1, len(ranking)), True, key=lambda count: not fits(best_bullets(count)))
    if count:
        return best_bullets(count)
    return first_that_fits(
        f"{len(ranking)} pieces of information were found; none fits into {config.max_prompt_tokens} tokens."
    )


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


def _content(sections: Sequence[Section], config: PromptRenderConfig, query: str, ask: str) -> dict[str, Any]:
    """What the prompt says for `sections`, which hold at least one bullet: its JSON layout."""
    sources = _sources(sections)
    content: dict[str, Any] = {
        "context": TITLE,
        "found": {
            "pieces": sum(len(section.bullets) for section in sections),
            "sources": len(sources),
        },
        **({"question": query.strip()} if query.strip() else {}),
        **({"clarification": f"{ASK_FIRST} {ask}"} if ask else {}),
        "instructions": INSTRUCTIONS if config.include_sources else UNCITED_INSTRUCTIONS,
        "sections": [
            {"title": section.title, "evidence": [_evidence(bullet, config) for bullet in section.bullets]}
            for section in sections
        ],
    }
    if config.include_sources:
        content["sources"] = [{"id": key, "citations": value} for key, value in sources.items()]
    return content


def _evidence(bullet: Bullet, config: PromptRenderConfig) -> dict[str, Any]:
    evidence: dict[str, Any] = {"text": bullet.text}
    if config.include_sources:
        evidence["source"] = bullet.source_id
    if config.include_metadata:
        evidence |= {"path": bullet.path, "score": round(bullet.score, 2), "category": bullet.category}
    return evidence


@frozen
class _StyleMarks:
    """What stands before each part of a text."""

    title: str = ""
    heading: str = ""
    subheading: str = ""
    item: str = ""


_MARKS = {FormatStyle.MARKDOWN: _StyleMarks("# ", "## ", "### ", "- "), FormatStyle.PLAIN: _StyleMarks()}


def _written(content: dict[str, Any], style: FormatStyle) -> str:
    """The content as one JSON object, as Markdown, or as the same lines without its marks."""
    if style is FormatStyle.JSON:
        return json.dumps(content, ensure_ascii=False)
    marks, parts = _MARKS[style], []
    if "context" in content:
        parts.append(f"{marks.title}{content['context']}\n\n")
    if "note" in content:
        return "".join([*parts, f"{content['note']}\n"])
    found = content["found"]
    parts.append(
        f"Found {found['pieces']} relevant pieces of information from {found['sources']} sources.\n\n"
    )
    for name in ("question", "clarification", "instructions"):
        if name in content:
            parts.append(f"{marks.heading}{name.capitalize()}\n{content[name]}\n\n")
    parts.append(f"{marks.heading}Evidence\n\n")
    for section in content["sections"]:
        parts.append(f"{marks.subheading}{section['title']}\n\n")
        parts += [f"{number}. {_line(each)}\n" for number, each in enumerate(section["evidence"], 1)]
        parts.append("\n")
    if "sources" in content:
        parts.append(f"{marks.heading}Sources\n\n")
        for source in content["sources"]:
            parts.append(f"{marks.item}[{source['id']}] {', '.join(source['citations'])}".rstrip() + "\n")
    return "".join(parts)


def _line(evidence: dict[str, Any]) -> str:
    parts = [evidence["text"]]
    if "source" in evidence:
        parts.append(f"[{evidence['source']}]")
    if "score" in evidence:
        parts.append(f"({evidence['path']}, score {evidence['score']:.2f}, {evidence['category']})")
    return " ".join(parts)
