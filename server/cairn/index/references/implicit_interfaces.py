"""Interfaces that types satisfy without naming them, as in Go."""

from __future__ import annotations

import posixpath

from cairn.index.references.known_symbols import Symbol, SymbolTables


def interfaces_of(tables: SymbolTables, method: Symbol) -> list[Symbol]:
    """Return the methods of interfaces that a method of a type implements."""
    if method.family != "go" or not method.definition.owner:
        return []
    return [
        each
        for each in tables.definitions_in("go", method.name)
        if (interface := _interface_of(each)) is not None
        and _owner(method) in _owners_of_all(tables, _methods(interface))
    ]


def satisfying(tables: SymbolTables, interface: Symbol, method: str) -> list[Symbol]:
    """Return the methods of that name by which types satisfy an interface of Go."""
    if interface.family != "go" or interface.kind != "interface":
        return []
    owners = _owners_of_all(tables, _methods(interface))
    found = tables.definitions_in("go", method)
    return [each for each in found if _owner(each) in owners and _interface_of(each) is None]


def is_by_chance(method: Symbol) -> bool:
    """Whether types may have the method of an interface without meaning the interface, which has no other."""
    interface = _interface_of(method) if method.family == "go" else None
    return interface is not None and len(_methods(interface)) == 1


def _methods(interface: Symbol) -> list[str]:
    table = interface.table
    inside = table.within(interface.number)
    return [table.name(each) for each in inside if table.parent(each) == interface.number]


def _owners_of_all(tables: SymbolTables, methods: list[str]) -> set[tuple[str, str]]:
    owners = [set(map(_owner, tables.definitions_in("go", each))) for each in methods]
    return {(folder, name) for folder, name in set.intersection(*owners) if name} if owners else set()


def _owner(method: Symbol) -> tuple[str, str]:
    """Return the folder and the name of the type of a method."""
    return posixpath.dirname(method.path), method.definition.owner


def _interface_of(method: Symbol) -> Symbol | None:
    interface = method.at(method.parent) if method.parent >= 0 else None
    return interface if interface is not None and interface.kind == "interface" else None
