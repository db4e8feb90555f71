"""Prints status, settings, checks and feedback on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cairn.cli.console import escape, warn, write
from cairn.operations.health import BAD, GOOD, WARN, health_of, named_as_text
from cairn.operations.kill_switch import PHASES
from cairn.settings.shown import as_toml
from cairn.text.counts import counted, listed

if TYPE_CHECKING:
    from cairn.operations.doctor import Examination
    from cairn.operations.feedback import FileChoices
    from cairn.operations.why import Why
    from cairn.protocol import (
        ModelInfo,
        PausedAnswer,
        ResetFeedbackAnswer,
        RetrievalStatus,
        StatusAnswer,
    )
    from cairn.settings.shown import Shown


_MOST_LISTED = 4
"""The number of collections, and of rules, that `cairn status` names without `--all`."""
_COLOURS = {WARN: "yellow", BAD: "red"}


def print_status(answer: StatusAnswer, *, everything: bool = False) -> None:
    """Print what is indexed and how questions are answered, and `everything` that is in the index."""
    health = health_of(answer)
    said = "" if health.level == GOOD else health.text
    others = [text for text in (answer.last_error, *answer.warnings) if text and text not in said]
    if not answer.generation:
        write(f"[{_COLOURS.get(health.level, 'dim')}]{escape(said)}[/]")
        warn(*others)
        return
    files = f"{answer.files.indexed:,} of {counted(max(answer.files.total, answer.files.indexed), 'file')}"
    state = "paused" if answer.paused and answer.state == "indexing" else answer.state
    vectors = f"{answer.embedded:,} with vectors"
    write(f"[bold]{state}[/]  {files}, {counted(answer.chunks, 'chunk')}, {vectors}")
    if said:
        write(f"[{_COLOURS.get(health.level, 'dim')}]{escape(said)}[/]")
    write(f"model: {escape(_model(answer.model))}")
    if answer.retrieval:
        print_retrieval(answer.retrieval)
    warn(*others)
    _print_contents(answer, everything=everything)
    if answer.named_as_text.count:
        write(f"[dim]{escape(named_as_text(answer))}[/]")


def _print_contents(answer: StatusAnswer, *, everything: bool) -> None:
    """Print the collections, and the rules that leave files out: the largest few, or a line for each."""
    rules = [f"{n:,} × {rule}" for rule, n in sorted(answer.skipped.items(), key=lambda item: -item[1])]
    if everything:
        for each in answer.collections:
            counts = f"{counted(each.files, 'file'):>12} {counted(each.chunks, 'chunk'):>15}"
            write(f"  {escape(each.name):<32} {counts}")
        for rule in rules:
            write(f"[dim]  left out: {escape(rule)}[/]")
        return
    by_files = sorted(answer.collections, key=lambda each: -each.files)
    names = listed([f"{each.name} ({counted(each.files, 'file')})" for each in by_files], _MOST_LISTED)
    write(f"{counted(len(by_files), 'collection')}: {escape(names)}")
    if rules:
        write(f"[dim]left out: {escape(listed(rules, _MOST_LISTED))}[/]")
    if max(len(by_files), len(rules)) > _MOST_LISTED:
        write("[dim]`cairn status --all` lists all of them.[/]")


def _model(model: ModelInfo | None) -> str:
    if model is None:
        return "none, answers use keywords alone"
    return f"{model.id}, which comes with Cairn" if model.packaged else model.id


def print_retrieval(retrieval: RetrievalStatus) -> None:
    """Print the phase, of this and of other processes, and statistics of recent questions."""
    state, recent = retrieval.state, retrieval.recent
    if state.phase == state.wanted and not state.by_hand:
        write(f"phase: {state.phase} ({PHASES[state.phase]})")
    else:
        warn(f"phase: {state.phase} ({PHASES[state.phase]}). {state.reason}")
    lowered = {change.pid: change for change in reversed(recent.phase_changes) if change.alive}
    for change in lowered.values():
        if change.after < state.wanted and not state.by_hand:
            seconds = change.next_try_seconds
            again = "" if seconds is None else f" Next try in {seconds:.0f} s."
            warn(f"  process {change.pid}: phase {change.after}. {change.reason}{again}")
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
    write(f"questions: the latest {recent.queries}: {', '.join(parts)}")


def print_feedback(files: Sequence[FileChoices]) -> None:
    """Print each file of which results were opened, with the number of each action."""
    if not files:
        write("nothing was learned yet")
    for file in files:
        counts = ", ".join(f"{count} × {action}" for action, count in file.counts.items())
        write(f"[green]{escape(file.path)}[/]  {counts}  [dim]last on {file.latest:%Y-%m-%d}[/]")


def print_paused(answer: PausedAnswer) -> None:
    write("paused; saved files are still indexed by keywords" if answer.paused else "resumed")


def print_forgotten(answer: ResetFeedbackAnswer) -> None:
    write(f"forgotten: {counted(answer.forgotten, 'choice')}")


def print_why(answer: Why) -> None:
    """Print whether a path is indexed, which rule decides it and where, and its state in the index."""
    done = "looked into" if answer.directory else "indexed"
    outcome = f"[green]{done}[/]" if answer.indexed else f"[yellow]not {done}[/]"
    write(f"[bold]{escape(answer.path or '.')}[/]  {outcome}")
    read_as = f"read as {answer.encoding}" if answer.encoding else ""
    for text in filter(None, (answer.rule, answer.detail, answer.meaning, read_as, answer.state)):
        write(f"  {escape(text)}")
    warn(*answer.warnings)


_MARKS = {"ok": "[green]ok     [/]", "note": "[yellow]note   [/]", "problem": "[red]problem[/]"}


def print_examination(answer: Examination) -> None:
    """Print a line for each check, with its remedy below, and the number of problems."""
    for check in answer.checks:
        write(f"{_MARKS[check.level]}  {escape(check.name)}: {escape(check.message)}")
        if check.remedy:
            write(f"         {escape(check.remedy)}")
    if answer.problems:
        write(f"[red]{counted(answer.problems, 'problem')}[/]")


def print_settings(found: Shown) -> None:
    if not found.settings:
        write("nothing is set: all settings have their defaults, which `cairn config show --all` shows")
    for each in found.settings:
        value, origins = escape(as_toml(each.value)), escape(", ".join(each.origins))
        write(f"{escape(each.key)} = [green]{value}[/]  [dim]{origins}[/]")
    warn(*found.warnings)
