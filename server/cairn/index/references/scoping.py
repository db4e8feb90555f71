"""The scope rules of each language: what a name can refer to, and what it cannot."""

from __future__ import annotations

from enum import Enum

from attrs import field, frozen


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Visibility(Enum):
    """The files whose definitions a name can mean without an import."""

    FILE = 0
    FOLDER = 1
    """The files of the same folder and package."""
    NAMESPACE = 2
    """The files of the same package or namespace."""
    WORKSPACE = 3


@frozen
class Scoping:
    visibility: Visibility = Visibility.FILE
    selves: frozenset[str] = field(default="self this", converter=_words)
    """The names by which code refers to its own object or type."""
    supers: frozenset[str] = field(default="super", converter=_words)
    bare_members: bool = False
    """Whether code can name members of its own type without a receiver."""
    guess: float = 0.6
    """The confidence that a call on an unknown receiver means the only member of that name. Language servers
    confirm almost no such call in languages where types are seldom written."""
    common: frozenset[str] = field(default="", converter=_words)
    """The names of methods that are frequent outside the workspace, so that the name alone proves little."""


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

_PYTHON = Scoping(selves="self cls", common=_COMMON)
_SCRIPT = Scoping(guess=0.45, common=_COMMON)
_JVM = Scoping(Visibility.NAMESPACE, bare_members=True, common=_COMMON)
_C = Scoping(Visibility.WORKSPACE, selves="this", bare_members=True, common=_COMMON)

_SCOPINGS = {
    "python": _PYTHON,
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
    "go": Scoping(Visibility.FOLDER, selves="", common=_COMMON),
    "rust": Scoping(selves="self Self", common=_COMMON),
    "java": _JVM,
    "kotlin": _JVM,
    "scala": _JVM,
    "csharp": Scoping(Visibility.NAMESPACE, supers="base", bare_members=True, common=_COMMON),
    "php": Scoping(Visibility.NAMESPACE, selves="this self static", supers="parent", common=_COMMON),
    "c": _C,
    "cpp": _C,
    "ruby": Scoping(Visibility.WORKSPACE, bare_members=True, common=_COMMON),
    "swift": Scoping(Visibility.WORKSPACE, selves="self Self", bare_members=True, common=_COMMON),
    "elixir": Scoping(Visibility.FILE, selves="__MODULE__", supers="", bare_members=True, common=_COMMON),
}
_ANY = Scoping(Visibility.WORKSPACE, bare_members=True)


def scoping_of(language: str) -> Scoping:
    return _SCOPINGS.get(language, _ANY)


_FAMILIES = {
    "javascript": "script", "typescript": "script", "tsx": "script", "c": "c", "cpp": "c", "objc": "c",
    "java": "jvm", "kotlin": "jvm", "scala": "jvm",
}  # fmt: skip


def family_of(language: str) -> str:
    """Return the name of the language's family. Languages of one family can call each other."""
    return _FAMILIES.get(language, language)
