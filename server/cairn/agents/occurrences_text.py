"""Writes the answer of an exact search: counts, lines by file and definition, and where the others are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cairn import protocol
from cairn.agents.place_text import Paths
from cairn.agents.tool_call import Budget, fit, joined
from cairn.protocol.search_messages import MOST_LINES
from cairn.text.counts import counted

TOKENS = 2_000
_FEWEST_TOKENS = 6
"""The minimum number of tokens of a listed line. It bounds how many lines are needed for a budget."""
_SHARE_OF_NAMES = 0.25
"""The share of the budget for the names of files whose lines are not shown."""
_TOKENS_OF_NAME = 12
"""The estimated number of tokens of a path with a count."""
_MOST_RULES = 4


def lines_for(budget: Budget) -> int:
    """Return a number of lines that does not fit into the budget."""
    return max(1, budget.tokens // _FEWEST_TOKENS)


def written(
    answer: protocol.SearchAnswer,
    before: int,
    most: int,
    paths: Paths,
    more: Callable[[int], str],
    lacks: str,
    budget: Budget,
) -> str:
    """Return at most `most` lines as text, without the first `before` ones, which earlier answers had.

    `more(count)` is the line that says how to get the lines after the first `count`. `lacks` is what is said
    of a search that failed.
    """
    found = answer.occurrences
    if found is None:
        return joined("The text was not searched.", lacks)
    if before >= found.lines:
        return joined(summary(found), "No further lines." if before else "", answer.index.source)
    items = list(_items(found, before, most, paths))

    def foot(count: int) -> str:
        shown = before + count
        is_way = shown < min(found.lines, MOST_LINES) and (count or not items)
        return joined(_rest(found, shown, paths, budget), more(shown) if is_way else "", answer.index.source)

    head = f"Lines from the {before + 1:,}th of {found.lines:,} on." if before else summary(found)
    return fit(head, items, foot, budget)


def summary(found: protocol.Occurrences) -> str:
    """Return the counts, whether they are complete, and what was not searched."""
    skipped = [f"{count:,} × {rule.removeprefix('built-in: ')}" for rule, count in found.not_searched.items()]
    left_out = f"; not searched: {', '.join(skipped[:_MOST_RULES])}" if skipped else ""
    others = sum(list(found.not_searched.values())[_MOST_RULES:])
    left_out += f" and {others:,} by other rules" if others else ""
    if found.lines:
        holds = "holds" if found.lines == 1 else "hold"
        said = f"{counted(found.lines, 'line')} in {counted(found.files, 'file')} {holds} it"
    else:
        said = "No line holds it"
    state = "complete" if found.complete else "INCOMPLETE"
    other = (
        f"{found.other_case:,} more in another case; ignore case to list them." if found.other_case else ""
    )
    return joined(
        f"{said}, {state} (of {counted(found.searched, 'file')}{left_out}).",
        f"More may exist: {found.reason}" if not found.complete else "",
        other,
    )


def _items(found: protocol.Occurrences, before: int, most: int, paths: Paths) -> Iterator[str]:
    """Yield each line with its number, the first of a file or definition below the name of these."""
    number, last_file, last_definition = 0, None, None
    for file in found.found:
        for definition in file.definitions:
            for line in definition.lines:
                number += 1
                if number <= before:
                    continue
                if number > before + most:
                    return
                heads = [] if file is last_file else [paths.shown(file.folder, file.path)]
                if definition is not last_definition and (definition.symbol or file is last_file):
                    heads.append(f" {definition.symbol or '(top level)'}")
                last_file, last_definition = file, definition
                yield "\n".join([*heads, f"  {line.line + 1}: {line.text}"])


def _rest(found: protocol.Occurrences, shown: int, paths: Paths, budget: Budget) -> str:
    """Return a line with the files of the lines after the first `shown` ones, each with their number."""
    named, files, lines = list[str](), 0, found.lines - shown
    most = max(1, int(_SHARE_OF_NAMES * budget.tokens / _TOKENS_OF_NAME))
    unnamed, passed = lines, 0
    for file in found.found:
        passed += file.count
        if passed > shown:
            files += 1
            if len(named) < most:
                left = min(file.count, passed - shown)
                named.append(f"{paths.shown(file.folder, file.path)} {left:,}")
                unnamed -= left
    if not named:
        return ""
    end = f" and {counted(unnamed, 'line')} in {counted(files - len(named), 'other file')}" if unnamed else ""
    return f"{counted(lines, 'further line')}: {', '.join(named)}{end}"
