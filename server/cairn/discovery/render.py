"""Stages 8 and 9: arrange bullets in the sections of an answer, and render these as a prompt for a language
model, within a token budget."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from typing import Any

import attrs
from attrs import frozen

from cairn.discovery.layout import MORE, by_file, file_data, file_text, places_text
from cairn.embedding.shared import CHARACTERS_PER_TOKEN, TokenCounter, estimate_tokens
from cairn.protocol.discovery_messages import AnswerPlan, Bullet, Excerpt, NamedPlace, Section
from cairn.settings.discovery import (
    AnswerPlanConfig,
    BulletCategory,
    FormatStyle,
    PromptRenderConfig,
    SectionType,
)

# The section for further evidence has the bullets that fit into no other section.
SECTIONS: dict[SectionType, tuple[BulletCategory, str]] = {
    SectionType.DEFINITION: (BulletCategory.DEFINITION, "📋 Definition"),
    SectionType.FEATURES: (BulletCategory.FEATURE, "✨ Key Features"),
    SectionType.ARCHITECTURE: (BulletCategory.ARCHITECTURE, "🏗️ Architecture"),
    SectionType.PERFORMANCE: (BulletCategory.PERFORMANCE, "⚡ Performance"),
    SectionType.INTEGRATIONS: (BulletCategory.INTEGRATION, "🔗 Integrations"),
    SectionType.USE_CASES: (BulletCategory.USE_CASE, "🎯 Use Cases"),
    SectionType.OTHER: (BulletCategory.OTHER, "📎 Further Evidence"),
}


def build_answer_plan(bullets: Sequence[Bullet], config: AnswerPlanConfig) -> AnswerPlan:
    """Return the sections of `config.sections`, in that order, each with its best bullets.

    A section has at most `config.max_bullets_per_section` bullets, and is left out with fewer than
    `config.min_bullets_per_section`. All other bullets, also those without a section for their category, are
    in the section of further evidence, whose only limit is the prompt's budget. Priorities number the
    sections from 1. `total_bullets` and `sources` cover all bullets; sources are in the order of first use.
    """
    by_category: defaultdict[BulletCategory, list[Bullet]] = defaultdict(list)
    ranked = sorted(bullets, key=lambda bullet: -bullet.score)
    for bullet in ranked:
        by_category[bullet.category].append(bullet)
    chosen: dict[SectionType, list[Bullet]] = {}
    for section_type in dict.fromkeys(config.sections):
        best = by_category[SECTIONS[section_type][0]][: config.max_bullets_per_section]
        chosen[section_type] = best if len(best) >= config.min_bullets_per_section else []
    if SectionType.OTHER in chosen:
        chosen[SectionType.OTHER] = []
        placed = {id(bullet) for best in chosen.values() for bullet in best}
        chosen[SectionType.OTHER] = [bullet for bullet in ranked if id(bullet) not in placed]
    sections = [
        Section(SECTIONS[section_type][1], section_type, priority, tuple(best))
        for priority, (section_type, best) in enumerate(((t, b) for t, b in chosen.items() if b), 1)
    ]
    used = [bullet for section in sections for bullet in section.bullets]
    sources = dict.fromkeys(f"[{bullet.source_id}]" for bullet in (*used, *bullets))
    return AnswerPlan(tuple(sections), len(bullets), tuple(sources))


TITLE = "Context from Vector Database"
INSTRUCTIONS = (
    "Format the following information into a clear, concise answer. "
    "Keep citations [source_id] intact. Organize by the sections provided."
)
UNCITED_INSTRUCTIONS = (
    "Format the following information into a clear, concise answer. Organize by the sections provided."
)
"""The instructions for prompts without citations."""
EXCERPT_INSTRUCTIONS = (
    "Answer the question from these excerpts, the most useful file first. Cite lines as [path#L1-L2]. "
    "If the excerpts do not hold the answer, say so."
)
ASK_INSTEAD = "There is no evidence for this question here. Do not answer it; ask the user:"

NEAREST_INSTRUCTIONS = (
    "There is no clear evidence for this question here; these are only the nearest excerpts. "
    "If they do not hold the answer, say so, and ask the user:"
)
BULLETS_SHARE = 0.4
"""The share of the budget for sections if excerpts follow: an overview needs a few sentences of each."""
_QUESTION_SHARE = 4
"""A question is cut to the budget divided by this number, because the evidence matters more."""


def render_llm_prompt(
    plan: AnswerPlan,
    bullets: Sequence[Bullet],
    config: PromptRenderConfig,
    count_tokens: TokenCounter = estimate_tokens,
    query: str = "",
    ask: str = "",
    excerpts: Sequence[Excerpt] = (),
    warning: str = "",
    elsewhere: Sequence[NamedPlace] = (),
) -> str:
    """Return the prompt for `plan`, of at most `config.max_prompt_tokens` by `count_tokens`.

    The plan's sections come first, then the `excerpts` in order. If the budget is exceeded, whole bullets are
    left out, lowest scores first, and the sections and sources without any bullet left. If there are
    excerpts, bullets take at most 0.4 of the budget, and the last excerpts are left out. The counts in the
    prompt cover only its own content. If nothing fits, the prompt says how many pieces were found. If that
    does not fit either, or there is no evidence, it is empty.

    `ask` is a question to the user in place of an answer, if there is no evidence or only excerpts that may
    be about something else. `warning` is a remark about excerpts that do answer. `bullets` are shown, as one
    section, only if there are neither sections nor excerpts. `query` comes before the instructions.
    """
    sections = plan.sections
    if bullets and not sections and not excerpts:
        sections = (Section(SECTIONS[SectionType.OTHER][1], SectionType.OTHER, 1, tuple(bullets)),)
    ranking = _best_first(sections)
    budget = config.max_prompt_tokens
    query = _shortened(query, config)

    def prompt_of(count: int, quoted: int) -> str:
        kept = _keep(sections, set(ranking[:count]))
        named = elsewhere if quoted == len(excerpts) else ()
        return _written(
            _content(kept, excerpts[:quoted], config, query, ask, warning, named), config.format_style
        )

    def most(possible: int, tokens: float, prompt: Callable[[int], str]) -> int:
        """Return the maximum number of pieces, up to `possible`, that fit into `tokens`."""
        if not possible or count_tokens(prompt(possible)) <= tokens:
            return possible
        counts = range(1, possible)
        return bisect_left(counts, True, key=lambda count: count_tokens(prompt(count)) > tokens)

    def first_that_fits(note: str) -> str:
        frames = ({"context": TITLE, "note": note}, {"note": note})
        written = (_written(frame, config.format_style) for frame in frames)
        return next((prompt for prompt in written if count_tokens(prompt) <= budget), "")

    if not ranking and not excerpts:
        return first_that_fits(f"{ASK_INSTEAD} {ask}") if ask else ""
    share = BULLETS_SHARE if excerpts else 1.0
    count = most(len(ranking), share * budget, lambda count: prompt_of(count, 0))
    quoted = most(len(excerpts), budget, lambda quoted: prompt_of(count, quoted))
    if count or quoted:
        return prompt_of(count, quoted)
    pieces = len(ranking) + len(excerpts)
    return first_that_fits(f"{pieces} pieces of information were found; none fits into {budget} tokens.")


def _shortened(query: str, config: PromptRenderConfig) -> str:
    """Return the question, cut if it takes more than its share of the budget."""
    query, characters = query.strip(), CHARACTERS_PER_TOKEN * config.max_prompt_tokens // _QUESTION_SHARE
    return query if len(query) <= characters else query[: max(0, characters - 1)] + "…"


def _best_first(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """Return the places (section, bullet) of all bullets, best first. Equal ones keep the plan's order."""
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
    """Return each source id, in the order of first use, with the citations of its bullets that have lines."""
    sources: dict[str, dict[str, None]] = {}
    for section in sections:
        for bullet in section.bullets:
            citations = sources.setdefault(bullet.source_id, {})
            if bullet.lines:
                citations[bullet.citation] = None
    return {source_id: list(citations) for source_id, citations in sources.items()}


def _content(
    sections: Sequence[Section],
    excerpts: Sequence[Excerpt],
    config: PromptRenderConfig,
    query: str,
    ask: str = "",
    warning: str = "",
    elsewhere: Sequence[NamedPlace] = (),
) -> dict[str, Any]:
    """Return the content of the prompt as JSON data. There must be at least one bullet or excerpt."""
    content: dict[str, Any] = {}
    sources = _sources(sections)
    if sections:
        content["context"] = TITLE
        content["found"] = {
            "pieces": sum(len(section.bullets) for section in sections),
            "sources": len(sources),
        }
    if query:
        content["question"] = query
    if sections:
        content["instructions"] = INSTRUCTIONS if config.include_sources else UNCITED_INSTRUCTIONS
        content["sections"] = [
            {"title": section.title, "evidence": [_evidence(bullet, config) for bullet in section.bullets]}
            for section in sections
        ]
        if config.include_sources:
            content["sources"] = [{"id": key, "citations": value} for key, value in sources.items()]
    else:
        instructions = f"{NEAREST_INSTRUCTIONS} {ask}" if ask else f"{EXCERPT_INSTRUCTIONS} {warning}"
        content["instructions"] = instructions.rstrip()
    if excerpts:
        content["excerpts"] = [
            file_data(of_file, config)
            if config.format_style is FormatStyle.JSON
            else file_text(of_file, config)
            for of_file in by_file(excerpts)
        ]
    if elsewhere:
        content["more"] = places_text(elsewhere)
    return content


def frame(config: PromptRenderConfig, query: str, warning: str = "") -> str:
    """Return the text of a prompt without sections, except its excerpts."""
    content = _content((), (), config, _shortened(query, config), warning=warning)
    return _written(content, config.format_style) + "## Excerpts\n\n"


def _evidence(bullet: Bullet, config: PromptRenderConfig) -> dict[str, Any]:
    evidence: dict[str, Any] = {"text": bullet.text}
    if config.include_sources:
        evidence["source"] = bullet.source_id
    if config.include_metadata:
        evidence |= {"path": bullet.path, "score": round(bullet.score, 2), "category": bullet.category}
    return evidence


@frozen
class _StyleMarks:
    title: str = ""
    heading: str = ""
    subheading: str = ""
    item: str = ""


_MARKS = {FormatStyle.MARKDOWN: _StyleMarks("# ", "## ", "### ", "- "), FormatStyle.PLAIN: _StyleMarks()}


def _written(content: dict[str, Any], style: FormatStyle) -> str:
    """Return the content as a JSON object, as Markdown, or as the same lines without Markdown's marks."""
    if style is FormatStyle.JSON:
        return json.dumps(content, ensure_ascii=False)
    marks, parts = _MARKS[style], []
    if "context" in content:
        parts.append(f"{marks.title}{content['context']}\n\n")
    if "note" in content:
        return "".join([*parts, f"{content['note']}\n"])
    if found := content.get("found"):
        parts.append(
            f"Found {found['pieces']} relevant pieces of information from {found['sources']} sources.\n\n"
        )
    for name in ("question", "instructions"):
        if name in content:
            parts.append(f"{marks.heading}{name.capitalize()}\n{content[name]}\n\n")
    if "sections" in content:
        parts.append(f"{marks.heading}Evidence\n\n")
    for section in content.get("sections", ()):
        parts.append(f"{marks.subheading}{section['title']}\n\n")
        parts += [f"{number}. {_line(each)}\n" for number, each in enumerate(section["evidence"], 1)]
        parts.append("\n")
    if "sources" in content:
        parts.append(f"{marks.heading}Sources\n\n")
        for source in content["sources"]:
            parts.append(f"{marks.item}[{source['id']}] {', '.join(source['citations'])}".rstrip() + "\n")
    if "excerpts" in content:
        parts.append(
            f"\n{marks.heading}Excerpts\n\n" if "sections" in content else f"{marks.heading}Excerpts\n\n"
        )
        parts += content["excerpts"]
    if "more" in content:
        parts.append(f"\n{marks.heading}{MORE}\n\n" + "\n".join(content["more"]) + "\n")
    return "".join(parts)


def _line(evidence: dict[str, Any]) -> str:
    parts = [evidence["text"]]
    if "source" in evidence:
        parts.append(f"[{evidence['source']}]")
    if "score" in evidence:
        parts.append(f"({evidence['path']}, score {evidence['score']:.2f}, {evidence['category']})")
    return " ".join(parts)
