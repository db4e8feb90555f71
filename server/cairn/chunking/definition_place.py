"""Find definitions in text alone: the lines that define a name, the kind, and the head below a comment.

The text is a chunk, which may be a piece of a file, such as methods without their class, or PHP without its
opening tag. Parsers misread such pieces. So definitions are found by keywords, and the head next to a comment
by what all heads have in common: a head begins a line, its brackets are closed, and the start of a body or
the end of a declaration follows. If unsure, no head is found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from cairn.chunking.model import Chunk
from cairn.languages.registry import facts_of
from cairn.text.verbatim import find_words, starts_with_mark

_KINDS = {
    "class": "class", "struct": "struct", "interface": "interface", "trait": "interface", "enum": "enum",
    "type": "class", "def": "function", "fn": "function", "func": "function", "fun": "function",
    "function": "function", "const": "constant", "let": "variable", "var": "variable", "val": "variable",
    "module": "module", "namespace": "module",
}  # fmt: skip
"""The keywords of definitions in most languages, with the kinds of definitions."""
_VALUES = frozenset({"const", "let", "var", "val"})
_COMMON = "|".join(word for word in _KINDS if word not in {*_VALUES, "type", "namespace"})

DEFINITION = (
    r"^[ \t]*(?:(?:public|private|protected|internal|static|abstract|final|override|export|inline|pub|async)"
    r"\s+)*"
    rf"({_COMMON}|type|let|sub|proc|procedure|protocol|object|record|union|message|macro|template|task|model"
    r"|service)\s+(?:rec\s+|inline\s+)?([A-Za-z_][\w.]*[!?*]?)"
)
"""The pattern of a line that defines a type or a function, in languages without a grammar."""
_DEFINING = re.compile(rf"[ \t]*(?:\w+[ \t]+)*?(?P<keyword>{'|'.join(_KINDS)})\b")
_NAMED = re.compile(
    rf"[ \t]*(?:[\w@]+[ \t]+)*?(?:{'|'.join(_KINDS)}"
    r"|defp|defmacrop?|\#[ \t]*define|@callback|typealias|protocol|object|get|set)[ \t]+"
    r"(?:\([^()]*\)[ \t]*)?(?:\w+[.:]+)*(?P<name>[\w$]+)(?P<mark>[?!]?)"
)
"""The pattern of a keyword and the name, with an optional receiver (Go) or owner (C++, Lua) between them."""
_GIVEN = re.compile(r"\??(?:\[\w*\])?[ \t]*(?:[:;,<{(]|=(?!=))")
"""The pattern of the text after a name that is given a type, a value, parameters or a body."""

MAX_LINES = 14
"""The maximum number of lines of a head. A longer head is a table of parameters, not worth quoting."""
_MAX_CHARACTERS = 1_000
"""The maximum length of a head and of its lines. The patterns take quadratic time for longer ones."""
_ANNOTATION = re.compile(
    r"(?:@(?!interface\b|protocol\b|implementation\b)(?:\w+:)?[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?"
    r"|#!?\[[^\]]*(?:\[[^\]]*\][^\]]*)*\]|\[[A-Z][\w.:]*(?:\([^()]*\))?(?:,\s*\w+(?:\([^()]*\))?)*\])\s*"
)
_BETWEEN = re.compile(
    r"\s*(?://|#(?=\s)|/\*.*\*/\s*\Z|@(?:spec|impl|doc|since|deprecated|typedoc|callback)\b)"
)
"""Matches lines that may be between a comment and its head: notes to tools, Elixir's attributes."""
PREPROCESSOR = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|else|elif|endif|region|endregion)\b")
"""Matches preprocessor lines. They divide a head into alternatives, none of which can be quoted."""
_ELIXIR_HEAD = re.compile(r"\s*(?:def\w*|@(?:macro)?callback|@type|@opaque)\b")
_ELIXIR_MODULE = re.compile(r"\s*def(?:module|protocol|impl)\b.*\bdo\s*\Z")
_CONTINUES = re.compile(r"\s*(?:\{|->|=>|:(?!:)|where\b|throws\b|extends\b|implements\b|with\b|[.,?&|)=])")
_OPEN_ENDED = re.compile(r"(?:[,:=(\[<&|+]|->|\b(?:extends|implements|throws|where|with|and|or))\Z")
_STATEMENT = re.compile(
    r"(?:if|for|foreach|while|switch|match|return|else|elsif|elif|try|catch|finally|do|throw|raise|new|await"
    r"|import"
    r"|from|package|use|using|require\w*|include|case|yield|assert\w*|unless|when|until|print\w*|echo|delete"
    r"|del|goto"
    r"|super|self|this|break|continue|end|begin|defer|go|select|synchronized|with|expect|it|describe|test"
    r"|puts|include_\w+)\b"
    r"(?!\s*[:?]?\s*(?:fn|func|function)\b)"
)
_CONTAINER = re.compile(
    rf"(?<![.\w])(?:{_COMMON}|namespace|typedef|typealias|impl|union|record|object|protocol|extension|actor"
    r"|def[a-z]*|macro_rules!|delegate|constructor|init\??|subscript|annotation|operator)(?!\w)"
)
_VALUE = re.compile(r"(?:export\s+)?(?:const|let|var|val|static|type|declare)\s+\w")
_MODIFIED = re.compile(
    r"(?:(?:public|private|protected|internal|fileprivate|open|static|final|readonly|abstract|override"
    r"|virtual"
    r"|lateinit|export|declare|extern|inline|unsafe|pub(?:\([^)]*\))?|sealed|partial|suspend)\s+)+\S"
)
_METHOD = re.compile(
    r"(?:async\s+|get\s+|set\s+|static\s+|\*\s*)*#?[\w$]+\s*(?:<[^()]*>)?\(.*\)(?:\s*(?::|->).+)?\Z"
)
_TYPED_METHOD = re.compile(r"#?[\w$]+\??\s*(?:<[^()]*>)?\(.*\)\s*:\s*\S.*\Z")
"""Matches a method without a body, as in TypeScript's interfaces."""
_DECLARATOR = re.compile(
    r"[\w:<>,\[\]&*~\s]+[\s*&]~?\w[\w:]*\s*\(.*\)(?:\s*(?:const|noexcept|override|throws\s.+))*\Z"
)
_ARROW = re.compile(
    r"=\s*(?:async\s*)?(?:function\b|\(.*\)|\w+)(?:\s*:.+)?\s*=>?\Z|=\s*(?:async\s+)?function\b"
)
_DEFINE = re.compile(r"#\s*define\s+\w+(?:\([^()]*\))?")
_DOCSTRING_HEAD = re.compile(r"\s*(?:async\s+def|def|class)\b")
_NESTED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_TRAILING = re.compile(r"[\s{:;=,]+\Z|\s*=>\s*\Z|,?\s+do:?\Z")


def definition_lines(chunk: Chunk, name: str) -> tuple[int, int]:
    """Return the lines `[start, end)` of the file in which the chunk defines `name`. The main definition
    extends to the chunk's end. For any other definition, only the line that names it is returned."""
    is_main = name == chunk.symbol
    lines = chunk.text.split("\n")
    candidates = [n for n, line in enumerate(lines) if name in line and find_words(name, line) >= 0]
    head = "".join(chunk.signature.split()) if is_main else ""
    at = next((n for n in candidates if head and _is_head(lines[n], head)), None)
    if at is None:
        at = min(candidates, key=lambda n: _unlike_definition(name, lines[n]), default=0)
    start = min(chunk.start_line + at, chunk.end_line - 1)
    return start, (chunk.end_line if is_main else start + 1)


def definition_at(chunk: Chunk, first: int, last: int) -> str:
    """Return the name of the first definition that begins in the file's lines `[first, last)`, or else of the
    nearest definition above. The chunk's main definition may be another one."""
    places = sorted((definition_lines(chunk, name)[0], name) for name in chunk.defines)
    within = [name for line, name in places if first <= line < last]
    above = [name for line, name in places if line < first]
    return within[0] if within else above[-1] if above else chunk.symbol


def _unlike_definition(name: str, line: str) -> int:
    """Return how unlikely a line is to define the name, from 0 (after a keyword) to 4 (in a comment)."""
    head = _NAMED.match(line)
    if head and name in (head["name"], head["name"] + head["mark"]):
        return 0
    if starts_with_mark(line.strip()):
        return 4
    at = find_words(name, line)
    if _GIVEN.match(line, at + len(name)) and line[at - 1 : at] != ".":
        return 1
    return 2 if _DEFINING.match(line) else 3


def _is_head(line: str, head: str) -> bool:
    """Return whether the line contains the definition's head, given without spaces, or its first line."""
    squeezed = "".join(line.split())
    return head in squeezed or head.startswith(squeezed)


def kind_at(chunk: Chunk, line: int) -> str:
    """Return the kind of definition by the keyword in a line of the file; "" without such a keyword."""
    lines = chunk.text.split("\n")
    found = _DEFINING.match(lines[min(line - chunk.start_line, len(lines) - 1)])
    return _KINDS[found["keyword"]] if found else ""


@frozen
class Head:
    """A definition's head without the mark that opens its body, on the lines `[first, last)` of the chunk."""

    text: str
    first: int
    last: int


def head_below(lines: Sequence[str], first: int, language: str) -> Head | None:
    """Return the head that begins at line `first`, or below it after a blank line or annotations."""
    start = _skip_annotations(lines, first, language)
    if start is None:
        return None
    if found := _DEFINE.match(lines[start].strip()):
        return Head(" ".join(found[0].split()), start, start + 1)
    end = _end_of_head(lines, start, language)
    if end is None:
        return None
    last, column, sign = end
    text = _TRAILING.sub("", _quoted(lines, start, last, column))
    if len(text) > _MAX_CHARACTERS:
        return None
    while not _ELIXIR_HEAD.match(text) and (annotation := _ANNOTATION.match(text)):
        text = text[annotation.end() :]
    is_inner = bool(lines[start][:1].isspace())
    return Head(text, start, last + 1) if text and _defines(text, sign, is_inner) else None


def module_above(lines: Sequence[str], last: int) -> Head | None:
    """Return the head of an Elixir module or the like above line `last`."""
    first = _nearest_above(lines, last, _ELIXIR_MODULE)
    return None if first is None else Head(_TRAILING.sub("", lines[first].strip()), first, first + 1)


def head_above(lines: Sequence[str], last: int) -> Head | None:
    """Return the head of the Python `def` or `class` whose body begins at line `last`."""
    first = _nearest_above(lines, last, _DOCSTRING_HEAD)
    end = None if first is None else _end_of_head(lines, first, "python")
    if first is None or end is None or end[0] != last - 1:
        return None
    text = _quoted(lines, first, end[0], end[1])
    return Head(text, first, last) if text else None


def _nearest_above(lines: Sequence[str], last: int, pattern: re.Pattern[str]) -> int | None:
    numbers = range(last - 1, max(-1, last - 1 - MAX_LINES), -1)
    return next((number for number in numbers if pattern.match(lines[number])), None)


def _skip_annotations(lines: Sequence[str], first: int, language: str) -> int | None:
    """Return the first line from `first` on that is not an annotation. Skip at most one blank line."""
    number, blank = first, 0
    elixir = language == "elixir"
    while number < min(len(lines), first + MAX_LINES):
        line = lines[number].strip()
        if len(line) > _MAX_CHARACTERS:
            return None
        if not line:
            blank += 1
            if blank > 1:
                return None
            number += 1
        elif (elixir and not _ELIXIR_HEAD.match(line)) or (_BETWEEN.match(line) and not blank):
            number += 1
        elif line.startswith(("@", "#[", "[")):
            joined, last = line, number
            while joined.count("(") != joined.count(")") or joined.count("[") != joined.count("]"):
                last += 1
                if last >= min(len(lines), first + MAX_LINES):
                    return None
                joined += " " + lines[last].strip()
            rest = joined
            while annotation := _ANNOTATION.match(rest):
                rest = rest[annotation.end() :]
            if rest and not rest.startswith("//"):
                return number if rest != joined else None
            number = last + 1
        else:
            return number
    return None


def _end_of_head(lines: Sequence[str], start: int, language: str) -> tuple[int, int, str] | None:
    """Return the line and column where a head ends, and the mark there ("" for the end of a line)."""
    depth = 0
    for number in range(start, min(len(lines), start + MAX_LINES)):
        line = lines[number].rstrip()
        if len(line) > _MAX_CHARACTERS or PREPROCESSOR.match(line):
            return None
        for column, character in enumerate(line):
            if character in "([":
                depth += 1
            elif character in ")]":
                depth -= 1
            elif depth == 0 and _ends_head(line, column, language):
                return number, column, character
            if depth < 0:
                return None
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if (
            depth == 0
            and "line" in facts_of(language).heads_end
            and not _OPEN_ENDED.search(line)
            and not (following.strip() and _CONTINUES.match(following))
        ):
            return number, len(line), ""
    return None


def _ends_head(line: str, column: int, language: str) -> bool:
    character = line[column]
    if character == ":":
        return ":" in facts_of(language).heads_end
    if character == "{":
        return not line[:column].rstrip().endswith((":", "|", "&", "<"))
    if character == "=":
        # In Kotlin and Scala, a body may follow `=`: `fun f() = …`. In other languages, a value follows,
        # which may be a function.
        around = line[column - 1 : column + 2]
        is_assignment = around not in ("==", "=>") and "=" not in around.replace(" ", "").replace("=", "", 1)
        return is_assignment and bool(
            re.match(r"\s*(?:[\w@]+\s+)*(?:fun|val|var|def|type|using)\b", line[:column])
        )
    return character == ";"


def _quoted(lines: Sequence[str], first: int, last: int, column: int) -> str:
    """Return the text from the start of a line to a column of a later line, with whitespace collapsed."""
    parts = [*lines[first:last], lines[last][:column]]
    return " ".join(" ".join(parts).split())


def _defines(head: str, sign: str, is_inner: bool) -> bool:
    """Return whether a balanced head defines something that other code can use."""
    if any(head.count(a) != head.count(b) for a, b in ("()", "[]", "{}")):
        return False
    bare = head
    while (inner := _NESTED.sub("", bare)) != bare:
        bare = inner
    if _STATEMENT.match(head) or head.startswith("#"):
        return False
    if _CONTAINER.search(bare) or _ARROW.search(head) or _ELIXIR_HEAD.match(head) or _MODIFIED.match(head):
        return True
    if _VALUE.match(head):
        return not is_inner
    if (sign == "{" and _METHOD.match(head)) or (sign == ";" and _TYPED_METHOD.match(head)):
        return True
    return sign in ("{", ";") and "=" not in bare and "." not in bare and bool(_DECLARATOR.match(head))
