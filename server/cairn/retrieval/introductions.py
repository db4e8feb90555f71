"""Recognise questions that ask for an overview, and text that introduces their subject; and leave the name of
the indexed project out of all other questions.

In vitest's own repository, "how does vitest retry a test" names the project. Every path, README and import
there has this word, so it only prefers files that are about the whole project or are called like it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import PurePath

from attrs import frozen

from cairn.errors import CairnError
from cairn.index.queries.file_queries import introducing_files
from cairn.index.queries.known_words import IndexVocabulary
from cairn.retrieval.file_names import is_release_notes
from cairn.retrieval.mentions import QUOTES
from cairn.retrieval.question_kinds import question_kinds
from cairn.retrieval.wording import is_common, read_words
from cairn.text.words import is_stopword
from cairn.workspace.collections import MANIFESTS, FileKind, file_kind

_KIND_OF_TEXT = r"(?:(?:short|brief|quick|general|high[- ]level|one[- ]line)\ )?(?:overview|summary|introduction|description)"  # noqa: E501
_ASKS = rf"""\s*(?:(?:can|could|would)\ you\ |please\ )*
    (?:what(?:['’]s|\ is|\ are)\ (?:the\ )?purpose\ of | what(?:['’]s|\ is|\ are|\ does|\ do) | who(?:['’]s|\ is|\ are) | explain | describe | define
    | introduce | summari[sz]e | tell\ (?:me|us)\ about
    | (?:give|show|write)\ (?:me\ |us\ )?(?:an?\ |the\ )?{_KIND_OF_TEXT}\ (?:of|to|for) | (?:an?\ |the\ )?{_KIND_OF_TEXT}\ (?:of|to))\s+"""  # noqa: E501
_THIS_PROJECT = r"""(?:(?:this|our|my|the\ (?:whole|entire))\ (?:whole\ |entire\ )?
    (?:project|repo(?:sitory)?|code\ ?base|workspace|library|package|framework|tool|app(?:lication)?|program|software)
    | the\ (?:project|repo(?:sitory)?|code\ ?base))\b"""  # noqa: E501
_OVERVIEW = re.compile(
    rf"{_ASKS}(?:an?\ |the\ )?(?P<subject>[\w.+\#@/`-]+(?:\ [\w.+\#@/`-]+){{0,2}}?)(?:\ (?:do|all\ about|about|(?:used\ |good\ )?for|mean))?[\s?.!]*\Z",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
_OF_THIS_PROJECT = re.compile(
    rf"(?P<asks>(?:{_ASKS})?)(?P<project>{_THIS_PROJECT})", re.VERBOSE | re.IGNORECASE
)
_ABOUT_WHOLE = re.compile(
    r"""^(?:what|who)(?:\ is|\ are|'s)\ (?:an?\ |the\ )?[\w.\- ]{1,30}(?:\?|$|\ and\b) |
        \binstall(?:ing|ation)\b | ^install\b | \bto\ install\b | \b[iwey]+\ install\b |
        \bget(?:ting)?\ started\b | \bquick\ ?starts?\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Matches questions about what a project is or how to begin with it. A README answers these."""
_LONGEST_QUESTION = 300
"""The maximum length in characters of a question for an overview. Its subject has at most three words."""
_NON_LETTERS = re.compile(r"[\W_]+")
_EXTENSION = re.compile(r"\.(?:js|ts|py|rs|go|rb|net)\Z", re.IGNORECASE)
_FOLDERS_OF_DOCUMENTS = frozenset({"doc", "docs", "documentation", "source", "src", "en"})
_WHOLE_PROJECT = re.compile(r"[-_](?:parent|root|monorepo|workspace|aggregator)\Z", re.IGNORECASE)
_SAYS_WHAT_IT_DOES = 0.4
_INTRODUCING = frozenset({"readme", "index", "intro", "introduction", "overview"})
TOP_LINES, OPENING_LINES = 20, 60
"""How many lines of a README say what the project is, and how many introduce it. Other topics follow."""
DESCRIPTION = re.compile(
    r'''"description"\s*:\s*"((?:[^"\\\n]|\\.)*)"
        | ^\s*description\s*=\s*(?:"""(.*?)"""|"([^"\n]*)"|\'([^\'\n]*)\'|([^"\'\s].*))$
        | <description>(.*?)</description>''',
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_UPKEEP = re.compile(
    r"\b(?:contribut\w+|pull requests?|maintainers?|security (?:policy|issues?)|licen[cs]es?|copyright|releases?|opinions|sponsors?|supported by|backers"  # noqa: E501
    r"|(?:core|project|current) team|team members|people|authors?|credits|acknowledge?ments?|thanks|get(?:ting)? help|donat\w+|code of conduct"  # noqa: E501
    r"|enterprise|troubleshooting|faq|agents\.md|skill|submitting \w+|reviewing \w+|reporting \w+)\b",
    re.IGNORECASE,
)
_UPKEEP_FILE = re.compile(
    r"^\.github/|(?:^|/)(?:contributing|security|code_of_conduct|governance|maintainers|authors|licen[cs]e|support|ecosystem|links|third[-_]party[\w-]*"
    r"|releas(?:e|ing)|(?:upgrad|migrat)(?:e|ing|ion)[\w-]*|todo)(?:\.\w+)*\Z"
)
_OWNERSHIP = re.compile(r"\b(?:trademarks?|copyright(?:ed)?|licen[cs]ed|sponsor\w*)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def subject_of(text: str) -> str:
    """Return the subject of a question for an overview ("what is X", "explain X") as the user wrote it; ""
    for other questions. `text` is the question in English."""
    found = _OVERVIEW.fullmatch(text) if len(text) <= _LONGEST_QUESTION else None
    return "" if found is None or question_kinds(text) else found["subject"].rstrip(".")


def with_project_named(text: str, vocabulary: IndexVocabulary | None) -> str:
    """Return `text` with "this project" replaced by the project's name.

    The phrase is replaced only at the start of `text` or after the beginning of a question such as "what is".
    """
    found = _OF_THIS_PROJECT.match(text) if vocabulary else None
    if found is None or vocabulary is None or not (project := project_of(vocabulary.main_collection)):
        return text
    return f"{found['asks']}{project}{text[found.end() :]}"


def asks_about_whole(text: str) -> bool:
    return bool(_ABOUT_WHOLE.search(text.strip()))


def name_key(name: str) -> str:
    """Return a key for all spellings of a name: `serde_json` and "Serde JSON", `express` and "Express.js"."""
    return _NON_LETTERS.sub("", _EXTENSION.sub("", name)).lower()


def project_of(collection: str) -> str:
    """Return the name of the project that a collection belongs to, without suffixes like `-monorepo`."""
    return _WHOLE_PROJECT.sub("", collection.rpartition("-")[0])


def introduces(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in MANIFESTS or name.lower().partition(".")[0] in _INTRODUCING


def is_project_upkeep(headings: Sequence[str], path: str = "") -> bool:
    """Return whether the text is about a project's upkeep (contributing, licence), not its product."""
    is_file = is_release_notes(path) or _UPKEEP_FILE.search(path.lower()) is not None
    return is_file or any(map(_UPKEEP.search, headings))


def is_about_ownership(text: str) -> bool:
    return bool(_OWNERSHIP.search(text))


@frozen
class OverviewSubject:
    """The subject of a question for an overview."""

    key: str
    _definition: re.Pattern[str]
    """Matches the beginning of a sentence about the subject. Its group `is` matches in definitions."""
    _name: re.Pattern[str]

    @classmethod
    def by(cls, wording: str) -> OverviewSubject | None:
        """Return the subject of a question for an overview; None for other questions."""
        subject = subject_of(wording).strip("`")
        key = name_key(subject)
        return cls(key, *_patterns(subject)) if key else None

    def definition_score(self, text: str) -> float:
        """Return 1 if a sentence of `text` says what the subject is, 0.4 if one says what it does, else 0."""
        return max(
            (1.0 if found["is"] else _SAYS_WHAT_IT_DOES for found in self._definition.finditer(text)),
            default=0.0,
        )

    def names(self, text: str) -> bool:
        """Return whether the text contains the subject as a separate word, unlike `express.Router`."""
        return bool(self._name.search(text))

    def describes(self, path: str, collection: str, text: str) -> bool:
        is_manifest = path.rpartition("/")[2] in MANIFESTS and self.key == name_key(project_of(collection))
        return is_manifest and bool(DESCRIPTION.search(text))

    def owns(self, path: str, collection: str, line: int) -> bool:
        """Return whether the 0-based `line` is in one of the subject's own documents. These are at the root
        of the indexed folder or in its folders of documentation. A document that is not an introduction
        counts only with its first lines, because further down a page covers its own topic."""
        folders = path.lower().split("/")[:-1]
        is_there = _FOLDERS_OF_DOCUMENTS.issuperset(folders) and self.key == name_key(project_of(collection))
        return is_there and file_kind(path) is FileKind.DOCS and (introduces(path) or line < TOP_LINES)

    def opening(self, path: str, collection: str, header_path: str, line: int) -> bool:
        """Return whether the 0-based `line` is near the top of a document that introduces the subject."""
        if line >= OPENING_LINES or not introduces(path) or file_kind(path) is not FileKind.DOCS:
            return False
        *folders, _ = path.lower().split("/")
        headings = header_path.split(" > ")
        names = [headings[0], *folders[-1:]]
        if _FOLDERS_OF_DOCUMENTS.issuperset(folders):
            names.append(project_of(collection))
        return self.key in map(name_key, names) and not is_project_upkeep(headings)


@lru_cache(maxsize=64)
def _patterns(subject: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: one of a sentence about the subject, one of its name in singular or plural."""
    words = r"[\s_-]*".join(map(re.escape, re.findall(r"[\w.+#@/]+", subject.removesuffix("s")))) + "s?"
    says = re.compile(
        rf"""(?:^|(?<=[.!?]\s))[^\w\n]*(?:(?:the|an?|package|module)\s+[*_`"'\[(]*)?{words}(?![\w-])[`*_"'\])]*
            (?:\s+\([^()\n]*\))?(?:\s+(?:framework|library|package|project|module|crate|gem))?
            (?:(?P<is>\s+(?:is|are)\s+(?:an?|the|one|my|our)\s|\s*(?:\u2013|\u2014|\s-\s))
            |\s+(?:is|are)\s+(?!(?:not|used|now|currently|also|still|being|available|licen[cs]ed|released|only|no|on|at|in)\b)
            |\s+(?:provides?|offers?|lets|allows|enables|helps|makes|implements?|adapts|defines?|represents?|means|refers\sto|stands\sfor)\s)""",
        re.VERBOSE | re.IGNORECASE | re.MULTILINE,
    )
    return says, re.compile(rf"(?<![\w/.-]){words}(?!\w|[-/.:]+\w)", re.IGNORECASE)


_MOST_WORDS = 3
"""The maximum number of words of a name, such as "Spring Boot"."""
_FEWEST_TERMS = 2
"""The minimum number of other words in a question. "zod object" and "the Flask class" mean definitions."""
_GENERIC = frozenset(
    "api app backend cli client code core demo doc docs frontend home lib main monorepo package packages "
    "project readme repo repository root server service src test tests tmp web website workspace".split()
)
"""Names of folders and packages that also name a part of any project."""

_NAME = re.compile(r'^\s*"name"\s*:\s*"@?([^"\n/]+)(?:/([^"\n]+))?"', re.MULTILINE)
"""Matches the name in a package.json, and its organisation."""
_WORD = re.compile(r"(?<![\w@./:\\#-])[^\W_][\w.-]*[^\W_](?![\w/:\\#(\[-]|\.\w)")
"""Matches a word that is neither in a path nor in a qualified name."""
_VERSION = re.compile(r"\s+v?\d", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:['’]s?\b)?")
_PREPOSITION = re.compile(r"(?:\b(?:in|of|with|within|inside|for|by)\s+)?\Z", re.IGNORECASE)
_ARTICLE = re.compile(
    r"\b(?:an?|the|each|every|this|that|some|any|no|all|one|my|your|its)\s+\Z", re.IGNORECASE
)
_END_POINT = re.compile(r"\b(?:to|from|into|between)\s+\Z", re.IGNORECASE)
"""Matches before an end of a conversion: "JSON Schema to Zod", "migrate from Jest to Vitest"."""
_FOLDER = r"(?:package|crate|folder|directory)\b"
_KIND = (
    r"(?:class|struct|trait|interface|enum|type|function|method|constructor|decorator|macro|module|file)\b"
    rf"|{_FOLDER}"
)
_BEFORE = re.compile(rf"\b(?:{_KIND})\s+\Z", re.IGNORECASE)
_FOLDER_AFTER = re.compile(rf"\s+{_FOLDER}", re.IGNORECASE)
_KIND_AFTER = re.compile(rf"\s+(?:{_KIND})\s*(?P<next>\w*)", re.IGNORECASE)


def without_project_name(text: str, vocabulary: IndexVocabulary | None) -> str:
    """Return a question of one line about a single index without the name of its project.

    The name stays where it may mean a part: in quotes and paths, beside "class" or "package", and in a
    question of few other words. It also stays before a version and in a question about the whole project, and
    a common English word stays after an article.
    """
    names = _names_in(vocabulary) if vocabulary and "\n" not in text.strip() else frozenset()
    if not names or asks_about_whole(text):
        return text
    kept, end = [], 0
    for start, stop in _mentions(text, names):
        if (preposition := _PREPOSITION.search(text, end, start)) is not None:
            start = preposition.start()
        kept.append(text[end:start])
        end = stop
    rest = " ".join("".join([*kept, text[end:]]).split()).strip(" ,")
    return rest if kept and len(read_words(rest).terms) >= _FEWEST_TERMS else text


def _mentions(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges in `text` that name the whole project, with possessive endings."""
    quoted = [match.span() for match in QUOTES.finditer(text)]
    words, place = list(_WORD.finditer(text)), 0
    while place < len(words):
        count = _words_of_name(text, words[place : place + _MOST_WORDS], names)
        start, stop = words[place].start(), words[place + max(count, 1) - 1].end()
        place += max(count, 1)
        is_quoted = any(first <= start < last for first, last in quoted)
        if not count or is_quoted or _VERSION.match(text, stop) or _is_part(text, start, stop):
            continue
        possessive = _POSSESSIVE.match(text, stop)
        yield start, possessive.end() if possessive else stop


def _words_of_name(text: str, words: Sequence[re.Match[str]], names: frozenset[str]) -> int:
    """Return how many of `words` are the longest name at their beginning, 0 for none."""
    for count in range(len(words), 0, -1):
        spelled = text[words[0].start() : words[count - 1].end()]
        if spelled.count(" ") == count - 1 and name_key(spelled) in names:
            return count
    return 0


def _is_part(text: str, start: int, stop: int) -> bool:
    """Return whether a name means a definition or folder ("the Flask class"), or is a common word."""
    before = text[:start]
    if _FOLDER_AFTER.match(text, stop) or _BEFORE.search(before) or _END_POINT.search(before):
        return True
    kind, has_article = _KIND_AFTER.match(text, stop), _ARTICLE.search(before) is not None
    if has_article and is_common(text[start:stop].lower()):
        return True
    # "Flask class" is a definition where the phrase ends, but "flask type hints" are hints of the project.
    return kind is not None and (has_article or not kind["next"] or is_stopword(kind["next"]))


def _names_in(vocabulary: IndexVocabulary) -> frozenset[str]:
    # The name of one of several projects chooses its folder.
    if len(vocabulary.readers) != 1:
        return frozenset()
    try:
        return vocabulary.readers[0].cached("project names", partial(_names_of, vocabulary))
    except CairnError:  # the search itself reports the error
        return frozenset()


def _names_of(vocabulary: IndexVocabulary) -> frozenset[str]:
    """Return the keys of the project's names: of its folder, its manifests and its README."""
    reader = vocabulary.readers[0].saved
    names = [PurePath(reader.root).name, project_of(vocabulary.main_collection)]
    for path in introducing_files(reader, ("package.json",), 1):
        first = next(iter(reader.page(path) if "/" not in path else ()), None)
        if first and path.endswith("package.json"):
            names += [name for found in _NAME.findall(first.chunk.text)[:1] for name in found]
        elif first and not is_common((title := first.chunk.header_path.partition(" > ")[0]).lower()):
            names.append(title)
    keys = (name_key(name) for name in names if len(name.split()) <= _MOST_WORDS)
    return frozenset(key for key in keys if len(key) > 1 and key not in _GENERIC)
