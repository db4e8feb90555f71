"""Read the content words of a query, and find the other words that each may stand for: abbreviations,
synonyms, and the word of the index that a misspelled one was meant to be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from attrs import frozen

from cairn.index.queries.known_words import IndexVocabulary, KnownWord, unlikeness
from cairn.text.identifiers import identifier_words
from cairn.text.unspaced import is_unspaced, spread
from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

_SHORT = """
    acct account | addr address | admin administrator | alloc allocate allocation | app application
    apps applications | arg argument | args arguments | arr array | async asynchronous | attr attribute
    attrs attributes | auth authentication authorization | authn authentication | authz authorization
    bool boolean | btn button | buf buffer | calc calculate | cb callback | cert certificate | certs certificates
    cfg config configuration | char character | cmd command | cmds commands | cnt count | col column
    conf config configuration | config configuration | configs configurations | conn connection | conns connections
    const constant | coord coordinate | cred credential | creds credentials | ctor constructor | ctx context
    curr current | db database | dbs databases | decl declaration | def definition | del delete | dep dependency
    deps dependencies | desc description | dest destination | dev development | dict dictionary | dir directory
    dirs directories | doc documentation | docs documentation | dst destination | elem element | env environment
    envs environments | err error | errs errors | evt event | exc exception | exec execute | expr expression
    ext extension | fmt format | fn function | fns functions | func function | funcs functions | gen generate
    hdr header | i18n internationalization | idx index | img image | impl implementation | impls implementations
    info information | init initialization | int integer | iter iterator | js javascript | k8s kubernetes | l10n localization
    a11y accessibility | len length | lib library | libs libraries | md markdown | mem memory | mgr manager | mod module
    msg message | msgs messages | nav navigation | ns namespace | num number | obj object | op operation
    ops operations | opt option | opts options | org organization | orig original | param parameter | params parameters
    passwd password | perf performance | perm permission | perms permissions | pkg package | pkgs packages | pkt packet
    pref preference | prefs preferences | prev previous | proc process | prod production | prop property
    props properties | ptr pointer | pwd password | py python | rb ruby | ref reference | refs references
    regexp regex | repo repository | repos repositories | req request | reqs requests | res response result
    resp response | rm remove | sched scheduler | sep separator | sess session | spec specification
    specs specifications | src source | srv server | stats statistics | stmt statement | str string | struct structure
    structs structures | sync synchronization | tbl table | temp temporary | tmp temporary temp | ts typescript
    tz timezone | usr user | util utility | utils utilities | val value | vals values | var variable | vars variables
    vec vector | ver version | ws websocket | yml yaml
"""  # noqa: E501
EXPANSIONS: dict[str, tuple[str, ...]] = {
    short: tuple(full)
    for line in _SHORT.strip().splitlines()
    for short, *full in (entry.split() for entry in line.split("|"))
}
"""The words that each abbreviation may stand for."""

# Ambiguous abbreviations are left out. `func`, `str`, `err`, `async`, `param` or `cmd` occur in nearly every
# chunk of some languages (the last three lowered NDCG@10); `spec` and `doc` mean files of their own kind.
_SAFE = tuple("auth cert cfg config conn creds ctx db dir env init msg repo stats tmp".split())

_ALIKE = 7
"""How many leading letters must agree beside the stem: "author" has the stem of "authorization"."""


def other_lengths(word: str) -> tuple[str, ...]:
    """Return the words that the lower-case `word` stands for, or its abbreviations, without `word` itself."""
    if word in EXPANSIONS:
        return EXPANSIONS[word]
    return tuple(
        short
        for short in _SAFE
        for full in EXPANSIONS[short]
        if stem(full) == stem(word) and full[:_ALIKE] == word[:_ALIKE]
    )


_WORD = re.compile(r"\w+(?:'\w+)?")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w")
_NUMBERED = re.compile(r"(?:([^\W\d_]+)\d|\d+[^\W\d_])[^\W_]*")
"""Matches a word that is not split, such as `oauth2`, `s3`, `k8s` or `2fa`."""
_FEWEST_LETTERS = 4
"""The minimum number of letters before a number that are a word without the number, such as "oauth"."""
_KEBAB_NAME = re.compile(r"[^\W\d_]\w*(?:-\w+)+(?:\(\))?")


@frozen
class Wording:
    terms: tuple[str, ...]
    """Lower-case content words in order of first use, including those inside identifiers."""
    compounds: tuple[str, ...]


def read_words(
    text: str, *, is_name: bool = False, is_code: bool = False, codes: Collection[str] = ()
) -> Wording:
    """Return the words of `text`: all of a name, all but function words of code. `codes` are not split."""
    typed, words = (
        [word.removesuffix("'s") for word in _WORD.findall(each)] for each in (text, spread(text))
    )
    compounds = dict.fromkeys(filter(is_compound, typed))
    if is_name and _KEBAB_NAME.fullmatch(text.strip()):
        compounds = {text.strip().removesuffix("()"): None}
    every = is_name or len(typed) == 1
    terms = dict.fromkeys(
        part
        for word in words
        for part in ([word.lower()] if _is_whole(word, codes) else identifier_words(word))
        if every or (part not in STOPWORDS and (len(part) > 1 or is_unspaced(part)))
    )
    weighty = () if is_name or is_code else tuple(term for term in terms if term not in LIGHT_WORDS)
    return Wording(weighty or tuple(terms), tuple(compounds))


def _is_whole(word: str, codes: Collection[str]) -> bool:
    if word in codes:
        return "_" not in word
    return bool(_NUMBERED.fullmatch(word)) and not _COMPOUND.search(word)


def is_compound(word: str) -> bool:
    return bool(_COMPOUND.search(word))


def without_numbers(terms: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each term that ends in a number, its letters alone if they are a word."""
    found = ((term, match[1]) for term in terms if (match := _NUMBERED.fullmatch(term)))
    return {term: (letters,) for term, letters in found if len(letters or "") >= _FEWEST_LETTERS}


def known_terms(
    terms: tuple[str, ...],
    names: Sequence[str],
    meant_by: Mapping[str, tuple[str, ...]],
    vocabulary: IndexVocabulary,
) -> tuple[str, ...]:
    """Return `terms` without foreign words that no index contains, unless no term would be left. `meant_by`
    has the original words of translated terms."""
    of_names = words_of(names)
    foreign = [term for term in terms if term not in meant_by and term not in of_names]
    unknown = vocabulary.unknown([term for term in foreign if not is_common(term)])
    known = tuple(term for term in terms if term not in unknown)
    if any(map(is_unspaced, known)):
        # Pairs of letters are parts of words. If some are known, the others say which words are meant.
        known = tuple(term for term in terms if term not in unknown or is_unspaced(term))
    return known or terms


def is_written_so(
    terms: Iterable[str], meant_by: Mapping[str, tuple[str, ...]], vocabulary: IndexVocabulary | None
) -> bool:
    """Return whether indexed texts have a query's words as they were typed in a script without spaces: each
    translated word, or a word without translation."""
    if any(map(is_unspaced, terms)):
        return True
    typed = [list(filter(is_unspaced, meant_by[term])) for term in terms if term in meant_by]
    if vocabulary is None or not typed or not all(typed):
        return False
    unknown = vocabulary.unknown([word for words in typed for word in words])
    return not any(set(words) <= set(unknown) for words in typed)


def words_of(pieces: Iterable[str]) -> set[str]:
    return {
        part
        for piece in pieces
        for word in _WORD.findall(spread(piece))
        for part in (word.lower(), *identifier_words(word))
    }


def rewrite_phrases(text: str, synonyms: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Replace phrases by synonyms, longest first. Return the text, and the old phrases by the new ones."""
    phrases = {" ".join(old.lower().split()): new for old, new in synonyms.items() if len(old.split()) > 1}
    if not phrases:
        return text, {}
    spelled = sorted(phrases, key=lambda phrase: -len(phrase))
    either = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in spelled)
    replaced: dict[str, str] = {}

    def replacement(match: re.Match[str]) -> str:
        old = " ".join(match.group().lower().split())
        replaced[phrases[old]] = old
        return phrases[old]

    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", replacement, text, flags=re.IGNORECASE), replaced


def word_synonyms(synonyms: Mapping[str, str]) -> dict[str, str]:
    return {old.strip().lower(): new for old, new in synonyms.items() if len(old.split()) == 1}


def with_synonyms(
    terms: Iterable[str], synonyms: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Replace words by synonyms. Return the terms, and the old words by the first of the new words."""
    replaced: dict[str, None] = {}
    stands_for: dict[str, tuple[str, ...]] = {}
    for term in terms:
        new = read_words(synonyms[term]).terms if term in synonyms else ()
        replaced.update(dict.fromkeys(new or (term,)))
        if new and term not in new:
            stands_for[new[0]] = (*stands_for.get(new[0], ()), term)
    return tuple(replaced), stands_for


def alternatives(
    terms: Iterable[str], other_lengths_of: Collection[str], others: Iterable[Mapping[str, tuple[str, ...]]]
) -> dict[str, tuple[str, ...]]:
    """Return each term's alternatives in `others`, and for `other_lengths_of` also the other lengths."""
    sources = tuple(others)

    def candidates(term: str) -> Iterator[str]:
        for source in sources:
            yield from source.get(term, ())
        if term in other_lengths_of:
            yield from other_lengths(term)

    # The index contains stems, so another inflection is not an alternative.
    found = {
        term: tuple(dict.fromkeys(word for word in candidates(term) if stem(word) != stem(term)))
        for term in terms
    }
    return {term: other for term, other in found.items() if other}


def replaced(text: str, words: Mapping[str, str]) -> str:
    if not words:
        return text
    return _WORD.sub(lambda match: words.get(match.group().lower(), match.group()), text)


_SHORT_WORD = 4
"""The minimum length of a word to repair, since shorter words are too similar to each other. A word of this
length is repaired only to a name in the code, and never "rack" to "race"."""
_LONG_WORD = 8
"""The minimum length of a stem for two errors. Shorter words differ by two letters too easily."""
_CLEARLY = 2
"""How many times more frequent the best word must be than another one as similar."""
_MAX_REPAIRS = 3
"""The maximum number of repairs in one text. Each takes up to 20 ms in a large index."""
_KNOWN = EXPANSIONS.keys() | STOPWORDS | LIGHT_WORDS


@cache
def _common() -> frozenset[str]:
    """Return the stems of words common to many projects (scripts/common_words.py): these are not errors."""
    return frozenset(Path(__file__).with_name("common_words.txt").read_text(encoding="ascii").split())


def is_common(word: str) -> bool:
    """Return whether many projects use the lower-case English word, in the singular or plural."""
    return word in _common() or word.removesuffix("s") in _common()


def repairs(
    unknown: Iterable[str], vocabulary: IndexVocabulary, core_concepts: Sequence[str] = ()
) -> dict[str, str]:
    """Return the intended word for each lower-case word that no index contains, if it is clear."""
    core = {concept.lower() for concept in core_concepts}
    right = _KNOWN | core
    wrong = [
        word
        for word in unknown
        if len(word) >= _SHORT_WORD and word.isascii() and word.isalpha()
        if word not in right and stem(word) not in _common()
    ]
    found = ((word, repair(word, vocabulary, core)) for word in wrong[:_MAX_REPAIRS])
    return {word: meant for word, meant in found if meant}


def repair(word: str, vocabulary: IndexVocabulary, core: Iterable[str] = ()) -> str | None:
    """Return the known word that `word` was meant to be; None if no word is similar, or several are."""
    errors = 2 if len(stem(word)) >= _LONG_WORD else 1
    known = [*(KnownWord(concept, 1, named=True) for concept in core), *vocabulary.near(word, errors)]
    close = [(unlikeness(word, each.text), each) for each in known if _plausible(word, each)]
    close = [(rank, each) for rank, each in close if 0 < rank[0] <= errors]
    close.sort(key=lambda pair: (pair[0], not pair[1].named, -pair[1].documents, pair[1].text))
    if not close:
        return None
    (rank, best), others = close[0], close[1:]
    rivals = [each for r, each in others if r == rank and each.stem != best.stem and each.named >= best.named]
    if any(each.documents * _CLEARLY > best.documents for each in rivals):
        return None
    return best.text


def _plausible(word: str, known: KnownWord) -> bool:
    replaced = len(word) == len(known.text) and sorted(word) != sorted(known.text)
    if len(word) <= _SHORT_WORD and (replaced or not known.named):
        return False
    # Users seldom mistype the first letter, except by swapping it with the second.
    swapped = len(known.text) > 1 and word[:2] == known.text[1::-1] and word[2:] == known.text[2:]
    return word[0] == known.text[0] or swapped
