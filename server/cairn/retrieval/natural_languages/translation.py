"""Translate questions into English, word by word and phrase by phrase. Names and quotes stay unchanged. The
result is not good English, but it has the words of the code and the question words by which a question is
classified: "¿Dónde se cierra la conexión?" becomes "Where close connection?"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from attrs import field, frozen

from cairn.retrieval.natural_languages.lexicon import Lexicon, WordMeaning, lexicon
from cairn.retrieval.natural_languages.recognition import UNTRANSLATED, Language, sentences
from cairn.retrieval.wording import is_common
from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

_SPACELESS = frozenset({"zh", "ja"})
_PUNCTUATION = str.maketrans(
    {"。": ". ", "，": ", ", "、": ", ", "：": ": ", "；": "; ", "？": "? ", "！": "! ", "（": " (", "）": ") ", "　": " "}  # noqa: E501
    | dict.fromkeys("„“”«»「」『』《》", '"')
    | dict.fromkeys("¿¡", "")
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_WITHIN = re.compile(r"[ '’ʼ-]{1,2}|-t-")
_RUN = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uff66-\uff9f々〇]+")
_UNKNOWN_NAME = re.compile(r"[\u30a1-\u30ff]{2,}|[\u3400-\u9fff々]{2,}")
"""Matches possible names or words missing in the list. Hiragana and single characters are grammar."""
_ASKING = re.compile(r"(?:what|where|which|why|how|who)\b")
_BEGINS_WITH_THAT = re.compile(r"\Athat\b")
"""Matches "that" at the beginning of a sentence. Many languages have one word for "what" and "that"."""
_SPACES = re.compile(r"\s+")
_LOOSE = re.compile(r"\s+([,.;:?!])")


@frozen
class Translation:
    text: str
    language: Language | None = None
    meant_by: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """The original word and its other meanings, by the English word in `text`."""

    @property
    def note(self) -> str:
        if self.language is None or self.language.code:
            return ""
        return (
            f"The question seems to be in {self.language.name}, which Cairn does not know; "
            "only its names, and words as they stand, were looked for."
        )


@lru_cache(maxsize=64)
def in_english(text: str) -> Translation:
    """Translate `text`; return it unchanged if it is English or in an unknown language."""
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    language, found = sentences(text)
    if language is None or not language.code:
        return Translation(text, language)
    words = lexicon(language.code)
    meant_by: dict[str, tuple[str, ...]] = {}
    pieces: list[str] = []
    careless = text.isascii() and (language.code != "de" or text == text.lower())
    is_spaceless = language.code in _SPACELESS
    for sentence in found:
        part = text[sentence.start : sentence.end]
        if is_spaceless and not sentence.is_english:
            part = unicodedata.normalize("NFKC", part)
        part = part.translate(_PUNCTUATION)
        if sentence.is_english:
            pieces.append(part)
            continue
        if is_spaceless:
            english = _asking_first(list(_spaceless(part, words, meant_by)), language)
        else:
            keep_english = sentence.language is None
            english = _tidy(_spaced(part, words, meant_by, careless=careless, keep_english=keep_english))
            english = _BEGINS_WITH_THAT.sub("what", english)
        pieces.append(english[:1].upper() + english[1:])
    return Translation(_tidy(" ".join(pieces)), language, meant_by)


def word_meanings(words: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the meanings of words in the one of Portuguese, Spanish, German and French that knows most of
    them. This serves queries of nouns and names alone, whose language is not recognised."""
    every: list[dict[str, tuple[str, ...]]] = []
    for code in ("pt", "es", "de", "fr"):
        found = {word: lexicon(code).meaning([word]) for word in words if not is_common(stem(word))}
        every.append(
            {
                word: meaning.words
                for word, meaning in found.items()
                if meaning and meaning.words and not STOPWORDS.issuperset(meaning.words[0].split())
            }
        )
    return max(every, key=len)


def _tidy(text: str) -> str:
    return _LOOSE.sub(r"\1", _SPACES.sub(" ", text)).strip()


def _spaced(
    text: str, words: Lexicon, meant_by: dict[str, tuple[str, ...]], *, careless: bool, keep_english: bool
) -> str:
    """Translate a sentence with spaces. With `keep_english`, English words stay, as in an English message."""
    masked = UNTRANSLATED.sub(lambda match: "\0" * len(match.group()), text)
    found = [match for match in _WORD.finditer(masked) if words.has_script_of(match.group())]
    pieces: list[str] = []
    end = place = 0
    while place < len(found):
        most = 1
        while (
            place + most < len(found)
            and most < words.longest
            and _WITHIN.fullmatch(masked, found[place + most - 1].end(), found[place + most].start())
        ):
            most += 1
        for count in range(most, 0, -1):
            spoken = [match.group() for match in found[place : place + count]]
            is_english = count == 1 and is_common(spoken[0].lower())
            if is_english and keep_english:
                continue
            if meaning := words.meaning(spoken, careless=careless, only_exact=is_english):
                break
        else:
            place += 1
            continue
        first, last = found[place], found[place + count - 1]
        pieces += [
            text[end : first.start()].rstrip("-'’"),
            _english_of(meaning, [" ".join(spoken)], meant_by),
        ]
        end = last.end() + (masked[last.end() : last.end() + 1] in ("'", "’", "-"))
        place += count
    return " ".join((*pieces, text[end:]))


def _spaceless(text: str, words: Lexicon, meant_by: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the translated pieces of a sentence without spaces, by the longest known word at each place."""
    end = 0
    for run in _RUN.finditer(text):
        if text[end : run.start()].strip():
            yield text[end : run.start()].strip()
        end, unknown, place = run.end(), "", 0
        spoken = run.group()
        while place < len(spoken):
            for count in range(min(words.longest, len(spoken) - place), 0, -1):
                if meaning := words.exact.get(spoken[place : place + count]):
                    yield from _UNKNOWN_NAME.findall(unknown)
                    unknown = ""
                    yield _english_of(meaning, _within(spoken, place, count), meant_by)
                    break
            else:
                unknown, count = unknown + spoken[place], 1
            place += count
        yield from _UNKNOWN_NAME.findall(unknown)
    if text[end:].strip():
        yield text[end:].strip()


def _within(run: str, place: int, count: int) -> list[str]:
    """Return a word of a run as the index has it: the pairs of letters with it, for a word of one letter."""
    if count > 1 or len(run) == 1:
        return [run[place : place + count]]
    return [run[start : start + 2] for start in (place - 1, place) if 0 <= start < len(run) - 1]


def _asking_first(pieces: list[str], language: Language) -> str:
    """Join the pieces into one sentence with the question word first, as in English. "Which" moves together
    with its noun: the next piece in Chinese, the previous one in Japanese."""
    pieces = [piece for piece in pieces if piece]
    place = next((place for place, piece in enumerate(pieces) if _ASKING.match(piece)), 0)
    asking = pieces[place : place + 1]
    if place and asking == ["which"]:
        if language.code == "zh":
            asking = pieces[place : place + 2]
        elif pieces[place - 1].isascii() and pieces[place - 1].replace(" ", "").isalpha():
            place -= 1
            asking = [pieces[place + 1], pieces[place]]
    return " ".join((*asking, *pieces[:place], *pieces[place + len(asking) :]))


def _english_of(meaning: WordMeaning, spoken: Sequence[str], meant_by: dict[str, tuple[str, ...]]) -> str:
    """Return the English of a word. Its first content word is added to `meant_by`, with how it was spoken."""
    english = meaning.words[0] if meaning.words else ""
    terms = [word for word in english.split() if word not in STOPWORDS and word not in LIGHT_WORDS]
    if terms and meaning.is_name:
        known = meant_by.get(terms[0], ())
        others = meaning.words[1:] if terms == [english] else ()
        meant_by[terms[0]] = tuple(dict.fromkeys((*known, *others, *map(str.lower, spoken))))
    return english
