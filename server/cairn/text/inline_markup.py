"""Strip inline markup from running text, so that the result is what a reader sees.

The text may be Markdown, reStructuredText or doc comments. Emphasis marks, link addresses, images, footnote
marks and inline HTML are removed. Code spans keep their backticks, which distinguish a name in code from a
word. Roles, `{@code …}` and `<see cref=…/>` become code spans. A parser of one syntax does not suffice:
comments mix all of them, and a citation needs the position of each remaining character in the source.
"""

from __future__ import annotations

import html
import re
from collections import Counter

from attrs import define, field, frozen

_MARKUP = re.compile(r"[*_~`\[<&\\]|\{@")
_UNEVEN = re.compile(r"\s\s|\A\s|\s\Z|[^\S \n]")
"""Whitespace that is collapsed. A single line end only becomes a space."""
_CODE_TAGS = "code|c|tt|kbd|samp"
_TAGS = (
    "a|abbr|b|bdi|bdo|big|br|cite|code|c|del|dfn|em|font|i|img|ins|kbd|li|mark|nobr|p|para|q|s|samp|see"
    "|seealso|small|span|strike|strong|sub|summary|sup|tt|u|ul|ol|var|wbr|remarks|returns|value|note|param"
    "|typeparam|exception|example"
)
_LABEL = r"(?:[^\[\]`]|(?P<{0}>`+)[^`]+(?P={0})|!?\[[^\[\]]*\](?:\([^()]*\))?)*?"
"""The text between a link's brackets, which may contain code, brackets and an image."""
_ADDRESS = r"\(\s*+(?:<[^<>\n]*>|[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+)(?:\s++(?:\"[^\"]*\"|'[^']*'))?\s*+\)"

_CONSTRUCT = re.compile(
    r"(?=[\\:`!\[<{&h])(?:"  # a quick skip of characters that begin no construct
    r"\\(?P<escaped>[\\`*_\[\]<>#|~!])"
    r"|(?P<hard_break>\\(?=\n))"
    r"|(?<![\w:]):(?:[A-Za-z][\w+.-]*:)+`(?P<role>[^`]+)`(?!`)"
    r"|(?<!`)`(?P<named>[^`<>]+?)\s*<[^`<>]+>`__?(?!\w)"
    r"|(?<!`)`(?P<reference>[^`]+)`__?(?!\w)"
    r"|(?P<code>(?<!`)(?P<ticks>`++).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<comment><!--.*?-->)"
    rf"|(?P<image>!\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\](?:{_ADDRESS}|\[[^\[\]]*\]))"
    r"|(?P<footnote>\[\^[^\[\]\s]+\](?!:)|\[(?:\d+|\#[\w-]*|\*|[A-Z][\w-]*\d)\]_(?!\w))"
    rf"|(?<![A-Za-z0-9_\])])\[(?P<link>{_LABEL.format('inner')})\]"
    rf"(?P<address>(?:{_ADDRESS}|\[[^\[\]]*\])(?:\{{:?\s*[.#][^{{}}]*\}})?)"
    r"|\[(?P<lone>`[^`\[\]]+`)\](?![\[(])"
    r"|<(?P<url>(?:https?|ftp|mailto):[^<>\s]+|[^<>\s@]+@[^<>\s@]+\.[a-z]+)>"
    rf"|<(?P<code_tag>{_CODE_TAGS})>(?P<coded>[^<>`]+)</(?P=code_tag)>"
    r"|<(?:see|seealso|paramref|typeparamref)\s+(?:cref|name|langword)=\"(?:[A-Z]:)?(?P<cref>[^\"]+)\"\s*/>"
    rf"|(?P<tag></(?:{_TAGS})\s*>|(?<!\w)<(?:{_TAGS})(?:\s[^<>]*)?/?>|<(?:br|sub|sup)\s*/?>)"
    r"|\{@(?:code|literal|value)\s+(?P<inline_code>[^{}]+?)\s*\}"
    r"|\{@(?:link|linkplain)\s+(?P<inline_link>[^{}\s]+)(?:\s+(?P<inline_label>[^{}]+?))?\s*\}"
    r"|(?P<entity>&(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);)"
    r"|(?P<bare>\bhttps?://[^\s<>()`]*))",
    re.DOTALL,
)
_TITLED_ROLE = re.compile(r"(?P<title>.+?)\s*<[^<>]+>\Z", re.DOTALL)
_NOTE = re.compile(r"(?<=[.!?])\s+\*+\s*\Z")
_WORD = re.compile(r"\S+")
_RUN = re.compile(r"\*+|_+|~~")
_IDENTIFIER = re.compile(r"[a-z0-9_]+")
_GLOB = ".,;/)"
"""The characters that follow the `*` of a file pattern such as `*.py`."""


@frozen
class Stripped:
    """Text without inline markup, on one line, with whitespace collapsed."""

    text: str
    places: tuple[int, ...] | range
    """The position in the source of each character of `text`."""


def strip_inline(source: str) -> Stripped:
    """Strip the inline markup of `source`, a paragraph whose lines end in `\\n`."""
    if not _MARKUP.search(source) and not _UNEVEN.search(source):
        return Stripped(source.replace("\n", " "), range(len(source)))
    edits = _Edits(source)
    edits.read_constructs()
    edits.read_emphasis()
    return edits.apply()


@define
class _Marks:
    """A run of opening emphasis marks: `source[start:end]`."""

    mark: str
    start: int
    end: int


@define
class _Edits:
    """The replacements for the markup in a source, and the parts that stay as they are."""

    source: str
    _replaced: list[tuple[int, int, str]] = field(factory=list)
    _opaque: list[tuple[int, int]] = field(factory=list)
    _open_marks: Counter[str] = field(factory=Counter)
    """How many marks of each kind are open. Searching for one in vain would take quadratic time."""

    def apply(self) -> Stripped:
        pieces: list[str] = []
        places: list[int] = []
        position = 0
        for start, end, replacement in sorted(self._replaced):
            pieces.append(self.source[position:start])
            places.extend(range(position, start))
            pieces.append(replacement)
            within = max(0, self.source[start:end].find(replacement))
            places.extend(min(start + within + offset, end - 1) for offset in range(len(replacement)))
            position = end
        pieces.append(self.source[position:])
        places.extend(range(position, len(self.source)))
        return Stripped(*_collapsed("".join(pieces), places))

    def read_constructs(self) -> None:
        position = 0
        tails: list[tuple[int, int]] = []
        while found := _CONSTRUCT.search(self.source, position):
            if tails and found.start() >= tails[-1][0]:
                position = tails.pop()[1]  # This is the address of a link whose text was already read.
                continue
            if found["link"] is not None:
                tail = found.span("address")
                tails.append((tail[0] - 1, tail[1]))
                self._replace(found.start(), found.start("link"), "")
                self._replace(*tails[-1], "")
                position = found.start("link")
            else:
                self._read(found)
                position = found.end()

    def _read(self, found: re.Match[str]) -> None:
        replacement = _replacement(found)
        if found.lastgroup == "footnote" and self.source[: found.start()].endswith(" "):
            self._replace(found.start() - 1, found.end(), "")
        elif replacement is not None and replacement != found[0]:
            self._replace(*found.span(), replacement)
        else:
            self._opaque.append(found.span())

    def _replace(self, start: int, end: int, text: str) -> None:
        self._replaced.append((start, end, text))
        self._opaque.append((start, end))

    def read_emphasis(self) -> None:
        if not any(mark in self.source for mark in "*_~"):
            return
        hidden = bytearray(len(self.source))
        for start, end in self._opaque:
            hidden[start:end] = b"\1" * (end - start)
        openers: list[_Marks] = []
        for run in _RUN.finditer(self.source):
            if hidden[run.start()]:
                continue
            start, end = run.span()
            if self._closes(start, end):
                start = self._close(openers, run[0][0], start, end)
            if start < end and self._opens(start, end):
                openers.append(_Marks(run[0][0], start, end))
                self._open_marks[run[0][0]] += 1

        if note := _NOTE.search(self.source):
            self._replaced.append((*note.span(), ""))

    def _close(self, openers: list[_Marks], mark: str, start: int, end: int) -> int:
        """Pair the marks `[start, end)` with open ones. Return the start of the marks that stay unpaired."""
        while start < end:
            if not self._open_marks[mark]:
                break
            index = next(i for i in reversed(range(len(openers))) if openers[i].mark == mark)
            opener = openers[index]
            count = min(opener.end - opener.start, end - start)
            inside = self.source[opener.end : start]
            if mark == "_" and _IDENTIFIER.fullmatch(inside) and (count > 1 or "_" in inside):
                break
            for dropped in openers[index + 1 :]:
                self._open_marks[dropped.mark] -= 1
            del openers[index + 1 :]
            self._replaced.append((opener.end - count, opener.end, ""))
            self._replaced.append((start, start + count, ""))
            opener.end -= count
            start += count
            if opener.start == opener.end:
                openers.pop()
                self._open_marks[mark] -= 1
        return start

    def _opens(self, start: int, end: int) -> bool:
        before, after = self.source[start - 1 : start], self.source[end : end + 1]
        if not after.strip() or after in _GLOB:
            return False
        is_star = self.source[start] == "*"
        if before.isalnum() and (before.isascii() or not is_star):
            return False  # Scripts without spaces have emphasis within words.
        return (is_star and end - start > 1) or not before or before not in "./)]\\"

    def _closes(self, start: int, end: int) -> bool:
        before, after = self.source[start - 1 : start], self.source[end : end + 1]
        if not before.strip() or before in "/([{":
            return False
        return after != "/" and not (after.isascii() and after.isalnum())


def _collapsed(text: str, places: list[int]) -> tuple[str, tuple[int, ...]]:
    """Return `text` with its whitespace collapsed, and the places of the remaining characters."""
    if not _UNEVEN.search(text):
        return text.replace("\n", " "), tuple(places)
    words: list[str] = []
    left: list[int] = []
    for word in _WORD.finditer(text):
        if words:
            left.append(places[word.start() - 1])
        words.append(word[0])
        left.extend(places[word.start() : word.end()])
    return " ".join(words), tuple(left)


def _replacement(found: re.Match[str]) -> str | None:
    """Return the replacement of a construct, or None if it stays as it is."""
    kind = found.lastgroup
    match kind:
        case "hard_break" | "comment" | "image" | "footnote":
            return ""
        case "tag":
            return " " if found[0].startswith(("<br", "<p")) else ""
        case "role":
            return _role(found["role"])
        case "escaped" | "url" | "named" | "lone" | "reference":
            return found[kind]
        case "coded" | "inline_code":
            return f"`{html.unescape(found[kind])}`"
        case "cref":
            return f"`{found['cref']}`"
        case "inline_link" | "inline_label":
            return found["inline_label"] or f"`{found['inline_link']}`"
        case "entity":
            return html.unescape(found[0])
    return None


def _role(text: str) -> str:
    """Return what Sphinx shows for a role: its title, or its target, shortened to the last part by `~`."""
    if titled := _TITLED_ROLE.match(text):
        return titled["title"]
    name = text.removeprefix("!")
    return f"`{name[1:].rpartition('.')[2] if name.startswith('~') else name}`"
