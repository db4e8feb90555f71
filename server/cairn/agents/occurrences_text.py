"""Writes the answer of an exact search: counts, lines by file and definition, and where the others are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from cairn import protocol
from cairn.agents.place_text import Paths
from cairn.agents.tool_call import Budget, fit, joined
from cairn.engine.occurrences import is_of_program
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
_MOST_BESIDE = 5
"""The maximum number of names of files that have only comments, tests, examples and documents."""
MOST_SORTED = 400
"""The maximum number of lines of which those of the program come first."""
_LITTLE = 500
"""The number of tokens up to which the other lines are listed at once."""


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
    said = joined(answer.verdict.note, summary(found))
    if before >= found.lines:
        return joined(said, "No further lines." if before else "", answer.index.source)
    every, own = _in_order(found)
    listed = every[before : before + most]
    if before < own < found.lines and budget.count("\n".join(_texts(listed, paths))) > _LITTLE:
        listed = every[before : min(own, before + most)]

    def foot(count: int) -> str:
        shown = before + count
        is_way = shown < min(found.lines, MOST_LINES) and (count or not listed)
        return joined(
            _rest(found, every, own, shown, paths, budget),
            more(shown) if is_way else "",
            answer.index.source,
        )

    head = f"Lines from the {before + 1:,}th of {found.lines:,} on." if before else said
    return fit(head, _texts(listed, paths), foot, budget)


@frozen
class _Line:
    file: protocol.FileOccurrences
    definition: protocol.DefinitionOccurrences
    line: protocol.MatchedLine

    @property
    def is_of_program(self) -> bool:
        return is_of_program(self.file.path, self.definition.symbol, self.line.text)


def _in_order(found: protocol.Occurrences) -> tuple[list[_Line], int]:
    """Return the listed lines, and how many of them are of the program. These come first if there are not too
    many lines to sort."""
    every = [
        _Line(file, definition, line)
        for file in found.found
        for definition in file.definitions
        for line in definition.lines
    ]
    if found.lines > MOST_SORTED:
        return every, found.lines
    every.sort(key=lambda each: not each.is_of_program)
    return every, sum(each.is_of_program for each in every)


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


def _texts(lines: Sequence[_Line], paths: Paths) -> list[str]:
    """Return each line with its number, the first of a file or definition below the name of these."""
    texts, last = list[str](), None
    for each in lines:
        is_new = last is None or each.file is not last.file
        heads = [paths.shown(each.file.folder, each.file.path)] if is_new else []
        symbol = each.definition.symbol
        if (is_new and symbol) or (last and not is_new and each.definition is not last.definition):
            heads.append(f" {symbol or '(top level)'}")
        texts.append("\n".join([*heads, f"  {each.line.line + 1}: {each.line.text}"]))
        last = each
    return texts


def _rest(
    found: protocol.Occurrences, every: Sequence[_Line], own: int, shown: int, paths: Paths, budget: Budget
) -> str:
    """Return a line with the files of the lines after the first `shown` ones, each with their number."""
    left = {(file.folder, file.path): file.count for file in found.found}
    for each in every[:shown]:
        left[each.file.folder, each.file.path] -= 1
    files = [(paths.shown(*file), count) for file, count in left.items() if count]
    are_beside = own <= shown
    most = _MOST_BESIDE if are_beside else int(_SHARE_OF_NAMES * budget.tokens / _TOKENS_OF_NAME)
    named = files[: max(1, most)]
    if not named:
        return ""
    lines, others = found.lines - shown, len(files) - len(named)
    unnamed = lines - sum(count for _, count in named)
    where = " in comments, tests, examples and documents" if are_beside else ""
    listed = ", ".join(f"{path} {count:,}" for path, count in named)
    end = f" and {counted(unnamed, 'line')} in {counted(others, 'other file')}" if unnamed else ""
    return f"{counted(lines, 'further line')}{where}: {listed}{end}"
