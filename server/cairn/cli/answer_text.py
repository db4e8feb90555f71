"""Prints the answers to questions on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cairn.cli.code import write_code
from cairn.cli.console import escape, link, rule, warn, write, write_exactly
from cairn.cli.output import to_stderr
from cairn.cli.state_text import PHASES
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of

if TYPE_CHECKING:
    from cairn.protocol import (
        AnsweredIn,
        AnswerPlan,
        ContextAnswer,
        DiscoverAnswer,
        FilePassage,
        IndexState,
        PageAnswer,
        RelatedAnswer,
        SearchAnswer,
        SearchResult,
        Verdict,
    )

_SNIPPET_LINES = 6


def print_search(answer: SearchAnswer) -> None:
    """Print each result with its place, its reasons and the beginning of its text."""
    _print_verdict(answer.verdict, bool(answer.results))
    _print_results(answer.results, lambda result: _print_lines(result.snippet, "    "))
    _print_state(answer.retrieval, answer.index)


def print_related(answer: RelatedAnswer) -> None:
    """Print each related passage from the line that shows the relation on, and how it is related."""
    _print_results(answer.results, _print_selected)
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
        title = excerpt.header_path or excerpt.symbol
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


def _print_results(results: Sequence[SearchResult], print_text: Callable[[SearchResult], None]) -> None:
    for result, head in _numbered(results):
        write(f"{head}  [dim]{result.score:.2f} {result.source}[/]")
        if result.title:
            write(f"    [cyan]{escape(result.header_path or result.title)}[/]")
        print_text(result)
        for reason in result.match_explain or ():
            write(f"    · {escape(reason)}")
        for passage in result.passages:
            _print_passage(passage)
        write()


def _print_selected(result: SearchResult) -> None:
    """Print the selected line and the lines after it, with their numbers."""
    lines = lines_of(result.snippet.removesuffix("\n"))
    first = min(result.selection_range.start.line - result.range.start.line, len(lines) - 1)
    shown = "\n".join(lines[first : first + _SNIPPET_LINES])
    write_code(shown, result.path, result.language, result.range.start.line + first + 1)


def _print_passage(passage: FilePassage) -> None:
    first, last = passage.range.start.line + 1, passage.range.end.line
    title = f"  [cyan]{escape(passage.header_path)}[/]" if passage.header_path else ""
    write(f"    [bold]:{first}[/]" + (f"[bold]-{last}[/]" if last > first else "") + title)
    _print_lines(passage.text, "      ")


def _print_lines(text: str, indent: str) -> None:
    """Print the first lines of a text, and the number of further lines."""
    lines = text.strip("\n").splitlines()
    for line in lines[:_SNIPPET_LINES]:
        write(f"{indent}[dim]{escape(line)}[/]")
    if len(lines) > _SNIPPET_LINES:
        write(f"{indent}[dim]… {counted(len(lines) - _SNIPPET_LINES, 'more line')}[/]")


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
