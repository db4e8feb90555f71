"""What the page of a change shows: files with their hunks, and what belongs to each hunk."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen
from markupsafe import Markup

from cairn import protocol
from cairn.text.uris import repository_name
from cairn.web.addresses import file_address, numbered
from cairn.web.code_markup import code_line, with_code
from cairn.web.diff_lines import DiffBlock, diff_blocks, size_of
from cairn.web.rendering import PageRequest

_KINDS = {
    protocol.ChangeKind.REMOVED: "removed",
    protocol.ChangeKind.SIGNATURE: "new signature",
    protocol.ChangeKind.RENAMED: "renamed",
    protocol.ChangeKind.MOVED: "moved",
    protocol.ChangeKind.BODY: "body",
    protocol.ChangeKind.ADDED: "added",
    protocol.ChangeKind.COMMENT: "comment",
    protocol.ChangeKind.LINES: "lines",
}
_TAGS = {"together": "history"}
"""Kinds of places that are not plain words."""
_SURE = 0.9
"""The confidence from which on a place needs no figure."""


@frozen
class ShownPlace:
    address: str
    label: str
    """`path:line`, or the path of a place that is a whole file."""
    repository: str
    """The name of the place's folder if several are open, else ""."""
    symbol: str
    kind: str
    code: Markup
    reasons: Markup
    unsure: int
    """The confidence in percent; 0 for a place that is sure enough."""
    is_stale: bool


@frozen
class ShownList:
    title: str
    places: tuple[ShownPlace, ...]
    is_stale: bool = False


@frozen
class ShownDefinition:
    name: str
    """The qualified name; "" for lines outside of definitions."""
    kind: str
    definition_kind: str
    address: str
    """The address of its lines; "" for a removed definition."""
    before: str
    """The name and the place before the change; "" if they are the same."""
    reasons: Markup
    lists: tuple[ShownList, ...]
    is_unreached: bool
    is_unsure: bool
    seen: str = ""
    """The anchor of the hunk that already shows what belongs to the definition; "" if it is here."""


@frozen
class ShownBlock:
    anchor: str
    block: DiffBlock
    title: str
    address: str
    definitions: tuple[ShownDefinition, ...]


@frozen
class Limits:
    """What is shown of a file."""

    blocks: int
    lines: int
    """The number of lines of each block."""


@frozen
class ShownFile:
    anchor: str
    file: protocol.ChangedFile
    address: str
    """The address of the file; "" for a removed one."""
    repository: str
    added: int
    removed: int
    blocks: tuple[ShownBlock, ...]
    left_out: int
    """The number of hunks that are not in `blocks`."""
    is_open: bool

    @property
    def lines(self) -> int:
        return sum(len(each.block.lines) for each in self.blocks)


class Belongings:
    """The places of an answer by the definitions that they are about."""

    def __init__(self, request: PageRequest, answer: protocol.ChangeAnswer) -> None:
        self._request, self._answer = request, answer
        self._definitions = defaultdict[str, list[tuple[int, protocol.ChangedDefinition]]](list)
        for number, each in enumerate(answer.changed):
            self._definitions[each.uri].append((number, each))
        self._own = {each.folder for each in answer.changed}
        self._anchors = dict[int, str]()

    def of_hunks(self, uri: str, hunks: Sequence[int], anchor: str) -> tuple[ShownDefinition, ...]:
        """Return the definitions that these hunks of a file change."""
        touched = set(hunks)
        return tuple(
            self._definition(number, each, anchor)
            for number, each in self._definitions[uri]
            if touched.intersection(each.hunks)
        )

    def summary(self) -> dict[str, Any]:
        """Return the lists of the whole change."""
        answer = self._answer
        stale = [each for each in answer.dependents if each.is_stale]
        others = [each for each in answer.dependents if not each.is_stale]
        return {
            "stale": self._places(stale),
            "dependents": self._places(others),
            "tests": self._places(answer.tests),
            "companions": self._places(answer.companions),
            "unreached": self._places(answer.unreached),
        }

    def named(self, folder: str) -> str:
        """Return the folder's URI if addresses must name it, as that of another repository, else ""."""
        return self._request.named(folder) or (folder if self._own - {folder} else "")

    def _definition(self, number: int, changed: protocol.ChangedDefinition, anchor: str) -> ShownDefinition:
        seen = self._anchors.setdefault(number, anchor)
        is_gone = changed.kind is protocol.ChangeKind.REMOVED
        link = file_address(changed.path, numbered(changed.range), self.named(changed.folder))
        return ShownDefinition(
            changed.symbol,
            _KINDS[changed.kind],
            changed.definition_kind,
            "" if is_gone else link,
            _before(changed),
            with_code("; ".join(each for each in changed.reasons if each != _KINDS[changed.kind])),
            () if seen != anchor else self._lists(number),
            any(number in each.about for each in self._answer.unreached),
            changed.confidence < 1,
            seen if seen != anchor else "",
        )

    def _lists(self, number: int) -> tuple[ShownList, ...]:
        """Return the places that a definition concerns, what still uses an old one first."""

        def about(places: Iterable[protocol.ChangePlace]) -> tuple[ShownPlace, ...]:
            return self._places(each for each in places if number in each.about)

        answer = self._answer
        lists = (
            ShownList("Still uses the old one", about(p for p in answer.dependents if p.is_stale), True),
            ShownList("Depends on it", about(p for p in answer.dependents if not p.is_stale)),
            ShownList("Tests", about(answer.tests)),
            ShownList("Usually goes with it", about(answer.companions)),
        )
        return tuple(each for each in lists if each.places)

    def _places(self, places: Iterable[protocol.ChangePlace]) -> tuple[ShownPlace, ...]:
        return tuple(map(self._place, places))

    def _place(self, place: protocol.ChangePlace) -> ShownPlace:
        first, _ = lines = numbered(place.range)
        named = self.named(place.folder)
        return ShownPlace(
            file_address(place.path, lines, named),
            f"{place.path}:{first}",
            repository_name(place.folder) if named else "",
            place.symbol,
            _TAGS.get(place.kind, place.kind),
            code_line(place.line, place.path),
            with_code("; ".join(place.reasons)),
            round(100 * place.confidence) if place.confidence < _SURE else 0,
            place.is_stale,
        )


def anchor_of(number: int) -> str:
    """Return the anchor of a file on the page."""
    return f"f{number + 1}"


def shown_file(
    belongings: Belongings,
    anchor: str,
    file: protocol.ChangedFile,
    folder: str,
    text: Sequence[str] | None,
    limits: Limits,
    *,
    may_be_before: bool,
    is_open: bool,
) -> ShownFile:
    """Return a file with its hunks; `diff_blocks` explains `text` and `may_be_before`."""
    named = belongings.named(folder)
    is_gone = file.status is protocol.FileStatus.REMOVED
    blocks: list[ShownBlock] = []
    found = diff_blocks(file, text, limits.lines, may_be_before=may_be_before)
    for block in itertools.islice(found, limits.blocks):
        place = f"{anchor}-{len(blocks) + 1}"
        first, end = block.after
        lines = first + 1, max(first + 1, end)
        link = "" if is_gone else file_address(file.path, lines, named)
        definitions = belongings.of_hunks(file.uri, block.hunks, place)
        blocks.append(ShownBlock(place, block, _title(block), link, definitions))
    added, removed = size_of(file)
    return ShownFile(
        anchor,
        file,
        "" if is_gone else file_address(file.path, None, named),
        repository_name(folder) if named else "",
        added,
        removed,
        tuple(blocks),
        len(file.hunks) - sum(len(each.block.hunks) for each in blocks),
        is_open,
    )


def _title(block: DiffBlock) -> str:
    """Return the lines of a block: after the change or, if it only removes lines, before the change."""
    (first, end), verb = (block.after, "") if block.after[0] < block.after[1] else (block.before, "Removed ")
    lines = f"lines {first + 1} to {end}" if end > first + 1 else f"line {first + 1}"
    return f"{verb}{lines}" if verb else lines.capitalize()


def _before(changed: protocol.ChangedDefinition) -> str:
    before = changed.before
    if before is None:
        return ""
    parts = [before.symbol if before.symbol != changed.symbol else ""]
    parts += [before.path if before.path != changed.path else ""]
    return " in ".join(filter(None, parts))
