"""Guesses the encoding of text that is neither UTF-8 nor UTF-16.

Each candidate decodes a sample, and the one whose characters surprise the least wins, as in a naive Bayes
classifier. A comment of five characters is enough for that. If none fits well, as for Greek or Thai,
charset-normalizer decides, which needs longer text. What is left is Western European.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from attrs import frozen


@frozen
class Guess:
    codec: str
    """The name of Python's codec."""
    fits: bool
    """Whether the text reads well in it. Otherwise it may be no text at all."""
    is_declared: bool = False
    """Whether the text itself names the encoding."""


_SAMPLE_BYTES, _PIECE_BYTES = 4_000, 1_000
"""The size of a sample, and of its part of one line. Text in ASCII before it does not count."""
_NOT_ASCII, _CONTROLS = re.compile(rb"[\x80-\xff]"), re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_WINDOWS, _UNDEFINED = re.compile(rb"[\x80-\x9f]"), re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_DECLARATION = re.compile(
    rb"(?:coding|charset|encoding)[ \t]{0,3}[:=][ \t]{0,3}[\"']?([A-Za-z][-\w.:]{1,30})"
)
_DECLARED_WITHIN = 1_000
_DECLARABLE = ("big5", "cp", "euc_", "gb", "iso8859", "johab", "koi8", "mac", "shift_jis", "tis")
"""What names of codecs with a character for each code begin with. Others, as Punycode, can take hours."""
_LETTERS = bytes(range(32, 127))

_FITTING = 9.0
"""The mean surprise up to which bytes are taken for text. Random bytes have 9.5 and more."""
_ENOUGH = 30
"""The number of bytes beyond ASCII from which charset-normalizer is right in nearly all cases."""
_OTHERS = ("cp1253", "iso8859_7", "cp1255", "cp1256", "cp874")
"""The encodings that only charset-normalizer recognizes here: Greek, Hebrew, Arabic and Thai."""


def guess(data: bytes) -> Guess:
    """Guess the encoding of `data`. The time hardly depends on its size."""
    sample = _sample(data)
    if declared := _declared(data[:_DECLARED_WITHIN], sample):
        return Guess(declared, fits=True, is_declared=True)
    if len(_CONTROLS.findall(sample)) > len(sample) // 100:
        return Guess("latin_1", fits=False)  # Every alphabet has letters for some binary data.
    surprises = {codec: _surprise(sample, codec) for codec in _CANDIDATES}
    codec = min(surprises, key=lambda each: surprises[each][0])
    mean = surprises[codec][1]
    if mean > _CANDIDATES[codec].typical and len(_NOT_ASCII.findall(sample)) >= _ENOUGH:
        other = _other(sample, codec)
        codec, mean = (other, 0) if other else (codec, mean)
    if codec == _WESTERN or mean > _FITTING:
        # The two differ in the bytes 0x80 to 0x9F, five of which Windows-1252 does not have.
        is_windows = mean <= _FITTING and _WINDOWS.search(data) and not _UNDEFINED.search(data)
        codec = _WESTERN if is_windows else "latin_1"
    return Guess(codec, mean <= _FITTING)


def _sample(data: bytes) -> bytes:
    """Return the first lines that are not ASCII. Of long lines, it has a part."""
    pieces, size, end = [], 0, 0
    while size < _SAMPLE_BYTES and (found := _NOT_ASCII.search(data, end)):
        start = max(data.rfind(b"\n", end, found.start()) + 1, end, found.start() - _PIECE_BYTES)
        line = data.find(b"\n", found.start())
        end = min(len(data) if line < 0 else line, found.start() + _PIECE_BYTES)
        pieces.append(data[start:end])
        size += end - start
    return b"\n".join(pieces)


def _declared(head: bytes, sample: bytes) -> str:
    """Return the codec that the beginning of a file names, as Python, HTML and XML do; "" if none.

    A declaration that the sample refutes is ignored, and so is Latin-1, which nothing refutes.
    """
    found = _DECLARATION.search(head)
    try:
        codec = codecs.lookup(found[1].decode()).name if found else ""
        if (
            not codec.startswith(_DECLARABLE)
            or codec == "iso8859-1"
            or _LETTERS.decode(codec) != _LETTERS.decode()
        ):
            return ""
        sample.decode(codec)
    except (LookupError, UnicodeError):
        return ""
    return codec


def _other(sample: bytes, codec: str) -> str:
    """Return which encoding charset-normalizer prefers to `codec`; "" if none."""
    from charset_normalizer import from_bytes  # The import takes 0.1 s.

    best = from_bytes(sample, cp_isolation=[codec, *_OTHERS], preemptive_behaviour=False).best()
    return best.encoding if best is not None and best.encoding in _OTHERS else ""


# --- how much a text surprises -------------------------------------------------------------------------
#
# A character's surprise is about the negative natural logarithm of its share in texts of the encoding. The
# shares were counted in translated messages of programs.

_ASCII, _ODD = 3.0, 14.0
_SHORT = 3.5
"""The surprise that a text of one or two characters may have besides."""


@frozen
class _Candidate:
    letters: Callable[[str, Sequence[str]], float]
    """Returns the surprise of the characters beyond ASCII in a text. They are given as well."""
    typical: float
    """The mean surprise that nearly all texts of the encoding have, if they are not short."""
    unlikely: float = 6.0
    """The surprise that a file has this encoding at all."""


def _surprise(sample: bytes, codec: str) -> tuple[float, float]:
    """Return the surprise of the whole sample, and the mean of its characters beyond ASCII."""
    text, candidate = sample.decode(codec, "replace"), _CANDIDATES[codec]
    others = [letter for letter in text if letter > "\x7f"]
    letters = candidate.letters(text, others)
    total = candidate.unlikely + letters + _ASCII * (len(text) - len(others))
    return total, (letters - _SHORT) / max(len(others), 1)


_KANJI = """
定数用使行名指文無不字効変合値正込列表語出示前存要設書力在時有中失一型読実成敗更必式関大対作動最開可間取入内
除続引換接明期上告再報照鍵致警外置終情能子形生性新切削場同番号認的見目所得了証義配限後画発先参全制空長当付部
"""
_SIMPLIFIED = """
的不用件文数无在法为有是字出中符时名个使定行能列选表式一项要标置器效目到语据设作对本程或入已未号示信错输类接存
以上大进录和将包前可过值型务库间显序指于取制误度息正参新没失模户支分建动区关小格空发命了改配败除组只编持引图
"""
_TRADITIONAL = """
的用檔不案定有法在數字使式時選設目是中名指項為列出入個語元一示標取件輸或行位稱到本效要可新未能錯作者存和以號
動已格除區於如顯組將引對錄資令變後版重表分誤鍵置值前內度理訊參來成下模結支間被預程開更提沒型符讀文所碼空過子
"""
_HANGUL = """
다이니을지습수에는로없일가자파하를스시기정서의합음용할리트인어사한오드션있대은않위문프터상제아만름함그값치실모으
패데버입바보옵소된명해작크형나고식전력들되중못설열행표메경업부라키류잘디블면개변호여거목록출령동브도했요미조원적
"""
_MARKS = frozenset("、。，・「」『』（）【】！？：；…—“”‘’《》～　")
_IN_LATIN_WORD = re.compile(r"(?<=[a-z])[^\x00-\x7f](?![^\x00-\x7f])|(?<=[A-Z])[^\x00-\x7f](?=[A-Za-z])")


def _east_asian(
    codec: str, common: frozenset[str], last_lead: int, text: str, others: Sequence[str]
) -> float:
    """Return the surprise of text of `codec`, whose two-byte codes up to `last_lead` are the usual signs."""
    # A single sign in a Latin word is rather an accented letter with the letter after it.
    total = 5.0 * len(_IN_LATIN_WORD.findall(text))
    if codec in _KANA_CODECS and not any("ぁ" <= letter <= "ヿ" for letter in others):
        total += _SHORT
    for letter, count in Counter(others).items():
        total += count * _of_sign(letter, codec, common, last_lead)
    return total


def _of_sign(letter: str, codec: str, common: frozenset[str], last_lead: int) -> float:
    if letter in common:
        return 5.5
    if letter in _MARKS:
        return 6.0
    if "ぁ" <= letter <= "ヿ":
        return 5.2 if codec in _KANA_CODECS else 11.0
    if "！" <= letter <= "～":
        return 9.0
    code = letter.encode(codec, "ignore")
    return 8.5 if len(code) == 2 and _FIRST_LEADS[codec] <= code[0] <= last_lead else _ODD


_KANA_CODECS = ("cp932", "euc_jp")
_FIRST_LEADS = {"cp932": 0x88, "euc_jp": 0xB0, "gb18030": 0xB0, "big5": 0xA4, "cp949": 0xB0}

_CYRILLIC = {letter: 2.4 + 0.09 * rank for rank, letter in enumerate("оеаинтрслвкпдмуязьыбйгчжхюцшфщэъё")}
_CYRILLIC |= dict.fromkeys("іїєґўјљњћђџѓќѕ", 5.5) | dict.fromkeys("«»—–№…„“”’", 6.0)
_WESTERN_MARKS = frozenset("«»°’“”„–—…¿¡§©®·€£±×²³½ºª")
_WESTERN_LETTERS = frozenset("éèàçùêâîôûëïüöäßñóíáúãõåøæœìò")


def _with_neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    return (each for each in zip(" " + text, text, text[1:] + " ", strict=False) if each[1] > "\x7f")


def _is_lower(letter: str) -> bool:
    return letter != letter.upper()


def _cyrillic(text: str, _: Sequence[str]) -> float:
    total = 0.0
    for before, letter, after in _with_neighbours(text):
        lower = letter.lower()
        total += _CYRILLIC.get(lower, 10.0)
        if not letter.isalpha():
            continue
        if lower != letter:  # Words in one wrong Cyrillic encoding have capitals within and at the end.
            total += 6.0 if _is_lower(before) else 0.3 if before.isalpha() else 1.0
        if (before.isalpha() and before.isascii()) or (after.isalpha() and after.isascii()):
            total += 7.0
        elif not before.isalpha() and not after.isalpha():
            total += 4.0
    return total


def _western(text: str, _: Sequence[str]) -> float:
    total = 0.0
    for before, letter, after in _with_neighbours(text):
        lower = letter.lower()
        is_run = before > "\x7f"
        if lower in _WESTERN_LETTERS:
            total += 4.5 + (3.5 if is_run and before.isalpha() else 0)
            total += 5 if lower != letter and _is_lower(before) else 0
            total += 0 if before.isalpha() or after.isalpha() else 1.5
        elif letter in _WESTERN_MARKS:
            total += 6.5 + (3.5 if is_run else 0)
        else:
            total += 8 + (3.5 if is_run else 0) if letter.isalpha() else 10
    return total


_WESTERN = "cp1252"
_CANDIDATES = {
    "cp932": _Candidate(partial(_east_asian, "cp932", frozenset(_KANJI), 0x97), 8.0),
    "euc_jp": _Candidate(partial(_east_asian, "euc_jp", frozenset(_KANJI), 0xCF), 8.0),
    "gb18030": _Candidate(partial(_east_asian, "gb18030", frozenset(_SIMPLIFIED), 0xD7), 9.0),
    "big5": _Candidate(partial(_east_asian, "big5", frozenset(_TRADITIONAL), 0xC6), 9.0),
    "cp949": _Candidate(partial(_east_asian, "cp949", frozenset(_HANGUL), 0xC8), 8.2),
    "koi8_r": _Candidate(_cyrillic, 3.4),
    "cp1251": _Candidate(_cyrillic, 3.4),
    _WESTERN: _Candidate(_western, 8.0, unlikely=0.0),
}
"""The candidates by codec. The first of equals wins."""
