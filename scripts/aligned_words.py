#!/usr/bin/env python3
"""Write server/cairn/retrieval/natural_languages/aligned/CODE.txt: words of programmers with their English
meanings, learnt from translated messages and documentation.

    python scripts/aligned_words.py SOURCES [CODE ...]

SOURCES is a folder for the sources, which are cloned or downloaded into it at pinned versions if they are
missing. Chinese and Japanese need the packages jieba and fugashi (with unidic-lite). IBM Model 1 (Brown et
al., "The mathematics of statistical machine translation", 1993) aligns the words of each pair of texts in
both directions. A word is written if both directions agree on its meaning and the hand-written lists do not
know it.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tarfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from cairn.retrieval.natural_languages.lexicon import ALIGNED, BY_HAND, Lexicon, WordMeaning, read_lexicon
from cairn.retrieval.natural_languages.recognition import UNTRANSLATED
from cairn.retrieval.wording import is_common
from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

Pairs = list[tuple[str, str]]
"""Texts in English, each with its translation."""

_VSCODE = "codingame-monaco-vscode-language-pack-{}-25.1.2.tgz"
_DOTNET = {
    "dotnet/msbuild": "05f089128b4b06b2c6a489a0602c18a53b18de38",
    "dotnet/roslyn-analyzers": "d45048f958379c63acfc716136a5e2466f21c5d4",
    "dotnet/templating": "4c17ee53e9a86e2980b3077c388ddd1ffa03cd0f",
    "dotnet/winforms": "2278c7fbbc460c8030f1ed236e44a09219f2fa57",
    "microsoft/testfx": "66b80b5751affb7f2dbd6013a85e650ddf76cffb",
    "microsoft/vstest": "0b289d54af2f0b7aba88364cd6e2718ac69cbd49",
}
_DOCUMENTATION = {
    "es": ("python/python-docs-es", "91f4ccc0baa8c7cbeb739e696c641388264caa30"),
    "fr": ("python/python-docs-fr", "b279d876e2a3381605d38ea62b863f60abadc92c"),
    "pt": ("python/python-docs-pt-br", "a30c8afdb1c680f97abe22485d4e599c6bf68480"),
    "zh": ("python/python-docs-zh-cn", "bfdf9589c4feb59f6f87ab669d7b1d2e75d93ae9"),
    "ja": ("python/python-docs-ja", "7eb90aaa6d3395bcfe01801ceb5e620eedf2356a"),
}
"""The translations of Python's documentation. There is none into German."""
_LOCALES = {"de": "de", "es": "es", "fr": "fr", "pt": "pt-BR", "zh": "zh-Hans", "ja": "ja"}

_MOST_WORDS = 50
"""The maximum number of words of a text. Long texts say little about the alignment of each word."""
_ROUNDS = 6
_FEWEST = 3
"""The minimum number of texts with a word."""
_TOGETHER = 0.4
"""The minimum share of the texts with a word whose English has the meaning."""
_MEANS = 0.3
"""The minimum probability of the English word, given the word."""
_MEANT = 0.01
"""The minimum probability of the word, given the English word. It is low because English has synonyms."""
_SECOND = 0.2
"""The minimum probability of a second meaning."""

_ADVERBS = frozenset(
    """additionally again already always currently especially even eventually exactly generally immediately
    instead likewise maybe never normally note often otherwise perhaps possibly previously probably quite
    rather simply sometimes still therefore together typically unfortunately usually well yet""".split()
)
"""English words that queries do not need. Sentences of documentation have many of them."""

_ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)', re.MULTILINE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_UNIT = re.compile(r'<source[^>]*>(.*?)</source>\s*<target state="translated"[^>]*>(.*?)</target>', re.DOTALL)
_MARKUP = re.compile(
    r":[\w:+-]+:`[^`]*`|``[^`]*``|`[^`]*`_*|\{[^}]*\}|<[^>]*>|%\(?\w*\)?\w|&&?|\b[A-Z]+\d+:|\*+"
)
_PSEUDO = str.maketrans("æÆøØðÐµþß§£", "aAoOdDubBSL")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_EAST_ASIAN = re.compile(r"[\u30a1-\u30fa\u30fc]+|[\u3041-\u309f\u3400-\u9fff々]+")
"""Matches a run of katakana, which is a word of Japanese, or a run of words without spaces."""
_KATAKANA = re.compile(r"[\u30a1-\u30fc]+")
_KANJI_WITH_ENDING = re.compile(r"([\u3400-\u9fff々].*?)[\u3041-\u309f]+\Z")
_SPACELESS = ("zh", "ja")


# --- sources --------------------------------------------------------------------------------------


def pairs_of(code: str, sources: Path) -> Pairs:
    """Return all texts in the language with their English originals, each pair once."""
    found = [*_of_vscode(code, sources), *_of_dotnet(code, sources)]
    if code in _DOCUMENTATION:
        found += _of_documentation(*_DOCUMENTATION[code], sources)
    cleaned = ((_cleaned(english), _cleaned(translated)) for english, translated in found)
    return [pair for pair in dict.fromkeys(cleaned) if all(pair) and pair[0] != pair[1]]


def _of_vscode(code: str, sources: Path) -> Iterator[tuple[str, str]]:
    """Yield the messages of Visual Studio Code. Its pseudo-language has the English ones with accents."""
    english, translated = (_pack(each, sources) for each in ("qps-ploc", _LOCALES[code].lower()))
    for name, messages in english.items():
        for key, message in messages.items():
            if key in translated.get(name, {}):
                yield _without_pseudo_accents(message), translated[name][key]


def _pack(locale: str, sources: Path) -> dict[str, dict[str, str]]:
    file = sources / _VSCODE.format(locale)
    if not file.exists():
        package = f"@codingame/monaco-vscode-language-pack-{locale}@25.1.2"
        subprocess.run(["npm", "pack", "--silent", package], cwd=sources, check=True)
    found: dict[str, dict[str, str]] = {}
    with tarfile.open(file) as pack:
        for member in pack:
            content = pack.extractfile(member)
            if content is None or "/translations/" not in member.name:
                continue
            text = content.read().decode()
            if member.name.endswith(".json"):
                for part, messages in json.loads(text)["contents"].items():
                    found[f"{member.name}/{part}"] = messages
            else:
                lines = re.findall(r'^\t("(?:[^"\\]|\\.)*"|undefined),?$', text, re.MULTILINE)
                found[member.name] = {
                    str(place): json.loads(line) for place, line in enumerate(lines) if line[0] == '"'
                }
    return found


def _without_pseudo_accents(message: str) -> str:
    plain = unicodedata.normalize("NFD", message.translate(_PSEUDO))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _of_dotnet(code: str, sources: Path) -> Iterator[tuple[str, str]]:
    for repository, revision in _DOTNET.items():
        for text in _files(repository, revision, f".{_LOCALES[code]}.xlf", sources):
            for english, translated in _UNIT.findall(text):
                yield html.unescape(english), html.unescape(translated)


def _of_documentation(repository: str, revision: str, sources: Path) -> Iterator[tuple[str, str]]:
    for text in _files(repository, revision, ".po", sources):
        for entry in text.split("\n\n"):
            if ", fuzzy" not in entry and (found := _ENTRY.search(entry)):
                english, translated = ("".join(_QUOTED.findall(part)) for part in found.groups())
                yield english, translated


def _files(repository: str, revision: str, ending: str, sources: Path) -> Iterator[str]:
    """Yield the texts of the files with the ending in a clone of the repository without a work tree."""
    clone = sources / repository.partition("/")[2]
    if not clone.exists():
        address = f"https://github.com/{repository}"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", address, str(clone)], check=True)
    git = ["git", "-C", str(clone)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "--name-only", revision], check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    for path in filter(None, listed.split("\0")):
        if path.endswith(ending) and "changelog" not in path:  # Changelogs name persons.
            content = subprocess.run([*git, "show", f"{revision}:{path}"], check=True, stdout=subprocess.PIPE)
            yield content.stdout.decode("utf-8", "replace")


def _cleaned(text: str) -> str:
    return " ".join(
        UNTRANSLATED.sub(" ", _MARKUP.sub(" ", text.replace("\\n", " ").replace('\\"', '"'))).split()
    )


# --- words ----------------------------------------------------------------------------------------


@frozen
class Words:
    """The words of one side of the texts. Each inflected word counts as its stem."""

    ids: dict[str, int] = field(factory=dict)
    spelled: dict[int, Counter[str]] = field(factory=lambda: defaultdict(Counter))
    """The spellings of each stem."""

    def read(self, words: Iterable[tuple[str, str]]) -> list[int]:
        """Return the ids of words, given as stem and spelling."""
        found = []
        for key, word in words:
            number = self.ids.setdefault(key, len(self.ids))
            self.spelled[number][word] += 1
            found.append(number)
        return found

    def word(self, number: int) -> str:
        return self.spelled[number].most_common(1)[0][0]


def english_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield words as they are written, except the first one, whose capital says nothing."""
    for place, word in enumerate(_WORD.findall(text)):
        yield stem(word.lower()), word if place else word.lower()


def divider(code: str, lexicon: Lexicon) -> Callable[[str], Iterator[tuple[str, str]]]:
    """Return the function that divides a text in the language into words."""
    if code == "zh":
        import jieba

        return partial(_east_asian, jieba.cut)
    if code == "ja":
        from fugashi import Tagger

        tagger = Tagger("-Owakati")
        return partial(_east_asian, lambda run: tagger.parse(run).split())
    return partial(_spaced, lexicon)


def _spaced(lexicon: Lexicon, text: str) -> Iterator[tuple[str, str]]:
    """Yield words. A capital at the beginning says nothing about a word; in German, others show nouns."""
    for place, word in enumerate(re.findall(r"[^\W\d_]+", text)):
        is_noun = lexicon.code == "de" and place and word[1:].islower()
        yield lexicon.stem(word.lower()), word if is_noun else word.lower()


def _east_asian(divide: Callable[[str], Iterable[str]], text: str) -> Iterator[tuple[str, str]]:
    """Yield words without the inflected ending in hiragana."""
    for run in _EAST_ASIAN.findall(text):
        for word in [run] if _KATAKANA.fullmatch(run) else divide(run):
            ending = _KANJI_WITH_ENDING.match(word)
            plain = ending[1] if ending else word
            yield plain, plain


# --- alignment ------------------------------------------------------------------------------------


@frozen
class Aligned:
    """The probabilities of each pair of words that occur in the same text."""

    words: NDArray[np.int64]
    meanings: NDArray[np.int64]
    means: NDArray[np.float64]
    """The probability of the English word, given the word."""
    meant: NDArray[np.float64]
    """The probability of the word, given the English word."""
    together: NDArray[np.int64]
    """The number of texts with both."""


def align(texts: list[tuple[list[int], list[int]]]) -> Aligned:
    """Align texts, each given as the ids of its English words and of its words."""
    keys: list[NDArray[np.int64]] = []
    of_word: list[NDArray[np.int64]] = []
    of_meaning: list[NDArray[np.int64]] = []
    seen = 0
    for english, words in texts:
        one, other = np.meshgrid(np.array(words), np.array(english), indexing="ij")
        keys.append((one.ravel().astype(np.int64) << 32) | other.ravel())
        # Each place of a text shares out one alignment, in either direction.
        places = np.indices(one.shape)
        of_word.append(seen + places[0].ravel())
        of_meaning.append(seen + places[1].ravel())
        seen += max(one.shape)
    every, index, counts = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    words, meanings = every >> 32, every & 0xFFFFFFFF
    places_of_words, places_of_meanings = np.concatenate(of_word), np.concatenate(of_meaning)
    # Every English word is generated by one of the words, and every word by one of the English words.
    means = _model_1(index, words, places_of_meanings)
    meant = _model_1(index, meanings, places_of_words)
    return Aligned(words, meanings, means, meant, counts)


def _model_1(
    index: NDArray[np.int64], given: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability of each pair, given one of its words. `index` has the pair of each two words in
    a text, and `places` the generated word."""
    probability = np.full(len(given), 1.0)
    for _ in range(_ROUNDS):
        each = probability[index]
        each /= np.bincount(places, each)[places]
        expected = np.bincount(index, each, minlength=len(given))
        probability = expected / np.bincount(given, expected)[given]
    return probability


# --- the list -------------------------------------------------------------------------------------


def entries(code: str, pairs: Pairs) -> dict[str, list[str]]:
    """Return the words that the hand-written list lacks, by meaning (`first / second`)."""
    known = read_lexicon(code, (BY_HAND,))
    divide = divider(code, known)
    english, foreign = Words(), Words()
    texts: list[tuple[list[int], list[int]]] = []
    for one, other in pairs:
        text = english.read(english_words(one)), foreign.read(divide(other))
        if all(0 < len(words) <= _MOST_WORDS for words in text):
            texts.append(text)
    times: Counter[int] = Counter()
    for _, words in texts:
        times.update(set(words))
    adjacent: Counter[tuple[int, int]] = Counter()
    for words, _ in texts:
        adjacent.update(pairwise(words))
    candidates = _candidates(align(texts), times)
    by_meaning: dict[str, list[str]] = defaultdict(list)
    # Short words come first, so that German compounds of words already found are left out.
    for word, number in sorted(((foreign.word(each), each) for each in candidates), key=_by_length):
        if times[number] < _FEWEST or len(word) < (2 if code in _SPACELESS else 4):
            continue
        means = _meaning(candidates[number], english, adjacent)
        if means and word.lower() not in means.split() and not _is_known(known, word, means):
            by_meaning[means].append(word)
            meaning = WordMeaning(tuple(means.split(" / ")))
            known.exact[word] = known.stemmed[known.stem(word)] = meaning
    return by_meaning


def _candidates(aligned: Aligned, times: Counter[int]) -> dict[int, list[tuple[float, int]]]:
    """Return the possible meanings of each word with their probabilities, the most probable first."""
    shares = aligned.together / np.array([times[number] for number in range(max(times) + 1)])[aligned.words]
    usable = (shares >= _TOGETHER) & (aligned.meant >= _MEANT) & (aligned.means >= _SECOND)
    found: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for place in np.flatnonzero(usable):
        found[int(aligned.words[place])].append((float(aligned.means[place]), int(aligned.meanings[place])))
    return {number: sorted(meanings, reverse=True) for number, meanings in found.items()}


def _by_length(word: tuple[str, int]) -> tuple[int, str]:
    return len(word[0]), word[0]


def _meaning(meanings: list[tuple[float, int]], english: Words, adjacent: Counter[tuple[int, int]]) -> str:
    """Return the meaning in the form of the lists, or "" if it is unclear or no word of programmers."""
    named = [(share, number) for share, number in meanings if _is_term(english.word(number))]
    if not named or named[0] != meanings[0]:
        return ""
    if len(named) > 1 and named[0][0] < 2 * named[1][0]:
        (_, one), (_, other) = named[:2]
        if max(adjacent[one, other], adjacent[other, one]) >= _FEWEST:
            order = (one, other) if adjacent[one, other] >= adjacent[other, one] else (other, one)
            return " ".join(english.word(number).lower() for number in order)
    return " / ".join(english.word(number).lower() for _, number in named) if named[0][0] >= _MEANS else ""


def _is_term(word: str) -> bool:
    """Return whether an English word, as it is written most often, is a word of programmers and no name."""
    lowered = word.lower()
    is_word = (
        re.fullmatch("[a-z]+", lowered) is not None and lowered not in STOPWORDS | LIGHT_WORDS | _ADVERBS
    )
    return is_word and (word == lowered or is_common(stem(lowered)))


def _is_known(known: Lexicon, word: str, means: str) -> bool:
    """Return whether a list has the word, or one with the same stem and the same meaning."""
    if word in known.exact:
        return True
    if known.code in _SPACELESS:
        return _is_hiragana(word) or _divides(word, known)
    found = [known.meaning([each]) for each in (word, word.lower(), word.capitalize())]
    meanings = [{stem(part) for text in each.words for part in text.split()} for each in found if each]
    means_same = (
        {stem(part) for part in text.split()} <= each for each in meanings for text in means.split(" / ")
    )
    return not all(meanings) or any(means_same)


def _is_hiragana(word: str) -> bool:
    """Return whether the word is in hiragana alone. Such words are grammar, or parts of other words."""
    return re.fullmatch("[\u3041-\u309f]+", word) is not None


def _divides(word: str, known: Lexicon) -> bool:
    """Return whether a word in Chinese or Japanese consists of known words, as translations read it. Single
    characters with a meaning are too ambiguous."""
    place = 0
    while place < len(word):
        for count in range(min(known.longest, len(word) - place), 0, -1):
            found = known.exact.get(word[place : place + count])
            if found and (count > 1 or not found.words):
                break
        else:
            return False
        place += count
    return True


def main(sources: Path, codes: list[str]) -> None:
    for code in codes or sorted(_LOCALES):
        pairs = pairs_of(code, sources)
        found = entries(code, pairs)
        lines = [f"{means} = {', '.join(words)}" for means, words in sorted(found.items())]
        (ALIGNED / f"{code}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = sum(map(len, found.values()))
        print(f"{code}: {len(pairs)} texts, {words} words", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
