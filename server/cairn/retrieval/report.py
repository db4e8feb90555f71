"""Read reports that users paste as queries: issues, bug reports, outputs of failing tests. In a long report,
the place of a word shows its importance: the title names the fault best, the text explains it, and code that
reproduces it contains the names involved. Headings of forms, check lists and descriptions of the machine say
nothing about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from cairn.languages.registry import detect_language
from cairn.retrieval.mentions import Frame, read_mentions, read_messages, read_trace
from cairn.retrieval.wording import read_words
from cairn.text.words import is_stopword


@frozen
class Parts:
    """The parts of a report; "" for a missing part."""

    title: str
    prose: str
    code: str
    output: str
    """The lines that programs printed, without stack frames."""


def read_parts(text: str) -> Parts:
    """Return the parts of a report from which stack frames have been removed."""
    title, rest = _split_title(_COMMENT.sub(" ", text).strip())
    lines: dict[str, list[str]] = {"prose": [], "code": [], "output": []}
    for part, line in _sorted_lines(rest):
        lines[part].append(line)
    prose, code, output = (without_addresses("\n".join(found).strip()) for found in lines.values())
    return Parts(_LABEL.sub("", without_addresses(title)).strip(), prose, code, output)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LABEL = re.compile(r"^\s*(?:\[\s*\w{3,15}\s*\]\s*:?|(?:BUG|ENH|DOC|FEAT|Bug|Feature request)\s*:)\s*")
_LONGEST_TITLE = 200
_SENTENCE_END = re.compile(r"[.!?]\s+")


def _split_title(text: str) -> tuple[str, str]:
    """Return the title and the rest. Of a long first line, only the first sentence is the title."""
    first, _, rest = text.partition("\n")
    end = _SENTENCE_END.search(first)
    if len(first) > _LONGEST_TITLE and end:
        return first[: end.start() + 1], f"{first[end.end() :]}\n{rest}"
    return first, rest


_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]*\)")
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s)>\]\"']+")
_DATA = re.compile(r"\S{120,}")


def without_addresses(text: str) -> str:
    """Return the text without URLs and without tokens that are so long that they must be data."""
    return _DATA.sub(" ", _ADDRESS.sub(" ", _LINK.sub(r"\1", text)))


# --- lines ------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,}|\{\{\{|\}\}\})")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.|In ?\[\d*\]:|\$|irb>|julia>) ?(?=\S)")
_CODE_LINE = re.compile(
    r"""^\s*(?:
        (?:from\s+[\w.]+\s+)?import\s+[\w.{*(] | (?:async\s+)?def\s+\w+ | class\s+\w+ | @\w[\w.]* | return\b | raise\s+\w
        | with\s+\w.*: | for\s+\w.*: | if\s.*:$ | else:$ | try:$ | except\b.*: | assert\s | \#include
        | (?:let|const|var|fn|func|pub|use|package)\s+\w.*[;{(=]
        | [\w.\[\]'", ]{1,80}\s[-+*/|&]?=\s\S | [\w.]+\(.*\)?[,;]?$ | [\w.]+\(.*\).*[;{)]$ | [})\]]++[;,)]*+$
    )""",  # noqa: E501
    re.VERBOSE,
)
_OUTPUT_LINE = re.compile(
    r"""^\s*(?:Out\[\d+\]: | [\w.]*(?:Error|Exception|Warning|Panic)\b\ ?: | E\ \ + | FAILED\  | ---?\ FAIL | thread\ '
        | error(?:\[\w+\])?: | warning: | fatal: | panic: | Caused\ by:)""",  # noqa: E501
    re.VERBOSE,
)
_CHECK_BOX = re.compile(r"^\s*[-*]\s*\[[ xX]?\]")
_RULE = re.compile(r"^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$")
_TRACKER = re.compile(
    r"""^\s*(?:\(last\ modified\ by\ .*\) | _No\ response_ | Description | Original\ (?:issue|author|comments?)\b.* | Referenced\ issues.*
        | </?(?:details|summary|p|br|img)\b.*> | !\[.* | Attachments?:.* | (?:Thanks|Cheers|Best)\b.{0,20})\s*$""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
_VERSION = re.compile(
    r"""^\s*+[-*•]?\s*+(?:
        [\w .@/()+-]{1,40}?(?:\s*+(?:==|=>|:|=)\s*+|\s++)\(?v?\d++(?:\.\w++)++[^\s.]*+[^.]{0,60}                    # numpy: 1.17.3
        | [\w .-]{1,30}:\s*(?:None|N/A|\(none\)|True|False)                                                  # xlrd: None
        | (?:python|os|operating\ system|platform|machine|processor|kernel|browser|compiler|system|byteorder|LANG|LC_ALL|LOCALE
           |rustc|node|npm|go\ version|java|openjdk|host|binary|commit-\w+|release|LLVM\ version|executable|blas|cpu)\b[^.]{0,12}[:=(].*
        | Python\ \d+\.\d+\.\d+.* | \[?(?:GCC|Clang|MSC)\b.*
    )\s*$""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)


def _sorted_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each relevant line with its part: prose, code or output."""
    is_fenced = is_about_machine = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        if not is_fenced and (heading := _heading(line)):
            is_about_machine = bool(_ABOUT_MACHINE.search(heading))
            if is_about_machine or _FORM.match(heading):
                continue
        if is_about_machine or any(
            pattern.match(line) for pattern in (_CHECK_BOX, _RULE, _TRACKER, _VERSION)
        ):
            continue
        if _OUTPUT_LINE.match(line):
            yield "output", line.strip()
        elif prompt := _PROMPT.match(line):
            yield "code", line[prompt.end() :]
        elif is_fenced or _CODE_LINE.match(line):
            yield "code", line
        else:
            yield "prose", line.strip()


_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>\S.*)|\*\*(?P<bold>[^*\n]{2,60})\*\*:?\s*$)")
_PLAIN_HEADING = re.compile(r"^\s*([A-Z][\w /]{2,40}):?\s*$")
_ABOUT_MACHINE = re.compile(
    r"\b(?:versions?|environments?|system|platform|operating|dependencies|installed|installation|packages|setup|pip list|pip freeze|conda"  # noqa: E501
    r"|show_versions|check ?list|self[- ]?checks?|software|machine)\b",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"""(?:(?:bug\ )?(?:report|summary|description|desc) | describe\ the\ (?:bug|issue|problem) | issue | problem | feature\ request
        | proposed\ (?:solution|fix|change)s? | (?:a\ )?minimal.*example | mcve | code(?:\ for\ reproduction|\ sample.*)?
        | (?:steps?|code|how|instructions)?[\ /\w]*to\ reproduce | reproduc\w+(?:\ steps)?
        | (?:actual|expected|current|observed|desired)(?:\ (?:outcome|behaviou?r|results?|output))?
        | what\ (?:happened|did\ you\ (?:do|expect|see)).* | what.*expected.* | anything\ else.* | additional\ (?:context|information|notes?)
        | relevant\ log\ output | screenshots? | logs? | context | configuration | command\ used | traceback | stack\ ?trace | details
        | notes? | error | motivation | alternatives.* | related\ issues.*)\W*$""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)


def _heading(line: str) -> str:
    """Return the text of a heading in any markup, or "". A heading without markup must be usual in forms."""
    if marked := _HEADING.match(line):
        return (marked["bold"] or marked["marked"].rstrip().rstrip("#")).strip(" :*")
    plain = _PLAIN_HEADING.match(line)
    heading = plain[1].strip() if plain else ""
    return heading if _FORM.match(heading) or _ABOUT_MACHINE.search(heading) else ""


FRAME_DECAY = 0.75
"""The weight of a stack frame relative to that of the next inner frame."""
REPEATED = 0.25
"""The share of a weight that each repetition adds, for up to four repetitions."""

_MOST_NAMES = 48
_MOST_OPTIONS = 8
_MOST_PATHS, _MOST_MODULES = 32, 16
_MOST_PARTS = 10
"""The maximum number of parts of a dotted name. A longer name is data."""

_TITLE, _PROSE, _BACKTICKS, _CODE, _IMPORTED, _CAPITALISED = 2.0, 1.0, 1.5, 0.7, 0.5, 0.3
"""The weights of names by their place in the report."""
_PLAIN_IN_TITLE = 0.4
"""The factor of a plain word in the title, since it may be the name of a function."""
_OWNER = 0.6
"""The factor of a name that stands before a member's name."""


@frozen
class Name:
    text: str
    owner: str = ""
    """The name before it (`Mul` in `Mul.flatten`), or the module of its stack frame, or ""."""
    weight: float = 1.0


def repeated(weight: float, times: int) -> float:
    """Return the weight of text that occurs `times` times in a report."""
    return weight * (1 + REPEATED * min(times - 1, 4))


# --- identifiers ------------------------------------------------------------------------------------

_DOTTED = re.compile(r"[A-Za-z_$]\w*(?:(?:\.|::|#|->)[A-Za-z_]\w*)*(?=(\s?\()?)")
_SEPARATOR = re.compile(r"\.|::|#|->")
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w|^_+\w")
_QUOTED = re.compile(r"`{1,2}([^`\n]{2,100})`{1,2}")
_DEFINED = re.compile(
    r"^[^\S\n]*+(?:class|def|function|fn|func|struct|enum|interface)\s+(\w+)|^[^\S\n]*+(\w+)\s*[:+*/|&-]?=[^=]|\bas\s+(\w+)|\bfor\s+(\w+)\s+in\b",
    re.MULTILINE,
)
_IMPORT = re.compile(r"\bimport\s+([\w, ]+)")
_CAPITAL = re.compile(r"\b[A-Z]\w+\b")
_RECEIVERS = frozenset(("self", "cls", "this"))
_NOT_NAMES = _RECEIVERS | frozenset(
    """super print len range list dict set str int float bool tuple type object True False None null true false
    import from class def return raise if else for while with as in not and or lambda assert try except finally yield async await
    function var let const new void public private static final struct fn use impl enum match
    Error Exception ValueError TypeError KeyError AttributeError IndexError RuntimeError AssertionError NameError ImportError
    Traceback Yes Python Using Use Description Expected Actual Example Result Results Currently""".split()  # noqa: E501
)
"""Keywords, built-in names, and words that often begin sentences in reports."""


def read_names(parts: Parts, frames: Iterable[Frame]) -> tuple[Name, ...]:
    """Return the identifiers in a report, weightiest first, without those that its own code defines."""
    defined = {name for match in _DEFINED.finditer(parts.code) for name in match.groups() if name}
    found = _NameCounter(defined)
    found.read(parts.title, _TITLE, plain=_PLAIN_IN_TITLE)
    found.read(_QUOTED.sub(" ", parts.prose), _PROSE)
    for text, weight in ((parts.title, _TITLE), (parts.prose, _BACKTICKS)):
        for quoted in _QUOTED.findall(text):
            found.read(quoted, weight, plain=1.0)
    for text in (parts.code, parts.output):
        found.read(text, _CODE)
    for imported in _IMPORT.findall(parts.code):
        for name in re.findall(r"\w+", imported):
            found.add(name, "", _IMPORTED)
    for name in _CAPITAL.findall(parts.code):
        if name not in defined:
            found.add(name, "", _CAPITALISED)
    for place, frame in enumerate(frames):
        if frame.name:
            module = frame.path.rpartition("/")[2].partition(".")[0]
            found.add(last_part(frame.name), module, FRAME_DECAY**place)
    return found.names()


def last_part(name: str) -> str:
    return _SEPARATOR.split(name)[-1]


@define
class _NameCounter:
    defined: set[str]
    weights: dict[tuple[str, str], float] = field(factory=dict)
    """The highest weight of each name and owner."""
    times: Counter[tuple[str, str]] = field(factory=Counter)

    def add(self, name: str, owner: str, weight: float) -> None:
        if len(name) < 2 or name in _NOT_NAMES:
            return
        key = name, "" if owner in self.defined or owner in _RECEIVERS else owner
        self.weights[key] = max(weight, self.weights.get(key, 0.0))
        self.times[key] += 1

    def read(self, text: str, weight: float, plain: float = 0.0) -> None:
        """Count the names in a text. `plain` is the factor of words that are not clearly identifiers."""
        for match in _DOTTED.finditer(text):
            names = _SEPARATOR.split(match.group())
            for place, name in enumerate(names):
                is_last = place == len(names) - 1
                is_marked = len(names) > 1 or match[1] is not None or bool(_COMPOUND.search(name))
                share = 1.0 if is_marked else plain * (not is_stopword(name))
                if share and (place or name not in self.defined):
                    owner = names[place - 1] if place else ""
                    self.add(name, owner, weight * share * (1.0 if is_last else _OWNER))

    def names(self) -> tuple[Name, ...]:
        every = (Name(*key, weight=repeated(weight, self.times[key])) for key, weight in self.weights.items())
        return tuple(sorted(every, key=lambda name: -name.weight)[:_MOST_NAMES])


# --- options ----------------------------------------------------------------------------------------

_OPTION = re.compile(
    r"(?<![\w/.:-])(?:--)?([a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?![\w/-])|(?<![\w-])--([a-z]\w{3,})"
)


def read_options(text: str) -> tuple[str, ...]:
    """Return the names of options and commands, such as `min-similarity-lines`, without leading dashes."""
    found = (match[1] or match[2] for match in _OPTION.finditer(text))
    return tuple(dict.fromkeys(found))[:_MOST_OPTIONS]


# --- places -----------------------------------------------------------------------------------------

_LINKED = re.compile(
    r"https?://(?:www\.)?(?:github\.com|gitlab\.[\w.]+|bitbucket\.org|codeberg\.org)/[\w.-]+/[\w.-]+/(?:-/)?"
    r"(?:blob|tree|raw|src|blame)/[^/\s]+/([^\s#?)>\]\"'`]+)"
)
_MODULE = re.compile(r"(?<![\w./\\@-])[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+(?![\w/@])")
_IS_LINKED, _IS_WRITTEN, _IS_FILE_NAME, _IS_MODULE = 1.0, 0.6, 0.2, 0.25
"""The likelihood that a file is meant by a URL, a path, a bare file name, or a dotted module name."""
_IS_PACKAGE = 0.5
"""The factor of a package's `__init__.py`."""


def read_places(text: str, message: str) -> dict[str, float]:
    """Return the paths and globs in a report, each with the likelihood that it is meant, 1 at most. `message`
    is the text without stack frames."""
    places = dict.fromkeys(_LINKED.findall(text), _IS_LINKED)
    for path in read_mentions(without_addresses(message)).paths:
        if detect_language(path):
            places.setdefault(path, _IS_WRITTEN if "/" in path else _IS_FILE_NAME)
    places = dict(list(places.items())[:_MOST_PATHS])
    modules = Counter(match.group().replace("::", ".") for match in _MODULE.finditer(without_addresses(text)))
    for module, _ in modules.most_common(_MOST_MODULES):
        for place, share in _module_paths(module):
            places.setdefault(place, share * _IS_MODULE)
    return places


def _module_paths(module: str) -> Iterator[tuple[str, float]]:
    """Yield the paths that a dotted name may mean, each with a factor of its likelihood. The last parts of
    the name may be names in a module."""
    parts = module.split(".")
    if len(parts[0]) == 1 or len(parts) > _MOST_PARTS or parts[0] in _RECEIVERS or detect_language(module):
        return
    for end in range(len(parts), 1, -1):
        path = "/".join(parts[:end])
        yield f"{path}.*", 1.0
        yield f"{path}/__init__.py", _IS_PACKAGE


_FEWEST_CHARS = 240
"""The minimum length of a report in characters. A shorter text, or a single line, is a question."""
_MOST_TERMS = 96
_MOST_MESSAGES = 2
_MEANT_PROSE, _MEANT_CODE = 1_500, 500

_WEIGHTS = {"title": 3.0, "prose": 1.0, "code": 0.5, "output": 0.5}
"""The weight of a word by the part in which it is (docs/ranking.md)."""


@frozen
class Report:
    parts: Parts
    frames: tuple[Frame, ...]
    """The frames of the stack traces, innermost first."""
    messages: tuple[str, ...]
    """Error messages, the last first, because earlier messages led to it."""
    names: tuple[Name, ...]
    options: tuple[str, ...]
    places: Mapping[str, float]
    """Paths and globs, each with the likelihood that the report means it."""

    @property
    def title(self) -> str:
        """The title without a label such as "[Bug]"."""
        return self.parts.title

    @property
    def text(self) -> str:
        parts = self.parts
        return "\n".join(filter(None, (parts.title, parts.prose, parts.code, parts.output)))

    @property
    def meant(self) -> str:
        """The text to embed, in which the title counts twice."""
        return "\n".join(
            (self.title, self.title, self.parts.prose[:_MEANT_PROSE], self.parts.code[:_MEANT_CODE])
        )

    def terms(self) -> dict[str, float]:
        """Return the content words and their weights, highest weight first."""
        weights: dict[str, float] = {}
        times: Counter[str] = Counter()
        for part, weight in _WEIGHTS.items():
            for line in getattr(self.parts, part).splitlines():
                terms = read_words(line).terms
                times.update(terms)
                for term in terms:
                    weights.setdefault(term, weight)
        total = {term: repeated(weight, times[term]) for term, weight in weights.items()}
        return dict(sorted(total.items(), key=lambda each: -each[1])[:_MOST_TERMS])


def read_report(text: str) -> Report | None:
    """Return the report in `text`; None if `text` is a question."""
    lines = _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(lines) < _FEWEST_CHARS:
        return None
    if "\n" not in lines:
        return None
    trace = read_trace(lines)
    parts = read_parts(trace.message)
    if not (parts.prose or parts.output or trace.frames):
        return None  # This is a piece of code, which is searched verbatim.
    return Report(
        parts,
        trace.frames,
        tuple(dict.fromkeys(reversed(read_messages(lines))))[:_MOST_MESSAGES],
        read_names(parts, trace.frames),
        read_options(f"{parts.title}\n{lines}"),
        read_places(lines, trace.message),
    )


_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
