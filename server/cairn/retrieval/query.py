"""Understand a question: parse the typed text into a `Query` of terms, names, paths and literals. Terms are
not inflected here, because the keyword index stems both its text and the query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from attrs import evolve, field, frozen

from cairn.index.queries.known_words import IndexVocabulary
from cairn.retrieval.introductions import with_project_named, without_project_name
from cairn.retrieval.mentions import Mentions, Trace, read_mentions, read_trace
from cairn.retrieval.natural_languages.recognition import ENGLISH
from cairn.retrieval.natural_languages.translation import Translation, in_english, word_meanings
from cairn.retrieval.question_kinds import (
    QueryType,
    fragments_of,
    is_name,
    message_fragments,
    named_kind,
    own_name,
    owner_name,
    query_type,
)
from cairn.retrieval.report import Report, read_report
from cairn.retrieval.wording import (
    alternatives,
    is_compound,
    is_written_so,
    known_terms,
    read_words,
    repairs,
    replaced,
    rewrite_phrases,
    with_synonyms,
    without_numbers,
    word_synonyms,
    words_of,
)
from cairn.settings.tree import SearchSettings
from cairn.text.identifiers import identifier_words
from cairn.text.unicode import well_formed
from cairn.text.unspaced import is_unspaced
from cairn.text.words import stem, stems

MAX_QUERY_CHARS = 10_000
"""The maximum length of a query in characters. A longer one is cut, for example a pasted file."""

MAX_TERMS = 32
"""The maximum number of terms. FTS5 scores every match of each, so of a pasted page the first words count."""

_MAX_FRAGMENTS = 3
"""The maximum number of a report's message fragments to search for. Each search scans the whole index."""

_MAX_NAME_WORDS = 4
"""The maximum number of plain words that may be a name ("add url rule"). More words are a sentence."""

_MAX_SHORT_WORDS = 4
"""The maximum number of words that may be a name with further words. More words are a question."""

_SHORTEST_BEGUN = 2
"""The minimum number of letters of a word that is being typed, to search for the words that begin with it."""

_ALPHA = 0.5
"""With this balance, both keywords and vectors have the full weights of `signals`."""
_SYMBOL_ALPHA = 0.15
"""With this balance, vectors have 0.3 of their weight. A user who types a name seldom means similar text."""

_WORD = re.compile(r"\w")


@frozen
class Query:
    text: str
    normalized: str
    terms: tuple[str, ...]
    """Lower-case content words in order of first use, including those inside identifiers."""
    compounds: tuple[str, ...]
    """Identifiers of several words and error codes, as typed: `add_url_rule`, `HTTPServer`, `HTTP 404`."""
    phrases: tuple[str, ...]
    """Quoted texts and texts in backticks that contain a word."""
    type: QueryType
    alpha: float
    corrections: tuple[str, ...] = ()
    alternatives: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    """Words or phrases that count as a term, by term: other lengths, synonyms, translations, corrections."""
    paths: tuple[str, ...] = ()
    """Paths and globs with forward slashes. A path from a stack trace may begin above the folder."""
    literals: tuple[str, ...] = ()
    """Texts to find verbatim; empty for a question in plain words."""
    quotes: tuple[str, ...] = ()
    """All quoted texts, including those without a word: `"=>"`."""
    required: tuple[str, ...] = ()
    """The texts in double quotes that every result of a search should contain."""
    english: str = ""
    """The text in English; "" if the user typed English."""
    language: str = ""
    """The name of the language in which the user typed; "" for English."""
    note: str = ""
    """A remark for the user on how the question was understood, such as an unknown language."""
    meant: str = ""
    """The text to embed: in English, with synonyms and repairs applied."""
    original_wording: str = ""
    """The original question if this query is a variation of it, else ""."""

    kinds: tuple[str, ...] = ()
    """The kinds of definitions to find, if the query names a kind: `struct inode`."""

    report: Report | None = field(default=None, hash=False)

    weights: Mapping[str, float] = field(factory=dict, hash=False)
    """The weight of each term by its place in a report. A term without an entry weighs 1."""

    has_own_script: bool = False
    """Whether indexed texts have its words in a script without spaces. The model knows no such words."""
    names_project: bool = False
    """Whether the text named the project. `text` and all that is made of it are without the name."""
    for_evidence: bool = False
    """Whether the caller wants passages to quote rather than places to open."""

    @cached_property
    def stems(self) -> frozenset[str]:
        words = (word for group in self.groups for words in group for word in words.split())
        return frozenset(part for word in words for part in (stem(word), *stems(word)))

    @property
    def wording(self) -> str:
        """The user's own words in English; for a report, its title."""
        return self.original_wording or (self.report.title if self.report else self.english or self.text)

    @property
    def typed(self) -> str:
        """The text without blanks around it and, in a script without spaces, without punctuation."""
        return self.text.strip(_PUNCTUATION if is_unspaced(self.text) else None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The spellings under which the index may define the name in the query."""
        texts = (self.text, self.meant) if self.is_symbol else ()
        own = (own_name(_without_punctuation(text)) for text in texts)
        return tuple(dict.fromkeys(filter(None, (*self.compounds, *own))))

    @property
    def owner(self) -> str:
        """The type or module before the name: `Router` in `Router.add`; "" for a name alone."""
        return owner_name(_without_punctuation(self.text)) if self.is_symbol else ""

    @property
    def respelled(self) -> tuple[str, ...]:
        """Spellings in other conventions, also of a few plain words: "add url rule" → `add_url_rule`."""
        spelled = [_words_with_numbers(name) for name in self.names]
        plain = " ".join(self.text.lower().split()) == self.normalized
        if plain and not spelled and len(self.terms) <= _MAX_NAME_WORDS:
            spelled.append(list(self.terms))
        others = (sign.join(words) for words in spelled if len(words) > 1 for sign in ("_", "", "-"))
        typed = {name.lower() for name in self.names}
        return tuple(dict.fromkeys(name for name in others if name not in typed))

    @property
    def is_symbol(self) -> bool:
        return self.type is QueryType.SYMBOL

    @property
    def is_identifier(self) -> bool:
        """Whether the query is one name that is not a plain word. Vectors change nothing for a defined name:
        without them, the NDCG@10 of symbol queries is equal (0.991, 0.957 in checkouts, 0.997 in others)."""
        return self.is_symbol and not is_plain_word(self.text.strip())

    @property
    def is_short(self) -> bool:
        """Whether the query is a few plain words, which often are a name or a part of one."""
        few = bool(self.terms) and len(self.text.split()) <= _MAX_SHORT_WORDS
        asks = self.report is not None or self.type in (QueryType.SYMBOL, QueryType.EXPLANATION)
        return few and not (asks or self.paths or self.quotes)

    @cached_property
    def is_one_text(self) -> bool:
        """Whether the query is a single word, quote or piece of code, and nothing else."""
        text = self.text.strip()
        if not re.search(r"\s", text):
            return len(text) > 1 and not self.paths
        return text.strip(_QUOTE_MARKS) in (*self.quotes, *self.literals)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Each term with its alternatives. A text that contains an alternative also contains the term."""
        return tuple((term, *self.alternatives.get(term, ())) for term in self.terms)

    @property
    def joined(self) -> tuple[str, ...]:
        return tuple(map("".join, self._neighbours))

    @property
    def _neighbours(self) -> list[tuple[str, str]]:
        """The adjacent terms that may be one name. Pairs of letters of one word are no names."""
        pairs = pairwise(self._terms_in_order)
        return [pair for pair in pairs if not any(map(is_unspaced, pair))]

    @property
    def _terms_in_order(self) -> tuple[str, ...]:
        """The terms as typed; for a report only those of its title, since a report orders terms by weight."""
        return read_words(self.report.title).terms if self.report else self.terms

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """Further keywords to look for: compounds, adjacent terms joined, other conventions, phrases."""
        names = (name for name in self.respelled if "-" not in name)  # The index splits kebab-case names.
        snake_case = map("_".join, self._neighbours)
        return tuple(dict.fromkeys((*self.compounds, *self.joined, *snake_case, *names, *self.phrases)))


_PUNCTUATION = " \t\r\n?!.,;。，、；：？！…"
_QUOTE_MARKS = "\"'`“”‘’"
_DEFAULTS = SearchSettings()


def understand(
    text: str,
    alpha: float | None = None,
    vocabulary: IndexVocabulary | None = None,
    settings: SearchSettings = _DEFAULTS,
) -> Query:
    """Parse `text`, and repair typing errors by the words of `vocabulary`. `corrections` in the result lists
    the repairs, and says whether the text was cut at MAX_QUERY_CHARS."""
    whole = well_formed(text[:MAX_QUERY_CHARS])
    without_project = cut = without_project_name(whole, vocabulary)
    name, kinds = named_kind(cut)
    cut = name or cut
    shortened = []
    if len(text) > MAX_QUERY_CHARS:
        shortened = [f"only the first {MAX_QUERY_CHARS} of {len(text)} characters were used"]
    meant, phrases = rewrite_phrases(cut, settings.synonyms)
    translation = in_english(meant)
    meant = with_project_named(translation.text, vocabulary)
    english = meant
    if report := read_report(meant):
        return evolve(
            _of_report(report, translation, settings),
            text=cut,
            alpha=_ALPHA if alpha is None else alpha,
            corrections=tuple(shortened),
            english="" if english == cut else english,
        )
    trace = read_trace(meant)
    mentions = read_mentions(trace.message)
    kind = _type(mentions, trace)
    files = tuple(path.rpartition("/")[2] for path in trace.paths)
    wording = read_words(
        "\n".join((mentions.rest, *trace.names, *files)),
        is_name=kind is QueryType.SYMBOL,
        is_code=mentions.is_code,
        codes=mentions.codes,
    )
    synonyms = word_synonyms(settings.synonyms)
    terms, synonymous = with_synonyms(wording.terms, synonyms)
    if translation.language is not None and vocabulary is not None:
        terms = known_terms(terms, wording.compounds, translation.meant_by, vocabulary)
    terms = terms[:MAX_TERMS]
    for new, old in phrases.items():
        synonymous |= dict.fromkeys(read_words(new).terms[:1], (old,))
    exact = words_of((*mentions.quotes, *mentions.paths, *mentions.codes, *files))
    plain = [term for term in terms if term not in exact]
    begun = {} if kind is QueryType.SYMBOL else _begun(english, plain, vocabulary)
    finished = [term for term in plain if term not in begun]
    translated, repaired = _translated_and_repaired(finished, translation, vocabulary, settings)
    corrected = {typed: (word,) for typed, word in repaired.items()} | begun
    others = {word: texts[0] for word, texts in (translated | begun).items()}
    meant = replaced(meant, synonyms | repaired | others)
    english = meant if translated else english
    has_own_script = is_written_so(terms, translation.meant_by, vocabulary)
    usual_alpha = _SYMBOL_ALPHA if kind is QueryType.SYMBOL or has_own_script else _ALPHA
    # Identifiers are not expanded: neither `TraceConfig` nor its parts are abbreviations.
    named = terms if kind is QueryType.SYMBOL and not cut.islower() else words_of(wording.compounds)
    return Query(
        text=cut,
        normalized=" ".join(terms),
        terms=terms,
        compounds=tuple(dict.fromkeys((*wording.compounds, *mentions.codes)))[:MAX_TERMS],
        phrases=tuple(quote for quote in mentions.quotes if _WORD.search(quote)),
        type=kind,
        alpha=usual_alpha if alpha is None else alpha,
        corrections=(*shortened, *(f"{typed} → {word}" for typed, word in repaired.items())),
        alternatives=alternatives(
            terms,
            other_lengths_of=[term for term in plain if term not in named],
            others=(synonymous, corrected, translated, translation.meant_by, without_numbers(plain)),
        ),
        paths=tuple(dict.fromkeys((*mentions.paths, *trace.paths))),
        literals=message_fragments(trace.message) or mentions.literals,
        quotes=mentions.quotes,
        names_project=without_project != whole,
        required=() if trace.paths else mentions.required,
        english="" if english == cut else english,
        kinds=kinds,
        language=translation.language.name if translation.language else "",
        note=translation.note,
        meant=meant,
        has_own_script=has_own_script,
    )


def _of_report(report: Report, translation: Translation, settings: SearchSettings) -> Query:
    """Return the query for a report. Typing errors stay, since most unknown words of a report are names."""
    synonyms = word_synonyms(settings.synonyms)
    weights = report.terms()
    synonymous: dict[str, tuple[str, ...]] = {}
    for term in [term for term in weights if term in synonyms]:
        replaced_by, also = with_synonyms((term,), synonyms)
        weights |= dict.fromkeys(replaced_by, weights.pop(term))
        synonymous |= also
    names = (name.text for name in report.names if is_compound(name.text))
    codes = read_mentions(report.text).codes
    # Only fragments of several words are literals: a single identifier is looked up as a definition.
    fragments = (piece for message in report.messages for piece in fragments_of(message) if " " in piece)
    return Query(
        text=report.text,
        normalized=" ".join(weights),
        terms=tuple(weights),
        compounds=tuple(dict.fromkeys((*names, *codes)))[:MAX_TERMS],
        phrases=report.options,
        type=QueryType.BUG_FIX,
        alpha=_ALPHA,
        alternatives=alternatives(
            weights,
            other_lengths_of=read_words(report.title).terms,
            others=(synonymous, translation.meant_by),
        ),
        paths=tuple(report.places),
        literals=tuple(fragments)[:_MAX_FRAGMENTS],
        language=translation.language.name if translation.language else "",
        note=translation.note,
        report=report,
        weights=weights,
        meant=replaced(report.meant, synonyms),
    )


def _begun(text: str, terms: Sequence[str], vocabulary: IndexVocabulary | None) -> dict[str, tuple[str, ...]]:
    """Return the words that the last term may become, if it is unknown: it is being typed."""
    last = terms[-1] if len(terms) > 1 else ""
    if vocabulary is None or len(last) < _SHORTEST_BEGUN or not text.lower().endswith(last):
        return {}
    words = tuple(vocabulary.begun_by(last)) if vocabulary.unknown([last]) else ()
    return {last: words} if words else {}


def _translated_and_repaired(
    terms: Sequence[str],
    translation: Translation,
    vocabulary: IndexVocabulary | None,
    settings: SearchSettings,
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the meanings of foreign words among `terms`, and the corrections of typing errors."""
    if translation.language or vocabulary is None or not terms:
        return {}, {}  # Words of another language are not typing errors.
    unknown = vocabulary.unknown(terms)
    # A single word is more likely a typing error than an inflection of another language.
    if len(terms) == 1 and (repaired := repairs(list(unknown), vocabulary, settings.core_concepts)):
        return {}, repaired
    has_grammar = not ENGLISH.isdisjoint(translation.text.lower().split())
    translated = {} if has_grammar else word_meanings([term for term in terms if term in unknown])
    wrong = [term for term in terms if term in unknown and term not in translated]
    return translated, repairs(wrong, vocabulary, settings.core_concepts)


def is_plain_word(name: str) -> bool:
    return name.isalpha() and name[1:].islower()


def _without_punctuation(text: str) -> str:
    return text.strip().rstrip("?.,;")


def _words_with_numbers(name: str) -> list[str]:
    """Return the words of a name, each number joined to the word before it: `OAuth2Form` → oauth2, form."""
    words: list[str] = []
    for word in identifier_words(name):
        if words and (word.isdigit() or len(words[-1]) == 1):
            words[-1] += word
        else:
            words.append(word)
    return words


def _type(mentions: Mentions, trace: Trace) -> QueryType:
    text = trace.message.strip()
    if mentions.codes or trace.paths:
        return QueryType.BUG_FIX
    if mentions.is_path or mentions.is_code:
        return QueryType.LOCATION
    return QueryType.SYMBOL if is_name(_without_punctuation(text)) else query_type(text)
