"""Write the prompt for a reviewer of a change, in Markdown, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import define, frozen

from cairn import protocol
from cairn.discovery.layout import fence_for
from cairn.protocol import citation
from cairn.text.uris import repository_name

Count = Callable[[str], int]

INSTRUCTIONS = (
    "Review this change. Say what it breaks, what it forgets and what is not tested, the most serious first."
    " Places that still use an old definition are likely faults. Cite lines as [path#L1-L2]."
)
_DIFF_SHARE = 0.5
"""The share of the budget for the changed lines themselves."""
_LONGEST_HUNK = 60
"""The maximum number of lines of a hunk. A reviewer opens longer ones."""


@frozen
class Findings:
    """What is known of a change, as the protocol has it."""

    files: Sequence[protocol.ChangedFile]
    changed: Sequence[protocol.ChangedDefinition]
    dependents: Sequence[protocol.ChangePlace]
    tests: Sequence[protocol.ChangePlace]
    commands: Sequence[protocol.TestCommand]
    companions: Sequence[protocol.ChangePlace]
    unreached: Sequence[protocol.ChangePlace]
    messages: Sequence[str]


def review_prompt(found: Findings, budget: int, count: Count) -> str:
    """Return the prompt, of at most `budget` tokens by `count`; "" if nothing changed or it does not fit.

    Sections take turns, those that matter most with more entries at a turn, until half of the budget is
    used. The changed lines have the rest. Whole entries are left out.
    """
    head = f"# Review of a change\n\n{INSTRUCTIONS}\n"
    left = budget - count(head)
    if not found.files or left <= 0:
        return ""
    sections = [
        _Section(f"\n## {title}\n", at_turn, list(entries), count)
        for title, at_turn, entries in _sections(found)
    ]
    lists = [each for each in sections if each.entries]
    used = _take_turns(lists, left * (1 - _DIFF_SHARE))
    diff = _Section("\n## The changed lines\n", 1, list(_diffs(found)), count)
    _take_turns([diff] if diff.entries else [], left - used)
    stale, changed, *others = sections
    return "".join([head, *(each.text() for each in (changed, stale, diff, *others))])


@define
class _Section:
    title: str
    at_turn: int
    """How many entries it takes at a turn."""
    entries: Sequence[str]
    count: Count
    kept: int = 0

    def needs(self) -> float:
        """Return how many tokens one more entry needs."""
        frame = 0 if self.kept else self.count(self.title + _more(len(self.entries)))
        return self.count(self.entries[self.kept]) + frame

    def text(self) -> str:
        if not self.kept:
            return ""
        left_out = len(self.entries) - self.kept
        more = _more(left_out) if left_out else ""
        return "".join([self.title, *self.entries[: self.kept], more])


def _more(count: int) -> str:
    return f"- and {count} more\n"


def _take_turns(sections: Sequence[_Section], room: float) -> float:
    """Let the sections keep entries, and return how many tokens these need."""
    used, open_ = 0.0, list(sections)
    while open_:
        for section in list(open_):
            for _ in range(section.at_turn):
                is_over = section.kept == len(section.entries)
                needed = 0.0 if is_over else section.needs()
                if is_over or used + needed > room:
                    open_.remove(section)
                    break
                used += needed
                section.kept += 1
    return used


def _sections(found: Findings) -> Iterator[tuple[str, int, Iterator[str]]]:
    """Yield the title of each section, how many entries it takes at a turn, and its entries."""
    yield "Still uses what is gone", 3, _dependents(found, is_stale=True)
    yield "What changed", 3, map(_changed, found.changed)
    yield "Tests to run", 2, _tests(found)
    yield "Depends on it", 2, _dependents(found, is_stale=False)
    yield "Reached by no test", 1, map(_place, found.unreached)
    yield "Usually changes with it, and did not", 1, map(_place, found.companions)
    yield "Not looked at", 1, (f"- {each}\n" for each in found.messages)


def _dependents(found: Findings, *, is_stale: bool) -> Iterator[str]:
    """Yield the places, with the names of other repositories before their paths."""
    own = {each.folder for each in found.changed}
    for each in found.dependents:
        if each.is_stale == is_stale:
            yield _place(each, "" if each.folder in own else f"{repository_name(each.folder)}/")


def _changed(each: protocol.ChangedDefinition) -> str:
    place = citation(each.path, (each.range.start.line, each.range.end.line))
    name = f"`{each.symbol}` " if each.symbol else ""
    text = f"- {each.kind}: {name}[{place}]{_because(each.reasons)}\n"
    if each.before is not None and each.before.line != each.line:
        text += f"  - before: `{each.before.line}`\n  - after: `{each.line}`\n"
    return text


def _place(each: protocol.ChangePlace, repository: str = "") -> str:
    place = citation(f"{repository}{each.path}", (each.range.start.line, each.range.start.line + 1))
    name = f"`{each.symbol}` " if each.symbol else ""
    line = f"\n  `{each.line.strip()}`" if each.line.strip() else ""
    return f"- {name}[{place}]{_because(each.reasons)}{line}\n"


def _because(reasons: Sequence[str]) -> str:
    return f": {'; '.join(reasons)}" if reasons else ""


def _tests(found: Findings) -> Iterator[str]:
    yield from map(_place, found.tests)
    for each in found.commands:
        where = f" (in {each.folder})" if each.folder else ""
        yield f"- `{each.command}`{where}\n"


def _diffs(found: Findings) -> Iterator[str]:
    """Yield the hunks, those of the most telling definitions first."""
    by_path = {file.path: file for file in found.files}
    seen: set[tuple[str, int]] = set()
    named = [(each.path, hunk) for each in found.changed for hunk in each.hunks]
    every = [(file.path, hunk) for file in found.files for hunk in range(len(file.hunks))]
    for path, number in dict.fromkeys([*named, *every]):
        if path in by_path and number < len(by_path[path].hunks) and (path, number) not in seen:
            seen.add((path, number))
            yield _hunk(path, by_path[path].hunks[number])


def _hunk(path: str, hunk: protocol.ChangedLines) -> str:
    lines = [*(f"-{line}" for line in hunk.removed), *(f"+{line}" for line in hunk.added)]
    if len(lines) > _LONGEST_HUNK:
        lines = [*lines[:_LONGEST_HUNK], f"… {len(lines) - _LONGEST_HUNK} more lines"]
    body = "\n".join(lines)
    fence = fence_for(body)
    place = citation(path, (hunk.after.start.line, hunk.after.end.line))
    return f"\n### {place}\n{fence}diff\n{body}\n{fence}\n"
