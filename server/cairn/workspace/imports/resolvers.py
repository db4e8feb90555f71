"""Resolve the names in specs to files, language by language."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence

from cairn.workspace.imports.places import Places

Resolver = Callable[[Places, str, str], Iterable[str | None]]
"""Returns the files that a name of `readers` means; None means none. The other argument is the importing
file's folder, or for the tags in `BY_FILE` the importing file."""

_PYTHON = (".py", "/__init__.py", ".pyi", "/__init__.pyi", ".pyx", ".pxd")
_SCRIPTS = tuple(".ts .tsx .js .jsx .mts .cts .mjs .cjs .d.ts .vue .svelte .json .coffee".split())
_JAVASCRIPT = ("", *_SCRIPTS, *(f"/index{ending}" for ending in _SCRIPTS))
_ENTRIES = ("src/index", "index", "src/main", "lib/index", "main", "lib/main")
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""The endings of compiled files, by which TypeScript imports their sources."""
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
_STYLES = ("", ".scss", ".sass", ".css", ".less", ".styl", "/_index.scss")
_LOAD_PATHS = frozenset({"", "lib", "app", "src", "test", "tests", "spec", "ext"})
"""The folders in which Ruby's `require` searches. `require "json"` does not mean just any `json.rb`."""
_HEADER_PATHS = frozenset({"", "include", "includes", "inc", "headers", "src", "source", "sources", "lib"})
"""The folders in which `<x.h>` is searched for. `<string.h>` does not mean just any `string.h`."""


def types_in_sight(
    places: Places, path: str, tag: str, names: Iterable[str], specs: Sequence[str]
) -> Iterable[str]:
    """Yield the files of types that a file may use by bare name, of its own and of starred namespaces."""
    spaces = [spec[1:] for spec in specs if spec.startswith(f"={tag}:")]
    spaces += [spec[:-2] for spec in specs if spec.startswith(f"{tag}:") and spec.endswith("/*")]
    folder = posixpath.dirname(path)
    left = set(names)
    for space in spaces:
        seen = left & places.types(space).keys()
        left -= seen
        yield from filter(None, (places.file_of(space, name, folder) for name in seen))


def _namespaced(tag: str) -> Resolver:
    """Resolve a type. `a/b/C` is C of the namespace a/b; `a/b/C/D` is in C's file if D has no own file."""

    def resolve(places: Places, folder: str, name: str) -> Iterable[str | None]:
        space, _, last = name.rpartition("/")
        while space:
            if found := places.file_of(f"{tag}:{space}", last, folder):
                return (found,)
            space, _, last = space.rpartition("/")
        return ()

    return resolve


def _by_path(endings: tuple[str, ...], roots: frozenset[str] | None = None) -> Resolver:
    """Resolve relative names from the file's folder, others by the ends of paths below one of `roots`."""

    def is_root(folder: str) -> bool:
        return roots is None or posixpath.basename(folder).lower() in roots

    def resolve(places: Places, folder: str, name: str) -> Iterable[str | None]:
        if name.startswith("."):
            return (places.relative(folder, name, endings),)
        return (places.absolute(folder, name, endings, is_root),)

    return resolve


def _python(places: Places, folder: str, name: str) -> Iterable[str | None]:
    module, _, members = name.partition("?")

    def find(dotted: str) -> str | None:
        if dotted.startswith("."):
            return places.relative(folder, dotted, _PYTHON)
        return places.absolute(folder, dotted, _PYTHON, places.is_plain_folder)

    submodules = [f"{module}/{member}" for member in members.split(",")] if members else []
    modules = [find(each) for each in submodules] or [None]
    if None in modules:  # The module itself defines this member.
        modules.append(find(module))
    return modules


def _javascript(places: Places, folder: str, name: str) -> Iterable[str | None]:
    if name.startswith("."):
        found = _script(places, folder, name)
        return (found,) if found else _entries(places, posixpath.normpath(f"{folder}/{name}"))
    if declared := places.folder_of("js", name, folder):
        package, rest = declared
        starts = (rest, f"src/{rest}", f"lib/{rest}") if rest else _ENTRIES
        if not rest and (entries := _entries(places, package)):
            return entries
        return (next((each for start in starts if (each := _script(places, package, start))), None),)
    if name.startswith(("@/", "~/", "#/")):  # Bundlers map these to the source folder.
        return (places.absolute(folder, name[2:], _JAVASCRIPT),)
    return (places.absolute(folder, name, _JAVASCRIPT),) if name.startswith(("src/", "app/")) else ()


def _entries(places: Places, folder: str) -> tuple[str, ...]:
    """Return the first code file of the manifest that is not a build result, and its type declarations."""
    folder = folder.strip("./")
    named = (_script(places, folder, name) for name in places.entries.get(folder, ()))
    found = list(filter(None, named))
    code = [path for path in found if not path.endswith(_DECLARATIONS)]
    types = [path for path in found if path.endswith(_DECLARATIONS)]
    return tuple(dict.fromkeys([*code[:1], *types[:1]]))


def _script(places: Places, folder: str, name: str) -> str | None:
    stem, ending = posixpath.splitext(name)
    if compiled := _COMPILED.get(ending):
        return places.relative(folder, stem, (ending, *compiled))
    return places.relative(folder, name, _JAVASCRIPT)


def _go(places: Places, folder: str, name: str) -> Iterable[str | None]:
    """Return every file of the package except its tests: a Go import names a folder."""
    found = places.folder_of("go", name, folder)
    if found is None:
        return ()
    files = places.in_folder.get("/".join(part for part in found if part), ())
    return [file for file in files if file.endswith(".go") and not file.endswith("_test.go")]


def _rust(places: Places, path: str, name: str) -> Iterable[str | None]:
    """Return the file of the deepest module on the path that has one."""
    first, *parts = name.split("/")
    root, here = _crate(places, path)
    if first == "self":
        parts = [*here, *parts]
    elif first == "super":
        while parts and parts[0] == "super":
            parts, here = parts[1:], here[:-1]
        parts = [*here[:-1], *parts]
    elif first != "crate":
        if found := places.folder_of("rs", first, posixpath.dirname(path)):
            root = f"{found[0]}/src".lstrip("/")
        elif _module(places, root, [*here, first]):
            parts = [*here, first, *parts]
        else:
            return ()
    for length in range(len(parts), -1, -1):
        if module := _module(places, root, parts[:length]):
            return (module,)
    return ()


def _module(places: Places, root: str, parts: Sequence[str]) -> str | None:
    return places.relative(root, "/".join(parts), (".rs", "/mod.rs") if parts else ("lib.rs", "main.rs"))


def _crate(places: Places, path: str) -> tuple[str, list[str]]:
    """Return the folder of the crate's root module, and the names from there to the module in `path`."""
    folder, _, file = path.rpartition("/")
    stem = file.removesuffix(".rs")
    root = places.crate_root(folder)
    if root is None:
        return folder, []
    below = folder[len(root) :].strip("/").split("/") if folder != root else []
    return root, below if stem in ("mod", "lib", "main") else [*below, stem]


def _c(places: Places, folder: str, name: str) -> Iterable[str | None]:
    found = places.relative(folder, name, ("",))
    while found is None and name.startswith(("./", "../")):
        name = name.partition("/")[2]
    return (found or places.absolute(folder, name, ("",)),)


def _stylesheet(places: Places, folder: str, name: str) -> Iterable[str | None]:
    above, _, last = name.rpartition("/")
    return (places.relative(folder, name, _STYLES) or places.relative(folder, f"{above}/_{last}", _STYLES),)


def _dart(places: Places, folder: str, name: str) -> Iterable[str | None]:
    package, _, rest = name.partition("/")
    declared = places.folder_of("dart", package, folder)
    return (places.relative(declared[0], f"lib/{rest}", ("",)) if declared else None,)


def _elixir(places: Places, folder: str, name: str) -> Iterable[str | None]:
    found = places.declared.get(f"ex:{name}", ())
    return found if len(found) == 1 else ()


RESOLVERS: dict[str, Resolver] = {
    "c": _c,
    "cs": _namespaced("cs"),
    "css": _stylesheet,
    "dart": _dart,
    "ex": _elixir,
    "file": _by_path(("",)),
    "go": _go,
    "hcl": _by_path(("/main.tf",)),
    "hs": _by_path((".hs", ".lhs", ".hsc")),
    "js": _javascript,
    "jvm": _namespaced("jvm"),
    "lua": _by_path((".lua", "/init.lua", ".luau")),
    "nix": _by_path(("", "/default.nix")),
    "php": _namespaced("php"),
    "pl": _by_path((".pm", ".pl")),
    "py": _python,
    "rb": _by_path((".rb", ""), _LOAD_PATHS),
    "rs": _rust,
    "sys": _by_path(("",), _HEADER_PATHS),
}

BY_FILE = frozenset({"rs"})
"""The tags whose names depend on the importing file. Others depend only on its folder."""
