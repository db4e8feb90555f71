"""Where names stand in nodes and in their texts."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node


def occurrences(word: bytes, text: bytes) -> Iterator[int]:
    """Where a word stands in a text; to compile a pattern for each name takes longer than all else."""
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at] if at else b"", text[at + len(word) : at + len(word) + 1]
        if not (_is_letter(before) or _is_letter(after)):
            yield at
        at = text.find(word, at + 1)


def _is_letter(byte: bytes) -> bool:
    return byte.isalnum() or byte in (b"_", b"$")


def declared_name(node: Node) -> Node | None:
    """The name in a declarator of C; None for a function's."""
    while node.type.endswith("declarator"):
        inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
        if inner is None or (node.type == "function_declarator" and inner.type != "parenthesized_declarator"):
            return None
        node = inner
    return node


def last_row(node: Node) -> int:
    """The last row of which a node has a character."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row
