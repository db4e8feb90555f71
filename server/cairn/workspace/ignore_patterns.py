"""Match ignore patterns with git's semantics: find the line of a list that decides about a path.

A plain name, path or ending becomes a dictionary entry. Other patterns become the branches of one regular
expression for the whole list, last line first, so that the deciding branch matches first. As in git, a
pattern matches the bytes of a path: a `?` is one byte. Bytes are represented as Latin-1 text, for which
regular expressions and dictionaries are fastest (`path_key`).

docs/design.md says why neither pathspec nor git itself matches the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import takewhile
from typing import TypeVar

from attrs import frozen

MAX_BYTES = 1_000_000
_MAX_EXPRESSIONS = 5_000
"""The maximum number of bytes that are read of an ignore file, and the maximum number of its patterns that
may need a regular expression. People write fewer. Without limits, a hostile file could stall the scan."""

K = TypeVar("K")

_MAGIC = re.compile(r"[*?\[]")
"""A part of a pattern with one of these characters matches several names."""
_POSIX_CLASSES = {
    "alnum": r"0-9A-Za-z", "alpha": r"A-Za-z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": r"0-9",
    "graph": r"!-~", "lower": r"a-z", "print": r" -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t-\r",
    "upper": r"A-Z", "xdigit": r"0-9A-Fa-f",
}  # fmt: skip

_STAR, _DEEP = "\0", "\0\0"
"""In a translated pattern, a star and a part that matches any folders. No pattern contains NUL."""


@frozen
class Pattern:
    line: int
    """The number of the line, from 1."""
    text: str
    """The line as written, without insignificant spaces."""
    negated: bool
    """Whether it re-includes the paths that it matches."""


def path_key(path: str, ignore_case: bool = False) -> str:
    """Return the form of a path (with `/`) or name that `PatternList.match` compares."""
    if ignore_case:
        # For bytes, this only changes A to Z.
        return path.encode("utf-8", "surrogateescape").lower().decode("latin-1")
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("latin-1")


class PatternList:
    """The patterns of one ignore file or one setting. The last one that matches decides."""

    def __init__(self, lines: Iterable[bytes], ignore_case: bool = False) -> None:
        self.patterns: list[Pattern] = []
        self.cut_at: int | None = None
        """The first line that is ignored because the list has too many expressions, as a number."""
        # The first table of each pair is for files, the second for directories.
        self._names = _Table(ignore_case), _Table(ignore_case)
        self._paths = _Table(ignore_case), _Table(ignore_case)
        self._any_anchored = False
        for number, line in enumerate(lines, 1):
            self._add(number, line)
        for table in (*self._names, *self._paths):
            table.close()

    @classmethod
    def of_file(cls, data: bytes, ignore_case: bool = False) -> PatternList:
        """Return the patterns of an ignore file whose content is `data`."""
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        return cls((line.removesuffix(b"\r") for line in lines), ignore_case)

    @classmethod
    def of_settings(cls, patterns: Sequence[str]) -> PatternList:
        """Return the patterns of a setting. The `line` of a pattern is its position in the list, from 1."""
        return cls(pattern.encode() for pattern in patterns)

    def match(self, path: str, name: str, directory: bool) -> Pattern | None:
        """Return the pattern that decides about `path`, relative to the list's folder, with last part `name`.
        Both are results of `path_key`. The caller handles paths below a matched directory."""
        number = self._names[directory].match(name)
        if self._any_anchored and (anchored := self._paths[directory].match(path)) > number:
            number = anchored
        return self.patterns[number] if number >= 0 else None

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def _add(self, number: int, line: bytes) -> None:
        if line.startswith(b"#"):
            return
        text = _trimmed(line.partition(b"\0")[0])
        body = text.removeprefix(b"!").decode("latin-1")
        anchored = "/" in body.removesuffix("/")
        translated = _translated(body.removesuffix("/").removeprefix("/"), anchored)
        if translated is None:
            return
        if translated.startswith(f"{_DEEP}/") and translated.count("/") == 1:
            translated, anchored = translated.removeprefix(f"{_DEEP}/"), False
        if len(self._names[True].branches) + len(self._paths[True].branches) >= _MAX_EXPRESSIONS:
            self.cut_at = self.cut_at or number
            return
        for table in (self._paths if anchored else self._names)[body.endswith("/") :]:
            table.add(len(self.patterns), translated, anchored)
        self._any_anchored |= anchored
        self.patterns.append(Pattern(number, text.decode("utf-8", "replace"), text.startswith(b"!")))


class Selection:
    """The files that a list of patterns selects. A matching directory selects all files below it."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = PatternList.of_settings(patterns)
        self._last = max((pattern.line for pattern in self._patterns.patterns), default=0)
        self._above = cache(self._last_above)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def names(self, path: str) -> bool:
        """Return whether the last pattern that matches the file or a directory above it selects it."""
        return bool(self.named([(path, path)]))

    def named(self, files: Iterable[tuple[K, str]]) -> list[K]:
        """Return the keys of the selected `files`, given as pairs of key and path. Sorted input is faster."""
        chosen: list[K] = []
        directory, above = "", None
        for key, path in files:
            parent, _, name = path.rpartition("/")
            if parent != directory:
                directory, above = parent, self._above(parent)
            pattern = above
            if above is None or above.line < self._last:
                pattern = _later(above, self._patterns.match(path_key(path), path_key(name), False))
            if pattern is not None and not pattern.negated:
                chosen.append(key)
        return chosen

    def _last_above(self, directory: str) -> Pattern | None:
        """Return the last pattern that matches the directory or one above it."""
        if not directory:
            return None
        parent, _, name = directory.rpartition("/")
        own = self._patterns.match(path_key(directory), path_key(name), directory=True)
        return _later(self._above(parent), own)


def _later(one: Pattern | None, other: Pattern | None) -> Pattern | None:
    if one is None or other is None:
        return one or other
    return other if other.line > one.line else one


def folder_of_pattern(pattern: str) -> str | None:
    """Return the path that contains every possible match of a `Selection`'s pattern. Return "" for the whole
    folder and None for a pattern that selects nothing."""
    if pattern.startswith("!"):
        return None
    parts = pattern.rstrip("/").split("/")
    # These may match anywhere: git does not read them literally.
    if len(parts) == 1 or re.search(r"[\\\0]|\s\Z", pattern):
        return ""
    plain = list(takewhile(lambda part: not _MAGIC.search(part), parts))
    return "/".join(plain).removeprefix("/")


def exact_pattern(path: str) -> str:
    """Return the pattern that selects the path, whatever characters it contains, and all below it."""
    return "/" + re.sub(r"[\\*?\[]|\s\Z", r"\\\g<0>", path)


def holding_pattern(text: str, *, ignore_case: bool) -> str:
    """Return the pattern that selects each path that contains the text, and all below such a folder. Only the
    case of the letters A to Z can be ignored."""
    literal = re.sub(r"[\\*?\[]", r"\\\g<0>", text)
    if ignore_case:
        literal = re.sub("[A-Za-z]", lambda letter: f"[{letter[0].lower()}{letter[0].upper()}]", literal)
    return f"**/*{literal}*"


def is_glob(text: str) -> bool:
    """Return whether a pattern may match several names, rather than only one path."""
    return text.startswith("!") or _MAGIC.search(text) is not None


def selection_problem(patterns: Sequence[str]) -> str | None:
    """Return why one or all of these patterns cannot select any file; None if they can."""
    for pattern in patterns:
        if not PatternList.of_settings((pattern,)):
            return (
                f"{pattern!r} can match no file: it is empty, a comment, or has a bracket that is not closed"
            )
        if ".." in pattern.removeprefix("!").split("/"):
            return f"{pattern!r} can match no file: paths are relative to the workspace folder and stay in it"
    if patterns and all(pattern.startswith("!") for pattern in patterns):
        return f"{patterns[0]!r} only leaves out; name what to search first, such as '**'"
    return None


class _Table:
    """Finds the last pattern that matches a path (for anchored patterns) or a name."""

    def __init__(self, ignore_case: bool) -> None:
        self._ignore_case = ignore_case
        self._whole: dict[str, int] = {}
        self._endings: dict[str, int] = {}
        self._match: Callable[[str], re.Match[str] | None] | None = None
        self.branches: list[tuple[int, str]] = []
        """The numbers and the expressions of patterns that are neither literal texts nor endings."""

    def add(self, number: int, translated: str, anchored: bool) -> None:
        is_ending = translated.startswith(_STAR) and not anchored
        text = _LITERAL.fullmatch(translated, 1 if is_ending else 0)
        if text is None or (is_ending and not text[0]):
            self.branches.append((number, _expression(translated)))
            return
        key = re.sub(r"\\(.)", r"\1", text[0], flags=re.DOTALL)
        if self._ignore_case:
            key = key.encode("latin-1").lower().decode("latin-1")
        (self._endings if is_ending else self._whole)[key] = number

    def close(self) -> None:
        self._all_endings = tuple(self._endings)
        flags = re.DOTALL | re.ASCII | (re.IGNORECASE if self._ignore_case else re.NOFLAG)
        if self.branches:
            self._match = re.compile("|".join(f"({e})" for _, e in reversed(self.branches)), flags).fullmatch

    def match(self, text: str) -> int:
        last = self._whole.get(text, -1)
        if self._all_endings and text.endswith(self._all_endings):
            last = max(last, *(number for end, number in self._endings.items() if text.endswith(end)))
        if self._match is not None and (found := self._match(text)):
            last = max(last, self.branches[-(found.lastindex or 0)][0])
        return last


def _trimmed(line: bytes) -> bytes:
    """Strip trailing spaces, except one after a backslash."""
    end = len(line.rstrip(b" "))
    backslashes = end - len(line[:end].rstrip(b"\\"))
    return line[: end + 1] if backslashes % 2 and end < len(line) else line[:end]


_MEMBER = r"\[:([^\]]*):\]|(\\.|[^\\])(?:-(\\.|[^\]\\]))?"
"""A member of a bracket expression: a class, or a character that may begin a range."""
_PIECE = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)"
    rf"|\[(?P<negated>[!^]?+)(?P<members>(?>{_MEMBER})(?:(?!\])(?>{_MEMBER}))*+)\]"
    r"|(?P<unfinished>\[|\\\Z)|\\?(?P<plain>.)",
    re.DOTALL,
)
_LITERAL = re.compile(r"(?:[^\\\[(\0]|\\.)*", re.DOTALL)
"""A translated pattern that matches only one text."""


def _translated(body: str, anchored: bool) -> str | None:
    """Return the pattern as a regular expression with `_STAR` and `_DEEP`, divided into parts by `/`. Return
    None if nothing can match it: it is empty, or has an unclosed bracket."""
    # git's abbreviation for zero directories needs a plain slash.
    body = re.sub(r"(?<![^/])\*\*+\\/", "**/*/", body)
    pieces: list[str] = []
    for piece in _PIECE.finditer(body):
        if piece["unfinished"]:
            return None  # Each further bracket would be searched to the end, too.
        if stars := piece["stars"]:
            pieces.append(_STAR if len(stars) == 1 else _DEEP)
        elif members := piece["members"]:
            bracket = _bracket(piece["negated"], members)
            if bracket is None:
                return None
            pieces.append(bracket)
        elif plain := piece["plain"]:
            pieces.append(re.escape(plain))
        else:
            pieces.append(r"[^\x2f]")
    if not pieces:
        return None
    translated = "".join(pieces)
    parts = [
        part if anchored and part == _DEEP else part.replace(_DEEP, _STAR) for part in translated.split("/")
    ]
    return "/".join(part for at, part in enumerate(parts) if part != _DEEP or parts[at - 1 : at] != [_DEEP])


def _bracket(negated: str, members: str) -> str | None:
    """Return the regular expression for a bracket; None if it names an unknown class."""
    inside = ""
    for posix, low, high in re.findall(_MEMBER, members, re.DOTALL):
        if not low and posix not in _POSIX_CLASSES:
            return None
        inside += re.escape(low[-1:]) or _POSIX_CLASSES[posix]
        if low and low[-1] <= high[-1:]:
            inside += f"{re.escape(low[-1])}-{re.escape(high[-1])}"
    inside = inside.replace("/", r"\x2f")
    return rf"[^\x2f{inside}]" if negated else rf"(?!\x2f)[{inside}]"


def _expression(translated: str) -> str:
    """Return a regular expression for a whole path.

    No pattern can make it slow: each part between two stars, or between two `**`, matches at the first place
    where it fits and is not tried again, because a later place cannot leave more text for the rest.
    """
    first, *others = re.split(f"/?{_DEEP}/?", "/".join(map(_part_expression, translated.split("/"))))
    if not others:
        return first
    *middle, last = others
    result = first + "/" if first else ""
    result += "".join(f"(?>(?:[^/]+/)*?{group}/)" for group in middle)
    return result + (f"(?:.*/)?{last}" if last else ".+")


def _part_expression(part: str) -> str:
    if not part:
        return "(?!)"
    if part in (_STAR, _DEEP):
        return "[^/]+" if part == _STAR else part
    head, *parts = part.split(_STAR)
    if not parts:
        return head
    *middle, last = parts
    return head + "".join(f"(?>[^/]*?{part})" for part in middle) + "[^/]*" + last
