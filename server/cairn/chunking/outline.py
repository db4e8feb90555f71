"""Turn a syntax tree into marks. A mark is a line at which a chunk may begin, with the definitions that begin
there.

The walk enters only types, for their members, and nodes too long for one chunk. It keeps its own stack, so
that deep nesting does not exceed the interpreter's recursion limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import define, field, setters
from tree_sitter import Node

from cairn.chunking.lines import Lines
from cairn.languages.syntax import COMMENTS, PROTOTYPE, NamedNode, Rule, Syntax, generic_rule, last_row

# The desired maximum length of a chunk in characters: about 375 tokens, with which ranking was measured.
MAXIMUM = 1500
# Kinds of definitions whose bodies contain definitions.
CONTAINERS = frozenset(
    {"class", "interface", "struct", "union", "trait", "enum", "object", "impl", "extension", "module"}
)
# Kinds that make a function inside them a method.
TYPES = CONTAINERS - {"module"}
CALLABLE = frozenset({"function", "method", "macro", "constructor", PROTOTYPE})
# Kinds that count as definitions at the top of a file and in types, but not in functions.
VALUES = frozenset({"constant", "variable", "field", "property", "target"})
# The numbers of characters from which a comment is long, and up to which it is short, if it does not fit into
# one chunk with its definition. A long comment becomes a chunk of its own, and a short one stays with its
# definition. A comment in between stays if the definition is cut anyway.
_LONG_COMMENT = 750
_SHORT_COMMENT = 250
# The pattern of the node types of bodies. A cut there would separate a head from its body.
_BODY = re.compile(
    r"(?:^|_)(?:block|body|statements|statement_list|compound_statement|declarations|suite|then)$"
)


@define(eq=False)
class Definition:
    """A named definition, its place, and the definitions around it."""

    name: str
    kind: str
    owner: str
    """The name of the type or module that the definition belongs to, "" for none."""
    path: tuple[str, ...]
    node: Node
    leading: list[Node]
    """The comments, attributes and similar nodes directly before the definition."""
    start_row: int
    end_row: int

    @property
    def rows(self) -> int:
        """The number of rows, including those of leading nodes."""
        first_row = self.leading[0].start_point[0] if self.leading else self.start_row
        return self.end_row - first_row + 1


@define(eq=False)
class Mark:
    """A line at which a chunk may begin. The piece from this line extends to the next mark, or to `end`."""

    line: int
    depth: int
    """The number of opened nodes around the mark. A cut at a lower depth is better."""
    scope: tuple[Definition, ...]
    definitions: list[Definition] = field(factory=list)
    opens: bool = False
    """Whether the mark is the head of an opened node."""
    end: int = 0
    """The line before which the piece ends, set when the marks are packed."""


@define(eq=False)
class _Span:
    first_row: int
    """The first row, including leading comments."""
    start_row: int
    end_row: int
    starts_row: bool
    """Whether only whitespace is before the span in its first row."""


def _children(node: Node) -> Iterator[Node]:
    return iter(node.named_children)


# Without NO_OP, attrs also runs code whenever `first` is set, which took longer than setting it.
@define(eq=False, on_setattr=setters.NO_OP)
class _Frame:
    """The children of a node that are still to be visited, and how to treat them."""

    nodes: Iterator[Node] = field(converter=_children)
    depth: int
    scope: tuple[Definition, ...]
    quiet: bool = False
    """Whether all of these nodes belong to the last mark."""
    in_function: bool = False
    first: bool = False
    """Whether the next node is the first node of a body. It stays with the head before the body."""
    head: bool = False
    """Whether the nodes are the parts of a head and its body: a chunk may begin only inside a long one."""


def outline(root: Node, syntax: Syntax, lines: Lines, source: bytes) -> list[Mark]:
    """Return the marks of a tree in the order of their lines. The first mark is at line 0. `source` is the
    UTF-8 text that was parsed, with `\\n` wherever `lines` ends a line."""
    return _Walk(syntax, lines, source).walk(root)


class _Walk:
    def __init__(self, syntax: Syntax, lines: Lines, source: bytes) -> None:
        self._syntax = syntax
        self._rules: dict[str, Rule | None] = {**syntax.rules}
        self._leading_types = COMMENTS | syntax.leading
        self._generic = not self._rules
        self._lines = lines
        self._rows = source.split(b"\n")
        self._marks = [Mark(0, 0, ())]
        self._leading: list[Node] = []
        self._stack: list[_Frame] = []

    def walk(self, root: Node) -> list[Mark]:
        self._stack.append(_Frame(root, 0, ()))
        while self._stack:
            frame = self._stack[-1]
            if (node := next(frame.nodes, None)) is not None:
                self._visit(node, frame)
            else:
                self._stack.pop()
        return self._marks

    def _visit(self, node: Node, frame: _Frame) -> None:
        syntax, node_type = self._syntax, node.type
        start_row, start_column = node.start_point
        if start_row >= len(self._lines):
            return  # The parser adds a token that is missing at the end of broken text, below the last line.
        if node_type in self._leading_types or (
            node_type in syntax.leading_if and syntax.leading_if[node_type](node)
        ):
            if self._is_first_on_row(start_row, start_column):
                if self._leading and not self._touches(self._leading[-1], start_row):
                    self._leading = []
                self._leading.append(node)
            return
        first, frame.first = frame.first, False
        end_row = last_row(node)
        if node_type in syntax.detached_bodies:
            self._enter_detached_body(node, frame, end_row)
            return
        # These nodes lead the current one if there are only blank lines between.
        leading, self._leading = self._leading, []
        if leading and not self._touches(leading[-1], start_row):
            leading = []
        span = _Span(
            leading[0].start_point[0] if leading else start_row,
            start_row,
            end_row,
            bool(leading) or self._is_first_on_row(start_row, start_column),
        )
        is_long = not frame.quiet and end_row > start_row and self._is_long(span.first_row, end_row)
        found = self._find(node, node_type)
        if found is not None and frame.in_function and (found.kind in VALUES or end_row == start_row):
            found = None
        if found is not None:
            self._define(node, found, frame, leading, span, is_long)
        elif (
            node_type in syntax.wrappers
            or (node_type in syntax.sections and not frame.in_function)
            or node_type == "ERROR"
        ):
            if not first:
                self._mark(span.first_row, span, frame, opens=is_long)
            # The nodes that lead a wrapper lead the definition in it.
            self._leading = leading
            quiet = frame.quiet or not is_long
            self._stack.append(_Frame(node, frame.depth, frame.scope, quiet, frame.in_function, first))
        elif is_long:
            if not _BODY.search(node_type):
                self._mark(span.first_row, span, frame, opens=True)
            self._stack.append(_Frame(node, frame.depth + 1, frame.scope, in_function=True, first=True))
        elif not first and not frame.head and not _BODY.search(node_type):
            self._mark(span.first_row, span, frame)

    def _define(
        self, node: Node, found: NamedNode, frame: _Frame, leading: list[Node], span: _Span, is_long: bool
    ) -> None:
        if self._syntax.clauses and not leading and not is_long and self._continues(found, span):
            return
        definition = _definition(found, frame.scope, leading, span)
        line = span.first_row
        if is_long and line < span.start_row:
            comment = self._lines.size(line, span.start_row)
            fits_alone = not self._is_long(span.start_row, span.end_row)
            if comment >= _LONG_COMMENT or (fits_alone and comment >= _SHORT_COMMENT):
                # The comment becomes one piece, and the definition becomes the next.
                self._mark(line, span, frame, opens=True).scope += (definition,)
                line = span.start_row
            is_long = not fits_alone
        self._mark(line, span, frame, opens=is_long).definitions.append(definition)
        inside = (*frame.scope, definition)
        if found.kind in CONTAINERS:
            body = found.node.child_by_field_name("body") or found.node
            self._stack.append(_Frame(body, frame.depth + 1, inside, quiet=frame.quiet or not is_long))
        elif is_long:
            self._stack.append(_Frame(node, frame.depth + 1, inside, in_function=True, head=True))

    def _continues(self, found: NamedNode, span: _Span) -> bool:
        """Return whether this is another clause of the previous function, and fits into the same chunk."""
        last = self._marks[-1]
        previous = last.definitions[-1] if last.definitions else None
        if previous is None or previous.name != found.name or self._is_long(last.line, span.end_row):
            return False
        previous.end_row = span.end_row
        return True

    def _enter_detached_body(self, node: Node, frame: _Frame, end_row: int) -> None:
        """Visit the body of the function whose head is the previous node."""
        definitions = self._marks[-1].definitions
        scope = frame.scope
        if definitions:
            definitions[-1].end_row = end_row
            scope = (*scope, definitions[-1])
        if not frame.quiet and self._is_long(node.start_point[0], end_row):
            self._stack.append(_Frame(node, frame.depth + 1, scope, in_function=True, first=True))

    def _find(self, node: Node, node_type: str) -> NamedNode | None:
        if self._generic and node_type not in self._rules:
            self._rules[node_type] = generic_rule(node_type)
        rule = self._rules.get(node_type)
        found = rule(node) if rule is not None else None
        return found if found is not None and (found.name or found.kind == "test") else None

    def _mark(self, line: int, span: _Span, frame: _Frame, *, opens: bool = False) -> Mark:
        """Return a mark at `line`, or the last mark if no chunk may begin there."""
        last = self._marks[-1]
        if frame.quiet or line < last.line or not span.starts_row:
            return last
        if line > last.line:
            last = Mark(line, frame.depth, frame.scope)
            self._marks.append(last)
        last.opens = last.opens or opens
        return last

    def _touches(self, before: Node, row: int) -> bool:
        next_row = last_row(before) + 1
        return next_row >= row or self._lines.is_blank(next_row, row)

    def _is_long(self, first_row: int, last_row: int) -> bool:
        return self._lines.size(first_row, last_row + 1) > MAXIMUM

    def _is_first_on_row(self, row: int, column: int) -> bool:
        return not self._rows[row][:column].strip()


def _definition(
    found: NamedNode, scope: tuple[Definition, ...], leading: list[Node], span: _Span
) -> Definition:
    path = (*scope[-1].path, scope[-1].name) if scope else ()
    kind, owner = found.kind, found.owner
    if scope and scope[-1].kind in TYPES:
        kind = {"function": "method", PROTOTYPE: "method", "variable": "field"}.get(kind, kind)
    if owner and path[-1:] != (owner,):
        path = (*path, owner)
    elif not owner and scope and scope[-1].kind != "test":
        owner = scope[-1].name
    return Definition(found.name, kind, owner, path, found.node, leading, span.start_row, span.end_row)
