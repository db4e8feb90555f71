"""How answers look on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from cairn import progress_text
from cairn.index.progress import Activity

if TYPE_CHECKING:
    from cairn.engine import IndexingProgress
    from cairn.operations.doctor import Check, Why
    from cairn.operations.feedback import FileChoices
    from cairn.protocol import DiscoverAnswer, SearchAnswer, SearchResult, StatusAnswer, Verdict

_SNIPPET_LINES = 6

_out = Console(highlight=False, soft_wrap=True)
_progress_console = Console(stderr=True)


@contextmanager
def progress_bars() -> Iterator[Callable[[IndexingProgress], None]]:
    """Two bars on stderr, for files and for vectors; nothing where stderr is no terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(
        *columns, console=_progress_console, transient=True, disable=not _progress_console.is_terminal
    ) as bars:
        files = bars.add_task("Reading files", total=None, detail="")
        texts = bars.add_task("Making vectors", total=None, visible=False, detail="")
        most_queued = 0

        def show(progress: IndexingProgress) -> None:
            nonlocal most_queued
            most_queued = max(most_queued, progress.texts_queued)
            bars.update(
                files,
                total=progress.files_total or None,
                completed=progress.files_done,
                detail=f"{progress.chunks:,} chunks",
            )
            pace = ", ".join(progress_text.pace(progress.texts_per_second, progress.seconds_left))
            bars.update(
                texts,
                total=most_queued or None,
                completed=most_queued - progress.texts_queued,
                visible=progress.scanned and most_queued > 0,
                detail="paused" if progress.activity is Activity.PAUSED else pace,
            )

        yield show


@contextmanager
def waiting(message: str) -> Iterator[None]:
    """Show `message` on stderr, where that is a terminal, until the end."""
    with _progress_console.status(message):
        yield


def print_search(answer: SearchAnswer) -> None:
    """Each result with its place, its reasons and the beginning of its text."""
    for number, result in enumerate(answer.results, 1):
        _out.print(f"[bold]{number:>2}[/]  {_place(result)}  [dim]{result.score:.2f} {result.source}[/]")
        if result.title:
            _out.print(f"    [cyan]{escape(result.header_path or result.title)}[/]")
        lines = result.snippet.strip("\n").splitlines()
        for line in lines[:_SNIPPET_LINES]:
            _out.print(f"    [dim]{escape(line)}[/]")
        if len(lines) > _SNIPPET_LINES:
            _out.print(f"    [dim]… {len(lines) - _SNIPPET_LINES} more lines[/]")
        for reason in result.match_explain or ():
            _out.print(f"    · {escape(reason)}")
        _out.print()
    _print_verdict(answer.verdict)
    if not answer.index.complete:
        _out.print("[yellow]The index is not complete yet.[/]")


def print_discovery(answer: DiscoverAnswer) -> None:
    """The best passages, the evidence with its citations, then the prompt as it is."""
    if answer.chunks and answer.bullets:  # without evidence, what was looked at answers nothing
        _out.rule("Passages", align="left")
        for number, chunk in enumerate(answer.chunks[:10], 1):
            title = escape(chunk.header_path or chunk.title)
            _out.print(f"[bold]{number:>2}[/]  {_place(chunk)}  [dim]{chunk.score:.2f}[/]  [cyan]{title}[/]")
        _out.print()
    if answer.bullets:
        _out.rule("Evidence", align="left")
        for bullet in answer.bullets:
            _out.print(f"• {escape(bullet.text)}")
            _out.print(f"  [dim]{escape(bullet.citation)}[/]")
        _out.print()
    _print_verdict(answer.verdict)
    _out.rule("Prompt", align="left")
    _out.print(escape(answer.answer_prompt))
    if not answer.index.complete:
        _out.print("[yellow]The index is not complete yet.[/]")


def print_status(answer: StatusAnswer) -> None:
    """State, counts, model and collections."""
    if not answer.generation:
        _out.print("[bold]not indexed yet[/]  run `cairn index`")
        return
    files = f"{answer.files.indexed} of {max(answer.files.total, answer.files.indexed)} files"
    state = "paused" if answer.paused and answer.state == "indexing" else answer.state
    vectors = f"{answer.static_embedded} with static vectors, {answer.embedded} with vectors"
    _out.print(f"[bold]{state}[/]  {files}, {answer.chunks} chunks, {vectors}")
    if answer.paused:
        _out.print("[yellow]Indexing is paused; `cairn resume` goes on.[/]")
    elif answer.state == "indexing":
        left = progress_text.pace(answer.texts_per_second, answer.seconds_left)
        _out.print(", ".join([f"now: {answer.activity}", *left]))
    _out.print(f"model: {escape(answer.model.id) if answer.model else 'none'}")
    for collection in answer.collections:
        _out.print(
            f"  {escape(collection.name):<32} {collection.files:>6} files {collection.chunks:>8} chunks"
        )
    for rule, count in sorted(answer.skipped.items(), key=lambda item: -item[1]):
        _out.print(f"[dim]  left out: {count} × {escape(rule)}[/]")
    if answer.last_error:
        _out.print(f"[yellow]{escape(answer.last_error)}[/]")
    for warning in answer.warnings:
        _out.print(f"[yellow]{escape(warning)}[/]")


def print_feedback(files: Sequence[FileChoices]) -> None:
    """Each file whose results were chosen, with how often what was done."""
    if not files:
        _out.print("nothing was learned yet")
    for file in files:
        counts = ", ".join(f"{count} × {action}" for action, count in file.counts.items())
        _out.print(f"[green]{escape(file.path)}[/]  {counts}  [dim]last on {file.latest:%Y-%m-%d}[/]")


def print_why(answer: Why) -> None:
    """What is indexed or not, the rule, and where the rule stands."""
    if answer.directory:
        outcome = "[green]looked into[/]" if answer.indexed else "[yellow]not looked into[/]"
    else:
        outcome = "[green]indexed[/]" if answer.indexed else "[yellow]not indexed[/]"
    _out.print(f"[bold]{escape(answer.path or '.')}[/]  {outcome}")
    _out.print(f"  {escape(answer.rule)}")
    if answer.detail:
        _out.print(f"  {escape(answer.detail)}")
    for warning in answer.warnings:
        _out.print(f"[yellow]{escape(warning)}[/]")


def print_checks(checks: Sequence[Check]) -> None:
    """One line for each check, and the remedy below each problem."""
    for check in checks:
        mark = "[green]ok     [/]" if check.ok else "[red]problem[/]"
        _out.print(f"{mark}  {check.name}: {escape(check.message)}")
        if check.remedy:
            _out.print(f"         {escape(check.remedy)}")


def print_settings(settings: Sequence[tuple[str, str, str]], warnings: Sequence[str]) -> None:
    """Each setting with its value and its origin, then what could not be used."""
    if not settings:
        _out.print("nothing is set: all settings have their defaults")
    for key, value, origin in settings:
        _out.print(f"{escape(key)} = [green]{escape(value)}[/]  [dim]{escape(origin)}[/]")
    for warning in warnings:
        _out.print(f"[yellow]{escape(warning)}[/]")


def _print_verdict(verdict: Verdict) -> None:
    if verdict.message:
        _out.print(f"[italic]{escape(verdict.message)}[/]\n")


def _place(result: SearchResult) -> str:
    """`path:first-last`, 1-based, as editors and terminals understand it."""
    start, end = result.range.start.line + 1, result.range.end.line
    return f"[green]{escape(result.path)}[/]:{start}" + (f"-{end}" if end > start else "")
