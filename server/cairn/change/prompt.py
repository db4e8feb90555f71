"""Write the prompt for a reviewer of a change, in Markdown, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from cairn import protocol
from cairn.discovery.layout import fence_for
from cairn.protocol import citation

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

    Whole entries are left out, the last ones of each section first, and the sections share what is left.
    """
    head = f"# Review of a change\n\n{INSTRUCTIONS}\n"
    left = budget - count(head)
    if not found.files or left <= 0:
        return ""
    sections = [(title, list(entries)) for title, entries in _sections(found)]
    sections = [(title, entries) for title, entries in sections if entries]
    for_lists = left * (1 - _DIFF_SHARE)
    texts: list[str] = []
    for number, (title, entries) in enumerate(sections):
        room = for_lists / (len(sections) - number)
        text = _filled(f"\n## {title}\n", entries, room, count)
        used = count(text) if text else 0
        for_lists -= used
        left -= used
        texts.append(text)
    diff = _filled("\n## The changed lines\n", list(_diffs(found)), left, count)
    first, *others = texts or [""]
    return "".join([head, first, diff, *others])


def _filled(title: str, entries: Sequence[str], room: float, count: Count) -> str:
    """Return a section with as many entries as fit, and the number of the others; "" if none fits."""
    left, kept = room - count(title), list[str]()
    for number, entry in enumerate(entries):
        more = f"- and {len(entries) - number} more\n"
        needed = count(entry)
        if needed + (count(more) if number + 1 < len(entries) else 0) > left:
            return title + "".join([*kept, more]) if kept else ""
        left -= needed
        kept.append(entry)
    return title + "".join(kept) if kept else ""


def _sections(found: Findings) -> Iterator[tuple[str, Iterator[str]]]:
    yield "What changed", map(_changed, found.changed)
    yield "Still uses what is gone", map(_place, (each for each in found.dependents if each.is_stale))
    yield "Depends on it", map(_place, (each for each in found.dependents if not each.is_stale))
    yield "Tests to run", _tests(found)
    yield "Usually changes with it, and did not", map(_place, found.companions)
    yield "Reached by no test", map(_place, found.unreached)
    yield "Not looked at", (f"- {each}\n" for each in found.messages)


def _changed(each: protocol.ChangedDefinition) -> str:
    place = citation(each.path, (each.range.start.line, each.range.end.line))
    name = f"`{each.symbol}` " if each.symbol else ""
    text = f"- {each.kind}: {name}[{place}]{_because(each.reasons)}\n"
    if each.before is not None and each.before.line != each.line:
        text += f"  - before: `{each.before.line}`\n  - after: `{each.line}`\n"
    return text


def _place(each: protocol.ChangePlace) -> str:
    place = citation(each.path, (each.range.start.line, each.range.start.line + 1))
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
