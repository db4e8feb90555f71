"""Turn a syntax tree into marks. A mark is a line at which a chunk may begin, with the definitions that begin
there.

The walk enters only types, for their members, and nodes too long for one chunk. It keeps its own stack, so
that deep nesting does not exceed the interpreter's recursion limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
BODY = re.compile(
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
    def first_row(self) -> int:
        """The first row, including leading nodes."""
        return self.leading[0].start_point[0] if self.leading else self.start_row

    @property
    def own_row(self) -> int:
        """The first row below the comments, including attributes and similar nodes."""
        row = self.start_row
        for node in reversed(self.leading):
            if node.type in COMMENTS:
                break
            row = node.start_point[0]
        return row

    @property
    def rows(self) -> int:
        """The number of rows, including those of leading nodes."""
        return self.end_row - self.first_row + 1


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

    @property
    def commented(self) -> Definition | None:
        """The definition that begins below the piece, which is a part of its comment; None if there is none.
        The piece may also have lines above the comment."""
        about = self.scope[-1] if self.scope else None
        return about if about is not None and about.own_row >= self.end else None


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
        is_long = not frame.quiet and end_row > span.first_row and self._is_long(span.first_row, end_row)
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
        elif is_long and end_row > start_row:
            if not BODY.search(node_type):
                self._mark(span.first_row, span, frame, opens=True)
            self._stack.append(_Frame(node, frame.depth + 1, frame.scope, in_function=True, first=True))
        elif not first and not frame.head and not BODY.search(node_type):
            self._mark(span.first_row, span, frame)

    def _define(
        self, node: Node, found: NamedNode, frame: _Frame, leading: list[Node], span: _Span, is_long: bool
    ) -> None:
        if self._syntax.clauses and not leading and not is_long and self._continues(found, span):
            return
        definition = _definition(found, frame.scope, leading, span)
        line = span.first_row
        own_row = definition.own_row
        if is_long and line < own_row:
            comment = self._lines.size(line, own_row)
            fits_alone = not self._is_long(own_row, span.end_row)
            if comment >= _LONG_COMMENT or (fits_alone and comment >= _SHORT_COMMENT):
                # The comment becomes one piece, and the definition becomes the next.
                self._mark(line, span, frame, opens=True).scope += (definition,)
                line = own_row
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


# The number of characters from which a chunk is full: about 190 tokens, with which ranking was measured.
MINIMUM = 750
# An end of a type or function with fewer characters joins the chunk before it, which may then exceed the
# maximum by this number.
_SCRAP = 250
# A piece with fewer characters, which is a line or two, joins any neighbour.
_LINE = 125
# Imports at the top of a file with at least this many characters become a chunk of their own.
_PREAMBLE = 300


def pack(marks: Sequence[Mark], lines: Lines) -> list[Mark]:
    """Return the marks of pieces that cover `lines`, one for each chunk. The given marks are changed."""
    pieces: list[Mark] = []
    for block in _blocks(marks, lines):
        if pieces and block.scope[: len(pieces[-1].scope)] != pieces[-1].scope:
            _join_scrap(pieces, lines)
        if pieces and _joins(pieces[-1], block, lines, is_first=len(pieces) == 1):
            if not pieces[-1].definitions and lines.size(pieces[-1].line, pieces[-1].end) < _LINE:
                pieces[-1].scope = block.scope
            pieces[-1].end = block.end
            pieces[-1].definitions.extend(block.definitions)
        else:
            _join_scrap(pieces, lines)
            pieces.append(block)
    _join_scrap(pieces, lines)
    return pieces


def _blocks(marks: Sequence[Mark], lines: Lines) -> list[Mark]:
    """Return the marks with their ends set, and further marks for pieces that are too long and are cut by
    lines."""
    blocks = []
    ends = [mark.line for mark in marks[1:]] + [len(lines)]
    for mark, end in zip(marks, ends, strict=True):
        is_long = lines.size(mark.line, end) > MAXIMUM + _SCRAP
        (_, stop), *others = lines.pieces(mark.line, end, MAXIMUM) if is_long else [(mark.line, end)]
        mark.end = stop  # Copying each mark would take longer than cutting.
        blocks.append(mark)
        # The later parts of a definition that was cut are inside this definition.
        inside = (*mark.scope, *mark.definitions[-1:])
        blocks += [Mark(start, mark.depth, inside, end=stop) for start, stop in others]
    return blocks


def _joins(piece: Mark, block: Mark, lines: Lines, is_first: bool) -> bool:
    """Return whether `block`, which follows `piece`, goes into the same chunk."""
    if _ends_cut_comment(piece, block):
        return False
    size, more = lines.size(piece.line, piece.end), lines.size(block.line, block.end)
    if size < _LINE and size + more <= MAXIMUM + _SCRAP:
        return True
    if is_first and lines.is_blank(piece.line, piece.end):
        return True
    if size >= MINIMUM or size + more > MAXIMUM:
        return False
    if size >= MINIMUM // 2 and more >= _SCRAP and block.depth < piece.depth:
        return False
    if block.opens and size >= _SCRAP:
        return False
    if is_first and size >= _PREAMBLE and _is_preamble(piece) and not _is_preamble(block):
        return False
    # A type's head may be joined with its first members, and members with each other, but not with text after
    # the type's end.
    return block.scope[: len(piece.scope)] == piece.scope


def _ends_cut_comment(piece: Mark, block: Mark) -> bool:
    """Return whether the piece is the last of several of a comment, and the definition begins below it."""
    about = piece.commented
    return about is not None and piece.line > about.first_row and about in block.definitions


def _is_preamble(piece: Mark) -> bool:
    return not piece.scope and all(definition.kind in VALUES for definition in piece.definitions)


def _join_scrap(pieces: list[Mark], lines: Lines) -> None:
    """Join the last piece to the one before it if it is blank, or too short for a chunk of its own."""
    if len(pieces) < 2:
        return
    before, last = pieces[-2:]
    if not lines.is_blank(last.line, last.end) and not _is_scrap(before, last, lines, len(pieces) == 2):
        return
    before.end = last.end
    before.definitions.extend(last.definitions)
    pieces.pop()


def _is_scrap(before: Mark, last: Mark, lines: Lines, are_first: bool) -> bool:
    if _ends_cut_comment(before, last):
        return False
    size = lines.size(last.line, last.end)
    is_inside = last.scope[: len(before.scope)] == before.scope
    is_tail = before.scope[: len(last.scope)] == last.scope and (not last.definitions or size < _LINE)
    if size >= _SCRAP or not (is_inside or is_tail):
        return False
    if are_first and size >= _LINE and _is_preamble(before) and not _is_preamble(last):
        return False
    return lines.size(before.line, before.end) + size <= MAXIMUM + _SCRAP
