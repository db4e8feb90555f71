"""Read the names, files and commands of code in a document: those marked as code, those in code blocks, and
words that are written like names.

In a document most words are words: "run", "file", "query" name no function. A word counts as a name if it is
marked as code, is part of a code block, or has the form of a name (`read_file`, `ReadFile`, `read()`, `a.b`).
Names that a code block defines itself do not count: they are the example's own."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from functools import lru_cache

from attrs import evolve, frozen

from cairn.chunking.elements import Element, Fence, Heading
from cairn.chunking.lines import Lines
from cairn.chunking.markup import markup_elements
from cairn.index.reader.records import StoredChunk
from cairn.languages.language import Category
from cairn.languages.registry import PROSE_LANGUAGES, category, detect_language, prose_language
from cairn.protocol.chunk_types import ChunkType
from cairn.text.identifiers import identifier_words
from cairn.text.verbatim import lines_of
from cairn.text.words import STOPWORDS


class Mark(enum.IntEnum):
    """How a document marks a name. Later ones say more surely that the passage is about it."""

    IN_BLOCK = 1
    """It is in a code block."""
    WRITTEN = 2
    """It is a word of running text that is written like a name."""
    CODE = 3
    """It is marked as code in running text."""
    HEADING = 4


@frozen
class DocumentName:
    name: str
    owner: str
    """What precedes the name: `gin` in `gin.Default()`, "" for nothing. Parts are separated by dots."""
    line: int
    """The 0-based line of the file."""
    mark: Mark
    is_call: bool
    language: str = ""
    """The language of the code block, "" outside of blocks and for blocks without one."""
    module: str = ""
    """The module from which the block imports the name."""

    @property
    def is_distinctive(self) -> bool:
        """Whether the name has several words, so that it is hardly a word or another thing's name."""
        return len(identifier_words(self.name)) > 1


@frozen
class DocumentText:
    """What a document's passage names."""

    names: tuple[DocumentName, ...] = ()
    paths: tuple[tuple[str, int], ...] = ()
    """Paths of files as written, each with its 0-based line; links without fragments."""
    commands: tuple[tuple[str, int], ...] = ()
    """The words of commands, such as `mix` and `phx.gen.auth`, without options and paths."""


def is_document(stored: StoredChunk) -> bool:
    """Whether the chunk is of a document, be it prose or code that the document shows."""
    return stored.chunk.type is ChunkType.PROSE or is_document_path(stored.path)


def is_document_path(path: str) -> bool:
    return detect_language(path) in PROSE_LANGUAGES


def read_document(stored: StoredChunk) -> DocumentText:
    chunk = stored.chunk
    is_block = chunk.type not in (ChunkType.PROSE, ChunkType.API)
    return _read(stored.path, chunk.start_line, is_block, chunk.language, chunk.text)


_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "fish", "powershell", "bat", "shellsession"})
_SESSIONS = {"pycon": "python", "ipython": "python", "irb": "ruby", "iex": "elixir", "node": "javascript"}
"""The languages of recorded sessions."""
_SESSION_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.|iex(?:\(\d+\))?>|irb[^>]*>)\s?")
_DIRECTIVE = re.compile(
    r"^\s*(?:\.\.\s+(?:\w+:)?(?:auto)?(?:module|class|function|method|exception|attribute|data|currentmodule)::"
    r"|:::)\s*([\w.]+)"
)
"""Matches a directive that includes the documentation of a definition, as in Sphinx and mkdocstrings."""
_CHAIN = r"[^\W\d]\w*(?:(?:\.|::|->|#|\?\.|\\)[^\W\d]\w*)*"
_NAME = re.compile(rf"(?<![\w.$@#/\\-])(?P<chain>{_CHAIN})[!?]?(?P<call>\s?\(|::?<|\{{\}})?")
_SEPARATOR = re.compile(r"\?\.|::|->|[.#\\]")
# Possessive quantifiers and maximum lengths prevent slow backtracking in long lines.
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.{1,300}?)(?<!`)\1(?!`)|<(?:code|tt)>([^<]{1,300}+)</", re.DOTALL)
_LINK = re.compile(
    r"\]\(\s{0,20}+<?([^\[\])\s>]{1,300}+)>?[^\[\])]{0,300}+\)|^\s*+\[[^\]]++\]:\s*+(\S+)|(?:href|src)=[\"']([^\"']+)"
)
_PATH = re.compile(r"(?<![\w/:.@*-])(?:[\w.@*-]++/)*+[\w.@-]+\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w/(])")
_FOLDER_PATH = re.compile(r"(?<![\w/:.@-])\.?(?:/?[\w.@-]+/)+[\w.@-]+")
_WRITTEN = re.compile(
    r"(?<![\w./@#:-])(?:[a-z][^\W_]*+_\w++|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+"
    r"|[^\W\d]\w*(?:\.[^\W\d]\w*)*\(\))(?![\w/])"
)
_OWN = re.compile(
    r"\b(?:def|defp|class|func|function|fn|fun|struct|type|interface|enum|trait|module|defmodule|record|object"
    r"|const|let|var|val|mod|namespace)\s++\*?(?:\([^)]{0,200}+\)\s*+)?([^\W\d][\w.]*)"
    r"|(?:^|[\s(,{])([^\W\d]\w*+)\s*+(?::=|=(?![=>]))|^[\w<>\[\],\s.]*?\s([^\W\d]\w*+)\s*+=[^=>]"
)
_DESTRUCTURED = re.compile(r"\b(?:const|let|var)\s*+[\[{]([^\]}]{0,300}+)[\]}]\s*+=")
_STRING = re.compile(r"(?<!\\)\"(?:[^\"\\\n]++|\\.)*+\"|(?<!\\)'(?:[^'\\\n]++|\\.)*+'|`[^`\n]*+`")
_COMMENT = re.compile(r"(?:^|\s)(?://|#(?!\[|include|!)|--\s|;;).*$")
_IMPORT = re.compile(
    r"^\s*+(?:(?:import|export)\b(?P<names>.*?)\bfrom\s*[\"'](?P<module>[^\"']+)"
    r"|from\s+(?P<python>[\w.]+)\s+import\s+\(?(?P<members>.*)"
    r"|(?:use|using|import|alias|require|include)\s+(?:static\s+)?(?P<path>[\w.:\\]+(?:\{[^}]*\})?)"
    r"|.*\brequire\(\s*[\"'](?P<required>[^\"']+))"
)
_OPEN_IMPORT = re.compile(
    r"\s*+(?:(?:import|export)\s++(?:type\s++)?\w*+,?\s*+\{|from\s++[\w.]++\s++import\s++\(|import\s++\(\s*+$"
    r"|(?:use|using|alias)\s++[\w.:\\]++\{)"
)
_CLOSING = re.compile(r"[})]")
_WORD = re.compile(r"\w+")
_FENCE = re.compile(r"\s*(?:[`~]{3,})")
_PROMPT = re.compile(r"^\s*(?:\$|%|>|PS[^>]*>|[\w@~/.-]*\$)\s+")
_DOTTED = re.compile(r"(?=.*?[.:-][a-z])[a-z][\w-]*+(?:[.:][a-z][\w-]*+)*+")
_SLASH = re.compile(r"/(?!\d+\s*\Z)")
"""Matches a slash of a path, not one before the number of a function's parameters, as in `map/2`."""
_COMMAND_WORD = re.compile(r"[A-Za-z][\w.:+-]*\Z")
_MOST_COMMAND_WORDS = 3
_LONGEST_LINE = 5_000
"""The maximum number of characters of a line to read. A longer one is data or machine-made code."""
_LEAST_LETTERS = 3


@lru_cache(maxsize=2_000)
def _read(path: str, first: int, is_block: bool, language: str, text: str) -> DocumentText:
    lines = Lines(text)
    elements = _elements(lines, prose_language(path), language if is_block else None)
    found = _Found(first)
    for each in elements:
        rows = [(number, lines[number][:_LONGEST_LINE]) for number in range(each.start, each.end)]
        if isinstance(each, Heading):
            found.read_heading(rows, each.title)
        elif not isinstance(each, Fence):
            found.read_text(rows)
        elif each.language in _SHELLS or _is_shell(each.language, rows):
            found.read_commands(rows)
        elif category(language := _SESSIONS.get(each.language, each.language)) is Category.CODE:
            is_fenced = len(rows) > 1 and bool(
                _FENCE.match(rows[0][1]) or rows[0][1].lstrip().startswith(".. ")
            )
            found.read_block(rows[1:] if is_fenced else rows, language)
        else:
            found.read_paths(rows)
    return found.finished()


def _elements(lines: Lines, prose: str, of_block: str | None) -> list[Element]:
    """Return the elements of a passage. `of_block` is the language of a passage that is mostly code: it may
    begin or end in a code block."""
    if of_block is None or not (end := _end_of_block(lines, prose)):
        return markup_elements(prose, lines)
    rest = Lines("".join(lines[number] for number in range(end, len(lines))))
    after = markup_elements(prose, rest) if len(rest) else []
    return [
        Fence(0, end, of_block),
        *(evolve(each, start=each.start + end, end=each.end + end) for each in after),
    ]


def _end_of_block(lines: Lines, prose: str) -> int:
    """Return the line after the code block in which a passage begins; 0 if it does not begin in one."""
    every = range(len(lines))
    if prose == "markdown":
        fences = [number for number in every if _FENCE.match(lines[number])]
        opening = [place for place, number in enumerate(fences) if lines[number].strip("`~ \t\r\n")]
        # A fence with a language opens a block.
        is_inside = (opening[0] if opening else len(fences)) % 2
        return (fences[0] + 1 if is_inside else 0) if fences else len(lines)
    if lines[0][:1].isspace():
        return next((at for at in every if lines[at].strip() and not lines[at][0].isspace()), len(lines))
    return 0 if any(isinstance(each, Fence) for each in markup_elements(prose, lines)) else len(lines)


def _is_shell(language: str, rows: list[tuple[int, str]]) -> bool:
    return not language and any(row.lstrip().startswith("$ ") for _, row in rows[:3])


class _Found:
    """Collects what the passage names."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._names: list[DocumentName] = []
        self._paths: dict[str, int] = {}
        self._commands: dict[str, int] = {}
        self._own: set[str] = set()

    def finished(self) -> DocumentText:
        kept = tuple(
            each for each in self._names if each.module or each.mark >= Mark.WRITTEN or not self._is_own(each)
        )
        return DocumentText(kept, tuple(self._paths.items()), tuple(self._commands.items()))

    def _is_own(self, each: DocumentName) -> bool:
        # A block that defines a name of several words often shows the definition in the workspace.
        return not each.owner and each.name in self._own and not each.is_distinctive

    # --- running text ------------------------------------------------------------------------------

    def read_heading(self, rows: list[tuple[int, str]], title: str) -> None:
        line = rows[0][0]
        text = " ".join(row for _, row in rows)
        for span in _spans(text):
            self._add_chain(span, line, Mark.HEADING)
        for written in _WRITTEN.finditer(title):
            self._add_chain(written[0], line, Mark.HEADING)
        words = title.split()
        if len(words) == 1 and words[0][:1].isupper():
            self._add_chain(words[0], line, Mark.HEADING)

    def read_text(self, rows: list[tuple[int, str]]) -> None:
        self.read_paths(rows)
        for number, row in rows:
            if directive := _DIRECTIVE.match(row):
                self._add_chain(directive[1], number, Mark.HEADING)
                continue
            for span in _spans(row):
                if not self._is_command(span, number):
                    self._add_chain(span, number, Mark.CODE)
            rest = _LINK.sub("]", _SPAN.sub(" ", row))
            for written in _WRITTEN.finditer(rest):
                self._add_chain(written[0], number, Mark.WRITTEN)

    def read_paths(self, rows: list[tuple[int, str]]) -> None:
        for number, row in rows:
            for link in _LINK.finditer(row):
                target = next(filter(None, link.groups())).partition("#")[0]
                if target and "://" not in target and not target.startswith(("mailto:", "data:")):
                    self._paths.setdefault(target, self._first + number)
            for path in _PATH.finditer(_LINK.sub("]", row)):
                if "/" in path[0] or "`" in row:
                    self._paths.setdefault(path[0], self._first + number)

    def _is_command(self, span: str, number: int) -> bool:
        words = span.split()
        if len(words) < 2 or not all(map(_COMMAND_WORD.match, words[:2])):
            return False
        self._add_command(words, number)
        return True

    def _add_chain(self, code: str, number: int, mark: Mark, **more: str) -> None:
        """Add the name that a piece of code consists of, or those that it calls."""
        code = code.strip().removeprefix("await ").removeprefix("new ").lstrip("@&*:!~%$<")
        if _SLASH.search(code.partition("(")[0]):
            return
        if _DOTTED.fullmatch(code):  # The file of a task, such as `phx.gen.auth`, or a name.
            self._commands.setdefault(code, self._first + number)
        whole = re.fullmatch(rf"(?P<chain>{_CHAIN})[!?]?(?:/\d+)?(?P<call>\s*[(<{{\[].*)?>?", code, re.DOTALL)
        if whole is not None:
            self._add(whole["chain"], number, mark, is_call=bool(whole["call"]), **more)
        else:
            for each in _NAME.finditer(_STRING.sub(" ", code)):
                if each["call"] or _SEPARATOR.search(each["chain"]) or each["chain"][:1].isupper():
                    self._add(each["chain"], number, mark, is_call=bool(each["call"]), **more)

    # --- code blocks -------------------------------------------------------------------------------

    def read_block(self, rows: list[tuple[int, str]], language: str) -> None:
        imported: dict[str, str] = {}
        for number, row in _joined_imports([(at, _SESSION_PROMPT.sub("", row)) for at, row in rows]):
            if _FENCE.match(row):
                continue
            for path in _PATH.finditer(row):
                if "/" in path[0] and "://" not in row:
                    self._paths.setdefault(path[0], self._first + number)
            if from_module := _imported(row):
                module, members = from_module
                imported |= dict.fromkeys(members, module)
                for member in members:
                    self._add(member, number, Mark.IN_BLOCK, language=language, module=module)
                continue
            code = _COMMENT.sub(" ", _STRING.sub('""', row))
            for own in _OWN.finditer(code):
                self._own.add(next(filter(None, own.groups())).rpartition(".")[2])
            for names in _DESTRUCTURED.finditer(code):
                self._own.update(re.findall(r"\w+", names[1]))
            for each in _NAME.finditer(code):
                chain, is_call = each["chain"], bool(each["call"])
                parts = _SEPARATOR.split(chain)
                if len(parts) > 1 or is_call or parts[0][:1].isupper() or "_" in parts[0]:
                    module = imported.get(parts[0], "")
                    self._add(chain, number, Mark.IN_BLOCK, is_call=is_call, language=language, module=module)

    def _add(
        self,
        chain: str,
        number: int,
        mark: Mark,
        *,
        is_call: bool = False,
        language: str = "",
        module: str = "",
    ) -> None:
        *owners, name = _SEPARATOR.split(chain)
        owners = [each for each in owners if each not in ("self", "this", "super", "crate")]
        if len(name) < _LEAST_LETTERS or (name.lower() in STOPWORDS and not owners):
            return
        line = self._first + number
        self._names.append(DocumentName(name, ".".join(owners), line, mark, is_call, language, module))
        if owners and len(owners[-1]) >= _LEAST_LETTERS and owners[-1][:1].isupper():
            above = ".".join(owners[:-1])
            self._names.append(DocumentName(owners[-1], above, line, mark, False, language, module))

    # --- commands ----------------------------------------------------------------------------------

    def read_commands(self, rows: list[tuple[int, str]]) -> None:
        self.read_paths(rows)
        prompted = any(_PROMPT.match(row) for _, row in rows)
        for number, row in rows:
            if _FENCE.match(row) or row.lstrip().startswith("#"):
                continue
            if prompted and not _PROMPT.match(row):
                continue
            self._add_command(_PROMPT.sub("", row).split(), number)
            for path in _FOLDER_PATH.finditer(row):
                self._paths.setdefault(path[0], self._first + number)

    def _add_command(self, words: list[str], number: int) -> None:
        plain = [each for each in words if "=" not in each]
        for word in plain[:_MOST_COMMAND_WORDS]:
            if not _COMMAND_WORD.match(word):
                break
            self._commands.setdefault(word, self._first + number)


def _spans(text: str) -> Iterator[str]:
    for span in _SPAN.finditer(text):
        yield (span[2] or span[3]).strip()


def _joined_imports(rows: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the rows; an import over several rows is one."""
    start, parts = 0, list[str]()
    for number, row in rows:
        if parts:
            parts.append(row.strip())
        elif _OPEN_IMPORT.match(row):
            start, parts = number, [row.rstrip()]
        else:
            yield number, row
        if parts and _CLOSING.search(row):
            yield start, " ".join(parts)
            parts = []
    if parts:
        yield start, " ".join(parts)


def _imported(row: str) -> tuple[str, list[str]] | None:
    """Return the module and the names that a line imports from it."""
    found = _IMPORT.match(row)
    if found is None:
        return None
    if found["module"] is not None or found["python"] is not None:
        names = found["names"] if found["module"] is not None else found["members"]
        module = found["module"] or found["python"]
        return module, [each for each in re.findall(r"[^\W\d]\w*", names or "") if each not in ("as", "type")]
    if found["path"] is not None:
        path, _, members = found["path"].partition("{")
        parts, names = _WORD.findall(path), _WORD.findall(members)
        if names and parts:
            return ".".join(parts), names
        return (".".join(parts[:-1]) or parts[0], parts[-1:]) if parts else None  # `import ...` has none.
    names = re.findall(r"[^\W\d]\w*", row.partition("=")[0])
    return found["required"], [each for each in names if each not in ("const", "let", "var")]


_ENTRY = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:`?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|:doc:`|:ref:`).{0,20}$")
_TREE = re.compile(r"\.\. toctree::")
_BADGE = re.compile(r"\s*\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*$|\s*\.\. image::")
_FEWEST_ENTRIES, _SHARE_OF_ENTRIES = 3, 0.6


def is_contents(text: str) -> bool:
    """Whether the text is a table of contents, a list of links, or badges."""
    lines = [line for line in lines_of(text) if line.strip()]
    entries, in_tree = 0, False
    for line in lines:
        in_tree = bool(_TREE.match(line)) or (in_tree and line[0].isspace())
        entries += bool(in_tree or _ENTRY.match(line) or _BADGE.match(line))
    return entries >= _FEWEST_ENTRIES and entries >= _SHARE_OF_ENTRIES * len(lines)
