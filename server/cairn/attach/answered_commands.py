"""Lets a running engine answer a command line, which makes `cairn search` take a tenth of a second.

If no engine can answer, nothing is printed, and the full command line takes over.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from cairn.attach.finding import find
from cairn.paths import known_above
from cairn.startup.timers import said_if_late

_DIRECTIONS = ("callers", "callees", "uses", "implementations", "tests", "trace")
QUERY_COMMANDS = frozenset(("search", "discover", "related", "page", "changes", *_DIRECTIONS))
_FOR_PEOPLE = frozenset({"-h", "--help", "--color", "--prompt"})
"""Options that request output for people."""
_FOR_PROGRAMS = frozenset({"--json", "--max-tokens", "--cursor", "--session"})
"""Options that request output for programs, even on a terminal."""
_ANSWER_SECONDS = 10.0
"""After this timeout the command opens the index itself, since the engine's process may be stopped."""
WAITING = "cairn: waiting for the engine that has this folder open …"
_INTERRUPTED = 130
_MOST_INPUT_BYTES = 200_000_000
"""The maximum size of the input of a command. No method takes more than a quarter of it."""
INPUT: ContextVar[bytes | None] = ContextVar("input", default=None)
"""What the option `--diff` of this command line names, if it was read. A pipe can be read only once, and only
in the process that was started with it."""


def answered(arguments: Sequence[str]) -> int | None:
    """Print the answer of a running engine and return the exit code; None if no engine answers."""
    INPUT.set(None)
    if not arguments or arguments[0] not in QUERY_COMMANDS or _FOR_PEOPLE.intersection(arguments):
        return None
    is_coloured = sys.stdout.isatty() and not _FOR_PROGRAMS.intersection(arguments)
    # For other encodings, the full command line escapes JSON to ASCII.
    is_ascii = "--json" in arguments and not (sys.stdout.encoding or "").lower().startswith("utf")
    if os.environ.get("FORCE_COLOR") or is_coloured or is_ascii:
        return None
    try:
        INPUT.set(_input(arguments))
        here = Path.cwd()
        folders = [here / folder for folder in _folders(arguments)] or [known_above(here) or here]
        wish = {"want": "command", "arguments": list(arguments), "here": str(here)}
        if (given := INPUT.get()) is not None:
            wish["input"] = given.decode("utf-8", "surrogateescape")
        is_quiet = not {"-q", "--quiet"}.isdisjoint(arguments)
        with said_if_late("" if is_quiet else WAITING):
            found = find(folders, wish, _ANSWER_SECONDS)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError:  # The current directory was deleted, or the full command says that a file is missing.
        return None
    if found is None:
        return None
    channel, answer = found
    channel.close()
    if is_quiet and not answer.get("code"):
        answer["stderr"] = ""
    return _print(answer) if isinstance(answer.get("code"), int) else None


def _folders(arguments: Sequence[str]) -> Iterator[str]:
    return _values(arguments, "--folder", "-C")


def _input(arguments: Sequence[str]) -> bytes | None:
    """Return what the option `--diff` names, None without the option. Raises OSError."""
    named = list(_values(arguments, "--diff")) if arguments[0] == "changes" else []
    return read_input(named[-1]) if named else None


def read_input(name: str) -> bytes:
    """Return the content of a file, or of stdin for `-`. Raises OSError."""
    if name == "-":
        return sys.stdin.buffer.read(_MOST_INPUT_BYTES)
    with Path(name).open("rb") as file:
        return file.read(_MOST_INPUT_BYTES)


def _values(arguments: Sequence[str], name: str, short: str = "") -> Iterator[str]:
    """Yield the values of an option."""
    rest = iter(arguments[1:])
    for argument in rest:
        if argument == "--":
            return
        if argument in (name, short):
            yield next(rest, "")
        elif argument.startswith(f"{name}="):
            yield argument.removeprefix(f"{name}=")
        elif short and argument.startswith(short):
            yield argument.removeprefix(short).removeprefix("=")


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
