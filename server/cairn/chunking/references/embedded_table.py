"""Build the symbol table of a file from its own code and the code that it embeds."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter

from attrs import evolve, frozen

from cairn.chunking.islands import Embedded, ParsedPart, component_name, handled
from cairn.chunking.references.extraction import symbol_table
from cairn.chunking.references.symbol_table import (
    TEMPLATE,
    TOP_LEVEL,
    Definition,
    Reference,
    ReferenceKind,
    SymbolTable,
)
from cairn.languages.imports import DEFAULT, Import
from cairn.languages.registry import facts_of

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[\w$]")
_HERE = -2
"""The `enclosing` of a reference at the top level of a template, until the definition around it is known."""
_NEAR = 100
"""The maximum number of definitions before a place to search for the one that encloses it."""


def embedded_table(own: SymbolTable | None, embedded: Embedded, source: bytes) -> SymbolTable | None:
    """Return the table of all names, given the table of the file's own code; None if there are no names.

    The names that the template uses by themselves have the receiver TEMPLATE.
    """
    scripts, uses = [own] if own is not None else [], []
    places = _Places.of(source)
    for part in embedded.parts:
        table = symbol_table(part.language, part.tree, part.source)
        if table is None:
            continue
        table = _moved(table, part.opening)
        if part.is_script:
            scripts.append(table)
        else:
            uses.append(_in_template(table, part, places, source))
    table = _joined([*scripts, *uses])
    language = own.language if own is not None else _language(embedded, scripts)
    imports = (*table.imports, *_imports(embedded, source))
    table = evolve(table, language=language, imports=imports)
    elements = tuple(_elements(embedded, table, places, source))
    table = evolve(table, references=tuple(sorted((*table.references, *elements), key=_place)))
    if embedded.islands.is_component:
        table = _with_component(table, embedded.component, len(places.starts))
    table = _in_next_class(table) if embedded.islands.within is not None else _enclosed(table)
    return table if table.definitions or table.references or table.imports else None


@frozen
class _Places:
    """The beginnings of the rows of a text, as byte offsets."""

    source: bytes
    starts: list[int]

    @classmethod
    def of(cls, source: bytes) -> _Places:
        return cls(source, [0, *(match.end() for match in re.finditer(rb"\n", source))])

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the character (in UTF-16 code units) of a byte offset."""
        line = bisect_right(self.starts, offset) - 1
        before = self.source[self.starts[line] : offset].decode("utf-8", "replace")
        return line, len(before) if before.isascii() else len(before.encode("utf-16-le")) // 2


_place = attrgetter("line", "character")


def _language(embedded: Embedded, scripts: Sequence[SymbolTable]) -> str:
    """Return the language of the table. Typed scripts are in another language of the same family."""
    family = facts_of(embedded.islands.language).family
    found = (each.language for each in scripts if facts_of(each.language).family == family)
    return next(found, embedded.islands.language)


def _moved(table: SymbolTable, opening: int) -> SymbolTable:
    """Return the table of a text that begins with `opening` further characters, without these."""
    if not opening:
        return table
    return evolve(
        table,
        definitions=tuple(
            each if each.line else evolve(each, character=max(0, each.character - opening))
            for each in table.definitions
        ),
        references=tuple(
            each if each.line else each._replace(character=each.character - opening)
            for each in table.references
            if each.line or each.character >= opening
        ),
    )


def _in_template(table: SymbolTable, part: ParsedPart, places: _Places, source: bytes) -> SymbolTable:
    """Return the table of a template's code, in which a function that a handler names is called."""
    called = {places.place(offset) for offset in handled(part.found, source)}
    references = []
    for each in table.references:
        if not _WORD.match(each.name):
            continue  # This is a name of `before`, of which the file has no text.
        kind = ReferenceKind.CALL if _place(each) in called else each.kind
        enclosing = _HERE if each.enclosing == TOP_LEVEL else each.enclosing
        receiver = each.receiver or TEMPLATE
        references.append(Reference(each.name, kind, each.line, each.character, enclosing, receiver))
    return evolve(table, references=tuple(references), imports=(), namespace="")


def _imports(embedded: Embedded, source: bytes) -> Iterator[Import]:
    read = facts_of(embedded.islands.imports).imports.names
    for each in embedded.imports():
        yield from read(each.text(source))


def _elements(embedded: Embedded, table: SymbolTable, places: _Places, source: bytes) -> Iterator[Reference]:
    """Yield the calls of components: of those that the file imports or, in a language in which files need not
    import components, of all."""
    known = {each.name for each in table.imports}
    is_free = table.language == "csharp"
    for each in embedded.elements():
        tag = each.text(source)
        name = tag if tag in known or is_free else component_name(tag)
        if name in known or is_free:
            yield Reference(name, ReferenceKind.CALL, *places.place(each.start), _HERE, TEMPLATE)


def _with_component(table: SymbolTable, name: str, lines: int) -> SymbolTable:
    """Return the table with the component that other files import as the file's default export."""
    if not _NAME.fullmatch(name) or any(each.name == name for each in table.definitions):
        return table
    component = SymbolTable(definitions=(Definition(name, "module", "", TOP_LEVEL, 0, lines, 0, 0),))
    exported = any(each.name == DEFAULT for each in table.imports)
    imports = table.imports if exported else (*table.imports, Import(DEFAULT, None, name))
    return evolve(_joined([component, table]), language=table.language, imports=imports)


def _enclosed(table: SymbolTable) -> SymbolTable:
    """Return the table in which each name of the template is enclosed by the innermost definition there."""
    starts = [each.start_line for each in table.definitions]

    @cache
    def innermost(line: int) -> int:
        last = bisect_right(starts, line)
        near = chain(range(last - 1, max(-1, last - 1 - _NEAR), -1), range(min(1, last)))
        return next((number for number in near if table.definitions[number].end_line > line), TOP_LEVEL)

    return _with_enclosing(table, innermost)


def _in_next_class(table: SymbolTable) -> SymbolTable:
    """Return the table in which each name of the template is enclosed by the class below it, or around it."""
    classes = [(each.end_line, n) for n, each in enumerate(table.definitions) if each.kind == "class"]

    @cache
    def next_class(line: int) -> int:
        return next((number for end, number in classes if end > line), TOP_LEVEL)

    return _with_enclosing(table, next_class)


def _with_enclosing(table: SymbolTable, enclosing: Callable[[int], int]) -> SymbolTable:
    return evolve(
        table,
        references=tuple(
            each._replace(enclosing=enclosing(each.line)) if each.enclosing == _HERE else each
            for each in table.references
        ),
    )


def _joined(tables: Sequence[SymbolTable]) -> SymbolTable:
    """Return the names of all tables in one table, in the order in which they are in the file."""
    are_several = sum(bool(table.definitions) for table in tables) > 1
    tables = _renumbered(tables) if are_several else tables
    definitions = [each for table in tables for each in table.definitions]
    references = (each for table in tables for each in table.references)
    return SymbolTable(
        definitions=tuple(sorted(definitions, key=_lines) if are_several else definitions),
        references=tuple(sorted(references, key=_place)),
        variables=tuple(each for table in tables for each in table.variables),
        imports=tuple(each for table in tables for each in table.imports),
        namespace=next((table.namespace for table in tables if table.namespace), ""),
    )


def _renumbered(tables: Sequence[SymbolTable]) -> list[SymbolTable]:
    """Return the tables with the numbers that their definitions have in the order of `_lines`."""
    every = [
        (_lines(each), place, n)
        for place, table in enumerate(tables)
        for n, each in enumerate(table.definitions)
    ]
    numbers = [[TOP_LEVEL] * len(table.definitions) for table in tables]
    for number, (_, place, n) in enumerate(sorted(every)):
        numbers[place][n] = number

    def moved(table: SymbolTable, number: list[int]) -> SymbolTable:
        def of(n: int) -> int:
            return number[n] if n >= 0 else n

        return evolve(
            table,
            definitions=tuple(evolve(each, parent=of(each.parent)) for each in table.definitions),
            references=tuple(each._replace(enclosing=of(each.enclosing)) for each in table.references),
            variables=tuple(evolve(each, scope=of(each.scope)) for each in table.variables),
        )

    return [moved(table, number) for table, number in zip(tables, numbers, strict=True)]


def _lines(definition: Definition) -> tuple[int, int]:
    return definition.start_line, -definition.end_line
