"""Read the parts of a query to find literally: quotes, paths, error codes, pieces of code, stack traces."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator

from attrs import frozen

from cairn.languages.registry import detect_language
from cairn.text.words import LIGHT_WORDS, is_stopword

MAX_MENTIONS = 8
"""The maximum number of mentions of each kind. A pasted text has many, and each costs a look-up."""

MAX_LITERAL_CHARS = 200
"""The maximum length of a literal. A longer text is seldom on one line of a file."""


@frozen
class Mentions:
    paths: tuple[str, ...] = ()
    """Paths and globs with forward slashes, without `./` and line numbers."""
    quotes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    """The lines of texts in double quotes, straight or typographic, without those of messages and code."""
    codes: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    """Texts to find verbatim; empty for a question in plain words."""
    rest: str = ""
    """The text of the query without line numbers after paths."""
    is_code: bool = False
    is_path: bool = False
    """Whether the whole query is the path of a file, or a glob."""


def read_mentions(text: str) -> Mentions:
    paths, rest = _read_paths(text)
    quotes = _first(_read_quotes(QUOTES, text))
    codes = _first(_read_codes(text))
    is_path = bool(paths) and len(text.split()) == 1
    is_code = not is_path and _is_code(_DOUBLE_QUOTES.sub(" ", text))
    messages = read_messages(text)
    pieces = _lines(text) if is_code else [*quotes, *codes, *messages, *_operators(text, (*quotes, *paths))]
    literals = _first(piece for piece in pieces if len(piece) <= MAX_LITERAL_CHARS)
    required = () if is_code or messages else _first(_read_quotes(_DOUBLE_QUOTES, text))
    return Mentions(paths, quotes, required, codes, literals, rest, is_code, is_path)


def _first(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:MAX_MENTIONS]


_DOUBLE_QUOTES = re.compile(r'(?<!\S)(?:"([^"]+)"|“([^”]+)”)(?![\w(\[])')
QUOTES = re.compile(
    r'"([^"]+)"|“([^”]+)”|`{1,3}([^`]+)`{1,3}'
    # An apostrophe within a word is not a quote.
    r"|(?<!\w)'([^'\n]{2,80})'(?!\w)|‘([^’\n]{2,80})’(?!\w)"
)


def _read_quotes(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for match in pattern.finditer(text):
        quote = next(filter(None, match.groups())).strip()
        if quote:
            yield from _lines(quote)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


_PATH = re.compile(
    r"(?<![\w/\\.@-])(?:[A-Za-z]:)?[\w.~*@+\[\]{}/\\-]{0,300}[\w*](?:(?::|#L|, line )(\d+)(?::\d+)?)?[/\\]?"
)
_MARKS = frozenset("./\\*")
"""Characters of which every path has one. Most matches of `_PATH` in a long text are plain words."""
_PLACE_CHARS = 20
"""How many characters before a path may contain a word such as "in", with room for the longest and spaces."""
_PLACE = re.compile(r"\b(?:in|under|inside|within|from)\s+$", re.IGNORECASE)
# A name of a product is not a file, and some endings are more often the name of a member (`app.text`).
_PRODUCTS = re.compile(
    r"(?:node|vue|next|nuxt|react|express|three|d3|ember|backbone|angular|chart|socket|alpine)\.(?:js|io)",
    re.IGNORECASE,
)
_MEMBERS = frozenset(
    "t s d m v r f for service text el re res inc props org desktop targets slim just rest".split()
)


def _read_paths(text: str) -> tuple[tuple[str, ...], str]:
    paths: list[str] = []
    rest, end = [], 0
    for match in _PATH.finditer(text):
        if _MARKS.isdisjoint(match[0]):
            continue
        has_line = match[1] is not None
        fragment = re.sub(r"(?::|#L|, line )\d+(?::\d+)?$", "", match[0]) if has_line else match[0]
        before = text[max(0, match.start() - _PLACE_CHARS) : match.start()]
        after = text[match.end(1) if has_line else match.end() :]
        if _is_path(fragment, has_line, _PLACE.search(before), after):
            paths.append(normalised_path(fragment))
            rest += [text[end : match.start()], fragment]
            end = match.end()
    return _first(paths), "".join([*rest, text[end:]])


def normalised_path(fragment: str) -> str:
    """Return the path with forward slashes, without a leading `./`, `~/`, drive or slash."""
    path = re.sub(r"^[A-Za-z]:", "", fragment).replace("\\", "/")
    return re.sub(r"^(?:\.{0,2}/|~/)+", "", path).rstrip("/")


def _is_path(fragment: str, has_line: bool, placed: object, after: str) -> bool:
    if not re.search(r"\w", fragment) or after.startswith("("):
        return False
    pieces = [piece for piece in re.split(r"[/\\]", fragment) if piece]
    slashes = len(re.findall(r"[/\\]", fragment))
    name = pieces[-1]
    named = _has_file_name(name, bool(slashes) or has_line)
    if not slashes:
        return named or (name.startswith("*.") and len(name) > 2)
    if not all(re.search(r"\w|\*", piece) or piece in (".", "..") for piece in pieces):
        return False
    if named or "*" in fragment or fragment.startswith(("./", "../", "~/", "/")) or fragment[-1] in "/\\":
        return True
    # "success/error" and "client/server/peer" are words, but paths after "in" at the end of a sentence.
    return bool(placed) and not re.match(r"\s+\w", after)


def _has_file_name(name: str, certain: bool) -> bool:
    ending = name.rpartition(".")[2].lower()
    if "." not in name.strip(".") or name[0] in "@[{" or not re.fullmatch(r"[\w.+@~*\[\]-]+", name):
        return False
    if not certain and (ending in _MEMBERS or _PRODUCTS.fullmatch(name)):
        return False
    return bool(detect_language(name))


_NOT_ERROR_CODES = "SHA|AES|RFC|ISO|RSA|RS|ES|HS|PS|CP|H|X|UTF|UCS|IEEE|INT|UINT|MD|ED|SECP|P|V|PEP|RSASHA|UTC|GMT|ARM|CVE|AMD|WIN"  # noqa: E501
_CODE = re.compile(
    rf"\b(?:(?!(?:{_NOT_ERROR_CODES})\d)[A-Z]{{1,6}}\d{{3,6}}|ORA-\d{{5}}|ERR_[A-Z0-9_]+|[A-Z0-9_]+_ERR(?:OR)?_[A-Z0-9_]+"
    r"|E_[A-Z][A-Z_]+|0x[0-9A-Fa-f]{6,16}|(?:HTTP(?:/\d(?:\.\d)?)?|status(?: code)?|SQLSTATE:?|errno|exit code)"  # noqa: E501
    r" \[?(?:[1-5]\d\d|\d[0-9A-Z]{4}|\d{1,3})\]?)\b",
)
_ERRNO = frozenset(errno.errorcode.values()) | {"ENOTFOUND", "EAI_AGAIN", "EAI_NONAME"}
_CAPITALS = re.compile(r"\bE[A-Z0-9_]{3,}\b")


def _read_codes(text: str) -> Iterator[str]:
    found = [*_CODE.finditer(text), *(m for m in _CAPITALS.finditer(text) if m.group() in _ERRNO)]
    for match in sorted(found, key=lambda match: (match.start(), match.group())):
        yield match.group()


_MESSAGE = re.compile(
    r"^(?:E +)?(?:[\w.]*(?:Error|Exception|Warning)|fatal(?: error)?|panic|error(?:\[\w+\])?): +(\S.*[ \t]\S.*)$",  # noqa: E501
    re.MULTILINE,
)


def read_messages(text: str) -> list[str]:
    return [match.group(1).strip().rstrip(".") for match in _MESSAGE.finditer(text)]


_OPERATOR = re.compile(
    r"""=>|->|<-|:=|[!=<>]=|\?\.|\?\?|&&|\|\||\+\+|[-+*]=|<<|>>|\#\[|\#\w+\b.*[<(]|\$[A-Za-z_{(]|\{\{|</|/>|<\w[^>]*>
        |%-?\d*(?:\.\d)?[sdvqxfr]\b|(?<!\w)@[A-Za-z]|^--\w|\w\[[^\]\s]*\]|(?<!:)::[\w:]++\(|\w\((?!e?s\))[^)\s]|\w\($""",
    re.VERBOSE,
)
_NOT_OPERATORS = re.compile(
    r"(?:c|g|clang|notepad)\+\+\W*|[ackmf]\#\W*|[-+*/&|=<>.,:;?!()\"'`#…–—]{1,2}\W*", re.IGNORECASE
)
_CODE_TOKENS = frozenset(
    ("=>", "->", "?.", "??", "::", ":=", "<-", "==", "!=", "<=", ">=", "&&", "||", "++", "<<", ">>")
)
_CODE_SIGNS = re.compile(
    r"[;{}]\s*$|\{[^{}\n]*\}|\w\((?!e?s\))[^)\s]|\w\($|\s[:+*/|&-]?=\s|[=!]==?|\S->\S|\)\s*=>|=>\s*[({]|::\w+\(|&&|\|\||</\w|\#\[|^@\w+\(|\w\[\w*\]",
    re.MULTILINE,
)
# Words of prose that code does not have. Words that are also keywords ("in", "not", "with") are left out.
_PROSE = re.compile(
    r"\b(?:how|what|where|why|which|the|does|a|an|of|to|are|that|should|can|you|when|how's"
    r"|explain|find|show)\b",
    re.IGNORECASE,
)


def _is_code(text: str) -> bool:
    return bool(_CODE_SIGNS.search(text)) and not _PROSE.search(text) and not text.rstrip().endswith("?")


def _operators(text: str, known: Iterable[str]) -> Iterator[str]:
    for quoted in known:
        text = text.replace(quoted, " ")
    tokens = text.split()
    for place, token in enumerate(tokens):
        if not re.search(r"\w", token):
            if token.strip("`\"'") in _CODE_TOKENS and not _between_words(tokens, place):
                yield token.strip("`\"'")
            elif len(token) > 2 and _OPERATOR.search(token):
                yield token
            continue
        piece = token.rstrip(",;.?!:").strip("`\"'")
        if _OPERATOR.search(piece) and not _NOT_OPERATORS.fullmatch(piece):
            yield piece


def _between_words(tokens: list[str], place: int) -> bool:
    around = [token.strip(".,;:?!").lower() for token in (*tokens[:place][-1:], *tokens[place + 1 :][:1])]
    words = [word for word in around if re.search(r"\w", word) and not is_stopword(word)]
    return len(words) == 2 and LIGHT_WORDS.isdisjoint(words)


_MAX_PLACES = 8
"""The maximum number of paths and names to search for. The innermost frames lead to the cause."""
_MAX_FRAMES = 32
"""The maximum number of frames kept, more than _MAX_PLACES because most frames may be of libraries."""

# Each pattern matches one line of a trace. Its groups are path and name.
_FRAMES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r'File "(?P<path>[^"\n]+)", line \d+(?:, in (?P<name>[\w.<>]+))?',  # Python
        r"\bat (?P<name>(?:async |new )?[\w$.<>\[\] ]{1,200}?) ?\((?:file://)?(?P<path>[^()\s]+?):\d+(?::\d+)?\)",  # JS, Java  # noqa: E501
        r"\bat (?P<name>[\w.<>`\[\],+ ]{1,200}\([^)\n]{0,300}\)) in (?P<path>[^\n]{1,300}?):line \d+",  # C#
        r"(?:\bat |--> |panicked at )(?:file://)?(?P<path>[\w.~/\\:-]{0,300}[\w-]\.\w{1,20}):\d+(?::\d+)?",  # JS, Rust  # noqa: E501
        r"(?<![\w.~/\\-])(?P<path>[\w.~/\\-]{1,300}\.rb):\d+:in [`'](?P<name>[^'\n]+)'",  # Ruby
        r"#\d+ (?P<path>/[^\s(]+)\(\d+\): (?P<name>[\w\\:>-]+)\([^\n]*",  # PHP
        r"^\t(?P<path>/[^\s:]+\.go):\d+(?: \+0x[0-9a-f]+)?",  # Go
        r"^#\d+ +(?:0x[0-9a-f]+ in )?(?P<name>[\w:~<>]{1,200})[^\n]{0,300}? (?:at )?(?P<path>[\w.~/\\-]{1,300}\.\w{1,4}):\d+(?::\d+)?",  # gdb, ASan  # noqa: E501
        r"^ {0,8}(?P<path>[\w.~/\\-]{1,300}\.(?:c|cc|cpp|cxx|h|hpp|go|py|rs|ts|tsx|js|java)):\d+(?::\d+)?: (?:in (?P<name>\w+)$)?",  # gcc, go test, pytest  # noqa: E501
    )
)
_NOISE = re.compile(
    r"^[^\S\n]*+(?:Traceback \(most recent call last\):|goroutine \d+ \[[^\]]*\]:|Caused by:|stack backtrace:|\.\.\. \d+ more"  # noqa: E501
    r"|\[?Previous exception[^\n]*|File\b\s*$|During handling of the above exception[^\n]*|[\^~\s]+$)",
    re.MULTILINE,
)
_SOURCE_LINE = re.compile(
    r'(File "[^"\n]+", line \d+[^\n]*\n)[ \t]{4,}(?!File "|\w+(?:Error|Exception))[^\n]*'
)
_TYPE_PARAMETERS = re.compile(r"\[[^\]\n]*\]|`\d+")
_PLACEHOLDER = re.compile(r"<[^>]*>|\banonymous\b|^(?:async|new) ")


@frozen
class Frame:
    path: str
    """The path as `normalised_path` returns it."""
    name: str = ""
    """The name of the function; "" if unknown."""


@frozen
class Trace:
    """A stack trace with the innermost frame first, as far as its format tells."""

    frames: tuple[Frame, ...]
    message: str
    """The text without the lines of the trace."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the innermost frames."""
        return tuple(dict.fromkeys(frame.path for frame in self.frames))[:_MAX_PLACES]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(frame.name for frame in self.frames if frame.name))[:_MAX_PLACES]


def read_trace(text: str) -> Trace:
    """Return the trace in `text`, which has no frames if `text` has no line of a trace."""
    frames = [match for pattern in _FRAMES for match in pattern.finditer(text)]
    if not frames:
        return Trace((), text)
    frames.sort(key=lambda match: match.start())
    if 'File "' in text:  # Python prints the innermost frame last.
        frames.reverse()
    read = dict.fromkeys(
        Frame(normalised_path(frame["path"]), _own_name(frame.groupdict().get("name") or ""))
        for frame in frames
    )
    rest = _SOURCE_LINE.sub(r"\1", text)
    for pattern in _FRAMES:
        rest = pattern.sub(" ", rest)
    message = "\n".join(line for line in map(str.strip, _NOISE.sub("", rest).splitlines()) if line)
    return Trace(tuple(read)[:_MAX_FRAMES], message)


def _own_name(name: str) -> str:
    """Return the name without parameters, type parameters and placeholders."""
    return _PLACEHOLDER.sub("", _TYPE_PARAMETERS.sub("", name.partition("(")[0])).strip(". ")
