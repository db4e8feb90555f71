"""Code as chunks: by syntax where there is a grammar, with names, signature and comment."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from tree_sitter import Node

from cairn.chunking.classify import file_type
from cairn.chunking.comments import comment_text, shortened
from cairn.chunking.embedded import HOSTS, with_scripts
from cairn.chunking.grammars import parse
from cairn.chunking.lines import Lines
from cairn.chunking.model import Chunk
from cairn.chunking.outline import CONTAINERS, VALUES, Definition, outline
from cairn.chunking.packing import MAXIMUM, Piece, pack
from cairn.chunking.syntax import Syntax, syntax_of
from cairn.chunking.syntax.rules import COMMENTS, text_of

# Lines of this many characters on average are not written by people, and cannot be cut by syntax.
_MINIFIED = 500
# A signature longer than this is a parameter list that nobody reads to its end.
_SIGNATURE_LIMIT = 300
# Kinds that name something which was defined elsewhere, or nothing that could be asked for.
_NAMELESS = frozenset({"impl", "extension", "test"})
# What a chunk is called after if it defines several things: types before functions before the rest.
_CALLABLE = frozenset({"function", "method", "macro", "constructor"})
_RANKS = (
    dict.fromkeys(_CALLABLE | {"test"}, 1)
    | dict.fromkeys(CONTAINERS | {"table"}, 0)
    | dict.fromkeys(("impl", "extension", "module"), 2)
)
_LAST_RANK = 3
# … unless another is this many times as long.
_MUCH_LONGER = 3
# Of Haskell and Erlang.
_TYPE_SIGNATURES = frozenset({"signature", "spec"})
_BODY_TYPE = re.compile(
    r"(?:^|_)(?:body|block|compound_statement|field_declaration_list|enum_variant_list|accessor_list|"
    r"computed_property|column_definitions|recipe)$"
)
_OTHER_CODE = re.compile(rb"[{};()]")
_ANNOTATIONS = re.compile(
    r"^(?:(?:@(?!(?:interface|implementation|protocol|mixin|function)\b)[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?|#?\[[^\]]*\]|//[^\n]*\n|/\*.*?\*/|\"\"\".*?\"\"\")\s*)+",
    re.DOTALL,
)
_LISP_HEAD = re.compile(r"\([^\[(]*(?:\[[^\]]*\]|\([^()]*\))")
_SIGNATURE_END = re.compile(r"(?:,\s*do:.*|\s+do|[\s{:;=]+)$")
# Where a file's header may stand, and what may stand before it.
_HEADER_ROWS = 5
_HEADER_NODES = 40
_BEFORE_HEADERS = frozenset(
    {"hash_bang_line", "php_tag", "package_clause", "package_declaration", "package_header"}
)


def code_chunks(path: str, language: str, lines: Lines) -> list[Chunk] | None:
    """The chunks of a source file; None if there is no syntax tree to be had for it, or nothing to gain from one."""
    if lines.size(0, len(lines)) > _MINIFIED * len(lines):
        return None
    # The parser knows only \n as a line end. As bytes, \r and \n are equally long: no position moves.
    source = re.sub(rb"\r(?!\n)", b"\n", "".join(lines.lines).encode("utf-8", "surrogatepass"))
    tree = parse(language, source)
    if tree is None:
        return None
    syntax = syntax_of(language)
    marks = outline(tree.root_node, syntax, lines, source, MAXIMUM)
    if language in HOSTS:
        marks = with_scripts(marks, tree.root_node, language, lines, source, MAXIMUM)
    pieces = pack(marks, lines)
    description = _Description(path, language, lines, source, syntax, tree.root_node)
    return [description.chunk(position, piece) for position, piece in enumerate(pieces)]


class _Description:
    """Says what the pieces of one file are."""

    def __init__(
        self, path: str, language: str, lines: Lines, source: bytes, syntax: Syntax, root: Node
    ) -> None:
        self._language = language
        self._lines = lines
        self._source = source
        self._syntax = syntax
        self._root = root
        self._stem = PurePosixPath(path).stem
        self._type = file_type(path, language, lines.text(0, len(lines)))

    def chunk(self, position: int, piece: Piece) -> Chunk:
        """The chunk of a piece."""
        main = _main_definition(piece.definitions)
        if position == 0 and main is not None and main.kind in VALUES:
            # Imports and constants at the top of a file are about the file.
            main = None
        about = main or (piece.scope[-1] if piece.scope else None)
        comment = self._comment(main) if main is not None else ""
        if position == 0 and not comment:
            comment = self._header_comment()
        names = [definition.name for definition in piece.definitions if definition.kind not in _NAMELESS]
        has_symbol = about is not None and about.kind != "test"
        return Chunk(
            position=position,
            start_line=piece.start,
            end_line=piece.end,
            text=self._lines.text(piece.start, piece.end),
            type=self._type,
            language=self._language,
            title=self._title(about),
            header_path=" > ".join((*about.path, about.name)) if about is not None else "",
            symbol=about.name if about is not None and has_symbol else "",
            symbol_kind=about.kind if about is not None and has_symbol else "",
            parent=about.owner if about is not None and has_symbol else "",
            defines=tuple(dict.fromkeys(names)),
            # Later parts of a long definition do not hold its signature.
            signature=self._signature(main) if main is not None and main.kind != "test" else "",
            comment=comment,
        )

    def _title(self, about: Definition | None) -> str:
        if about is None:
            return self._stem
        if about.kind == "test":
            return about.name
        return self._syntax.separator.join((*about.path, about.name))

    def _signature(self, definition: Definition) -> str:
        """The head of a definition up to its body."""
        for node in definition.leading:
            if node.type in _TYPE_SIGNATURES:
                return shortened(" ".join(text_of(node).split()), _SIGNATURE_LIMIT)
        node = definition.node
        start, column = node.start_byte, node.start_point[1]
        # `export const` or `private` before it on its line belong to it.
        prefix = self._source[start - column : start]
        if not _OTHER_CODE.search(prefix):
            start -= len(prefix.lstrip())
        end = _body_start(node)
        has_body = end is not None
        # Four bytes are the most that a character takes; what follows the limit need not be decoded.
        end = min(node.end_byte if end is None else end, start + 8 * _SIGNATURE_LIMIT)
        head = self._source[start:end].decode("utf-8", "replace")
        head = _ANNOTATIONS.sub("", head)
        if not has_body and (definition.kind in CONTAINERS or definition.kind in _CALLABLE):
            head = _first_line(head.partition("{")[0] if definition.kind in CONTAINERS else head)
        head = " ".join(head.split())
        return shortened(_SIGNATURE_END.sub("", head), _SIGNATURE_LIMIT)

    def _comment(self, definition: Definition) -> str:
        inside = self._syntax.docstring(definition.node)
        if inside is not None and (text := comment_text(text_of(inside))):
            return text
        is_header = bool(definition.leading) and definition.leading[0].start_point[0] <= _HEADER_ROWS
        return comment_text(_leading_comment(definition), is_header=is_header)

    def _header_comment(self) -> str:
        """What the file says about itself at its top."""
        inside = self._syntax.docstring(self._root)
        if inside is not None and inside.start_point[0] <= _HEADER_ROWS:
            return comment_text(text_of(inside), is_header=True)
        texts = []
        for node in self._root.named_children[:_HEADER_NODES]:
            if node.type in COMMENTS:
                texts.append(text_of(node))
            elif node.type not in _BEFORE_HEADERS:
                break
        return comment_text("\n".join(texts), is_header=True)


def _main_definition(definitions: list[Definition]) -> Definition | None:
    """What the chunk is called after: the first type or function that is not inside another, if there is one."""
    outer: list[Definition] = []
    for definition in definitions:
        if definition.kind in _NAMELESS and any(other.name == definition.name for other in outer):
            continue
        if (
            not outer
            or definition.start_row > outer[-1].end_row
            or len(definition.path) <= len(outer[-1].path)
        ):
            outer.append(definition)
    if not outer:
        return None
    by_rank: dict[int, list[Definition]] = {}
    for definition in outer:
        by_rank.setdefault(_RANKS.get(definition.kind, _LAST_RANK), []).append(definition)
    main, *others = [_first_or_longest(by_rank[rank]) for rank in sorted(by_rank)]
    return _first_or_longest([main, *(other for other in others if other.kind not in VALUES)])


def _first_or_longest(definitions: list[Definition]) -> Definition:
    longest = max(definitions, key=lambda definition: definition.rows)
    return longest if longest.rows >= _MUCH_LONGER * definitions[0].rows else definitions[0]


def _leading_comment(definition: Definition) -> str:
    """The comment that stands directly before a definition."""
    texts: list[str] = []
    row = definition.start_row
    for node in reversed(definition.leading):
        blank_rows = row - node.end_point[0] - (node.end_point[1] > 0)
        text = text_of(node)
        # A block comment may keep its distance, a line comment further up is about something else.
        if blank_rows > (1 if text.startswith("/*") and not texts else 0):
            break
        if node.type in COMMENTS or node.type == "string_literal" or text.startswith(("@doc", "@typedoc")):
            texts.append(text)
        row = node.start_point[0]
    return "\n".join(reversed(texts))


def _first_line(head: str) -> str:
    """The head of a definition without a node for its body: its first line, or all until its parameters end."""
    line = head.strip().partition("\n")[0]
    if line.startswith("("):
        # A Lisp: everything is in parentheses.
        match = _LISP_HEAD.match(head.strip())
        return match.group() if match else line
    return line if line.count("(") <= line.count(")") else head


def _body_start(node: Node) -> int | None:
    """The byte at which the body of a definition, or a comment before it, starts; None if it has none."""
    body = _body(node)
    if body is None:
        return None
    start = body.start_byte
    for child in node.named_children:
        if child.type in COMMENTS and child.start_byte < start:
            return child.start_byte
    return start


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    for name in ("value", "right", "rhs", "type"):
        value = node.child_by_field_name(name)
        if value is not None:
            body = value.child_by_field_name("body") or _child_like_a_body(value)
            if body is not None:
                return body
    return _child_like_a_body(node)


def _child_like_a_body(node: Node) -> Node | None:
    return next((child for child in node.named_children if _BODY_TYPE.search(child.type)), None)
