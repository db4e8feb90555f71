"""How answers look on a terminal; in a file or a pipe, the same text without colour, and neither cut nor wrapped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import markup
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from cairn.cli.output import look
from cairn.embedding.packaged import LARGER_MODEL
from cairn.engine import progress_text

if TYPE_CHECKING:
    from cairn.embedding.model_files import InstalledModel
    from cairn.engine.status import IndexingProgress
    from cairn.operations.examination import Examination
    from cairn.operations.feedback import FileChoices
    from cairn.operations.why import Why
    from cairn.protocol import (
        AnsweredIn,
        ContextAnswer,
        DiscoverAnswer,
        IndexState,
        ModelInfo,
        PageAnswer,
        PausedAnswer,
        RelatedAnswer,
        ResetFeedbackAnswer,
        RetrievalStatus,
        SearchAnswer,
        SearchResult,
        StatusAnswer,
        Verdict,
    )

_SNIPPET_LINES = 6
_MEASURED_COLUMNS = 60
"""Of a narrower terminal, a progress bar leaves out the bar."""
_CONTROLS = {code: 0xFFFD for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
"""What a file of the workspace could steer a terminal with is shown as U+FFFD."""


def _console(*, stderr: bool = False) -> Console:
    """What to print on, with colour as the options and the environment (NO_COLOR, FORCE_COLOR, TERM) want it."""
    forced: dict[str, Any] = {}
    if look.color == "always":
        forced = {"force_terminal": True, "color_system": "standard", "no_color": False}
    elif look.color == "never":
        forced = {"color_system": None}
    # No emoji: `:key:` in a line of code is none.
    return Console(highlight=False, soft_wrap=True, emoji=False, stderr=stderr, **forced)


def _print(text: str = "") -> None:
    """Print marked-up text on the stdout of the moment."""
    _console().print(text)


def _rule(title: str) -> None:
    _console().rule(title, align="left")


def _warn(*texts: str | None) -> None:
    """Print each text that there is, as it is, in yellow."""
    for text in filter(None, texts):
        _print(f"[yellow]{escape(text)}[/]")


def escape(text: str) -> str:
    """Text as it is, for marked-up text; on a terminal, nothing in it steers the terminal."""
    return markup.escape(text.translate(_CONTROLS) if sys.stdout.isatty() else text)


def _shows_progress() -> bool:
    return sys.stderr.isatty() and not look.quiet and os.environ.get("TERM") != "dumb"


@contextmanager
def progress_bars() -> Iterator[Callable[[IndexingProgress], None]]:
    """Two bars on stderr, for files and for vectors; nothing where stderr is no terminal."""
    console = _console(stderr=True)
    is_narrow = console.width < _MEASURED_COLUMNS
    columns = (
        TextColumn("{task.description}"),
        *(() if is_narrow else (BarColumn(),)),
        MofNCompleteColumn(),
        *(() if is_narrow else (TextColumn("{task.fields[detail]}"),)),
    )
    with Progress(*columns, console=console, transient=True, disable=not _shows_progress()) as bars:
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
                detail="paused" if progress.is_paused else pace,
            )

        yield show


@contextmanager
def waiting(message: str) -> Iterator[None]:
    """Show `message` on stderr, where that is a terminal, until the end."""
    if not _shows_progress():
        yield
        return
    with _console(stderr=True).status(message):
        yield


def print_search(answer: SearchAnswer) -> None:
    """Each result with its place, its reasons and the beginning of its text."""
    _print_results(answer.results)
    _print_verdict(answer.verdict)
    _print_state(answer.retrieval, answer.index)


def print_related(answer: RelatedAnswer) -> None:
    """Each related passage, and how it is related."""
    _print_results(answer.results)
    if not answer.results:
        _print("Nothing is related to this passage.")
    _print_completeness(answer.index)


def print_context(answer: ContextAnswer) -> None:
    """What belongs to the place, why, and then the text made of it, as it is."""
    place = answer.place
    title = escape(place.header_path or place.title)
    _print(f"[bold]{_link(place.uri, f'{place.path}:{place.range.start.line + 1}')}[/]  [cyan]{title}[/]")
    for passage, (_, head) in zip(
        answer.passages, _numbered([passage.result for passage in answer.passages]), strict=True
    ):
        _print(f"{head}  [dim]{escape(passage.group)}[/]")
        _print(f"    {escape(', '.join(passage.reasons))}")
    _print()
    _rule(f"Context, {answer.tokens} of {answer.budget} tokens")
    _print_exactly(answer.context)
    for item in answer.dropped:
        _print(f"[dim]left out: {escape(item.citation or item.title)}, {escape(item.why)}[/]")
    _print_completeness(answer.index)


def print_page(answer: PageAnswer) -> None:
    """The file's text, as it is."""
    _print_exactly(answer.text)


def _print_results(results: Sequence[SearchResult]) -> None:
    for result, head in _numbered(results):
        _print(f"{head}  [dim]{result.score:.2f} {result.source}[/]")
        if result.title:
            _print(f"    [cyan]{escape(result.header_path or result.title)}[/]")
        lines = result.snippet.strip("\n").splitlines()
        for line in lines[:_SNIPPET_LINES]:
            _print(f"    [dim]{escape(line)}[/]")
        if len(lines) > _SNIPPET_LINES:
            _print(f"    [dim]… {len(lines) - _SNIPPET_LINES} more lines[/]")
        for reason in result.match_explain or ():
            _print(f"    · {escape(reason)}")
        _print()


def _print_exactly(text: str) -> None:
    """A text for a program or a model: rich would make spaces of its tabs."""
    shown = text.translate(_CONTROLS) if sys.stdout.isatty() else text
    sys.stdout.write(shown if shown.endswith("\n") else f"{shown}\n")


def _print_state(retrieval: AnsweredIn, index: IndexState) -> None:
    """What less took part than was wanted, and that the index is not complete."""
    if retrieval.fallback == "generic":  # which the answer itself says
        return
    if retrieval.phase < retrieval.wanted or retrieval.fallback:
        cached = retrieval.fallback == "cache"
        by = "Answered as before." if cached else f"Answered by {_PHASES[retrieval.phase]}."
        _warn(f"{by} {retrieval.reason}")
    _print_completeness(index)


def _print_completeness(index: IndexState) -> None:
    _warn(index.note, "" if index.complete else "The index is not complete yet.")


def print_discovery(answer: DiscoverAnswer) -> None:
    """The best passages, the evidence with its citations, then the prompt as it is."""
    if answer.chunks and answer.bullets:  # without evidence, what was looked at answers nothing
        _rule("Passages")
        for chunk, head in _numbered(answer.chunks[:10]):
            title = escape(chunk.header_path or chunk.title)
            _print(f"{head}  [dim]{chunk.score:.2f}[/]  [cyan]{title}[/]")
        _print()
    if answer.bullets:
        _rule("Evidence")
        for bullet in answer.bullets:
            _print(f"• {escape(bullet.text)}")
            _print(f"  [dim]{_link(bullet.uri, bullet.citation)}[/]")
        _print()
    _print_verdict(answer.verdict)
    _rule("Prompt")
    _print_exactly(answer.answer_prompt)
    _print_state(answer.retrieval, answer.index)


def print_status(answer: StatusAnswer) -> None:
    """State, counts, model and collections."""
    if not answer.generation:
        _print("[bold]not indexed yet[/]  run `cairn index`")
        return
    files = f"{answer.files.indexed} of {max(answer.files.total, answer.files.indexed)} files"
    state = "paused" if answer.paused and answer.state == "indexing" else answer.state
    vectors = f"{answer.embedded} with vectors"
    if answer.model is not None and not answer.model.packaged:
        vectors = f"{answer.static_embedded} with static vectors, {vectors}"
    _print(f"[bold]{state}[/]  {files}, {answer.chunks} chunks, {vectors}")
    if answer.paused:
        _warn("Indexing is paused; `cairn resume` goes on.")
    elif answer.state == "indexing":
        left = progress_text.pace(answer.texts_per_second, answer.seconds_left)
        _print(", ".join([f"now: {answer.activity}", *left]))
        _print(f"[dim]not done yet: {', '.join(answer.remaining)}[/]")
    _print(f"model: {escape(_model(answer.model))}")
    if answer.retrieval:
        print_retrieval(answer.retrieval)
    for collection in answer.collections:
        _print(f"  {escape(collection.name):<32} {collection.files:>6} files {collection.chunks:>8} chunks")
    for rule, count in sorted(answer.skipped.items(), key=lambda item: -item[1]):
        _print(f"[dim]  left out: {count} × {escape(rule)}[/]")
    _warn(answer.last_error, *answer.warnings)


def _model(model: ModelInfo | None) -> str:
    if model is None:
        return "none, answers use keywords alone"
    return f"{model.id}, which comes with Cairn; {LARGER_MODEL}" if model.packaged else model.id


def print_retrieval(retrieval: RetrievalStatus) -> None:
    """The phase, here and in other processes, and what the latest questions were like."""
    state, recent = retrieval.state, retrieval.recent
    if state.phase == state.wanted and not state.by_hand:
        _print(f"phase: {state.phase} ({_PHASES[state.phase]})")
    else:
        _warn(f"phase: {state.phase} ({_PHASES[state.phase]}). {state.reason}")
    lowered = {change.pid: change for change in reversed(recent.phase_changes) if change.alive}
    for change in lowered.values():
        if change.after < state.wanted and not state.by_hand:
            seconds = change.next_try_seconds
            again = "" if seconds is None else f" Next try in {seconds:.0f} s."
            _warn(f"  process {change.pid}: phase {change.after}. {change.reason}{again}")
    if not recent.queries:
        return
    shares = (
        (recent.cached_share, "from the cache"),
        (recent.no_match_share, "found nothing"),
        (recent.clarify_share, "asked back"),
        (recent.below_wanted_share, "fell back"),
        (recent.error_share, "failed"),
    )
    times = ((recent.p50_ms, "p50"), (recent.p95_ms, "p95"))
    parts = [f"{ms:.0f} ms {name}" for ms, name in times if ms is not None]
    parts += [f"{100 * share:.0f} % {name}" for share, name in shares if share is not None]
    _print(f"questions: the latest {recent.queries}: {', '.join(parts)}")


_PHASES = ("off", "names and keywords", "keywords", "keywords and vectors")


def print_feedback(files: Sequence[FileChoices]) -> None:
    """Each file whose results were chosen, with how often what was done."""
    if not files:
        _print("nothing was learned yet")
    for file in files:
        counts = ", ".join(f"{count} × {action}" for action, count in file.counts.items())
        _print(f"[green]{escape(file.path)}[/]  {counts}  [dim]last on {file.latest:%Y-%m-%d}[/]")


def print_paused(answer: PausedAnswer) -> None:
    """Whether vectors are made."""
    _print("paused; saved files are still taken in" if answer.paused else "resumed")


def print_forgotten(answer: ResetFeedbackAnswer) -> None:
    """How much was forgotten."""
    _print(f"forgotten: {answer.forgotten} choices")


def print_installed(model: InstalledModel) -> None:
    """The model that is used from now on."""
    _print(f"{escape(model.name)}, {model.dimension} dimensions, is ready in {escape(str(model.folder))}")


def print_why(answer: Why) -> None:
    """What is indexed or not, the rule, where the rule stands, and what the index has of it."""
    done = "looked into" if answer.directory else "indexed"
    outcome = f"[green]{done}[/]" if answer.indexed else f"[yellow]not {done}[/]"
    _print(f"[bold]{escape(answer.path or '.')}[/]  {outcome}")
    for text in filter(None, (answer.rule, answer.detail, answer.state)):
        _print(f"  {escape(text)}")
    _warn(*answer.warnings)


_MARKS = {"ok": "[green]ok     [/]", "note": "[yellow]note   [/]", "problem": "[red]problem[/]"}


def print_examination(answer: Examination) -> None:
    """One line for each check, the remedy below it, and how many problems there are."""
    for check in answer.checks:
        _print(f"{_MARKS[check.level]}  {escape(check.name)}: {escape(check.message)}")
        if check.remedy:
            _print(f"         {escape(check.remedy)}")
    if answer.problems:
        _print(f"[red]{answer.problems} problem{'s' if answer.problems > 1 else ''}[/]")


def print_settings(settings: Sequence[tuple[str, str, str]], warnings: Sequence[str]) -> None:
    """Each setting with its value and its origin, then what could not be used."""
    if not settings:
        _print("nothing is set: all settings have their defaults")
    for key, value, origin in settings:
        _print(f"{escape(key)} = [green]{escape(value)}[/]  [dim]{escape(origin)}[/]")
    _warn(*warnings)


def _print_verdict(verdict: Verdict) -> None:
    if verdict.note:
        _print(f"[italic]{escape(verdict.note)}[/]\n")
    if verdict.message:
        _print(f"[italic]{escape(verdict.message)}[/]\n")


def _numbered(results: Sequence[SearchResult]) -> Iterator[tuple[SearchResult, str]]:
    """Each result with its number and `path:first-last`, 1-based, as editors and terminals understand it; after that the
    folder, where there are several."""
    several_folders = len({result.folder for result in results}) > 1
    for number, result in enumerate(results, 1):
        start, end = result.range.start.line + 1, result.range.end.line
        place = _link(result.uri, result.path, "green") + f":{start}" + (f"-{end}" if end > start else "")
        folder = f" [dim]({escape(result.folder.rpartition('/')[2])})[/]" if several_folders else ""
        yield result, f"[bold]{number:>2}[/]  {place}{folder}"


def _link(uri: str, text: str, style: str = "") -> str:
    """The text, which on a terminal that can do that leads to the file, wherever the command was run."""
    link = f"link={markup.escape(uri)}" if sys.stdout.isatty() and "]" not in uri else ""
    marks = " ".join(filter(None, (style, link)))
    return f"[{marks}]{escape(text)}[/]" if marks else escape(text)
