"""Pair the definitions that have no counterpart of their name: they were renamed, moved, removed or added."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import define

from cairn.change.file_state import FileState, text_of
from cairn.change.touched import Touched
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.index.references.edges import Place
from cairn.index.store.deadline import check_end
from cairn.protocol.change_messages import ChangeKind
from cairn.workspace.diff import FileChange

_ALIKE = 0.6
"""The minimum share of equal tokens of a definition that was renamed."""
_SAME = 0.5
"""The same for one that was moved under its name."""
_SHORT, _ALIKE_SHORT = 25, 0.8
"""The same for definitions of fewer tokens."""
_FEW_TOKENS = 6
"""Definitions of fewer tokens are not compared."""
_MOST_PAIRS = 20_000
"""The maximum number of comparisons for renames. Larger changes only have moves."""


@define(eq=False, slots=False)
class Unpaired:
    """A definition on one side that has no counterpart of its name in the file."""

    file: FileChange
    state: FileState
    number: int

    @cached_property
    def tokens(self) -> Counter[str]:
        text = text_of(self.state, self.number, whole=True)
        words = f"{text.head} {text.body}".split() if text else []
        return Counter(each for each in words if each != self.place.name)

    @property
    def place(self) -> Place:
        return self.state.places[self.number]

    @property
    def depth(self) -> int:
        """How many definitions are around this one."""
        return len(list(self.state.table.scopes(self.number)))


def renamed_or_moved(gone: list[Unpaired], new: list[Unpaired]) -> Iterator[Touched]:
    """Yield the definitions that have another name or place, and take them and what is inside them out of the
    two lists."""
    # A type comes before its members, which are then paired within it.
    best_first = sorted(_likeness(gone, new), key=lambda each: (each[1].depth, -each[0]))
    paired: set[Unpaired] = set()
    for score, one, other in best_first:
        if one in paired or other in paired:
            continue
        paired |= {one, other}
        place, now = one.place, other.place
        is_moved = place.name == now.name
        kind = ChangeKind.MOVED if is_moved else ChangeKind.RENAMED
        came = f"from `{place.qualified}`" if place.path == now.path or not is_moved else f"from {place.path}"
        text, text_now = text_of(one.state, one.number), text_of(other.state, other.number)
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


def _likeness(
    gone: Sequence[Unpaired], new: Sequence[Unpaired]
) -> Iterator[tuple[float, Unpaired, Unpaired]]:
    """Yield pairs that may be the same definition, with a score from 0 to 1."""
    is_small = len(gone) * len(new) <= _MOST_PAIRS
    by_name: defaultdict[str, list[Unpaired]] = defaultdict(list)
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
            elif share >= _least_alike(min(one.tokens.total(), other.tokens.total())):
                yield share + 0.1 * is_beside - 0.1, one, other


def _least_alike(tokens: int) -> float:
    """Return the minimum share of equal tokens of a renamed definition. Short ones are alike by chance."""
    return 1.1 if tokens < _FEW_TOKENS else _ALIKE if tokens >= _SHORT else _ALIKE_SHORT


def _group(place: Place) -> str:
    return "callable" if place.kind in CALLABLE else "container" if place.kind in CONTAINERS else "value"


def _pairs_inside(
    gone: Sequence[Unpaired], one: Unpaired, new: Sequence[Unpaired], other: Unpaired
) -> Iterator[tuple[Unpaired, Unpaired]]:
    """Yield the definitions of the same names inside two that are the same."""
    here = {_relative(each, one): each for each in gone if each.state is one.state and _is_in(each, one)}
    for each in new:
        if each.state is other.state and _is_in(each, other) and _relative(each, other) in here:
            yield here[_relative(each, other)], each


def _is_in(each: Unpaired, around: Unpaired) -> bool:
    return each is not around and around.number in each.state.table.scopes(each.number)


def _relative(each: Unpaired, around: Unpaired) -> str:
    return each.place.qualified.removeprefix(around.place.qualified)


def outermost(ones: Sequence[Unpaired]) -> list[tuple[Unpaired, list[Unpaired]]]:
    """Return the definitions that are in no other of the list, each with those inside it."""
    by_state: defaultdict[FileState, dict[int, Unpaired]] = defaultdict(dict)
    for each in ones:
        by_state[each.state][each.number] = each
    groups: dict[Unpaired, list[Unpaired]] = {}
    for each in ones:
        here = by_state[each.state]
        around = [here[number] for number in each.state.table.scopes(each.number) if number in here]
        groups.setdefault(around[-1], [])
        if around[-1] is not each:
            groups[around[-1]].append(each)
    return list(groups.items())


def removed(found: tuple[Unpaired, Sequence[Unpaired]]) -> Touched:
    one, inside = found
    return Touched(
        ChangeKind.REMOVED, one.file, one.place, None, _hunks_around(one, before=True),
        "removed", head_before=one.state.head(one.number), members=tuple(each.place for each in inside),
    )  # fmt: skip


def added(found: tuple[Unpaired, Sequence[Unpaired]]) -> Touched:
    one, _ = found
    return Touched(
        ChangeKind.ADDED, one.file, None, one.place, _hunks_around(one, before=False), "new",
        head_after=one.state.head(one.number),
    )  # fmt: skip


def _hunks_around(one: Unpaired, *, before: bool) -> tuple[int, ...]:
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
