"""Find the definitions that a change touches, and what happened to each of them.

Definitions before and after are paired by their qualified names, and what remains by likeness: such pairs
were renamed or moved. Heads and bodies are compared token by token, so that comments and layout do not count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import define, evolve, field, frozen

from cairn.change.file_state import FileState, file_state
from cairn.change.signatures import Difference, signature_change
from cairn.chunking.definition_text import DefinitionText, code_tokens, definition_text
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.chunking.references.symbol_table import TOP_LEVEL
from cairn.index.references.edges import Place
from cairn.index.store.deadline import check_end
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.collections import FileKind, file_kind
from cairn.workspace.diff import FileChange

_ALIKE = 0.6
"""The minimum share of equal tokens of a definition that was renamed."""
_SAME = 0.5
"""The same for one that was moved under its name."""
_FEW_TOKENS = 6
"""Bodies of fewer tokens are alike by chance."""
_MOST_PAIRS = 20_000
"""The maximum number of comparisons for renames. Larger changes only have moves."""

_NAMELESS = frozenset({"impl", "extension"})
"""Kinds of blocks of members, whose type is defined elsewhere."""

_ORDER = {kind: place for place, kind in enumerate(ChangeKind)}


@frozen
class Touched:
    """A definition that the change touches, or the lines outside of all definitions of a file."""

    kind: ChangeKind
    file: FileChange
    before: Place | None
    """The definition in the text before; None if it is new."""
    after: Place | None
    """The definition in the text after; None if it was removed."""
    hunks: tuple[int, ...]
    """The indexes of the file's hunks that touch it."""
    reason: str
    confidence: float = 1.0
    difference: Difference | None = None
    """What changed in a definition that is still there."""
    head_before: str = ""
    head_after: str = ""
    members: tuple[Place, ...] = ()
    """Before the change, the definitions inside one that was removed, or in a file that was moved."""
    index: int = 0
    """The place in the list of all."""

    @property
    def path(self) -> str:
        shown = self.after or self.before
        return shown.path if shown else self.file.path

    @property
    def name(self) -> str:
        shown = self.after or self.before
        return shown.name if shown else ""

    @property
    def place(self) -> Place | None:
        """The definition as the folder has it now; None if it has it no more, or not yet."""
        return self.after if self.file.is_applied else self.before


@define(eq=False, slots=False)
class _One:
    """A definition on one side that has no counterpart of its name in the file."""

    file: FileChange
    state: FileState
    number: int

    @cached_property
    def tokens(self) -> Counter[str]:
        text = _text(self.state, self.number, whole=True)
        words = f"{text.head} {text.body}".split() if text else []
        return Counter(each for each in words if each != self.place.name)

    @property
    def place(self) -> Place:
        return self.state.places[self.number]

    @property
    def depth(self) -> int:
        """How many definitions are around this one."""
        return len(list(self.state.table.scopes(self.number)))


@define(eq=False)
class ChangedDefinitions:
    """Collects what a change touches, file by file, so that it can stop when its time is over."""

    is_elsewhere: Callable[[Place], bool] = lambda _: False
    """Tells whether unchanged files define the same thing, as several files do a namespace."""
    _found: list[Touched] = field(factory=list, init=False)
    _gone: list[_One] = field(factory=list, init=False)
    _new: list[_One] = field(factory=list, init=False)

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
        paired = list(_renamed_or_moved(gone, new))
        found = [*_without_renames(self._found, paired), *paired]
        found += [_removed(each) for each in _outermost(self._here_alone(gone))]
        found += [_added(each) for each in _outermost(self._here_alone(new))]
        found.sort(key=_most_telling)
        return [evolve(each, index=index) for index, each in enumerate(found)]

    def _here_alone(self, ones: Sequence[_One]) -> list[_One]:
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


def _most_telling(each: Touched) -> tuple[int, bool, str, int]:
    line = (each.after or each.before or _NOWHERE).line
    return _ORDER[each.kind], file_kind(each.path) != FileKind.SOURCE, each.path, line


_NOWHERE = Place("", 0, "", "", "", 0, 0, 0, 0)


# --- one file ------------------------------------------------------------------------------------------


def _paired(
    file: FileChange, before: FileState | None, after: FileState | None
) -> tuple[list[tuple[int, int]], list[_One], list[_One]]:
    """Return the numbers of definitions with a counterpart, and those before and after without one."""
    left = _by_name(before) if before is not None else {}
    right = _by_name(after) if after is not None else {}
    pairs: list[tuple[int, int]] = []
    gone: list[_One] = []
    new: list[_One] = []
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
        gone += [_One(file, before, each) for each in ones if before is not None]
        new += [_One(file, after, each) for each in others if after is not None]
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
        told = _told(file, before, left, after, right) if hunks else None
        if told is not None:
            yield Touched(
                told[0], file, before.places[left], after.places[right], tuple(hunks), told[1].reason,
                difference=told[1],
                head_before=before.head(left), head_after=after.head(right),
            )  # fmt: skip


def _hunks_by_owner(state: FileState, ranges: Sequence[tuple[int, int]]) -> dict[int, set[int]]:
    """Return the hunks with lines of each definition that are in no definition inside it."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for index, (first, last) in enumerate(ranges):
        for owner in set(state.owners[first:last].tolist()):
            found[owner].add(index)
    return found


def _told(
    file: FileChange, before: FileState, left: int, after: FileState, right: int
) -> tuple[ChangeKind, Difference] | None:
    """Return what happened to a definition; None if only blank lines around others changed."""
    one, other = _text(before, left), _text(after, right)
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


def _text(state: FileState, number: int, *, whole: bool = False) -> DefinitionText | None:
    """Return the tokens of a definition; unless `whole`, those of a type without its members."""
    definition = state.table.definition(number)
    inside = state.rows_inside(number) if definition.kind in CONTAINERS and not whole else ()
    return definition_text(state.code, definition, state.first_rows[number], inside)


def line_after(file: FileChange, line: int) -> int | None:
    """Return the line after the change of a line before it; None if the change removed it."""
    shift = 0
    for hunk in file.hunks:
        if line < hunk.before_start:
            break
        if line < hunk.before_end:
            return None
        shift = hunk.after_end - hunk.before_end
    return line + shift


def line_before(file: FileChange, line: int) -> int | None:
    """Return the line before the change of a line after it; None if the change added it."""
    shift = 0
    for hunk in file.hunks:
        if line < hunk.after_start:
            break
        if line < hunk.after_end:
            return None
        shift = hunk.before_end - hunk.after_end
    return line + shift


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


# --- across files --------------------------------------------------------------------------------------


def _renamed_or_moved(gone: list[_One], new: list[_One]) -> Iterator[Touched]:
    """Yield the definitions that have another name or place, and take them and what is inside them out of the
    two lists."""
    # A type comes before its members, which are then paired within it.
    best_first = sorted(_likeness(gone, new), key=lambda each: (each[1].depth, -each[0]))
    paired: set[_One] = set()
    for score, one, other in best_first:
        if one in paired or other in paired:
            continue
        paired |= {one, other}
        place, now = one.place, other.place
        is_moved = place.name == now.name
        kind = ChangeKind.MOVED if is_moved else ChangeKind.RENAMED
        came = f"from {place.path}" if place.path != now.path else f"from `{place.qualified}`"
        text, text_now = _text(one.state, one.number), _text(other.state, other.number)
        is_same_head = text and text_now and _unnamed(text.head, place) == _unnamed(text_now.head, now)
        also = "" if is_same_head else "; its signature changed, too"
        yield Touched(
            kind, other.file, place, now, _hunks_around(other, before=False),
            f"{'moved' if is_moved else 'renamed'} {came}{also}", round(min(1.0, score), 2),
            head_before=one.state.head(one.number), head_after=other.state.head(other.number),
        )  # fmt: skip
        for inner, outer in _pairs_inside(gone, one, new, other):
            paired |= {inner, outer}
    gone[:] = [each for each in gone if each not in paired]
    new[:] = [each for each in new if each not in paired]


def _unnamed(head: str, place: Place) -> str:
    return " ".join(word for word in head.split() if word != place.name)


def _likeness(gone: Sequence[_One], new: Sequence[_One]) -> Iterator[tuple[float, _One, _One]]:
    """Yield pairs that may be the same definition, with a score from 0 to 1."""
    is_small = len(gone) * len(new) <= _MOST_PAIRS
    by_name: defaultdict[str, list[_One]] = defaultdict(list)
    for each in new:
        by_name[each.place.name].append(each)
    for one in gone:
        check_end()
        for other in new if is_small else by_name[one.place.name]:
            if _group(one.place) != _group(other.place):
                continue
            equal = sum((one.tokens & other.tokens).values())
            all_tokens = one.tokens.total() + other.tokens.total()
            share = 2 * equal / all_tokens if all_tokens else 0.0
            is_same_name = one.place.name == other.place.name
            is_beside = one.place.path == other.place.path or one.file is other.file
            if is_same_name:
                if share >= _SAME or not all_tokens:
                    yield max(share, 0.5) + 0.3, one, other
            elif share >= _ALIKE and min(one.tokens.total(), other.tokens.total()) >= _FEW_TOKENS:
                yield share + 0.1 * is_beside - 0.1, one, other


def _group(place: Place) -> str:
    return "callable" if place.kind in CALLABLE else "container" if place.kind in CONTAINERS else "value"


def _pairs_inside(
    gone: Sequence[_One], one: _One, new: Sequence[_One], other: _One
) -> Iterator[tuple[_One, _One]]:
    """Yield the definitions of the same names inside two that are the same."""
    here = {_relative(each, one): each for each in gone if each.state is one.state and _is_in(each, one)}
    for each in new:
        if each.state is other.state and _is_in(each, other) and _relative(each, other) in here:
            yield here[_relative(each, other)], each


def _is_in(each: _One, around: _One) -> bool:
    return each is not around and around.number in each.state.table.scopes(each.number)


def _relative(each: _One, around: _One) -> str:
    return each.place.qualified.removeprefix(around.place.qualified)


def _outermost(ones: Sequence[_One]) -> list[tuple[_One, list[_One]]]:
    """Return the definitions that are in no other of the list, each with those inside it."""
    by_state: defaultdict[FileState, dict[int, _One]] = defaultdict(dict)
    for each in ones:
        by_state[each.state][each.number] = each
    groups: dict[_One, list[_One]] = {}
    for each in ones:
        here = by_state[each.state]
        around = [here[number] for number in each.state.table.scopes(each.number) if number in here]
        groups.setdefault(around[-1], [])
        if around[-1] is not each:
            groups[around[-1]].append(each)
    return list(groups.items())


def _removed(found: tuple[_One, Sequence[_One]]) -> Touched:
    one, inside = found
    return Touched(
        ChangeKind.REMOVED, one.file, one.place, None, _hunks_around(one, before=True),
        "removed", head_before=one.state.head(one.number), members=tuple(each.place for each in inside),
    )  # fmt: skip


def _added(found: tuple[_One, Sequence[_One]]) -> Touched:
    one, _ = found
    return Touched(
        ChangeKind.ADDED, one.file, None, one.place, _hunks_around(one, before=False), "new",
        head_after=one.state.head(one.number),
    )  # fmt: skip


def _hunks_around(one: _One, *, before: bool) -> tuple[int, ...]:
    place = one.place
    ranges = [
        (hunk.before_start, hunk.before_end) if before else (hunk.after_start, hunk.after_end)
        for hunk in one.file.hunks
    ]
    return tuple(
        index
        for index, (first, last) in enumerate(ranges)
        if first < place.end_line and last > one.state.first_rows[one.number]
    )
