"""Cut source code by its syntax tree, and find the names, signature and comment of each chunk."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath

from attrs import evolve, frozen
from tree_sitter import Node, Tree

from cairn.chunking.classify import file_type
from cairn.chunking.comments import comment_text, shortened
from cairn.chunking.grammars import parse
from cairn.chunking.islands import Embedded, embedded
from cairn.chunking.lines import Lines
from cairn.chunking.model import Chunk
from cairn.chunking.outline import CALLABLE, CONTAINERS, VALUES, Definition, Mark, outline, pack
from cairn.chunking.references.embedded_table import embedded_table
from cairn.chunking.references.extraction import symbol_table
from cairn.chunking.references.symbol_table import SymbolTable
from cairn.languages.registry import facts_of, syntax_of
from cairn.languages.syntax import COMMENTS, Syntax, text_of

_DOC_COMMENT = re.compile(rb"^([ \t]*)/\*\*(?!/)", re.MULTILINE)
# The maximum average number of characters per line. A file with more was written by a program, and is not cut
# by syntax.
_MINIFIED = 500
# Kinds of definitions whose names users do not search for: an impl's type is defined elsewhere, a test's name
# is a sentence.
_NAMELESS = frozenset({"impl", "extension", "test"})
# The ranks of definitions: a chunk is named after a type rather than a function, or else after any other.
_RANKS = (
    dict.fromkeys(CALLABLE | {"test"}, 1)
    | dict.fromkeys(CONTAINERS | {"table"}, 0)
    | dict.fromkeys(("impl", "extension", "module"), 2)
)
# A definition of a later rank names the chunk if it has this many times as many rows.
_MUCH_LONGER = 3
# A header comment begins within these numbers of rows and nodes, possibly after nodes of these types.
_HEADER_ROWS = 5
_HEADER_NODES = 40
_BEFORE_HEADERS = frozenset(
    {"hash_bang_line", "php_tag", "package_clause", "package_declaration", "package_header"}
)


@frozen
class Code:
    """A source file with its syntax tree, and the code that it embeds."""

    language: str
    tree: Tree | None
    """The syntax tree; None for a language of templates without a grammar."""
    source: bytes
    """The UTF-8 text that was parsed, with every line end as `\n`."""
    embedded: Embedded | None = None


def parse_code(path: str, language: str, lines: Lines) -> Code | None:
    """Return the parsed source file, or None if it is minified or cannot be parsed."""
    if not language or not facts_of(language).is_parsed:
        return None  # Headings, sections and keys are read line by line.
    if lines.size(0, len(lines)) > _MINIFIED * len(lines):
        return None
    # For the parser, only \n ends a line. \r and \n have equal length, so positions stay the same.
    source = re.sub(rb"\r(?!\n)", b"\n", lines.text(0, len(lines)).encode("utf-8", "surrogatepass"))
    if language == "groovy":
        # After some doc comments, the grammar takes the rest of the file for the comment's text.
        source = _DOC_COMMENT.sub(rb"\1/* ", source)
    tree = parse(language, source)
    inner = embedded(language, path, source)
    if tree is None and (inner is None or not inner.parts):
        return None
    return Code(language, tree, source, inner)


def code_chunks(path: str, code: Code, lines: Lines) -> list[Chunk]:
    language, source = code.language, code.source
    root = code.tree.root_node if code.tree is not None else None
    syntax = syntax_of(language)
    marks = outline(root, syntax, lines, source) if root is not None else [Mark(0, 0, ())]
    if code.embedded is not None:
        marks, source = _with_scripts(marks, code.embedded, lines, source)
    chunk_type = file_type(path, language, lines.text(0, len(lines)))
    stem = PurePosixPath(path).stem
    chunks: list[Chunk] = []
    for position, piece in enumerate(pack(marks, lines)):
        text = lines.text(piece.line, piece.end)
        make = partial(Chunk, position, piece.line, piece.end, text, chunk_type, language, title=stem)
        chunk = _described(make, position == 0, piece, syntax, source)
        if position == 0 and root is not None and not chunk.comment:
            chunk = evolve(chunk, comment=_header_comment(root, syntax))
        chunks.append(chunk)
    return chunks


def definitions_of(code: Code) -> SymbolTable | None:
    """Return the symbol table without references or variables; None for a language without queries."""
    if code.tree is None or code.embedded is not None:
        return symbols_of(code)
    return symbol_table(code.language, code.tree, code.source, definitions_only=True)


def symbols_of(code: Code) -> SymbolTable | None:
    """Return the symbol table of a source file, or None for a language without queries for references."""
    own = symbol_table(code.language, code.tree, code.source) if code.tree is not None else None
    return embedded_table(own, code.embedded, code.source) if code.embedded is not None else own


def _with_scripts(
    marks: list[Mark], embedded: Embedded, lines: Lines, source: bytes
) -> tuple[list[Mark], bytes]:
    """Return `marks` of a host file, with those of its scripts in place of those inside the scripts, and the
    text in which the positions of their nodes are."""
    text = source
    for part in embedded.parts:
        if not part.is_script:
            continue
        inside = {row for first, last in part.rows(source) for row in range(first + 1, last + 1)}
        inner = outline(part.tree.root_node, syntax_of(part.language), lines, part.source)
        marks = [mark for mark in marks if mark.line not in inside]
        marks += [mark for mark in inner if mark.definitions or mark.line in inside]
        text = part.source if part.opening else text
    return _distinct(marks), text


def _distinct(marks: list[Mark]) -> list[Mark]:
    """Return the marks in the order of their lines, one for each line."""
    found: dict[int, Mark] = {}
    for mark in sorted(marks, key=lambda mark: mark.line):
        before = found.setdefault(mark.line, mark)
        if before is not mark:
            mark.definitions[:0] = before.definitions
            found[mark.line] = mark
    return list(found.values())


def _described(
    make: Callable[..., Chunk], is_first: bool, piece: Mark, syntax: Syntax, source: bytes
) -> Chunk:
    """Return the chunk of a piece, created by `make`, with a description of the definitions in it."""
    main = _main_definition(piece.definitions)
    if is_first and main is not None and main.kind in VALUES:
        # Imports and constants at the top of a file describe the file.
        main = None
    about = main or (piece.scope[-1] if piece.scope else None)
    names = [definition.name for definition in piece.definitions if definition.kind not in _NAMELESS]
    described = partial(
        make,
        header_path=" > ".join((*about.path, about.name)) if about is not None else "",
        defines=tuple(dict.fromkeys(names)),
        comment=_comment(main, syntax) if main is not None else "",
    )
    if about is None:
        return described()
    if main is None and piece.commented is not None:
        return described(title=_title(about, syntax), parent=about.name)
    if about.kind == "test":
        return described(title=about.name)
    return described(
        title=_title(about, syntax),
        symbol=about.name,
        symbol_kind=about.kind,
        parent=about.owner,
        # The later parts of a long definition do not contain the definition's signature.
        signature=signature_of(main, source) if main is not None else "",
    )


def _title(definition: Definition, syntax: Syntax) -> str:
    # Enclosing tests are named by sentences.
    path = (name for name in definition.path if " " not in name)
    return syntax.separator.join((*path, definition.name))


def _comment(definition: Definition, syntax: Syntax) -> str:
    inside = syntax.docstring(definition.node)
    if inside is not None and (text := comment_text(text_of(inside))):
        return text
    is_header = bool(definition.leading) and definition.leading[0].start_point[0] <= _HEADER_ROWS
    return comment_text(_leading_comment(definition), is_header=is_header)


def _header_comment(root: Node, syntax: Syntax) -> str:
    inside = syntax.docstring(root)
    if inside is not None and inside.start_point[0] <= _HEADER_ROWS:
        return comment_text(text_of(inside), is_header=True)
    texts: list[str] = []
    next_row = 0
    for node in root.named_children[:_HEADER_NODES]:
        if node.type in COMMENTS:
            if node.start_point[0] > next_row:
                # A licence is often a separate comment, a blank line before the file's description.
                texts.append("")
            texts.append(_comment_lines(node))
        elif node.type not in _BEFORE_HEADERS:
            break
        next_row = _next_row(node)
    return comment_text("\n".join(texts), is_header=True)


def _main_definition(definitions: list[Definition]) -> Definition | None:
    """Return the outermost definition that names the chunk; None if there is none."""
    outer: list[Definition] = []
    for definition in definitions:
        if definition.kind in _NAMELESS and any(other.name == definition.name for other in outer):
            continue
        last = outer[-1] if outer else None
        if last is None or definition.start_row > last.end_row or len(definition.path) <= len(last.path):
            outer.append(definition)
    if not outer:
        return None
    by_rank: dict[int, list[Definition]] = {}
    for definition in outer:
        by_rank.setdefault(_RANKS.get(definition.kind, 3), []).append(definition)
    main, *others = [_first_or_longest(by_rank[rank]) for rank in sorted(by_rank)]
    return _first_or_longest([main, *(other for other in others if other.kind not in VALUES)])


def _first_or_longest(definitions: list[Definition]) -> Definition:
    longest = max(definitions, key=lambda definition: definition.rows)
    return longest if longest.rows >= _MUCH_LONGER * definitions[0].rows else definitions[0]


def _leading_comment(definition: Definition) -> str:
    texts: list[str] = []
    row = definition.start_row
    for node in reversed(definition.leading):
        blank_rows = row - _next_row(node)
        text = _comment_lines(node)
        # A block comment may be one blank line above. A line comment above a blank line describes something
        # else.
        if blank_rows > (1 if text.startswith("/*") and not texts else 0):
            break
        if node.type in COMMENTS or node.type == "string_literal" or text.startswith(("@doc", "@typedoc")):
            texts.append(text)
        row = node.start_point[0]
    return "\n".join(reversed(texts))


def _comment_lines(node: Node) -> str:
    """Return a comment without its last line end, which only some grammars include and which would end a
    paragraph."""
    return text_of(node).rstrip("\r\n")


def _next_row(node: Node) -> int:
    row, column = node.end_point
    return row + (column > 0)


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
_SIGNATURE_END = re.compile(r"(?:,\s*do:.*|\s+do|\s*-?%\}.*|[\s{:;=]+)$")


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
    if definition.kind == "block":  # The block of a template has no body in its syntax tree.
        head = _first_line(head)
    elif not has_body and (definition.kind in CONTAINERS or definition.kind in CALLABLE):
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
