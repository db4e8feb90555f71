"""Read the head of a definition: its text before the body."""

from __future__ import annotations

import re

from tree_sitter import Node

from cairn.chunking.comments import shortened
from cairn.chunking.outline import CALLABLE, CONTAINERS, Definition
from cairn.languages.syntax import COMMENTS, text_of

_SIGNATURE_LIMIT = 300
_TYPE_SIGNATURES = frozenset({"signature", "spec"})
_BODY_TYPE = re.compile(
    r"(?:^|_)(?:body|block|compound_statement|field_declaration_list|enum_variant_list|accessor_list|"
    r"computed_property|column_definitions|recipe)$"
)
_OTHER_CODE = re.compile(rb"[{};()]")
# The patterns of annotations, attributes, comments and GraphQL's descriptions. Some languages have keywords
# after @.
_BEFORE_HEAD = re.compile(
    r"""\s*(?:
        (?: @(?!(?:interface|implementation|protocol|mixin|function)\b)[\w.]+ (?:\((?:[^()]|\([^()]*\))*\))?
          | \#?\[[^\]]*\] | //[^\n]*\n | /\*.*?\*/ | \"{3}.*?\"{3}
        )\s*
    )+""",
    re.DOTALL | re.VERBOSE,
)
_LISP_HEAD = re.compile(r"\([^\[(]*(?:\[[^\]]*\]|\([^()]*\))")
_SIGNATURE_END = re.compile(r"(?:,\s*do:.*|\s+do|[\s{:;=]+)$")


def signature_of(definition: Definition, source: bytes) -> str:
    """Return the head of a definition up to its body in `source` (UTF-8), with whitespace collapsed.

    Annotations and comments before it are left out. A type signature that leads the definition is its head.
    The result has at most 300 characters, enough for readers of a longer parameter list.
    """
    for node in definition.leading:
        if node.type in _TYPE_SIGNATURES:
            return shortened(" ".join(text_of(node).split()), _SIGNATURE_LIMIT)
    node = definition.node
    start, column = node.start_byte, node.start_point[1]
    # `export const` or `private` before it on the same line is part of the head.
    prefix = source[start - column : start]
    if not _OTHER_CODE.search(prefix):
        start -= len(prefix.lstrip())
    end = _body_start(node)
    has_body = end is not None
    # A character has at most four bytes; text past the limit need not be decoded.
    end = min(node.end_byte if end is None else end, start + 8 * _SIGNATURE_LIMIT)
    head = source[start:end].decode("utf-8", "replace")
    if before := _BEFORE_HEAD.match(head):
        head = head[before.end() :]
    if not has_body and (definition.kind in CONTAINERS or definition.kind in CALLABLE):
        head = _first_line(head.partition("{")[0] if definition.kind in CONTAINERS else head)
    head = " ".join(head.split())
    return shortened(_SIGNATURE_END.sub("", head), _SIGNATURE_LIMIT)


def _first_line(head: str) -> str:
    """Return the head of a definition without a body: its first line, or all up to its parameters' end."""
    line = head.strip().partition("\n")[0]
    if line.startswith("("):
        match = _LISP_HEAD.match(head.strip())
        return match.group() if match else line
    return line if line.count("(") <= line.count(")") else head


def _body_start(node: Node) -> int | None:
    """Return the first byte of a definition's body, or of a comment before it; None without a body."""
    body = _body(node)
    if body is None:
        return None
    start = body.start_byte
    for child in node.named_children:
        if child.type in COMMENTS and child.start_byte < start:
            return child.start_byte
    return start


def _body(node: Node) -> Node | None:
    if body := node.child_by_field_name("body"):
        return body
    for value in map(node.child_by_field_name, ("value", "right", "rhs", "type")):
        if value and (body := value.child_by_field_name("body") or _child_like_a_body(value)):
            return body
    return _child_like_a_body(node)


def _child_like_a_body(node: Node) -> Node | None:
    return next((child for child in node.named_children if _BODY_TYPE.search(child.type)), None)
