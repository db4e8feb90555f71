"""Stage 9: the plan as a prompt for a language model, within a budget of tokens."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence, Set
from typing import Any

import attrs
from attrs import frozen

from cairn.discovery.plan import SECTIONS
from cairn.protocol.evidence import AnswerPlan, Bullet, Excerpt, Section
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
EXCERPT_INSTRUCTIONS = (
    "Answer the question from these excerpts, the most useful first. Cite lines as [path#L1-L2]. "
    "If the excerpts do not hold the answer, say so."
)
ASK_INSTEAD = "There is no evidence for this question here. Do not answer it; ask the user:"
CHARACTERS_PER_TOKEN = 4
"""S1's estimate, for callers without a tokenizer."""

NEAREST_INSTRUCTIONS = (
    "There is no clear evidence for this question here; these are only the nearest excerpts. "
    "If they do not hold the answer, say so, and ask the user:"
)
BULLETS_SHARE = 0.4
"""Of the budget, for sections where excerpts follow: an overview has a few sentences of each."""
_QUESTION_SHARE = 4
"""A longer question than a quarter of the budget is cut: the evidence matters more."""
_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)

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
    excerpts: Sequence[Excerpt] = (),
    warning: str = "",
) -> str:
    """The prompt for `plan`, never more than `config.max_prompt_tokens` by `count_tokens` (S1, stage 9).

    The plan's sections lead, then come the `excerpts`, in their order. Over the budget whole bullets are left out, the lowest
    scored first, and sections and sources that lose their last bullet; bullets take at most 0.4 of the budget where there
    are excerpts. Of these the last are left out. The counts in the prompt are of what it holds. When nothing fits, the
    prompt says how many pieces were found; when that does not fit either, or there is no evidence, it is empty.

    `warning` is what to know of the excerpts where they answer.
    `ask` is a question to put to the user instead of an answer, where there is no evidence or only excerpts that may be
    about something else. `bullets` are shown, as one
    section, only where neither the plan nor an excerpt is. `query` is put before the instructions: S1's prompt leaves it
    out, and a model would not know what to answer.
    """
    sections = plan.sections
    if bullets and not sections and not excerpts:
        sections = (Section(SECTIONS[SectionType.OTHER][1], SectionType.OTHER, 1, tuple(bullets)),)
    ranking = _best_first(sections)
    budget = config.max_prompt_tokens
    query = _shortened(query, config)

    def prompt_of(count: int, quoted: int) -> str:
        kept = _keep(sections, set(ranking[:count]))
        return _written(_content(kept, excerpts[:quoted], config, query, ask, warning), config.format_style)

    def most(possible: int, tokens: float, prompt: Callable[[int], str]) -> int:
        """The most pieces, of so many possible ones, with which the prompt takes up to so many tokens."""
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
    """The question, cut where it would take more than its share of the budget."""
    query, characters = query.strip(), CHARACTERS_PER_TOKEN * config.max_prompt_tokens // _QUESTION_SHARE
    return query if len(query) <= characters else query[: max(0, characters - 1)] + "…"


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


def _content(
    sections: Sequence[Section],
    excerpts: Sequence[Excerpt],
    config: PromptRenderConfig,
    query: str,
    ask: str = "",
    warning: str = "",
) -> dict[str, Any]:
    """What the prompt says, at least one bullet or excerpt: its JSON layout."""
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
        content["excerpts"] = [_quoted(excerpt, config) for excerpt in excerpts]
    return content


def _quoted(excerpt: Excerpt, config: PromptRenderConfig) -> dict[str, Any]:
    quoted: dict[str, Any] = {"citation": excerpt.citation}
    if excerpt.symbol and excerpt.symbol not in excerpt.text:
        quoted["within"] = excerpt.symbol  # the head of a long definition is not shown with each of its parts
    if config.include_metadata:
        quoted |= {"reason": excerpt.reason, "score": round(excerpt.score, 2)}
    return quoted | {"language": excerpt.language, "text": excerpt.text}


def shown_excerpt(excerpt: Excerpt, config: PromptRenderConfig) -> str:
    """The excerpt as the prompt shows it."""
    quoted = _quoted(excerpt, config)
    if config.format_style is FormatStyle.JSON:
        return json.dumps(quoted, ensure_ascii=False) + ", "
    return _code_block(quoted, _MARKS[config.format_style])


def frame(config: PromptRenderConfig, query: str, warning: str = "") -> str:
    """What the prompt says beside its excerpts, where it has no sections."""
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
        parts += [_code_block(excerpt, marks) for excerpt in content["excerpts"]]
    return "".join(parts)


def _code_block(excerpt: dict[str, Any], marks: _StyleMarks) -> str:
    head = f"{marks.subheading}{excerpt['citation']}"
    if "within" in excerpt:
        head += f" ({excerpt['within']})"
    if "score" in excerpt:
        head += f" ({excerpt['reason']}, score {excerpt['score']:.2f})"
    if not marks.subheading:
        return f"{head}\n{excerpt['text']}\n\n"
    fence = fence_for(excerpt["text"])
    return f"{head}\n{fence}{excerpt['language']}\n{excerpt['text']}\n{fence}\n"


def fence_for(text: str) -> str:
    """Backticks enough that no line of `text` ends the block."""
    runs = [len(match) for match in _FENCE.findall(text)]
    return "`" * max([3, *(run + 1 for run in runs)])


def _line(evidence: dict[str, Any]) -> str:
    parts = [evidence["text"]]
    if "source" in evidence:
        parts.append(f"[{evidence['source']}]")
    if "score" in evidence:
        parts.append(f"({evidence['path']}, score {evidence['score']:.2f}, {evidence['category']})")
    return " ".join(parts)
