"""Lets a running engine answer a command line, which makes `cairn search` take a tenth of a second.

If no engine can answer, nothing is printed, and the full command line takes over.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cairn.attach.finding import find
from cairn.paths import known_above
from cairn.startup.timers import said_if_late

_DIRECTIONS = ("callers", "callees", "uses", "implementations", "tests", "trace")
QUERY_COMMANDS = frozenset(("search", "discover", "related", "page", *_DIRECTIONS))
_FOR_PEOPLE = frozenset({"-h", "--help", "--color", "--prompt"})
"""Options that request output for people."""
_FOR_PROGRAMS = frozenset({"--json", "--max-tokens", "--cursor", "--session"})
"""Options that request output for programs, even on a terminal."""
_ANSWER_SECONDS = 10.0
"""After this timeout the command opens the index itself, since the engine's process may be stopped."""
WAITING = "cairn: waiting for the engine that has this folder open …"
_INTERRUPTED = 130


def answered(arguments: Sequence[str]) -> int | None:
    """Print the answer of a running engine and return the exit code; None if no engine answers."""
    if not arguments or arguments[0] not in QUERY_COMMANDS or _FOR_PEOPLE.intersection(arguments):
        return None
    is_coloured = sys.stdout.isatty() and not _FOR_PROGRAMS.intersection(arguments)
    # For other encodings, the full command line escapes JSON to ASCII.
    is_ascii = "--json" in arguments and not (sys.stdout.encoding or "").lower().startswith("utf")
    if os.environ.get("FORCE_COLOR") or is_coloured or is_ascii:
        return None
    try:
        here = Path.cwd()
        folders = [here / folder for folder in _folders(arguments)] or [known_above(here) or here]
        wish = {"want": "command", "arguments": list(arguments), "here": str(here)}
        is_quiet = not {"-q", "--quiet"}.isdisjoint(arguments)
        with said_if_late("" if is_quiet else WAITING):
            found = find(folders, wish, _ANSWER_SECONDS)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError:  # The current directory was deleted.
        return None
    if found is None:
        return None
    channel, answer = found
    channel.close()
    if is_quiet and not answer.get("code"):
        answer["stderr"] = ""
    return _print(answer) if isinstance(answer.get("code"), int) else None


def _folders(arguments: Sequence[str]) -> Iterator[str]:
    rest = iter(arguments[1:])
    for argument in rest:
        if argument == "--":
            return
        if argument in ("-C", "--folder"):
            yield next(rest, "")
        elif argument.startswith("--folder="):
            yield argument.removeprefix("--folder=")
        elif argument.startswith("-C"):
            yield argument.removeprefix("-C").removeprefix("=")


def _print(answer: dict[str, Any]) -> int:
    for stream, name in ((sys.stdout, "stdout"), (sys.stderr, "stderr")):
        text = str(answer.get(name, ""))
        if not text.strip():
            continue
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            return 1
    return int(answer["code"])
