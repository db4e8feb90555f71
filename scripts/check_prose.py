#!/usr/bin/env python3
"""Check what a machine can check of the project's English: long lines, docstrings that start in mid-sentence,
banned words.

`scripts/check_prose.py [PATH ...]` checks the tracked files below the paths, or all of them. `scripts/test`
runs it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE_LENGTH = 110
EXCEPTION = "noqa: E501"
"""The mark of a line that may be longer: a row of a table, or SQL."""
TEST_NAME_LENGTH = 70
PROSE_SUFFIXES = {".md"}
CHECKED_SUFFIXES = {
    ".py",
    ".ts",
    ".mjs",
    ".js",
    ".css",
    ".html",
    ".lua",
    ".scm",
    ".toml",
    ".sh",
    *PROSE_SUFFIXES,
}
UNCHECKED = (
    "editor_client/package-lock.json",
    "benchmarks/results/",
    "tests/data/",
    "server/cairn/retrieval/natural_languages/",
)

NAME_PARTS = {
    "answering": "fallback",
    "assembling": "context request",
    "held": "kept, retained",
    "inbox": "queue",
    "naming": "symbols",
    "nobody": "name who",
    "screen": "unsaved text, open document",
    "somebody": "name who",
    "surroundings": "git history, import graph",
    "telling": "idf, rare",
    "told": "notification, notified",
    "until": "deadline",
}
"""Parts of names that must not return, and what to write in their place."""
ALLOWED_NAMES = re.compile(r"waits?_until|screen_?shots?|full_?screen", re.IGNORECASE)

PHRASES = {
    r"\btold\b": "say who notifies whom of what",
    r"(?<![\"'])\b(?:no|some)body\b": "name who does it",  # A quoted one is the Unix account.
    r"\binbox\b": "queue",
    r"\basked telling\b": "inverse document frequency",
    r"\bhands? (?:it |them )?on\b(?! the symbol)": "re-exports, passes",  # The signal's former name stays.
    r"(?<!there )(?<!which )\bis no (?!longer|more|less|better|worse|different|such|need|one\b)": "is not a",
    r"\bS[1-5]\b": "docs/sources.md says what the founding documents say",
}
"""Patterns of text that must not return, and what to write in their place."""
PHRASES_ALLOWED_IN = {
    "scripts/check_prose.py",
    "tests/docs/test_prose.py",
    "docs/sources.md",
    "server/cairn/index/store/schema.py",  # The schema's version is a digest of its SQL, comments included.
}

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_FRAGMENT = re.compile(r"(?:…|Of\b|[a-z](?![a-z0-9]*[][A-Z_`(./-]))")
_COMPLETE_END = (".", "?", "!", ":", "`", ")", "|", '"', "…")


def main() -> int:
    paths = [Path(argument).resolve() for argument in sys.argv[1:]] or [ROOT]
    problems = Counter[str]()
    for path in tracked(paths):
        for line, kind, text in problems_of(path):
            problems[kind] += 1
            print(f"{path.relative_to(ROOT)}:{line}: {kind}: {text}")
    if problems:
        print(", ".join(f"{count} × {kind}" for kind, count in problems.most_common()), file=sys.stderr)
    return 1 if problems else 0


def tracked(paths: list[Path]) -> Iterator[Path]:
    """The text files below `paths` that git tracks or would track, in order."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *map(str, paths)]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in sorted(set(filter(None, names.split("\0")))):
        path = ROOT / name
        if name.startswith(UNCHECKED) or not path.is_file():
            continue
        if path.suffix in CHECKED_SUFFIXES or (not path.suffix and path.open("rb").read(2) == b"#!"):
            yield path


def problems_of(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield (1-based line, kind, text) for each problem of one file."""
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    yield from _long_lines(path, text)
    if name in PHRASES_ALLOWED_IN:
        return
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in PHRASES.items():
            if found := re.search(pattern, line, re.IGNORECASE if pattern[2] != "S" else 0):
                yield number, "phrase", f"“{found.group()}”: {instead}"
    if path.suffix == ".py" or text.startswith("#!/usr/bin/env python"):
        tree = ast.parse(text)
        yield from _names(tree)
        yield from _fragments(tree)


def _long_lines(path: Path, text: str) -> Iterator[tuple[int, str, str]]:
    if path.suffix == ".py":  # ruff knows which marks belong to which lines
        return
    is_prose, is_literal = path.suffix in PROSE_SUFFIXES, False
    for number, line in enumerate(text.splitlines(), 1):
        if is_prose and line.lstrip().startswith("```"):
            is_literal = not is_literal
        is_table = is_prose and (is_literal or line.lstrip().startswith("|"))
        cannot_be_broken = " " not in line.strip().lstrip("#/*->0123456789. ")
        if len(line) > LINE_LENGTH and not is_table and not cannot_be_broken and EXCEPTION not in line:
            yield number, "long line", f"{len(line)} characters"


def _names(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
            ):
                pass
            case _:
                continue
        if name.startswith("test_") and len(name) > TEST_NAME_LENGTH:
            yield node.lineno, "long name", f"{name}: {len(name)} characters"
        for part in _PARTS.findall(ALLOWED_NAMES.sub("", name)):
            if instead := NAME_PARTS.get(part.lower()):
                yield node.lineno, "name", f"{name}: {instead}"


def _fragments(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))) if text.strip():
                    first = text.strip()
                    if _FRAGMENT.match(first) or not first.endswith(_COMPLETE_END):
                        yield statement.lineno, "fragment", first[:60].replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
