"""A paragraph for agents in a project's `AGENTS.md`: when to use Cairn, and when to use grep.

It is between two markers, by which it is found for updates and removal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from cairn.clients import settings_files
from cairn.clients.settings_files import (
    BLANKS,
    UneditableSettingsError,
    UnreadableSettingsError,
    blanks_before,
    newline_of,
)
from cairn.clients.table import Client

SHARED = "AGENTS.md"
"""The file that most clients read."""
BEGIN = "<!-- cairn: `cairn install --agents-md` writes this paragraph, `cairn uninstall` removes it -->"
END = "<!-- /cairn -->"
PARAGRAPH = """\
## Searching this repository

Use Cairn where you would guess at words or read many files: "how does X work", "where is X decided", "what \
has to change for
X", a pasted error or issue, and who calls or implements something. Ask one `discover` with the whole \
question, choose from the
places that it names, and read all of them in one call. Use grep (or `rg`) for files that Cairn leaves out \
(generated ones, lock
files, binaries), or for a plain list of files.

| to find | tool (MCP server `cairn`) | command |
|---|---|---|
| the lines that answer a question, and more places | `discover` | `cairn discover "…"` |
| lines of files, outlines, definitions by their names | `read` | `cairn page FILE:10-40 FILE NAME` |
| the places that fit a description, or a name | `search` | `cairn search "…"` |
| every line that holds a text | `search` with `exact` | `cairn search --exact "…"` |
| who calls, uses, implements or tests something | `references` | `cairn callers NAME` |
| what happens when a function runs, in order | `references`, `trace` | `cairn trace NAME` |

Commands take `--max-tokens`, `--cursor` for what a line `more:` promises, and `--session NAME`, which does \
not print lines a
second time. Where an answer says that the index is incomplete, ask again in some seconds; it needs no \
help."""

_SECTION = re.compile(rf"{re.escape(BEGIN[:11])}.*?{re.escape(END)}", re.DOTALL)
"""Matches the start of the first marker, of which another version may have worded the rest differently."""
_IMPORT = re.compile(r"^\s*@(?:\./)?AGENTS\.md\s*$", re.MULTILINE)


def with_paragraph(text: str) -> str:
    newline = newline_of(text)
    section = newline.join([BEGIN, *PARAGRAPH.splitlines(), END])
    found = _SECTION.search(text)
    if found is not None:
        return text[: found.start()] + section + text[found.end() :]
    if not text.strip(BLANKS):
        return section + newline
    end = blanks_before(text, len(text))
    return text[:end] + 2 * newline + section + text[end:]


def has_paragraph(text: str) -> bool:
    return _SECTION.search(text) is not None


def without_paragraph(text: str) -> str:
    """Return the text without the paragraph and the blank lines above it."""
    found = _SECTION.search(text)
    if found is None:
        return text
    start = blanks_before(text, found.start())
    rest = text[found.end() :]
    return text[:start] + rest if start else rest.lstrip(BLANKS)


def files_to_write(clients: Sequence[Client], folder: Path) -> list[Path]:
    """Return the files, without repetitions, in which these clients look for instructions.

    A client with a file of its own, such as `CLAUDE.md`, needs the paragraph there only if that file is
    neither a link to `AGENTS.md` nor imports it (`@AGENTS.md`).
    """
    return _each_once(folder / _name(client, folder) for client in clients)


def files_to_clean(clients: Sequence[Client], folder: Path) -> list[Path]:
    """Return all files that may contain the paragraph for these clients."""
    names = ((client.instructions, _name(client, folder), client.else_agents_md) for client in clients)
    return _each_once(
        folder / name
        for own, read, may_be_shared in names
        for name in (own, read, *([SHARED] if may_be_shared else []))
    )


def _name(client: Client, folder: Path) -> str:
    own = folder / client.instructions
    try:
        text = settings_files.read(own, folder)
        reads_shared = client.else_agents_md if text is None else _IMPORT.search(text) is not None
    except (OSError, UnreadableSettingsError, UneditableSettingsError):
        reads_shared = False
    return SHARED if reads_shared else client.instructions


def _each_once(paths: Iterable[Path]) -> list[Path]:
    found: dict[Path, Path] = {}
    for file in paths:
        found.setdefault(settings_files.real_path(file, None), file)
    return [*found.values()]
