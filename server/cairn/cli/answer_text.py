"""Prints the answers to questions on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cairn.agents.discover_tool import excerpt_name
from cairn.agents.place_text import Paths
from cairn.agents.result_text import Lines, Part, ResultText, result_text, search_texts
from cairn.cli.code import write_code
from cairn.cli.console import escape, link, rule, warn, write, write_exactly
from cairn.cli.output import to_stderr
from cairn.cli.state_text import PHASES
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.protocol import (
        AnsweredIn,
        AnswerPlan,
        ContextAnswer,
        DiscoverAnswer,
        IndexState,
        PageAnswer,
        RelatedAnswer,
        SearchAnswer,
        SearchResult,
        Verdict,
    )

_SNIPPET_LINES = 6
_PATHS = Paths({}, True)
"""Paths are printed without their folder's name, which stands beside them."""


def print_search(answer: SearchAnswer) -> None:
    """Print each result with its place, its reasons and the lines that match best."""
    _print_verdict(answer.verdict, bool(answer.results))
    _print_results(answer.results, search_texts(answer, _PATHS))
    _print_state(answer.retrieval, answer.index)


def print_related(answer: RelatedAnswer) -> None:
    """Print each related passage from the line that shows the relation on, and how it is related."""
    _print_results(answer.results, [result_text(each, _PATHS, related=True) for each in answer.results])
    if not answer.results:
        write("Nothing is related to this passage.")
    _print_completeness(answer.index)


def print_context(answer: ContextAnswer) -> None:
    """Print the passages that belong to a place, with the reasons, then the context made of them."""
    place = answer.place
    title = escape(place.header_path or place.title)
    write(f"[bold]{link(place.uri, f'{place.path}:{place.range.start.line + 1}')}[/]  [cyan]{title}[/]")
    for passage, (_, head) in zip(
        answer.passages, _numbered([passage.result for passage in answer.passages]), strict=True
    ):
        write(f"{head}  [dim]{escape(passage.group)}[/]")
        write(f"    {escape(', '.join(passage.reasons))}")
    write()
    rule(f"Context, {answer.tokens} of {counted(answer.budget, 'token')}")
    write_exactly(answer.context)
    for item in answer.dropped:
        write(f"[dim]left out: {escape(item.citation or item.title)}, {escape(item.why)}[/]")
    _print_completeness(answer.index)


def print_page(answer: PageAnswer) -> None:
    write_exactly(answer.text)


def print_discovery(answer: DiscoverAnswer, limit: int) -> None:
    """Print the first `limit` excerpts with line numbers, after the evidence if the prompt includes it."""
    _print_verdict(answer.verdict, bool(answer.excerpts))
    has_sections = not answer.excerpts or any(s.title in answer.answer_prompt for s in answer.plan.sections)
    if has_sections:
        _print_sections(answer.plan)
    if has_sections and answer.excerpts:
        rule("Excerpts")
    several_folders = len({excerpt.folder for excerpt in answer.excerpts}) > 1
    for number, excerpt in enumerate(answer.excerpts[:limit], 1):
        title = excerpt_name(excerpt) or excerpt.header_path
        place = link(excerpt.uri, excerpt.citation, "green") + (
            _folder(excerpt.folder) if several_folders else ""
        )
        about = [f"[cyan]{escape(title)}[/]" if title else "", f"[dim]{escape(excerpt.reason)}[/]"]
        write("  ".join([f"[bold]{number:>2}[/]", place, *filter(None, about)]))
        write_code(excerpt.text, excerpt.path, excerpt.language, excerpt.range.start.line + 1)
        write()
    more = len(answer.excerpts) - limit
    if more > 0:
        write(f"[dim]{counted(more, 'more excerpt')}: -n {len(answer.excerpts)} shows them.[/]")
    if answer.answer_prompt:
        tokens = counted(answer.metrics.final_prompt_tokens, "token")
        write(f"[dim]A prompt of {tokens}: --prompt prints it.[/]")
    _print_state(answer.retrieval, answer.index)


def _print_sections(plan: AnswerPlan) -> None:
    for section in plan.sections:
        rule(escape(section.title))
        for bullet in section.bullets:
            write(f"• {escape(bullet.text)}")
            write(f"  [dim]{link(bullet.uri, bullet.citation)}[/]")
        write()


def print_prompt(answer: DiscoverAnswer) -> None:
    """Print nothing but the prompt on stdout, exactly as it is."""
    if answer.answer_prompt:
        write_exactly(answer.answer_prompt)
    else:
        to_stderr(f"cairn: no evidence was found. {answer.verdict.message}".strip())


def _print_results(results: Sequence[SearchResult], texts: Sequence[ResultText]) -> None:
    for (result, head), text in zip(_numbered(results), texts, strict=True):
        write(f"{head}  [dim]{result.score:.2f} {result.source}[/]")
        about = (
            f"[cyan]{escape(text.name)}[/]" if text.name else "",
            f"[dim]{escape(text.why)}[/]" if text.why else "",
        )
        if any((text.name, text.why)):
            write("    " + "  ".join(filter(None, about)))
        _print_parts(text.parts(_SNIPPET_LINES), text.text, result, 4)
        for reason in text.explained:
            write(f"    · {escape(reason)}")
        for passage in text.further:
            name = f"  [cyan]{escape(passage.name)}[/]" if passage.name else ""
            write(f"    [bold]:{passage.place}[/]{name}")
            _print_parts(passage.text.parts(_SNIPPET_LINES), passage.text, result, 6)
        write()


def _print_parts(parts: Sequence[Part], text: Lines, result: SearchResult, indent: int) -> None:
    """Print some lines of a text with their numbers, and the number of the other lines."""
    for number, (first, lines) in enumerate(parts):
        if number:
            write(" " * indent + "[dim]…[/]")
        write_code("\n".join(lines), result.path, result.language, first, indent)
    left = text.count - sum(len(lines) for _, lines in parts)
    if left > 0:
        write(" " * indent + f"[dim]… {counted(left, 'more line')}[/]")


def _print_state(retrieval: AnsweredIn, index: IndexState) -> None:
    """Warn if a lower phase or a fallback answered, or if the index is not complete."""
    if retrieval.fallback == "generic":  # The answer itself says this.
        return
    if retrieval.phase < retrieval.wanted or retrieval.fallback:
        cached = retrieval.fallback == "cache"
        by = "Answered as before." if cached else f"Answered by {PHASES[retrieval.phase]}."
        warn(f"{by} {retrieval.reason}")
    _print_completeness(index)


def _print_completeness(index: IndexState) -> None:
    if index.source:
        write(f"[dim]{escape(index.source)}[/]")
    warn(index.note, "" if index.complete else "The index is not complete yet.")


def _print_verdict(verdict: Verdict, has_results: bool) -> None:
    if verdict.note:
        write(f"[italic]{escape(verdict.note)}[/]\n")
    if verdict.message:
        refusal = "Nothing here clearly matches. " if verdict.action == "noMatch" else ""
        nearest = "These are only the nearest. " if refusal and has_results else ""
        write(f"[italic]{refusal}{nearest}{escape(verdict.message)}[/]\n")


def _numbered(results: Sequence[SearchResult]) -> Iterator[tuple[SearchResult, str]]:
    """Yield each result with its number, its 1-based `path:first-last`, and its folder if there are
    several."""
    several_folders = len({result.folder for result in results}) > 1
    for number, result in enumerate(results, 1):
        start, end = result.range.start.line + 1, result.range.end.line
        place = link(result.uri, result.path, "green") + f":{start}" + (f"-{end}" if end > start else "")
        folder = _folder(result.folder) if several_folders else ""
        yield result, f"[bold]{number:>2}[/]  {place}{folder}"


def _folder(uri: str) -> str:
    return f" [dim]({escape(uri.rpartition('/')[2])})[/]"
