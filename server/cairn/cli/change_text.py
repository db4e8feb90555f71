"""Prints what a change touches on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cairn.agents.change_tool import (
    CHANGED,
    COMPANIONS,
    DEPENDENTS,
    QUOTED,
    STALE,
    TESTS,
    UNREACHED,
    happened,
    in_two,
    others_than_dependents,
    reasons_text,
    run_text,
    summary,
)
from cairn.agents.place_text import lines_text
from cairn.cli.answer_text import write_code
from cairn.cli.console import escape, link, warn, write, write_exactly
from cairn.cli.output import to_stderr
from cairn.languages.registry import detect_language
from cairn.text.uris import repository_name

if TYPE_CHECKING:
    from cairn.protocol import ChangeAnswer, ChangedDefinition, ChangePlace

_LONGEST_CODE = 160
"""The maximum length of a shown line of code in characters. Only the place of a longer line is shown."""


def print_changes(answer: ChangeAnswer) -> None:
    """Print each list below its title, and by file; places that still use an old definition come first."""
    write(f"[bold]{escape(summary(answer))}[/]")
    stale, others = in_two(answer)
    left, own = answer.left_out, next((each.folder for each in answer.changed), "")
    _print_list(own, STALE, stale, _print_place, style="bold yellow")
    _print_list(own, CHANGED, answer.changed, _print_changed, left.get("changed", 0))
    _print_list(own, DEPENDENTS, others, _print_place, left.get("dependents", 0))
    _print_list(own, TESTS, answer.tests, _print_named)
    if answer.commands:
        write()
    for command in answer.commands:
        write(f"  [cyan]{escape(run_text(command))}[/]")
    _print_list(own, COMPANIONS, others_than_dependents(answer), _print_companion)
    _print_list(own, UNREACHED, answer.unreached, _print_named, left.get("unreached", 0))
    if answer.messages:
        write()
    warn(*answer.messages)
    if answer.index.source:
        write(f"[dim]{escape(answer.index.source)}[/]")
    warn(answer.index.note)
    if answer.prompt:
        write(f"\n[dim]A prompt for a reviewer, of {answer.prompt_tokens:,} tokens: --prompt prints it.[/]")


def print_prompt(answer: ChangeAnswer) -> None:
    """Print nothing but the prompt on stdout, exactly as it is."""
    if answer.prompt:
        write_exactly(answer.prompt)
    else:
        to_stderr(f"cairn: {summary(answer)}")


T = TypeVar("T", "ChangePlace", "ChangedDefinition")


def _print_list(
    own: str,
    title: str,
    entries: Sequence[T],
    print_entry: Callable[[T], None],
    left_out: int = 0,
    style: str = "bold",
) -> None:
    """Print entries below their title and the path of their file, the file of the first entry first, and how
    many entries the answer left out. `own` is the URI of the folder whose name need not precede the path."""
    if not entries:
        return
    write(f"\n[{style}]{title}[/]")
    files: dict[str, list[T]] = {}
    for entry in entries:
        files.setdefault(entry.uri, []).append(entry)
    for uri, of_file in files.items():
        first = of_file[0]
        place = "" if first.folder == own else f"{repository_name(first.folder)}/"
        write(f"  {link(uri, f'{place}{first.path}', 'green')}")
        for entry in of_file:
            print_entry(entry)
    if left_out:
        write(f"  [dim]… {left_out:,} more: -n {len(entries) + left_out} shows them[/]")


def _print_place(place: ChangePlace) -> None:
    """Print the line of a place, and beside it the function around and the reasons."""
    code = place.line.strip()
    about = ": ".join(filter(None, (place.symbol, reasons_text(place))))
    number = place.range.start.line + 1
    if code and len(code) <= _LONGEST_CODE:
        write_code(code, place.path, detect_language(place.path), number, beside=about)
    else:
        _print_line(str(number), "", _dim(about))


def _print_named(place: ChangePlace) -> None:
    _print_line(str(place.range.start.line + 1), place.symbol, _dim(reasons_text(place)))


def _print_companion(place: ChangePlace) -> None:
    (_print_place if place.kind == QUOTED else _print_named)(place)


def _print_changed(each: ChangedDefinition) -> None:
    """Print what happened to a definition, and its heads before and after if these differ."""
    _print_line(lines_text(each.range), each.symbol, escape(happened(each)))
    if each.before is not None and each.before.line.strip() != each.line.strip():
        write(f"        [red]- {escape(each.before.line.strip())}[/]")
        write(f"        [green]+ {escape(each.line.strip())}[/]")


def _print_line(number: str, symbol: str, about: str) -> None:
    name = f"[cyan]{escape(symbol)}[/]" if symbol else ""
    write("  ".join(filter(None, (f"    [dim]{number}[/]", name, about))))


def _dim(text: str) -> str:
    return f"[dim]{escape(text)}[/]" if text else ""
