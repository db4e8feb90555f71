"""What an import statement says, in one notation for all languages, and helpers to read and resolve it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cairn.languages.places import Places

DEFAULT = "default"
"""The member name of a module's default export."""
IN_SIGHT = "~"
"""The name of the module whose members are types that a file may use without an import of their names."""
_REFERENCES = 200
"""The maximum number of types of a file that may be used without an import of their names."""


class Module(NamedTuple):
    """A module as an import or a declaration names it."""

    tag: str
    """The tag selects the resolver. After `=`, it declares the name by which the file itself, or a manifest's
    folder, is imported."""
    name: str
    """The name with `/` between its parts. A name that begins with `./` or `../` is relative to the importing
    file, others are absolute in a language."""
    members: tuple[str, ...] = ()
    """Modules inside the named one or, if there are none, members of it. "" is the module itself."""

    def __str__(self) -> str:
        return f"{self.tag}:{self.name}{'?' if self.members else ''}{','.join(self.members)}"

    @classmethod
    def parse(cls, text: str) -> Module:
        """Return the module of which `text` is the string."""
        tag, _, rest = text.partition(":")
        name, mark, members = rest.partition("?")
        return cls(tag, name, tuple(members.split(",")) if mark else ())


class Import(NamedTuple):
    """A name that an import statement adds to a file."""

    name: str
    """The name as the file writes it; "*" for every name of the module, "" if no name is added."""
    module: Module | None
    """The module; None for the file itself."""
    member: str = ""
    """The name inside the module; "" if the module itself is imported."""


Resolver = Callable[["Places", str, Module], Iterable[str | None]]
"""Returns the files that a module means; None means none. The second argument is the importing file's folder,
or the importing file for `by_file`."""


class Imports(NamedTuple):
    """How the files of a language import each other."""

    modules: Callable[[str], Iterator[Module]] = lambda _: iter(())
    """A function from a text that begins with a line end to the modules it imports and declares."""
    names: Callable[[str], Iterator[Import]] = lambda _: iter(())
    """A function from the text of an import statement to the names that it adds to the file."""
    namespace: str = ""
    """The pattern of the line that names the package or namespace of the file."""
    resolvers: Mapping[str, Resolver] = {}
    """The resolver of each tag."""
    namespaced: frozenset[str] = frozenset()
    """The tags that name a namespace instead of a file."""
    by_file: frozenset[str] = frozenset()
    """The tags whose names depend on the importing file. Others depend only on its folder."""
    manifests: Mapping[str, Callable[[str], Iterator[Module]]] = {}
    """For names of files that declare the name of their folder, the reader of such a file."""

    def namespace_of(self, text: str) -> str:
        """Return the file's package or namespace, with `/` between its parts; "" for none."""
        match = by_line(self.namespace).search("\n" + text) if self.namespace else None
        return slashed(match[1]) if match else ""


# Patterns have a limited length: a text full of beginnings would otherwise take quadratic time.


@cache
def by_line(pattern: str) -> re.Pattern[str]:
    """Compile `^pattern` for a text that begins with a line end. Searching for a line end is several times
    faster than for `^`: 9 instead of 21 µs per KB for Rust's `use`."""
    return re.compile(r"\n" + pattern)


@cache
def compiled(regex: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed. Most processes read files of few languages, or none."""
    return re.compile(regex)


def statements(pattern: str, text: str) -> Iterator[str]:
    """Yield the import statements of a text that begins with a line end: each match of `^pattern`."""
    return (match[0][1:] for match in by_line(pattern).finditer(text))


def slashed(name: str) -> str:
    """Return `a::b`, `a.b` or `a\\b` as `a/b`."""
    return compiled(r"(?<!\s)\s*+(?:::|[.\\])\s*+").sub("/", name.replace("`", "").strip()).strip("/")


def namespaced(each: Import) -> Module:
    """Return the module of an import; for a star import, the namespace followed by `/*`."""
    module = each.module or Module("", "")
    return module._replace(name=f"{module.name}/*") if each.name == "*" else module


def types_in_sight(tag: str, text: str) -> Iterator[Module]:
    """Yield the names that may be types of the same namespace or of a star import."""
    names = tuple(dict.fromkeys(compiled(r"\b[A-Z]\w*").findall(text)))[:_REFERENCES]
    if names:
        yield Module(tag, IN_SIGHT, names)


def pattern(
    tag: str, regex: str, separator: str = "/", *, by_lines: bool = True, relative: bool = False
) -> Callable[[str], Iterator[Module]]:
    """Return a reader of the modules that the group of `regex` names. With `by_lines`, the regular expression
    begins at a line's start. With `relative`, a name is relative to the file."""

    def modules(text: str) -> Iterator[Module]:
        for name in (by_line(regex) if by_lines else compiled(regex)).findall(text):
            name = name.replace(separator, "/")
            if not name.startswith(("./", "../")):
                name = f"{'./' if relative else ''}{name.lstrip('/')}"
            yield Module(tag, name)

    return modules


def resolve_type(tag: str) -> Resolver:
    """Resolve a type. `a/b/C` is C of the namespace a/b; `a/b/C/D` is in C's file if D has no own file."""

    def resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
        space, _, last = module.name.rpartition("/")
        while space:
            if found := places.file_of(f"{tag}:{space}", last, folder):
                return (found,)
            space, _, last = space.rpartition("/")
        return ()

    return resolve


def by_path(endings: Sequence[str], roots: frozenset[str] | None = None) -> Resolver:
    """Resolve relative names from the file's folder, others by the ends of paths below one of `roots`."""

    def is_root(folder: str) -> bool:
        return roots is None or posixpath.basename(folder).lower() in roots

    def resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
        if module.name.startswith("."):
            return (places.relative(folder, module.name, endings),)
        return (places.absolute(folder, module.name, endings, is_root),)

    return resolve


FILES: Mapping[str, Resolver] = {"file": by_path(("",))}
"""The resolver of the tag `file`, for languages that import files by their paths."""
