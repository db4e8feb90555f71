"""Read names and declarations from syntax nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tree_sitter import Node

from cairn.chunking.references.chains import LONGEST, UNKNOWN

_CALLED = ("function", "constructor", "type", "name")
"""The fields of a call that may contain the called expression."""
_ACCESSOR = re.compile(rb"property\b|\.(?:setter|getter|deleter)\b|\breify\b")


def occurrences(word: bytes, text: bytes) -> Iterator[int]:
    """Yield the offsets of the whole word `word`. Compiling a pattern for each word would take longer."""
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at] if at else b"", text[at + len(word) : at + len(word) + 1]
        if not (_is_letter(before) or _is_letter(after)):
            yield at
        at = text.find(word, at + 1)


def _is_letter(byte: bytes) -> bool:
    return byte.isalnum() or byte in (b"_", b"$")


def declared_name(node: Node) -> Node | None:
    """Return the name in a declarator in C; None for a function's declarator."""
    while node.type.endswith("declarator"):
        inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
        if inner is None or (node.type == "function_declarator" and inner.type != "parenthesized_declarator"):
            return None
        node = inner
    return node


def head_of_call(node: Node) -> str:
    """Return the text of an expression. For one that is too long, return what it calls, followed by `()`."""
    calls = ""
    while node.end_byte - node.start_byte >= LONGEST:
        called = next(filter(None, map(node.child_by_field_name, _CALLED)), None)
        calls = "()" if called is not None else calls
        inner = called or next(iter(node.named_children), None)
        if inner is None:
            return UNKNOWN
        node = inner
    return (node.text or b"").decode("utf-8", "replace") + calls


def first(found: Mapping[str, Sequence[Node]], capture: str) -> Node | None:
    nodes = found.get(capture)
    return nodes[0] if nodes else None


def is_static(node: Node) -> bool:
    return any(
        child.type == "storage_class_specifier" and child.text == b"static" for child in node.children[:3]
    )


def is_accessor(node: Node, language: str) -> bool:
    """Return whether reading or writing a member calls the function: `@property`, `get x()` of JavaScript."""
    if language != "python":
        return node.type == "method_definition" and any(
            child.type in ("get", "set") for child in node.children
        )
    around = node.parent  # This searches the tree, so the fast check comes first.
    if around is None or around.type != "decorated_definition":
        return False
    return any(_ACCESSOR.search(each.text or b"") for each in around.children if each.type == "decorator")
