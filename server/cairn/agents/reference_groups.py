"""What the texts about references show, on a terminal and to agents: each line once, in groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby

from cairn.protocol import FoundReference, ReferencesAnswer


def in_groups(
    references: Sequence[FoundReference],
    numbers: Iterable[int],
    within: Callable[[FoundReference], Hashable],
) -> Iterator[list[int]]:
    """Yield the indexes `numbers` in groups: neighbours of one file and meaning, and one `within(…)`.

    Of references that look alike on one line, only the first is in a group.
    """

    def of_group(number: int) -> Hashable:
        each = references[number]
        return each.folder, each.path, each.depth, each.symbol, each.target, each.kind, within(each)

    alike: dict[Hashable, int] = {}
    for number in numbers:
        each = references[number]
        alike.setdefault((each.range.start.line, each.enclosing, of_group(number)), number)
    for _, group in groupby(alike.values(), of_group):
        yield list(group)


def meant(answer: ReferencesAnswer, reference: FoundReference) -> str:
    """Return the name of the definition that is used, or "" if it is the only one that was asked about."""
    return "" if {each.symbol for each in answer.definitions} == {reference.symbol} else reference.symbol


def use(reference: FoundReference) -> str:
    """Return how the definition is used, such as `import`; "" for a call."""
    return "" if reference.kind == "call" else reference.kind
