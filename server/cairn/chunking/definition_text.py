"""What a definition says apart from comments and layout: its head and its body, for comparisons."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from attrs import frozen
from tree_sitter import Node

from cairn.chunking.code import Code
from cairn.chunking.outline import BODY
from cairn.chunking.references.symbol_table import Definition
from cairn.languages.registry import syntax_of
from cairn.languages.syntax import COMMENTS, last_row

_INNER = ("definition", "declaration", "declarator", "type")
"""The fields that lead from an export or a declaration to the node with a body."""
_VALUES = ("value", "right", "default")
"""The fields with the value of a definition."""
_DEEPEST = 8
"""How many nodes are entered in search of a body."""
_MOST_LEAVES = 20_000
"""The maximum number of tokens of a definition to compare. A longer one is data."""


@frozen
class DefinitionText:
    """The tokens of a definition without comments, joined by spaces."""

    leading: str
    """The decorators and attributes before it."""
    head: str
    body: str
    """The tokens after the head, without those of definitions inside it."""


def definition_text(
    code: Code, definition: Definition, first_row: int, inside: Collection[int]
) -> DefinitionText | None:
    """Return the tokens of a definition; None if the tree does not have it.

    `first_row` is the row at which its comments and decorators begin, and `inside` has the rows of the
    definitions inside it, which are left out.
    """
    part = _tree_with(code, definition)
    node = _node_of(part.root_node, part.source, definition) if part is not None else None
    if part is None or node is None:
        return None
    body = _body_of(node)
    docstring = syntax_of(part.language).docstring(_with_body(node, body))
    end = body.start_byte if body is not None else node.end_byte
    head, rest = list[str](), list[str]()
    for leaf in _leaves(node, docstring, inside):
        (head if leaf.start_byte < end else rest).append(_text(part.source, leaf))
    top = _outermost(node, first_row)
    leading = (
        _text(part.source, leaf) for each in _before(top, node, first_row) for leaf in _leaves(each, None, ())
    )
    return DefinitionText(" ".join(leading), " ".join(head), " ".join(rest))


def code_tokens(code: Code, rows: Collection[int]) -> str:
    """Return the tokens on these rows without comments."""
    if code.tree is None or not rows:
        return ""
    leaves = _leaves(code.tree.root_node, None, (), range(min(rows), max(rows) + 1))
    return " ".join(_text(code.source, leaf) for leaf in leaves if leaf.start_point[0] in rows)


@frozen
class _Part:
    language: str
    root_node: Node
    source: bytes


def _tree_with(code: Code, definition: Definition) -> _Part | None:
    """Return the tree that contains the definition: of the file, or of a script in it."""
    row = definition.line
    if code.embedded is not None:
        for part in code.embedded.parts:
            rows = part.rows(code.source)
            if not part.opening and any(first <= row <= last for first, last in rows):
                return _Part(part.language, part.tree.root_node, part.source)
    return _Part(code.language, code.tree.root_node, code.source) if code.tree is not None else None


def _node_of(root: Node, source: bytes, definition: Definition) -> Node | None:
    """Return the largest node whose rows are those of the definition, around its name."""
    column = _byte_column(source, definition)
    node = root.descendant_for_point_range((definition.line, column), (definition.line, column))
    if node is None or node == root:
        return None
    while (parent := node.parent) is not None and parent.parent is not None:
        if parent.start_point[0] < definition.start_line or last_row(parent) >= definition.end_line:
            break
        node = parent
    return node


def _byte_column(source: bytes, definition: Definition) -> int:
    rows = source.split(b"\n", definition.line + 1)
    line = rows[definition.line] if definition.line < len(rows) else b""
    if line.isascii():
        return definition.character
    units = line.decode("utf-8", "replace").encode("utf-16-le")[: 2 * definition.character]
    return len(units.decode("utf-16-le", "replace").encode())


def _body_of(node: Node) -> Node | None:
    """Return the node of a definition's body or value; None if it is a head alone."""
    value: Node | None = None
    for _ in range(_DEEPEST):
        body = node.child_by_field_name("body")
        body = body or next((each for each in node.named_children if BODY.search(each.type)), None)
        if body is not None:
            return body
        inner = _field(node, _VALUES)
        value = value or inner
        children = [each for each in node.named_children if each.type not in COMMENTS]
        if value is None:
            inner = _field(node, _INNER) or max(children, key=_size, default=None)
        elif inner is None:
            inner = children[0] if len(children) == 1 else None
        if inner is None or (value is None and _size(inner) < _size(node) / 2):
            break
        node = inner
    return value


def _field(node: Node, names: Sequence[str]) -> Node | None:
    return next(filter(None, map(node.child_by_field_name, names)), None)


def _size(node: Node) -> int:
    return node.end_byte - node.start_byte


def _with_body(node: Node, body: Node | None) -> Node:
    """Return the node of which the body is a child, which the rules for docstrings expect."""
    return body.parent if body is not None and body.parent is not None else node


def _outermost(node: Node, first_row: int) -> Node:
    """Return the largest node that begins at or below `first_row` and ends with this one."""
    while (parent := node.parent) is not None and parent.parent is not None:
        if parent.start_point[0] < first_row or parent.end_byte != node.end_byte:
            break
        node = parent
    return node


def _before(top: Node, node: Node, first_row: int) -> Iterator[Node]:
    """Yield the decorators and attributes of a definition, inside or before the node around it."""
    if top != node:
        yield from (each for each in top.children if each.end_byte <= node.start_byte)
    found = []
    before = top.prev_sibling
    while before is not None and before.start_point[0] >= first_row:
        found.append(before)
        before = before.prev_sibling
    yield from reversed(found)


def _leaves(
    node: Node, without: Node | None, without_rows: Collection[int], only: range | None = None
) -> Iterator[Node]:
    """Yield the leaves of a node that are not comments."""
    stack, count = [node], 0
    while stack and count < _MOST_LEAVES:
        here = stack.pop()
        if here.type in COMMENTS or here == without:
            continue
        first, last = here.start_point[0], here.end_point[0]
        if only is not None and (last < only.start or first >= only.stop):
            continue
        if here.child_count:
            stack.extend(reversed(here.children))
        elif first not in without_rows:
            count += 1
            yield here


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
