"""The facts about one language, of which most are optional."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

from attrs import field, frozen

from cairn.languages.imports import NO_IMPORTS, Imports
from cairn.languages.islands import Finder
from cairn.languages.syntax import Syntax


class Category(enum.StrEnum):
    PROSE = "prose"
    CONFIG = "config"
    CODE = "code"


class Visibility(enum.Enum):
    """The files whose definitions a name can mean without an import."""

    FILE = 0
    FOLDER = 1
    """The files of the same folder and package."""
    NAMESPACE = 2
    """The files of the same package or namespace."""
    WORKSPACE = 3


_COMMON = """
    get set add remove delete pop push append insert extend update clear copy keys values items close open read write send
    join split strip replace format find index count sort reverse map filter reduce forEach some every includes concat slice
    toString equals hashCode length size isEmpty contains put next start stop run call apply bind then catch
    finally resolve reject emit on off once log info warn error debug test match exec search parse stringify
    encode decode lower upper startswith endswith trim unwrap expect clone iter into from as_ref as_str len is_empty
    collect ok err map_err and_then unwrap_or Error String Close Read Write Lock Unlock Done Add Wait Len
    each select first last to_s to_sym merge fetch dup freeze new init cancel done result name type
    cast begin end data c_str reset swap release getvalue getbuffer seek tell flush truncate readline readlines writelines
    Add Remove Contains ToString Equals GetHashCode Dispose Select Where ToList Any First
    """  # noqa: E501


def _words(text: str | Iterable[str]) -> frozenset[str]:
    return frozenset(text.split() if isinstance(text, str) else text)


@frozen
class Scoping:
    """The scope rules of a language: what a name can refer to, and what it cannot."""

    visibility: Visibility = Visibility.FILE
    selves: frozenset[str] = field(default="self this", converter=_words)
    """The names by which code refers to its own object or type."""
    supers: frozenset[str] = field(default="super", converter=_words)
    constructors: frozenset[str] = field(default="", converter=_words)
    """Names of constructors, if these are not named after their type."""
    bare_members: bool = False
    """Whether code can name members of its own type without a receiver."""
    reopens_types: bool = False
    """Whether several definitions of one name in a namespace, also in different files, are one type."""
    extends_types: bool = False
    """Whether code can add methods to types that are defined elsewhere."""
    runs_by_name: bool = False
    """Whether mentioning a method of an object calls it."""
    passes_functions: bool = False
    """Whether a function that is mentioned but not called is usually called later. In other languages it may
    be compared or mocked."""
    override: float | None = None
    """The confidence that a call of a method reaches its override; None for any language in which language
    servers do not report such calls."""
    guess: float = 0.6
    """The confidence that a call on an unknown receiver means the only member of that name. Language servers
    confirm almost no such call in languages where types are seldom written."""
    common: frozenset[str] = field(default=_COMMON, converter=_words)
    """The names of methods that are frequent outside the workspace, so that the name alone proves little."""


UNKNOWN_SCOPING = Scoping(Visibility.WORKSPACE, bare_members=True, common="")


@frozen
class Language:
    """A language. Strings of several words, such as file endings, are separated by spaces."""

    name: str
    """The name; that of the bundled tree-sitter grammar, if there is one."""
    endings: frozenset[str] = field(default="", converter=_words)
    """The last parts of file names, without the dot before them. A longer ending wins: `blade.php`."""
    files: frozenset[str] = field(default="", converter=_words)
    """Whole file names in lower case."""
    early_pattern: str = ""
    """A regular expression of file names in lower case, tested before all endings."""
    pattern: str = ""
    """A regular expression of other file names in lower case, tested after all endings."""
    interpreters: frozenset[str] = field(default="", converter=_words)
    """Programs in a `#!` line, without version."""
    aliases: frozenset[str] = field(default="", converter=_words)
    """Names that people write after a fence, besides the name and the endings."""
    category: Category = Category.CODE
    by_text: Callable[[str, str], str] | None = None
    """A function from a path and the beginning of the text to the name of the language, if the text decides
    between languages that share an ending."""
    syntax: Syntax | None = None
    """The definitions in a syntax tree. Without it, a general rule finds definitions."""
    queries: tuple[str, ...] = ()
    """Queries for references (see `cairn.chunking.references.patterns`); several if languages share some."""
    imports: Imports = NO_IMPORTS
    scoping: Scoping = UNKNOWN_SCOPING
    family: str = field()
    """The family, whose languages can call each other; by default the language alone."""
    sigil: str = ""
    """A mark before variables that is not part of their names."""
    islands: Finder = lambda _path, _source: None
    """A function from a path and a text to the code of other languages that the file embeds."""

    @family.default
    def _own_family(self) -> str:
        return self.name

    @property
    def is_parsed(self) -> bool:
        """Whether files are cut by their syntax tree, if there is a grammar."""
        return self.category is Category.CODE or self.syntax is not None


def unless_xml(name: str) -> Callable[[str, str], str]:
    """Return a function for `by_text`: `name`, or `xml` for a translation of a user interface in Qt."""
    return lambda _, start: "xml" if start.lstrip().startswith("<?xml") else name
