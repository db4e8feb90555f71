"""Run one allowed, read-only command in a checkout for an agent, and log what it cost.

    tool RUN REPO COMMAND [ARG...]

The first letter of RUN names the arm, and `arms.json` says what the arm may run. RUN, repository, command,
bytes shown, seconds and exit code go to `$AGENT_HOME/log/RUN.jsonl`. The exit code is that of the command,
126 for a refusal, 127 for a missing command and 124 after the time limit. The wrapper keeps an agent that
follows its task sheet from mistakes and shortcuts; it is not a sandbox. It needs GNU sed.

| variable | value |
|---|---|
| `AGENT_HOME` | the folder of questions, answers and logs |
| `CORPORA` | the folder of the checkouts |
| `REPOSITORIES` | the names of the checkouts that may be read, separated by blanks; by default all |
| `CAIRN` | the executable of Cairn; by default `cairn` |
| `AGENT_SESSIONS` | 1 if Cairn shall not repeat within a run and repository what it has shown |
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from threading import Event, Timer
from typing import NamedTuple

# The module has only the standard library, and few imports of that, because it starts with each command.

MAX_CHARACTERS = 30_000
SECONDS = 60.0
REFUSED, TIMED_OUT, MISSING = 126, 124, 127

_RUN = re.compile(r"[a-z]-[\w.-]+")
_WITH_SESSIONS = ("search", "discover", "page")
_REFUSED_ARGUMENTS = {
    "rg": r"^--(pre|hostname-bin)(=|$)",
    "sed": r"^(-[nrEsuz]*i|--i)",
    "find": r"^-(exec|ok|delete|fprint|fls)",
    "git": r"^(--ou|--op|-[a-z]*O)",
    "awk": r"^-[dEilop]|\bsystem\b|\bgetline\b|\bprintf?\b[^;}\n]*(>|(?<!\|)\|(?!\|))",
    "cairn": r"^(-[a-z]*C|--folder|--session)",
}
"""The arguments of each command that write files, run other commands or leave the checkout."""
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_PATTERN_FIRST = ("rg", "grep", "sed", "awk", "git grep", "cairn search", "cairn discover")
"""The commands whose first argument is a pattern or a query, which may look like a path."""
_PATTERN_OPTION = re.compile(r"-[A-Za-z0-9]*[ef]|--(re|fil)")
_ATTACHED = re.compile(r"--[\w-]+=(.+)|-\w+([./].*[^/])", re.DOTALL)
"""The value in an option's own argument, as in `--file=x` and `-f../x`."""


class Arm(NamedTuple):
    """What the agents of one arm may use."""

    name: str
    letter: str
    commands: Mapping[str, Sequence[str]]
    """The subcommands of each command; none for a command that has no subcommands."""
    text: str
    """What the task sheet says on the commands."""


class Ran(NamedTuple):
    text: str
    seconds: float
    code: int


def arms() -> list[Arm]:
    """Return the arms of `arms.json`."""
    table = json.loads(Path(__file__).with_name("arms.json").read_text(encoding="utf-8"))
    found = []
    for name, arm in table["arms"].items():
        tools = [table["tools"][each] for each in arm["tools"]]
        commands = {command: words for tool in tools for command, words in tool["commands"].items()}
        lines = [line for tool in tools for line in tool["text"]] + arm["text"]
        found.append(Arm(name, arm["letter"], commands, "\n".join(lines)))
    return found


def arm_of(run: str) -> Arm | None:
    """Return the arm of a run, or None if this is not the name of a run."""
    if not _RUN.fullmatch(run):
        return None
    return next((arm for arm in arms() if arm.letter == run[0]), None)


def refusal(command: Sequence[str], commands: Mapping[str, Sequence[str]], checkout: Path) -> str:
    """Return why a command must not run in a checkout, whose path has no links, or "" if it may."""
    name, arguments = command[0], command[1:]
    if name not in commands:
        hint = " Give each argument by itself; there is no shell." if re.search(r"\s", name) else ""
        return f"{name} is not available in this run. Available: {', '.join(commands)}.{hint}"
    if commands[name] and (not arguments or arguments[0] not in commands[name]):
        return f"The first argument of {name} must be one of: {', '.join(commands[name])}."
    for argument in arguments:
        text = _STRING.sub('""', argument) if name == "awk" else argument
        if name in _REFUSED_ARGUMENTS and re.search(_REFUSED_ARGUMENTS[name], text):
            return f"{argument} is not allowed with {name}: commands only read, and only in the checkout."
    for path in _paths(command):
        if os.path.lexists(checkout / path) and not (checkout / path).resolve().is_relative_to(checkout):
            return f"{path} is outside of the checkout."
    return ""


def _paths(command: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, and the parts of options, that can be paths."""
    words = 2 if command[0] in ("git", "cairn") else 1
    arguments = command[words:]
    is_pattern = " ".join(command[:words]) in _PATTERN_FIRST
    if any(map(_PATTERN_OPTION.match, arguments)):
        is_pattern = False
    for argument in arguments:
        if argument.startswith("-"):
            if attached := _ATTACHED.fullmatch(argument):
                yield attached[1] or attached[2]
        elif is_pattern:
            is_pattern = False
        else:
            yield argument


def with_defaults(command: Sequence[str], session: str) -> list[str]:
    """Return the command as it runs: with sed's own guard against writing, and with a session unless ""."""
    name, *arguments = command
    if name == "sed":
        return [name, "--sandbox", *arguments]
    if name == "cairn":
        name = os.environ.get("CAIRN", name)
        if session and arguments[0] in _WITH_SESSIONS:
            arguments[1:1] = ["--session", session]
    return [name, *arguments]


def run(command: Sequence[str], checkout: Path, limit: float = SECONDS) -> Ran:
    """Run a command without input and return what to show of its output and errors, after at most `limit`
    seconds."""
    only_here = {"GIT_CEILING_DIRECTORIES": str(checkout.parent), "GIT_OPTIONAL_LOCKS": "0"}
    start = time.monotonic()
    try:
        process = Popen(
            command,
            cwd=checkout,
            env={**os.environ, **only_here},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
    except OSError as problem:
        return Ran(f"{command[0]} cannot be started: {problem.strerror}\n", 0.0, MISSING)
    stopped = Event()

    def stop() -> None:
        stopped.set()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = Timer(limit, stop)
    timer.start()
    assert process.stdout
    output = process.stdout.read(4 * MAX_CHARACTERS)
    size = len(output)
    while more := process.stdout.read(1 << 20):
        size += len(more)
    code = process.wait()
    timer.cancel()
    text = _cut(output.decode(errors="replace"), size)
    if stopped.is_set():
        text, code = f"{text}[stopped after {limit:g} seconds]\n", TIMED_OUT
    return Ran(text, time.monotonic() - start, code)


def _cut(text: str, size: int) -> str:
    """Return the part of an output of `size` bytes that an agent gets."""
    if len(text) <= MAX_CHARACTERS and size <= 4 * MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n[cut after {MAX_CHARACTERS:,} characters of {size:,} bytes]\n"


def main(arguments: Sequence[str]) -> int:
    """Run and log the command, and return the exit code."""
    if len(arguments) < 3 or not (arm := arm_of(arguments[0])):
        letters = ", ".join(f"{each.letter}-…" for each in arms())
        print(f"usage: tool RUN REPO COMMAND [ARG...], where RUN is {letters}", file=sys.stderr)
        return 2
    missing = [name for name in ("AGENT_HOME", "CORPORA") if not os.environ.get(name)]
    if missing:
        print(f"Set {' and '.join(missing)}: wrapper.py says to what.", file=sys.stderr)
        return 2
    name, repository, *command = arguments
    checkout = Path(os.environ["CORPORA"], repository).resolve()
    allowed = os.environ.get("REPOSITORIES", repository).split()
    if repository not in allowed or repository == ".." or os.sep in repository or not checkout.is_dir():
        reason = f"There is no repository {repository}."
    else:
        reason = refusal(command, arm.commands, checkout)
    if reason:
        ran = Ran(reason + "\n", 0.0, REFUSED)
    else:
        session = f"{name}-{repository}" if os.environ.get("AGENT_SESSIONS") == "1" else ""
        ran = run(with_defaults(command, session), checkout)
    shown = ran.text.encode()
    _log(name, repository, command, len(shown), ran)
    sys.stdout.buffer.write(shown)
    sys.stdout.flush()
    return ran.code % 256  # A command that a signal ended has a negative code.


def _log(name: str, repository: str, command: Sequence[str], size: int, ran: Ran) -> None:
    file = Path(os.environ["AGENT_HOME"], "log", f"{name}.jsonl")
    file.parent.mkdir(exist_ok=True)
    record = {
        "run": name,
        "repository": repository,
        "command": command,
        "bytes": size,
        "seconds": round(ran.seconds, 4),
        "exit": ran.code,
    }
    with file.open("a", encoding="utf-8") as log:
        log.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
