"""Which reader reads the imports of a file, and the readers that are one pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from cairn.workspace.imports import readers

_CHARACTERS = 200_000
"""What is read of a text: imports stand at the top, and generated files are long."""
_SPECS = 400
"""Specs that are kept of a file."""

Reader = Callable[[str], Iterator[str]]


def import_specs(path: str, language: str, text: str) -> tuple[str, ...]:
    """What the file imports and what it is imported as, for `in_degrees`; without duplicates, in order.

    `path` is relative to the workspace, with `/`; `language` as `cairn.text.languages` names it.
    """
    reader = _MANIFESTS.get(path.rpartition("/")[2]) or _READERS.get(language)
    return tuple(islice(dict.fromkeys(reader("\n" + text[:_CHARACTERS])), _SPECS)) if reader else ()


def _pattern(tag: str, pattern: str, separator: str = "/", relative: bool = False) -> Reader:
    """A reader of what the pattern's one group finds; `relative` to the importing file whatever it begins with."""
    compiled = readers.by_line(pattern[1:]) if pattern.startswith("^") else re.compile(pattern)
    start = f"{tag}:./" if relative else f"{tag}:"

    def read(text: str) -> Iterator[str]:
        for name in compiled.findall(text):
            name = name.replace(separator, "/")
            yield f"{tag}:{name}" if name.startswith(("./", "../")) else f"{start}{name.lstrip('/')}"

    return read


_C = readers.c
_CSS = _pattern(
    "css",
    r"^[ \t]*@(?:import|use|forward|reference)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?:url\([ \t]*)?[\"']?([^\"')\s;:]+)",
    relative=True,
)
_TEMPLATE = _pattern("file", r"\{%-?[ \t]*(?:extends|include|import|from|embed)[ \t]+[\"']([^\"'\n]+)")

_READERS: dict[str, Reader] = {
    "python": readers.python,
    **dict.fromkeys(
        ("javascript", "typescript", "tsx", "vue", "svelte", "astro", "coffeescript"), readers.javascript
    ),
    "go": readers.go,
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), readers.jvm),
    "csharp": readers.csharp,
    "php": readers.php,
    "rust": readers.rust,
    **dict.fromkeys(("c", "cpp", "objc"), _C),
    "ruby": readers.ruby,
    "elixir": readers.elixir,
    "dart": readers.dart,
    **dict.fromkeys(("bash", "bats", "fish"), readers.shell),
    **dict.fromkeys(("css", "scss", "sass", "less", "stylus"), _CSS),
    **dict.fromkeys(("jinja2", "twig"), _TEMPLATE),
    "lua": _pattern(
        "lua",
        r"^[ \t]*(?:local[ \t]+[\w, ]+=[ \t]*|return[ \t]+)?require[ \t]*\(?[ \t]*[\"']([\w./-]+)[\"']",
        ".",
    ),
    "haskell": _pattern("hs", r"^import[ \t]+(?:safe[ \t]+)?(?:qualified[ \t]+)?([A-Z][\w.]*)", "."),
    "perl": _pattern("pl", r"^[ \t]*(?:use|require)[ \t]+([A-Z]\w*(?:::\w+)*)", "::"),
    "proto": _pattern("file", r"^[ \t]*import[ \t]+(?:public[ \t]+|weak[ \t]+)?\"([^\"\n]+)\""),
    "solidity": _pattern("file", r"^[ \t]*import[ \t]+(?:[^\"';]*from[ \t]+)?[\"']([^\"'\n]+)"),
    "zig": _pattern("file", r"@import\(\"([^\"\n]+\.zig)\"\)", relative=True),
    "julia": _pattern("file", r"^[ \t]*include\([ \t]*\"([^\"\n]+)\"", relative=True),
    "r": _pattern("file", r"^[ \t]*source\([ \t]*[\"']([^\"'\n]+)"),
    "erlang": _pattern("file", r"^-include(?:_lib)?\([ \t]*\"([^\"\n]+)\""),
    "nix": _pattern("nix", r"\b(?:import|callPackage)[ \t]+(\.{1,2}/[\w./-]+)"),
    "hcl": _pattern("hcl", r"^[ \t]*source[ \t]*=[ \t]*\"(\.{1,2}/[^\"\n]+)\""),
}

_MANIFESTS: dict[str, Reader] = {
    "package.json": readers.package_json,
    "go.mod": _pattern("=go", r"^module[ \t]+\"?([^\s\"]+)"),
    "Cargo.toml": readers.cargo,
    "pubspec.yaml": _pattern("=dart", r"^name:[ \t]*(\w+)"),
}
