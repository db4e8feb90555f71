"""Find the definitions that a change touches, and what happened to each of them.

Definitions before and after are paired by their qualified names, and what remains by likeness: such pairs
were renamed or moved. Heads and bodies are compared token by token, so that comments and layout do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import define, evolve, field

from cairn.change.file_state import FileState, file_state, text_of
from cairn.change.renames import Unpaired, added, outermost, removed, renamed_or_moved
from cairn.change.signatures import Difference, signature_change
from cairn.change.touched import Touched, line_after
from cairn.chunking.definition_text import code_tokens
from cairn.chunking.outline import CONTAINERS
from cairn.chunking.references.symbol_table import TOP_LEVEL
from cairn.index.references.edges import Place
from cairn.index.store.deadline import check_end
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.collections import FileKind, file_kind
from cairn.workspace.diff import FileChange

_NAMELESS = frozenset({"impl", "extension"})
"""Kinds of blocks of members, whose type is defined elsewhere."""

_ORDER = {kind: place for place, kind in enumerate(ChangeKind)}


@define(eq=False)
class ChangedDefinitions:
    """Collects what a change touches, file by file, so that it can stop when its time is over."""

    is_elsewhere: Callable[[Place], bool] = lambda _: False
    """Tells whether unchanged files define the same thing, as several files do a namespace."""
    _found: list[Touched] = field(factory=list, init=False)
    _gone: list[Unpaired] = field(factory=list, init=False)
    _new: list[Unpaired] = field(factory=list, init=False)

    def add(self, files: Iterable[FileChange]) -> None:
        """Add the files, those of the source first."""
        for file in sorted(files, key=lambda each: file_kind(each.path) != FileKind.SOURCE):
            check_end()
            before = file_state(file.before_path or file.path, file.before) if file.before else None
            after = file_state(file.path, file.after) if file.after else None
            if before is None and after is None:
                self._found += _lines_alone(file)
                continue
            pairs, left, right = _paired(file, before, after)
            if before is not None and after is not None:
                self._found += _compared(file, before, after, pairs)
                if before.path != after.path:
                    self._found.append(_moved_file(file, before, after))
                self._found += _outside(file, before, after)
            self._gone += left
            self._new += right

    def found(self) -> list[Touched]:
        """Return what the added files touch, the most telling kinds first. Call it once."""
        gone, new = self._gone, self._new
        paired = list(renamed_or_moved(gone, new))
        found = [*_without_renames(self._found, paired), *paired]
        found += [removed(each) for each in outermost(self._here_alone(gone))]
        found += [added(each) for each in outermost(self._here_alone(new))]
        found.sort(key=_by_kind)
        return [evolve(each, index=index) for index, each in enumerate(found)]

    def _here_alone(self, ones: Sequence[Unpaired]) -> list[Unpaired]:
        return [
            each for each in ones if each.place.kind not in CONTAINERS or not self.is_elsewhere(each.place)
        ]


def touched_definitions(
    files: Iterable[FileChange], is_elsewhere: Callable[[Place], bool] = lambda _: False
) -> list[Touched]:
    """Return what the files' changes touch, the most telling kinds first."""
    every = ChangedDefinitions(is_elsewhere)
    every.add(files)
    return every.found()


def _without_renames(found: Iterable[Touched], paired: Iterable[Touched]) -> Iterator[Touched]:
    """Yield what was found, where a head is not a new signature if only renamed definitions have their new
    names in it."""
    renamed = [each for each in paired if each.kind is ChangeKind.RENAMED]
    names = {each.before.name: each.after.name for each in renamed if each.before and each.after}
    for each in found:
        before, after = each.difference.heads if each.difference is not None else ("", "")
        new_names = [names.get(token, token) for token in before.split()]
        if names and before and new_names == after.split():
            reason = "its head has the new name of what was renamed"
            yield evolve(each, kind=ChangeKind.BODY, reason=reason, difference=Difference(reason))
        else:
            yield each


def _by_kind(each: Touched) -> tuple[int, bool, str, int]:
    line = (each.after or each.before or _NOWHERE).line
    return _ORDER[each.kind], file_kind(each.path) != FileKind.SOURCE, each.path, line


_NOWHERE = Place("", 0, "", "", "", 0, 0, 0, 0)


# --- one file ------------------------------------------------------------------------------------------


def _paired(
    file: FileChange, before: FileState | None, after: FileState | None
) -> tuple[list[tuple[int, int]], list[Unpaired], list[Unpaired]]:
    """Return the numbers of definitions with a counterpart, and those before and after without one."""
    left = _by_name(before) if before is not None else {}
    right = _by_name(after) if after is not None else {}
    pairs: list[tuple[int, int]] = []
    gone: list[Unpaired] = []
    new: list[Unpaired] = []
    for name in dict.fromkeys((*left, *right)):
        ones, others = list(left.get(name, ())), list(right.get(name, ()))
        if before is not None and after is not None:
            if len(ones) != len(others):  # Overloads: those on unchanged lines belong together.
                for one in list(ones):
                    line = line_after(file, before.places[one].line)
                    same = next((each for each in others if after.places[each].line == line), None)
                    if same is not None:
                        pairs.append((one, same))
                        ones.remove(one)
                        others.remove(same)
            both = min(len(ones), len(others))
            pairs += zip(ones[:both], others[:both], strict=True)
            ones, others = ones[both:], others[both:]
        gone += [Unpaired(file, before, each) for each in ones if before is not None]
        new += [Unpaired(file, after, each) for each in others if after is not None]
    return pairs, gone, new


def _by_name(state: FileState) -> Mapping[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, place in enumerate(state.places):
        if place.kind not in _NAMELESS and place.name != "_" and not state.is_local[number]:
            found[place.qualified].append(number)
    return found


def _compared(
    file: FileChange, before: FileState, after: FileState, pairs: Iterable[tuple[int, int]]
) -> Iterator[Touched]:
    """Yield how the definitions changed that the change touches."""
    removed = _hunks_by_owner(before, [(hunk.before_start, hunk.before_end) for hunk in file.hunks])
    added = _hunks_by_owner(after, [(hunk.after_start, hunk.after_end) for hunk in file.hunks])
    for left, right in pairs:
        hunks = sorted(removed.get(left, set()) | added.get(right, set()))
        found = _difference(file, before, left, after, right) if hunks else None
        if found is not None:
            kind, difference = found
            yield Touched(
                kind, file, before.places[left], after.places[right], tuple(hunks), difference.reason,
                difference=difference,
                head_before=before.head(left), head_after=after.head(right),
            )  # fmt: skip


def _hunks_by_owner(state: FileState, ranges: Sequence[tuple[int, int]]) -> dict[int, set[int]]:
    """Return the hunks with lines of each definition that are in no definition inside it."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for index, (first, last) in enumerate(ranges):
        for owner in set(state.owners[first:last].tolist()):
            found[owner].add(index)
    return found


def _difference(
    file: FileChange, before: FileState, left: int, after: FileState, right: int
) -> tuple[ChangeKind, Difference] | None:
    """Return what happened to a definition; None if only blank lines around others changed."""
    one, other = text_of(before, left), text_of(after, right)
    if one is None or other is None:
        return ChangeKind.BODY, Difference("its lines changed")
    if one.head != other.head:
        name, language = before.places[left].name, before.table.language
        difference = signature_change(name, one.head, other.head, language=language)
        return ChangeKind.SIGNATURE, evolve(difference, heads=(one.head, other.head))
    if one.leading != other.leading:
        return ChangeKind.BODY, Difference("its decorators or attributes changed")
    if one.body != other.body:
        return ChangeKind.BODY, Difference("its body changed")
    if not _says_more(file, before, left, after, right):
        return None
    return ChangeKind.COMMENT, Difference("only comments or layout changed")


def _says_more(file: FileChange, before: FileState, left: int, after: FileState, right: int) -> bool:
    """Whether lines of a definition itself changed that are not blank."""
    for hunk in file.hunks:
        sides = (
            (before, left, hunk.before_start, hunk.removed),
            (after, right, hunk.after_start, hunk.added),
        )
        for state, number, start, lines in sides:
            for row, line in enumerate(lines, start):
                if line.strip() and row < len(state.owners) and state.owners[row] == number:
                    return True
    return False


def _outside(file: FileChange, before: FileState | None, after: FileState | None) -> Iterator[Touched]:
    """Yield the code of a file that changed outside of all definitions."""
    hunks = []
    for index, hunk in enumerate(file.hunks):
        sides = (
            (before, hunk.before_start, hunk.before_end),
            (after, hunk.after_start, hunk.after_end),
        )
        tokens = [
            code_tokens(state.code, _bare_rows(state, first, last)) if state is not None else ""
            for state, first, last in sides
        ]
        if tokens[0] != tokens[1]:
            hunks.append(index)
    if hunks:
        yield _lines(file, tuple(hunks))


_MOST_BARE = 200
"""How many lines outside of definitions are compared in each hunk."""


def _bare_rows(state: FileState, first: int, last: int) -> set[int]:
    rows = range(first, min(last, len(state.lines), first + _MOST_BARE))
    return {row for row in rows if state.owners[row] == TOP_LEVEL}


def _lines_alone(file: FileChange) -> Iterator[Touched]:
    if file.hunks or file.problem:
        yield _lines(file, tuple(range(len(file.hunks))))


def _lines(file: FileChange, hunks: tuple[int, ...]) -> Touched:
    if file.problem:
        reason = file.problem
    elif file.is_removed:
        reason = "the file was removed"
    elif file.before_path is None:
        reason = "the file is new"
    else:
        reason = "lines outside of definitions changed"
    return Touched(ChangeKind.LINES, file, None, None, hunks, reason)


def _moved_file(file: FileChange, before: FileState, after: FileState) -> Touched:
    members = tuple(each for each in before.places if before.table.parent(each.number) == TOP_LEVEL)
    reason = f"the file was moved from {before.path}"
    return Touched(ChangeKind.MOVED, file, None, None, (), reason, members=members)
