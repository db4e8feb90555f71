"""What the scope rules of each language say of a name: who can be meant by it, and who cannot."""

from __future__ import annotations

from enum import Enum

from attrs import field, frozen


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Sight(Enum):
    """Which files a name can mean without an import."""

    FILE = 0
    """Its own alone."""
    FOLDER = 1
    """Those of the same folder and package."""
    NAMESPACE = 2
    """Those of the same package or namespace."""
    WORKSPACE = 3
    """All of them."""


@frozen
class Scoping:
    """The scope rules of one language."""

    sight: Sight = Sight.FILE
    selves: frozenset[str] = field(default="self this", converter=_words)
    """How code names the object, or the type, that it belongs to."""
    supers: frozenset[str] = field(default="super", converter=_words)
    bare_members: bool = False
    """Whether members of the type are named without a receiver."""
    guess: float = 0.6
    """How sure it is that a member of an unknown receiver is the only one of its name. Where types are seldom written, servers do
    not say who is called: of 388 such edges in express, none was known to one."""
    common: frozenset[str] = field(default="", converter=_words)
    """Methods that so many types have, outside of the workspace, that their name alone says little."""


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
    """

_PYTHON = Scoping(selves="self cls", common=_COMMON)
_SCRIPT = Scoping(guess=0.45, common=_COMMON)
_JVM = Scoping(Sight.NAMESPACE, bare_members=True, common=_COMMON)
_C = Scoping(Sight.WORKSPACE, selves="this", bare_members=True, common=_COMMON)

_SCOPINGS = {
    "python": _PYTHON,
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
    "go": Scoping(Sight.FOLDER, selves="", common=_COMMON),
    "rust": Scoping(selves="self Self", common=_COMMON),
    "java": _JVM,
    "kotlin": _JVM,
    "scala": _JVM,
    "csharp": Scoping(Sight.NAMESPACE, supers="base", bare_members=True, common=_COMMON),
    "php": Scoping(Sight.NAMESPACE, selves="this self static", supers="parent", common=_COMMON),
    "c": _C,
    "cpp": _C,
    "ruby": Scoping(Sight.WORKSPACE, bare_members=True, common=_COMMON),
    "swift": Scoping(Sight.WORKSPACE, selves="self Self", bare_members=True, common=_COMMON),
    "elixir": Scoping(Sight.FILE, selves="__MODULE__", supers="", bare_members=True, common=_COMMON),
}
_ANY = Scoping(Sight.WORKSPACE, bare_members=True)


def scoping_of(language: str) -> Scoping:
    """The rules of a language."""
    return _SCOPINGS.get(language, _ANY)


_FAMILIES = {
    "javascript": "script", "typescript": "script", "tsx": "script", "c": "c", "cpp": "c", "objc": "c",
    "java": "jvm", "kotlin": "jvm", "scala": "jvm",
}  # fmt: skip


def family_of(language: str) -> str:
    """Languages of one family call each other."""
    return _FAMILIES.get(language, language)
