"""Reads bytes as text, whatever the encoding, or recognizes that they are binary."""

from __future__ import annotations

import codecs
import re

from attrs import frozen

from cairn.text.encodings import guess

_SNIFFED = 8_000
"""The number of characters at the beginning that decide whether text with a NUL is binary, as in git."""
_NUL = "\N{SYMBOL FOR NULL}"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""The codecs by byte-order mark. The mark of UTF-32 begins with that of UTF-16."""

_NAMES = {
    "cp932": "Shift-JIS", "euc_jp": "EUC-JP", "gb18030": "GB18030", "big5": "Big5", "cp949": "EUC-KR",
    "latin_1": "Latin-1", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16",
}  # fmt: skip


@frozen
class Decoded:
    text: str
    """The text with its line ends, and with a visible symbol for each NUL."""
    encoding: str = ""
    """How the text was read; "" for UTF-8."""


def decoded(data: bytes) -> Decoded | None:
    """Return the text of a file; None if it is binary.

    Text in an encoding that is not recognized is read as Latin-1, which preserves every byte and every line.
    """
    for mark, codec in _MARKS.items():
        if data.startswith(mark):
            return _shown(data.decode(codec, "replace"), f"{codec.upper()}, by its byte-order mark")
    try:
        found = _shown(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        found = _of_legacy(data)
    return found or _of_utf_16(data)


def without_nul(text: str) -> str | None:
    """Return the text with a visible symbol for each NUL, without those after its end; None if it is binary.

    SQLite's functions end a text at a NUL, and PostgreSQL has no text with one. Lines and columns stay as
    they are. A few NULs are mistakes, or meant; more of them, or other control characters, are binary data.
    """
    if "\0" in text[:_SNIFFED] and not _is_text(text):
        return None
    return text.rstrip("\0").replace("\0", _NUL) if "\0" in text else text


def _is_text(text: str) -> bool:
    # A block of NULs, which a crash can leave in a log or at its end, counts as one.
    head = re.sub("\0+", "\0", text[:_SNIFFED].rstrip("\0"))
    controls = len(re.findall("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]", head))
    if not head or controls > max(4, len(head) // 100) or 6 * controls > len(head):
        return False
    return "\n" in head or text.count("\0", 0, _SNIFFED) <= 2


def _shown(text: str, encoding: str = "") -> Decoded | None:
    shown = without_nul(text)
    return None if shown is None else Decoded(shown, encoding)


def _of_legacy(data: bytes) -> Decoded | None:
    """Return text that is not UTF-8; None if it is binary, or rather UTF-16."""
    has_nul = b"\0" in data[:_SNIFFED]
    if has_nul and not _is_text(data[:_SNIFFED].decode("latin-1")):
        return None
    if (text := _mostly_utf_8(data)) is not None:
        return _shown(text, "UTF-8 with invalid bytes")
    found = guess(data)
    if has_nul and not found.fits:
        return None
    how = "as it says" if found.is_declared else "guessed"
    return _shown(data.decode(found.codec, "replace"), f"{_name(found.codec)}, {how}")


def _name(codec: str) -> str:
    named = re.sub(r"cp(?=125\d)", "Windows-", re.sub("iso8859.", "ISO-8859-", codec))
    return _NAMES.get(codec) or (named if named != codec else codec.replace("_", "-").upper())


def _mostly_utf_8(data: bytes) -> str | None:
    """Return the text if nearly all bytes beyond ASCII are UTF-8, such as after a cut amid a character."""
    text = data.decode("utf-8-sig", "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    return text if others > 4 * text.count("\ufffd") else None


# --- UTF-16 without a byte-order mark --------------------------------------------------------------------

_UTF_16 = re.compile(
    "[\t\n\f\r -~\xa0-\u052f\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u2010-\u2044\u20ac\u2190-\u257f"
    "\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e\U0001f300-\U0001faff]"
)
"""The characters that nearly all texts consist of. Half of all pairs of random bytes are such a character."""
_LIKELY_SHARE, _ASCII_SHARE, _NUL_SHARE = 0.95, 0.9, 0.4
_LEAST_BYTES, _MOST_BYTES = 8, 2_000
"""The sizes of the beginning that is judged."""


def _of_utf_16(data: bytes) -> Decoded | None:
    """Return the text of UTF-16, whose ASCII characters have a NUL each; None if it is something else."""
    head = data[:_MOST_BYTES]
    nuls = head.count(b"\0")
    if len(data) < _LEAST_BYTES or not nuls:
        return None
    ascii_bytes = len(re.findall(rb"[\t-\r -~]", head))
    if ascii_bytes > _ASCII_SHARE * (len(head) - nuls) and nuls < _NUL_SHARE * len(head):
        return None  # This is ASCII between NULs. Pairs of its letters would be Chinese characters.
    for codec in ("utf-16-le", "utf-16-be"):
        text = codecs.getincrementaldecoder(codec)("replace").decode(head)
        if text and len(_UTF_16.findall(text)) >= _LIKELY_SHARE * len(text) and re.search("[\n -~]", text):
            return _shown(data.decode(codec, "replace"), f"{_name(codec)}, guessed")
    return None
