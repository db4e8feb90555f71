"""Plans the changes that add Cairn's server to clients or remove it, and writes them.

Cairn edits the clients' files itself, because their own commands differ too much: those of Codex and VS Code
change only the user's settings, VS Code's cannot remove a server, opencode's asks questions, and the others
have none. Claude Code's command changes its user settings, since Claude Code rewrites that file all the time
and would overwrite the changes of other programs.
"""

from __future__ import annotations

import difflib
import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path, PureWindowsPath
from typing import Literal
from urllib.parse import urlsplit

from attrs import evolve, frozen

from cairn.clients import instructions, settings_files
from cairn.clients.formats import Keys, format_of
from cairn.clients.settings_files import UneditableSettingsError, UnreadableSettingsError
from cairn.clients.table import NAME, Client, Entry, Machine, Scope, command_line
from cairn.errors import CairnError

State = Literal[
    "added", "updated", "removed", "present", "absent", "different", "unreadable", "uneditable", "unsupported"
]
WRITES: frozenset[State] = frozenset({"added", "updated", "removed"})
PROBLEMS: frozenset[State] = frozenset({"different", "unreadable", "uneditable", "unsupported"})
_COMMAND_SECONDS = 60
"""The timeout for running a client's own command."""
_HIDDEN = "…"
"""What is shown in place of a value that Cairn does not write, since it may be a key or a token."""


class NotWrittenError(CairnError):
    """A file could not be written as planned, and is unchanged."""


@frozen
class Change:
    """The change of one file, or the reason why there is none."""

    client: str
    """The client's name; "" for a file of instructions."""
    title: str
    path: Path | None
    state: State
    message: str = ""
    """A remark for people: why nothing is done, or what they have to do themselves."""
    before: str | None = None
    """The file's text; None if there is no file."""
    after: str | None = None
    """The file's new text; None to delete it."""
    commands: tuple[tuple[str, ...], ...] = ()
    """The client's own commands, which change the file instead of Cairn."""
    project: Path | None = None
    """The folder that contains the file; None if the file is the user's own, and may be anywhere."""
    diff: str = ""
    """What is removed, in lines that begin with `-`, and what is added, in lines that begin with `+`; or the
    commands to run. Only values that Cairn writes are shown."""


@frozen
class Request:
    """The clients to change, and the options of the change."""

    clients: Sequence[Client]
    scope: Scope
    folder: Path
    """The project's absolute path."""
    machine: Machine
    force: bool = False
    """Whether to replace or remove an entry that Cairn did not write."""


def plan_install(request: Request, command: str, *, instruct: bool = False) -> list[Change]:
    """Plan to add a server that `command` starts and, with `instruct`, the paragraph for agents."""
    changes = [_planned(request, client, command) for client in request.clients]
    return changes + (_instructed(request) if instruct else [])


def plan_uninstall(request: Request) -> list[Change]:
    changes = [_planned(request, client, None) for client in request.clients]
    removed = [change for change in _instructed(request, remove=True) if change.state != "absent"]
    return changes + removed


def apply(change: Change, machine: Machine) -> None:
    """Apply a change. Raise NotWrittenError if that fails."""
    path = change.path
    if change.state not in WRITES or path is None:
        return
    if change.commands:
        for command, shown in zip(change.commands, change.diff.splitlines(), strict=True):
            _run(command, shown.removeprefix("$ "), machine)
        return
    try:
        if settings_files.read(path, change.project) != change.before:
            raise NotWrittenError(f"{path} was changed in the meantime; run this again")
        if change.after is None:
            settings_files.delete(path, change.project)
        else:
            # A client's settings may get a token later; instructions are for everyone.
            settings_files.write(
                path, change.after, change.project, new_mode=0o600 if change.client else 0o666
            )
    except (UneditableSettingsError, UnreadableSettingsError) as problem:
        raise NotWrittenError(f"{path}: {problem}") from None
    except OSError as problem:
        raise NotWrittenError(f"{path}: {problem.strerror or problem}") from None


def _run(command: tuple[str, ...], shown: str, machine: Machine) -> None:
    program = machine.find(command[0])
    if program is None:
        raise NotWrittenError(f"`{shown}` cannot be run: there is no {command[0]} on the PATH")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            env=dict(machine.variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NotWrittenError(f"`{shown}` did not end within {_COMMAND_SECONDS} s") from None
    except OSError as problem:
        raise NotWrittenError(f"`{shown}` cannot be run: {problem}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise NotWrittenError(f"`{shown}` failed: {said or f'exit code {done.returncode}'}")


# --- settings ----------------------------------------------------------------------------------------------


def _planned(request: Request, client: Client, command: str | None) -> Change:
    """Plan the change of one client's settings: to an entry with `command`, or for None to no entry."""
    path = client.file(request.scope, request.folder, request.machine)
    project = request.folder if request.scope == "project" else None
    change = Change(client.name, client.title, path, "absent", project=project)
    if path is None:
        message = f"{client.title} has no settings of a project; use --scope user"
        return evolve(change, state="unsupported", message=message)

    def plan(change: Change) -> Change:
        settings = format_of(path).parse(change.before or "")
        servers = settings.get(client.container)
        existing = servers.get(NAME) if isinstance(servers, dict) else None
        if command is not None:
            return _addition(request, client, path, existing, change, command)
        return change if existing is None else _removal(request, client, path, existing, change)

    return _read(change, path, plan)


def _read(change: Change, path: Path, plan: Callable[[Change], Change]) -> Change:
    """Return the plan for a change that knows the file's text, or the change with the reason against it."""
    try:
        return plan(evolve(change, before=settings_files.read(path, change.project)))
    except UneditableSettingsError as problem:
        return evolve(change, state="uneditable", message=f"{problem}; it is left alone")
    except (UnreadableSettingsError, OSError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        return evolve(change, state="unreadable", message=f"{reason}; it is left alone")


def _addition(
    request: Request, client: Client, path: Path, existing: object, change: Change, command: str
) -> Change:
    place = (client.container, NAME)
    new = client.server(request.scope, request.folder, command)
    # Other changes by the user stay, but the path of the command is replaced.
    ours = existing if isinstance(existing, dict) and _differs_in_place_only(existing, new) else {}
    wanted = {**new, **ours, "command": new["command"]}
    edits: dict[Keys, object]
    if ours:
        edits = {(*place, key): value for key, value in wanted.items() if key not in ours}
        removed = []
        if ours["command"] != wanted["command"]:
            edits[*place, "command"] = wanted["command"]
            removed = [_line("-", (*place, "command"), _json(ours["command"]))]
        if not edits:
            return evolve(change, state="present")
    elif existing is not None and not request.force:
        message = f"it has another server {NAME}: {_shown(existing)}; --force replaces it"
        return evolve(change, state="different", message=message)
    else:
        edits = {place: wanted}
        removed = [] if existing is None else [_line("-", place, _shown(existing))]
    note = client.project_note if request.scope == "project" else client.user_note
    change = evolve(change, state="added" if existing is None else "updated", message=note)
    if _has_own_command(request, client):
        add = ("claude", "mcp", "add-json", *_USER_SCOPE, NAME)
        shown = _json({key: each if new.get(key) == each else _HIDDEN for key, each in wanted.items()})
        remove = [] if existing is None else [_REMOVE]
        lines = [f"$ {shlex.join(each)}" for each in (*remove, (*add, shown))]
        return evolve(change, commands=(*remove, (*add, json.dumps(wanted))), diff="\n".join(lines))
    if not (change.before or "").strip():
        edits = {**{(key,): value for key, value in client.preamble.items()}, **edits}
    added = [_line("+", keys, _json(value)) for keys, value in edits.items()]
    after = format_of(path).edited(change.before or "", edits)
    return evolve(change, after=after, diff="\n".join([*removed, *added]))


def _removal(request: Request, client: Client, path: Path, existing: object, change: Change) -> Change:
    if not request.force and not _starts_cairn(existing):
        message = f"its server {NAME} is another one: {_shown(existing)}; --force removes it"
        return evolve(change, state="different", message=message)
    change = evolve(change, state="removed")
    if _has_own_command(request, client):
        return evolve(change, commands=(_REMOVE,), diff=f"$ {shlex.join(_REMOVE)}")
    place, form = (client.container, NAME), format_of(path)
    after = left = form.without(change.before or "", place)
    for key, value in client.preamble.items():
        if form.parse(left).get(key) == value:
            left = form.without(left, (key,))
    # The file that a user's link leads to stays.
    is_empty = form.is_blank(left) and not path.is_symlink()
    return evolve(change, after=None if is_empty else after, diff=_line("-", place, _shown(existing)))


_USER_SCOPE = ("--scope", "user")
_REMOVE = ("claude", "mcp", "remove", *_USER_SCOPE, NAME)


def _has_own_command(request: Request, client: Client) -> bool:
    """Return whether Claude Code itself changes its settings."""
    return (
        client.name == "claude" and request.scope == "user" and request.machine.find(client.name) is not None
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _line(sign: str, keys: Keys, value: str) -> str:
    return f"{sign}{'.'.join(keys)}: {value}"


def _shown(entry: object) -> str:
    """Return which program an entry starts or which server it connects to, without keys and tokens."""
    words = command_line(entry)
    if words:
        return f"{shlex.quote(words[0])}{f' {_HIDDEN}' if words[1:] else ''}"
    url = entry.get("url") if isinstance(entry, dict) else None
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        parts = None
    if parts is None or not parts.netloc:
        return "an entry without a command"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{_HIDDEN}"


def _starts_cairn(entry: object) -> bool:
    """Return whether an entry runs `cairn mcp` of any installation."""
    words = command_line(entry)
    return len(words) > 1 and PureWindowsPath(words[0]).stem.lower() == "cairn" and words[1] == "mcp"


def _differs_in_place_only(existing: object, wanted: Entry) -> bool:
    """Return whether an entry runs `cairn mcp` with the same arguments, but maybe of another installation."""
    return _starts_cairn(existing) and command_line(existing)[1:] == command_line(wanted)[1:]


# --- the paragraph for agents ------------------------------------------------------------------------------


def _instructed(request: Request, *, remove: bool = False) -> list[Change]:
    plan = _without_paragraph if remove else _with_paragraph
    named = instructions.files_to_clean if remove else instructions.files_to_write
    return [
        _read(Change("", path.name, path, "absent", project=request.folder), path, plan)
        for path in named(request.clients, request.folder)
    ]


def _with_paragraph(change: Change) -> Change:
    text = change.before or ""
    after = instructions.with_paragraph(text)
    if after == text:
        return evolve(change, state="present")
    state: State = "updated" if instructions.has_paragraph(text) else "added"
    return evolve(change, state=state, after=after, diff=_compared(text, after))


def _without_paragraph(change: Change) -> Change:
    text = change.before or ""
    if not instructions.has_paragraph(text):
        return change
    after = instructions.without_paragraph(text)
    is_empty = not after.strip() and change.path is not None and not change.path.is_symlink()
    return evolve(change, state="removed", after=None if is_empty else after, diff=_compared(text, after))


def _compared(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(list(lines)[2:])  # The first two lines name the files.
