"""Finds the names that an import statement adds to a file, in the text of the statement.

A module is written as a spec of `cairn.workspace.imports`, which resolves it to files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from cairn.chunking.references.model import Import

_Reader = Callable[[str], Iterator[Import]]


def import_names(language: str, text: str) -> Iterator[Import]:
    """Yield the names that an import adds to a file; none for a language that imports only whole files."""
    reader = _READERS.get(language)
    return reader(text) if reader is not None else iter(())


def namespace_of(language: str, source: bytes) -> str:
    """Return the file's package or namespace, with `/` between its parts; "" for none."""
    pattern = _NAMESPACES.get(language)
    match = pattern.search(source) if pattern is not None else None
    return _slashed(match[1].decode("utf-8", "replace")) if match else ""


def _slashed(name: str) -> str:
    return re.sub(r"(?<!\s)\s*+(?:::|[.\\])\s*+", "/", name.replace("`", "").strip()).strip("/")


_JVM = re.compile(rb"^[ \t]*package[ \t]+([\w.`]+)", re.MULTILINE)
_NAMESPACES = {
    "java": _JVM,
    "kotlin": _JVM,
    "scala": _JVM,
    "go": re.compile(rb"^package[ \t]+(\w+)", re.MULTILINE),
    "csharp": re.compile(rb"^[ \t]*namespace[ \t]+([\w.]+)", re.MULTILINE),
    "php": re.compile(rb"^[ \t]*(?:<\?php[ \t]+)?namespace[ \t]+([\w\\]+)", re.MULTILINE),
}


_COMMENT = re.compile(r"#[^\n]*")
_PY_FROM = re.compile(r"\s*from\s++(\.*+)\s*+((?:(?!import\b)[\w.]++)?+)\s*+(?<=\s)import\s++(.*)", re.DOTALL)
_AS = re.compile(r"([\w.*]+)(?:\s+as\s+(\w+))?")


def _python(text: str) -> Iterator[Import]:
    """`from .http import web as w` adds `w`, the member `web` of `py:./http`."""
    text = _COMMENT.sub("", text).replace("\\\n", " ")
    if match := _PY_FROM.match(text):
        dots, module, names = match.groups()
        spec = module.replace(".", "/")
        if dots:
            spec = f"{'/'.join(['..'] * (len(dots) - 1)) or '.'}/{spec}".rstrip("/")
        for name, alias in _AS.findall(names):
            yield Import(alias or name, f"py:{spec}", "" if name == "*" else name)
        return
    for name, alias in _AS.findall(text.strip().removeprefix("import")):
        yield Import(alias or name, f"py:{name.replace('.', '/')}")
        package, dot, _ = name.partition(".")
        if dot and not alias:
            yield Import(package, f"py:{package}")


_JS_MODULE = re.compile(r"(?:\bfrom|\bimport|\brequire\()\s*[\"'`]([^\"'`\n]+)[\"'`]")
_JS_NAMED = re.compile(r"\{([^{}]*)\}")
_JS_AS = re.compile(r"(?:\btype\s+)?([\w$]+)\s*(?:(?:\bas\b|:)\s*([\w$]+))?")
_JS_STAR = re.compile(r"\*(?:\s*as\s+([\w$]+))?")
_JS_DEFAULT = re.compile(r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from\b)")
_JS_REQUIRED = re.compile(r"(?:module\.)?([\w$.]+)\s*=\s*require\([^)]*\)(?:\.([\w$]+))?")
_JS_LOCAL_EXPORT = re.compile(r"(?:export\s+default\s+|export\s*=\s*|module\.exports\s*=\s*)([\w$]+)\s*;?\Z")
_JS_COMMENT = re.compile(r"//[^\n]*|/\*.{0,2000}?\*/", re.DOTALL)
DEFAULT = "default"
"""The member name of a module's default export."""


def _javascript(text: str) -> Iterator[Import]:
    """Read imports of ES modules, re-exports, `require`, and default exports of a name in the same file."""
    text = _JS_COMMENT.sub("", text).strip()
    if named := _JS_LOCAL_EXPORT.match(text):
        yield Import(DEFAULT, "", named[1])
        return
    module = _JS_MODULE.search(text)
    spec = ""
    if module:
        name = module[1].partition("?")[0].removeprefix("node:")
        spec = f"js:{name}/" if name in (".", "..") else f"js:{name}"
    if required := _JS_REQUIRED.match(text):
        name = required[1].rpartition(".")[2]
        yield Import(DEFAULT if name == "exports" else name, spec, required[2] or "")
        return
    head = text[: module.start()] if module else text
    if default := _JS_DEFAULT.match(text):
        yield Import(default[1], spec, DEFAULT)
    for names in _JS_NAMED.findall(head):
        for member, alias in _JS_AS.findall(names):
            yield Import(alias or member, spec, member)
    if star := _JS_STAR.search(head):
        yield Import(star[1] or "*", spec)


_GO_SPEC = re.compile(r"(?:(?<![\w.])([\w.]++)[ \t]++)?[\"`]([^\"`\n]+)[\"`]")
_GO_VERSION = re.compile(r"v\d+\Z")


def _go(text: str) -> Iterator[Import]:
    """`import w "example.org/web"` adds `w`, the package `go:example.org/web`."""
    for alias, path in _GO_SPEC.findall(text):
        parts = path.split("/")
        last = parts[-2] if _GO_VERSION.match(parts[-1]) and len(parts) > 1 else parts[-1]
        name = alias or re.sub(r"\.v\d+\Z", "", last).removeprefix("go-")
        if name != "_":
            yield Import("*" if name == "." else name, f"go:{path}")


_RS_TOKEN = re.compile(r"\bas\s+(\w+)|([\w#]+)|(::|[{},*])")


def _rust(text: str) -> Iterator[Import]:
    """`use crate::{a::B, c as d}` adds `B` from `rs:crate/a/B`, and `d` (there `c`) from `rs:crate/c`."""
    text = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:use|extern\s+crate)\b", "", text.strip().rstrip(";"))
    path: list[str] = []
    bases = [path]
    alias = ""

    def finished() -> Iterator[Import]:
        if path and path is not bases[-1]:
            parts = path[:-1] if path[-1] == "self" else path
            if parts and parts[-1] == "*":
                yield Import("*", f"rs:{'/'.join(parts[:-1])}")
            elif parts:
                yield Import(alias or parts[-1], f"rs:{'/'.join(parts)}", parts[-1])

    for name, word, mark in _RS_TOKEN.findall(text):
        if name:
            alias = name
        elif word or mark == "*":
            path = [*path, word or mark]
        elif mark == "{":
            bases.append(path)
        elif mark in (",", "}"):
            yield from finished()
            alias = ""
            if mark == "}" and len(bases) > 1:
                path = bases.pop()
                path = bases[-1]
            else:
                path = bases[-1]
    yield from finished()


_JVM_IMPORT = re.compile(
    r"import\s++(?:static\s++)?([\w.`]+?)(?:\.([*_])|\.\{([^}]*)\})?(?:\s++as\s++(\w+))?\s*+;?\s*+\Z"
)
_SCALA_AS = re.compile(r"([\w$]+|_|\*)\s*(?:(?:=>|as)\s*(\w+))?")


def _jvm(text: str) -> Iterator[Import]:
    """`import a.b.C` adds `C` from `jvm:a/b/C`: the spec includes the name of the class."""
    if (match := _JVM_IMPORT.match(text.strip())) is None:
        return
    name, star, group, alias = match.groups()
    base = _slashed(name)
    if group is not None:
        for member, other in _SCALA_AS.findall(group):
            if member in ("_", "*"):
                yield Import("*", f"jvm:{base}")
            else:
                yield Import(other or member, f"jvm:{base}/{member}", member)
    elif star:
        yield Import("*", f"jvm:{base}")
    else:
        last = base.rpartition("/")[2]
        yield Import(alias or last, f"jvm:{base}", last)


_CS_USING = re.compile(r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)")


def _csharp(text: str) -> Iterator[Import]:
    """`using a.b;` adds every type, `using static a.B;` every member, `using x = a.B;` one type."""
    if match := _CS_USING.match(text.strip()):
        _, alias, name = match.groups()
        base = _slashed(name)
        yield Import(alias or "*", f"cs:{base}", base.rpartition("/")[2] if alias else "")


_PHP_USE = re.compile(
    r"use\s++(?:function\s++|const\s++)?\\?([\w\\]+?)(?:\\?\{([^}]*)\})?(?:\s++as\s++(\w+))?\s*+;?\s*+\Z"
)
_PHP_MEMBER = re.compile(r"([\w\\]+)(?:\s+as\s+(\w+))?")


def _php(text: str) -> Iterator[Import]:
    """`use A\\B;` adds `B` from `php:A/B`."""
    for part in re.split(r",(?![^{]*\})", text.strip().rstrip(";")):
        statement = part if part.lstrip().startswith("use") else f"use {part}"
        if match := _PHP_USE.match(statement.strip()):
            name, group, alias = match.groups()
            base = _slashed(name)
            for member, other in _PHP_MEMBER.findall(group) if group else [("", alias or "")]:
                full = f"{base}/{_slashed(member)}" if member else base
                last = full.rpartition("/")[2]
                yield Import(other or last, f"php:{full}", last)


_EX_USE = re.compile(
    r"(alias|import|use|require)\s+([A-Z][\w.]*?)(?:\.\{([^}]*)\})?(?:,\s*(?:as:\s*([\w.]+))?.*)?\Z",
    re.DOTALL,
)


def _elixir(text: str) -> Iterator[Import]:
    """`alias A.{B, C}` adds the module `A.B` as `B`; `import A.B` adds its functions."""
    if (match := _EX_USE.match(text.strip())) is None:
        return
    word, name, group, alias = match.groups()
    base = _slashed(name)
    for member in group.split(",") if group else [""]:
        full = f"{base}/{_slashed(member)}".rstrip("/")
        last = full.rpartition("/")[2]
        yield Import(
            "*" if word in ("import", "use") else alias or last,
            f"ex:{full}",
            "" if word == "import" else last,
        )


_READERS: dict[str, _Reader] = {
    "python": _python,
    **dict.fromkeys(("javascript", "typescript", "tsx"), _javascript),
    "go": _go,
    "rust": _rust,
    **dict.fromkeys(("java", "kotlin", "scala"), _jvm),
    "csharp": _csharp,
    "php": _php,
    "elixir": _elixir,
}
