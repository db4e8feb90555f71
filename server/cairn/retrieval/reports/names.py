"""Read the names in a report: identifiers, options, and paths of files and modules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from cairn.languages.registry import detect_language
from cairn.retrieval.mentions import read_mentions
from cairn.retrieval.reports.parts import Parts, without_addresses
from cairn.retrieval.traces import Frame
from cairn.text.words import is_stopword

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
