"""Read the imports of one file, language by language.

Each reader takes a text that begins with a line end, and yields specs.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice

_CHARACTERS = 200_000
"""The maximum number of characters read: imports are at the top, and generated files are long."""
_SPECS = 400
"""The maximum number of specs per file."""
_NAMES = 40
"""The maximum number of names in one `from x import a, b, ...`."""
_REFERENCES = 200
"""The maximum number of types of a file that may be used without an import of their names."""

_SpecReader = Callable[[str], Iterator[str]]


def import_specs(path: str, language: str, text: str) -> tuple[str, ...]:
    """Return the file's imports and declarations for `ImportGraph`, in order and without duplicates. `path`
    is relative to the workspace, with `/`. `language` is a name of `cairn.text.languages`."""
    reader = _MANIFESTS.get(path.rpartition("/")[2]) or _READERS.get(language)
    return tuple(islice(dict.fromkeys(reader("\n" + text[:_CHARACTERS])), _SPECS)) if reader else ()


# Patterns have a limited length: a text full of beginnings would otherwise take quadratic time.


def _by_line(pattern: str) -> re.Pattern[str]:
    """Compile `^pattern` for a text that begins with a line end. Searching for a line end is several times
    faster than for `^`: 9 instead of 21 µs per KB for Rust's `use`."""
    return re.compile(r"\n" + pattern)


# Python

_PY_STRINGS = {
    '"""': re.compile(r'"""[^"]*(?:"{1,2}[^"]+)*"""'),
    "'''": re.compile(r"'''[^']*(?:'{1,2}[^']+)*'''"),
}
_PY_FROM = _by_line(
    r"[ \t]*from[ \t]++(\.*+)[ \t]*+((?:(?!c?import\b)[\w.]++)?+)[ \t]*+(?<=[ \t])c?import[ \t]*+"
    r"(\([^)]{0,2000}\)|(?:[^\n;#\\]|\\\r?\n)+)"
)
_PY_IMPORT = _by_line(r"[ \t]*c?import[ \t]++([^\n;#(]+)")
_PY_MEMBER = re.compile(r"(?:^|,|\()\s*(\w+|\*)")
_PY_COMMENT = re.compile(r"#[^\n]*")


def _python(text: str) -> Iterator[str]:
    """Read `from .http import web, URL` as `py:./http?web,`. The empty last name is the module itself. The
    standard library is left out."""
    for quotes, pattern in _PY_STRINGS.items():
        if quotes in text:
            text = pattern.sub("", text)
    for dots, module, members in _PY_FROM.findall(text):
        name = module.replace(".", "/")
        if dots:
            name = f"{'/'.join(['..'] * (len(dots) - 1)) or '.'}/{name}".rstrip("/")
        elif module.partition(".")[0] in sys.stdlib_module_names:
            continue
        # Module names are in lower case, but so are other names. Only the file system tells which are
        # modules.
        names = _PY_MEMBER.findall(_PY_COMMENT.sub("", members).replace("\\", " "))[:_NAMES]
        lower = [each for each in names if each[0].islower() or each[0] == "_"]
        itself = [""] if len(lower) < len(names) else []
        yield f"py:{name}?{','.join([*lower, *itself])}" if lower else f"py:{name}"
    for modules in _PY_IMPORT.findall(text):
        for module in modules.split(","):
            dotted = module.split()[0] if module.strip() else ""
            if dotted and dotted.partition(".")[0] not in sys.stdlib_module_names:
                yield f"py:{dotted.replace('.', '/')}"


# JavaScript and TypeScript

_JS_IMPORT = _by_line(r"[ \t]*(?:import|export)\b(?:[^'\"`;=()]{0,1500}?\bfrom)?[ \t]*[\"']([^\"'\n]+)[\"']")
_JS_CALLS = tuple(re.compile(rf"{word}\([ \t]*[\"'`]([^\"'`\n$]+)[\"'`]") for word in ("require", "import"))


def _javascript(text: str) -> Iterator[str]:
    """Read `import x from "./x.js"` as `js:./x.js`."""
    names = _JS_IMPORT.findall(text)
    for call in _JS_CALLS:
        for found in call.finditer(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].lstrip()
            if not line.startswith(("//", "*", "/*")):
                names.append(found[1])
    for name in names:
        if not name.startswith(("node:", "http:", "https:")):
            name = name.partition("?")[0]
            yield f"js:{name}/" if name in (".", "..") else f"js:{name}"


# Go

_GO_IMPORTS = _by_line(r"import[ \t]*(?:\(([^()]{0,8000})\)|((?:[\w.]+[ \t]+)?\"[^\"\n]+\"))")
_GO_PATH = _by_line(r"[ \t]*(?:[\w.]+[ \t]+)?\"([^\"\n]+)\"")


def _go(text: str) -> Iterator[str]:
    """Read `import "example.org/a/b"` as `go:example.org/a/b`. A single word is in the standard library."""
    for block, single in _GO_IMPORTS.findall(text):
        for name in _GO_PATH.findall("\n" + (block or single)):
            if "/" in name or "." in name:
                yield f"go:{name}"


# Languages with namespaces: in its namespace, and after a star import, a type is visible without an import

_JVM_PACKAGE = _by_line(r"[ \t]*package[ \t]+([\w.`]+)")
_JVM_IMPORT = _by_line(r"[ \t]*import[ \t]+(?:static[ \t]+)?([\w.`]+)(\{[^}]{0,2000}\}|\*)?")
_CS_NAMESPACE = _by_line(r"[ \t]*namespace[ \t]+([\w.]+)")
_CS_USING = _by_line(r"[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?([\w.]+)[ \t]*;")
_PHP_NAMESPACE = _by_line(r"[ \t]*(?:<\?php[ \t]+)?namespace[ \t]+([\w\\]+)")
_PHP_USE = _by_line(r"[ \t]*use[ \t]+(?:function[ \t]+|const[ \t]+)?\\?([\w\\]+)(\{[^}]{0,2000}\})?")
_PHP_INCLUDE = _by_line(
    r"[^\n/#*'\"]*\b(?:require|include)(?:_once)?\b[ \t(]*"
    r"((?:__DIR__|dirname\(__FILE__\))[ \t]*\.[ \t]*)?[\"']/?([^\"'\n]+)[\"']"
)
_MEMBER = re.compile(r"[\w`]+")
_TYPE = re.compile(r"\b[A-Z]\w*")


def _jvm(text: str) -> Iterator[str]:
    """Read `package a.b` as `=jvm:a/b`, `import a.c.D` as `jvm:a/c/D`, `import a.c.*` as `jvm:a/c/*`."""
    if package := _JVM_PACKAGE.search(text):
        yield f"=jvm:{_slashed(package[1])}"
    for dotted, rest in _JVM_IMPORT.findall(text):
        name = _slashed(dotted).strip("/")
        if name.startswith(("java/", "javax/")):
            continue
        if rest == "*" or name.endswith("/_"):
            yield f"jvm:{name.removesuffix('/_')}/*"
        elif rest:  # Scala: import a.b.{C, D => E}
            for member in rest[1:-1].split(","):
                if first := _MEMBER.search(member):
                    yield f"jvm:{name}/{'*' if first[0] == '_' else first[0]}"
        else:
            yield f"jvm:{name}"
    yield from _types("jvm", text)


def _csharp(text: str) -> Iterator[str]:
    """Read imports as for the JVM; `using a.b` is a star import."""
    for dotted in _CS_NAMESPACE.findall(text)[:1]:
        yield f"=cs:{_slashed(dotted)}"
    for dotted in _CS_USING.findall(text):
        if not dotted.startswith("System"):
            yield f"cs:{_slashed(dotted)}/*"
    yield from _types("cs", text)


def _php(text: str) -> Iterator[str]:
    """Read imports as for the JVM, and included files."""
    if namespace := _PHP_NAMESPACE.search(text):
        yield f"=php:{_slashed(namespace[1])}"
    for name, group in _PHP_USE.findall(text):
        base = _slashed(name).strip("/")
        if group:
            for member in group[1:-1].split(","):
                if member.strip():
                    yield f"php:{base}/{_slashed(member.split()[0])}"
        elif "/" in base:
            yield f"php:{base}"
    for here, path in _PHP_INCLUDE.findall(text):
        yield f"file:{'./' if here and not path.startswith('.') else ''}{path}"
    yield from _types("php", text)


def _slashed(name: str) -> str:
    return name.replace(".", "/").replace("\\", "/").replace("`", "")


def _types(tag: str, text: str) -> Iterator[str]:
    """Yield `jvm:~Request,Response`: names that may be types of the same namespace or of a star import."""
    if names := list(dict.fromkeys(_TYPE.findall(text)))[:_REFERENCES]:
        yield f"{tag}:~{','.join(names)}"


# Rust

_RS_USE = _by_line(r"([ \t]*)(?:pub(?:\([^)\n]*\))?[ \t]++)?(?:use|extern crate)[ \t]++([^;=(]{1,2000});")
_RS_MOD = _by_line(r"[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;")
_RS_PATH = re.compile(r"crate((?:::\w+)+)")
_RS_ALIAS = re.compile(r"\bas\s+\w+")
_RS_TOKEN = re.compile(r"[\w#]+|::|[{},*]")
_RS_STANDARD = ("std", "core", "alloc", "proc_macro")
_CARGO_NAME = _by_line(r"\[(?:package|lib)\][^\[]*?\nname[ \t]*=[ \t]*\"([\w-]+)\"")


def _rust(text: str) -> Iterator[str]:
    """Read `use crate::{a::B, c}` as `rs:crate/a/B` and `rs:crate/c`, and `mod x;` as `rs:self/x`."""
    for name in _RS_MOD.findall(text):
        yield f"rs:self/{name}"
    for indent, tree in _RS_USE.findall(text):
        for parts in _use_tree(tree):
            # An indented `super` belongs to an inline module, which is in the file itself.
            below = parts[1:] if indent and parts[0] == "super" else parts
            if below and below[0] not in _RS_STANDARD:
                yield f"rs:{'' if below is parts else 'self/'}{'/'.join(below)}"
    for path in _RS_PATH.findall(text):
        yield f"rs:crate{path.replace('::', '/')}"


def _use_tree(tree: str) -> Iterator[list[str]]:
    """Yield every path of `a::{b, c::{d, e as f}}`."""
    path: list[str] = []
    bases = [path]
    for token in _RS_TOKEN.findall(_RS_ALIAS.sub("", tree)):
        if token == "{":
            bases.append(path)
        elif token in ",}":
            if path is not bases[-1]:
                yield path
            if token == "}" and len(bases) > 1:
                bases.pop()
            path = bases[-1]
        elif token not in ("::", "*"):
            path = [*path, token]
    if path is not bases[-1] and path:
        yield path


def _package_json(text: str) -> Iterator[str]:
    """Read `{"name": "@s/p", "main": "lib/p.js"}` as `=js:@s/p` and `=entry:lib/p.js`."""
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):  # This is a template or an unfinished file, which no file imports.
        return
    if not isinstance(manifest, dict):
        return
    if isinstance(name := manifest.get("name"), str):
        yield f"=js:{name}"
    for key in ("source", "module", "main", "types"):
        if isinstance(entry := manifest.get(key), str):
            yield f"=entry:{entry}"


def _cargo(text: str) -> Iterator[str]:
    """Read `name = "a-b"` as `=rs:a_b`."""
    for name in _CARGO_NAME.findall(text):
        yield f"=rs:{name.replace('-', '_')}"


# C, Ruby, Elixir, Dart, shell

_C_INCLUDE = _by_line(r"[ \t]*#[ \t]*(?:include|import|include_next)[ \t]*([\"<])([^\">\n]+)[\">]")
_RB_REQUIRE = _by_line(
    r"[ \t]*(require_relative|require|load|autoload[ \t(]+:\w+,)[ \t(]+"
    r"(?:File\.expand_path\([ \t]*)?[\"']([^\"'\n#]+)[\"'](,[ \t]*__(?:FILE|dir)__)?"
)
_EX_MODULE = _by_line(r"[ \t]*defmodule[ \t]+([A-Z][\w.]*)")
_EX_USE = _by_line(
    r"[ \t]*(?:alias|import|use|require)[ \t]+([A-Z][\w.]*?)(?:\.\{([^}]{0,2000})\}|(?![\w.]))"
)
_DART_IMPORT = _by_line(r"[ \t]*(?:import|export|part)[ \t]+[\"']([^\"'\n]+)[\"']")
_SH_SOURCE = _by_line(r"[ \t]*(?:source|\.)[ \t]+([^\n;&|]+)")
_SH_VARIABLE = re.compile(r"^.*[$`)}][^/]*")


def _c(text: str) -> Iterator[str]:
    """Read `#include "x.h"` as `c:x.h`, and `#include <x.h>` as `sys:x.h`."""
    for quote, name in _C_INCLUDE.findall(text):
        yield f"{'sys' if quote == '<' else 'c'}:{name}"


def _ruby(text: str) -> Iterator[str]:
    """Read `require "a/b"` as `rb:a/b`, and `require_relative "c"` as `rb:./c`."""
    for word, name, here in _RB_REQUIRE.findall(text):
        if here.endswith("__FILE__"):  # The file counts as a folder here.
            name = name.removeprefix("../")
        local = here or word == "require_relative"
        yield f"rb:{'./' if local and not name.startswith('.') else ''}{name}"


def _elixir(text: str) -> Iterator[str]:
    """Read `alias A.{B, C}` as `ex:A/B` and `ex:A/C`, and `defmodule A.B` as `=ex:A/B`."""
    for name in _EX_MODULE.findall(text):
        yield f"=ex:{_slashed(name)}"
    for name, group in _EX_USE.findall(text):
        for member in group.split(",") if group else [""]:
            yield f"ex:{_slashed(name)}{'/' if group else ''}{_slashed(member.strip())}"


def _dart(text: str) -> Iterator[str]:
    """Read `import "package:a/b.dart"` as `dart:a/b.dart`, and `import "c.dart"` as `file:./c.dart`."""
    for name in _DART_IMPORT.findall(text):
        if name.startswith("package:"):
            yield f"dart:{name.removeprefix('package:')}"
        elif ":" not in name:
            yield f"file:{'' if name.startswith('.') else './'}{name}"


def _shell(text: str) -> Iterator[str]:
    """Read `source ./x.sh` as `file:./x.sh`, and `. "$HERE/x.sh"` as `file:x.sh`."""
    for argument in _SH_SOURCE.findall(text):
        path = _SH_VARIABLE.sub("", argument)
        here = path == argument and not path.lstrip("\"'").startswith((".", "/"))
        if words := path.replace('"', " ").replace("'", " ").split():
            yield f"file:{'./' if here else ''}{words[0].lstrip('/')}"


# Languages whose imports one pattern finds, and the table of readers


def _pattern(tag: str, pattern: str, separator: str = "/", relative: bool = False) -> _SpecReader:
    """Return a reader that yields the pattern's group. With `relative`, it is relative to the file."""
    compiled = _by_line(pattern[1:]) if pattern.startswith("^") else re.compile(pattern)
    start = f"{tag}:./" if relative else f"{tag}:"

    def read(text: str) -> Iterator[str]:
        for name in compiled.findall(text):
            name = name.replace(separator, "/")
            yield f"{tag}:{name}" if name.startswith(("./", "../")) else f"{start}{name.lstrip('/')}"

    return read


_CSS = _pattern(
    "css",
    r"^[ \t]*@(?:import|use|forward|reference)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?:url\([ \t]*)?"
    r"[\"']?([^\"')\s;:]+)",
    relative=True,
)
_TEMPLATE = _pattern("file", r"\{%-?[ \t]*(?:extends|include|import|from|embed)[ \t]+[\"']([^\"'\n]+)")

_READERS: dict[str, _SpecReader] = {
    "python": _python,
    **dict.fromkeys(
        ("javascript", "typescript", "tsx", "vue", "svelte", "astro", "coffeescript"), _javascript
    ),
    "go": _go,
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), _jvm),
    "csharp": _csharp,
    "php": _php,
    "rust": _rust,
    **dict.fromkeys(("c", "cpp", "objc"), _c),
    "ruby": _ruby,
    "elixir": _elixir,
    "dart": _dart,
    **dict.fromkeys(("bash", "bats", "fish"), _shell),
    **dict.fromkeys(("css", "scss", "sass", "less", "stylus"), _CSS),
    **dict.fromkeys(("jinja2", "twig"), _TEMPLATE),
    "lua": _pattern(
        "lua",
        r"^[ \t]*(?:local[ \t]++[\w, ]++=[ \t]*+|return[ \t]++)?require[ \t]*+\(?[ \t]*+[\"']([\w./-]+)[\"']",
        ".",
    ),
    "haskell": _pattern("hs", r"^import[ \t]+(?:safe[ \t]+)?(?:qualified[ \t]+)?([A-Z][\w.]*)", "."),
    "perl": _pattern("pl", r"^[ \t]*(?:use|require)[ \t]+([A-Z]\w*(?:::\w+)*)", "::"),
    "proto": _pattern("file", r"^[ \t]*import[ \t]+(?:public[ \t]+|weak[ \t]+)?\"([^\"\n]+)\""),
    "solidity": _pattern("file", r"^[ \t]*import[ \t]++(?:[^\"';]{0,1500}from[ \t]++)?[\"']([^\"'\n]+)"),
    "zig": _pattern("file", r"@import\(\"([^\"\n]+\.zig)\"\)", relative=True),
    "julia": _pattern("file", r"^[ \t]*include\([ \t]*\"([^\"\n]+)\"", relative=True),
    "r": _pattern("file", r"^[ \t]*source\([ \t]*[\"']([^\"'\n]+)"),
    "erlang": _pattern("file", r"^-include(?:_lib)?\([ \t]*\"([^\"\n]+)\""),
    "nix": _pattern("nix", r"\b(?:import|callPackage)[ \t]+(\.{1,2}/[\w./-]+)"),
    "hcl": _pattern("hcl", r"^[ \t]*source[ \t]*=[ \t]*\"(\.{1,2}/[^\"\n]+)\""),
}

_MANIFESTS: dict[str, _SpecReader] = {
    "package.json": _package_json,
    "go.mod": _pattern("=go", r"^module[ \t]+\"?([^\s\"]+)"),
    "Cargo.toml": _cargo,
    "pubspec.yaml": _pattern("=dart", r"^name:[ \t]*(\w+)"),
}
