"""Find and parse the code that a file of another language embeds (see `cairn.languages.islands`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from attrs import frozen
from tree_sitter import Tree

from cairn.chunking.grammars import parse
from cairn.languages.islands import Extent, Island, Islands, Part, Role
from cairn.languages.registry import facts_of

_TYPED = re.compile(rb"""lang=["']ts|text/typescript""")
_BLANK = bytes(byte if byte == ord("\n") else ord(" ") for byte in range(256))
# Brackets, and the strings and comments in which brackets do not count.
_TOKEN = re.compile(
    rb"""[()\[\]{}]|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|`(?:[^`\\]++|\\.)*+`"""
    rb"""|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+""",
    re.DOTALL,
)
_MEMBER = re.compile(rb"(?:\??\.[A-Za-z_]\w*+)*+[(\[]?")
_BARE = re.compile(rb"\s*+\(?(?:[\w$]++\.)*+([\w$]++)\)?\s*+;?\s*+")


@frozen
class Found:
    """An island at the bytes `[start, end)` of a file."""

    kind: Island
    start: int
    end: int
    is_typed: bool = False

    def text(self, source: bytes) -> str:
        return source[self.start : self.end].decode("utf-8", "replace")


@frozen
class ParsedPart:
    """All islands of one language, as a tree with the positions of the whole file."""

    language: str
    is_script: bool
    tree: Tree
    source: bytes
    """The text of the file after `opening`."""
    opening: int
    """The number of characters before the first row of the file."""
    found: tuple[Found, ...]

    def rows(self, source: bytes) -> Iterator[tuple[int, int]]:
        """Yield the first and the last row of each island; `source` is the text of the file."""
        row = at = 0
        for each in self.found:
            row += source.count(b"\n", at, each.start)
            at = each.start
            yield row, row + source.count(b"\n", at, each.end)


@frozen
class Embedded:
    """The islands of a file."""

    islands: Islands
    component: str
    """The name under which other files use this one as a component."""
    others: tuple[Found, ...]
    """The names of elements, and the import statements."""
    parts: tuple[ParsedPart, ...]

    def elements(self) -> Iterator[Found]:
        return (each for each in self.others if each.kind.role is Role.COMPONENT)

    def imports(self) -> Iterator[Found]:
        return (each for each in self.others if each.kind.role is Role.IMPORT)


def embedded(language: str, path: str, source: bytes) -> Embedded | None:
    """Return the islands of a file of the language, with `source` as UTF-8; None if it cannot have any."""
    islands = facts_of(language).islands(path, source)
    if islands is None:
        return None
    file = PurePosixPath(path)
    component = component_name(file.parent.name if file.stem == "index" else file.stem)
    groups: defaultdict[tuple[Part, bool], list[Found]] = defaultdict(list)
    others: list[Found] = []
    for kind in islands.kinds:
        if islands.is_component and kind.part is not None and "{0}" in kind.part.opening:
            groups[kind.part, True] = []  # The part defines the component even if it is empty.
    for each in _find(islands, source):
        if each.kind.part is None:
            others.append(each)
        else:
            groups[each.kind.part, each.kind.role is Role.SCRIPT].append(each)
    parsed = (
        _parsed(part, is_script, found, component, source) for (part, is_script), found in groups.items()
    )
    return Embedded(islands, component, tuple(others), tuple(filter(None, parsed)))


def handled(found: Sequence[Found], source: bytes) -> set[int]:
    """Return the byte offsets of the functions that handlers only name, as in `@click="save"`."""
    handlers = (each for each in found if each.kind.role is Role.HANDLER)
    bare = (_BARE.fullmatch(source, each.start, each.end) for each in handlers)
    return {match.start(1) for match in bare if match is not None}


def component_name(written: str) -> str:
    """Return the name of a component as code writes it: `FerryCard` for `ferry-card`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"\W+", written))


def _parsed(
    part: Part, is_script: bool, found: Sequence[Found], component: str, source: bytes
) -> ParsedPart | None:
    language = part.typed if part.typed and any(each.is_typed for each in found) else part.language
    opening = part.opening.format(component).encode()
    # No row may begin after the last line of the file.
    text = opening + _without_markup(source.removesuffix(b"\n"), found) + part.closing.encode()
    tree = parse(part.grammar or language, text)
    if tree is None:
        return None
    return ParsedPart(language, is_script, tree, opening + source, len(opening), tuple(found))


def _without_markup(source: bytes, found: Sequence[Found]) -> bytes:
    """Return the text with blanks in place of all but the islands and line ends, so that positions stay."""
    text = bytearray(source.translate(_BLANK))
    for each in found:
        text[each.start : each.end] = source[each.start : each.end]
    for each in found:
        _write(text, each.start - len(each.kind.before), each.kind.before)
        after = each.end
        while text[after : after + 1] == b"\n":
            after += 1
        _write(text, after, each.kind.after)
    return bytes(text)


def _write(text: bytearray, start: int, mark: bytes) -> None:
    if start >= 0 and text[start : start + len(mark)] == b" " * len(mark):
        text[start : start + len(mark)] = mark


def _find(islands: Islands, source: bytes) -> Iterator[Found]:
    if islands.within is None:
        yield from _find_within(islands, source, 0, len(source))
        return
    for area in islands.within.finditer(source):
        yield from _find_within(islands, source, *area.span("code"))


def _find_within(islands: Islands, source: bytes, at: int, end: int) -> Iterator[Found]:
    while (match := islands.pattern.search(source, at, end)) is not None:
        number = int((match.lastgroup or "i0")[1:])
        kind = islands.kinds[number]
        group = f"c{number}" if f"c{number}" in islands.pattern.groupindex else 0
        at = max(match.end(), at + 1)
        if kind.role is Role.SKIPPED:
            continue
        first, last = match.span(group)
        if kind.extent is Extent.NESTED:
            at = _closing(source, match.end(), end)
            if at == end and kind.role is not Role.SCRIPT:
                return  # The rest of the text is not code.
            first, last = (first, min(at + 1, end)) if group else (match.end(), at)
        elif kind.extent is Extent.CHAIN:
            at = last = _end_of_chain(source, last, end)
        yield Found(kind, first, last, _TYPED.search(match[0][: first - match.start()]) is not None)


def _closing(source: bytes, at: int, end: int) -> int:
    """Return the offset of the bracket that closes one before `at`; `end` if it is not closed."""
    depth = 1
    for token in _TOKEN.finditer(source, at, end):
        if token[0] in b"([{":
            depth += 1
        elif token[0] in b")]}":
            depth -= 1
            if not depth:
                return token.start()
    return end


def _end_of_chain(source: bytes, at: int, end: int) -> int:
    while (match := _MEMBER.match(source, at, end)) is not None and match[0]:
        at = match.end()
        if match[0][-1:] in b"([":
            at = min(_closing(source, at, end) + 1, end)
    return at
