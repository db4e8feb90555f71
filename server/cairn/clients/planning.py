"""Plans the changes that add Cairn's server to clients or remove it. This module writes nothing."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Literal

from attrs import evolve, field, frozen

from cairn.clients import files, instructions, record
from cairn.clients.editing import Editor, UneditableSettingsError, UnreadableSettingsError
from cairn.clients.hidden import command_shown, own_command_shown, strings_in, url_shown, without_values
from cairn.clients.jsonc import JsoncEditor
from cairn.clients.record import Made
from cairn.clients.table import NAME, Client, Entry, Machine, Scope, command_line
from cairn.clients.toml_tables import TomlEditor

State = Literal[
    "added", "updated", "removed", "present", "absent", "different", "unreadable", "uneditable", "unsupported"
]
WRITES: frozenset[State] = frozenset({"added", "updated", "removed"})
PROBLEMS: frozenset[State] = frozenset({"different", "unreadable", "uneditable", "unsupported"})


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
    made: Made = field(factory=Made)
    """The levels around the entry that are empty or missing, now or before the entry was written."""
    commands: tuple[tuple[str, ...], ...] = ()
    """The client's own commands, which change the file instead of Cairn."""
    project: Path | None = None
    """The folder that contains the file; None if the file is the user's own, and may be anywhere."""
    known: frozenset[str] = frozenset()
    """The values that may be shown. All others in the same lines may be keys and tokens."""

    @property
    def diff(self) -> str:
        """The changes as lines of a unified diff without a heading and context, or the commands to run."""
        if self.commands:
            return "".join(f"$ {own_command_shown(command, self.known)}\n" for command in self.commands)
        if self.state not in WRITES:
            return ""
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        # By default, difflib ignores frequent lines of long files, and shows unchanged ones as changed.
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        lines: list[str] = []
        for tag, first, last, new_first, new_last in matcher.get_opcodes():
            if tag != "equal":
                place = f"@@ -{first + 1},{last - first} +{new_first + 1},{new_last - new_first} @@"
                changed = [f"-{line}" for line in before[first:last]]
                changed += [f"+{line}" for line in after[new_first:new_last]]
                # Files of instructions belong to no client, and have no values.
                hidden = (without_values(line, self.known) if self.client else line for line in changed)
                lines += [place, *hidden]
        return "".join(f"{line}\n" for line in lines)


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


def _planned(request: Request, client: Client, command: str | None) -> Change:
    """Plan the change of one client's settings: to an entry with `command`, or for None to no entry."""
    path = client.file(request.scope, request.folder, request.machine)
    project = request.folder if request.scope == "project" else None
    change = Change(client.name, client.title, path, "absent", project=project)
    if path is None:
        message = f"{client.title} has no settings of a project; use --scope user"
        return evolve(change, state="unsupported", message=message)
    try:
        change = evolve(change, before=files.read(path, project))
        if command is None:
            return _removal(request, client, path, change)
        return _addition(request, client, path, change, command)
    except UnreadableSettingsError as problem:
        return evolve(change, state="unreadable", message=f"{problem}; it is left alone")
    except UneditableSettingsError as problem:
        return evolve(change, state="uneditable", message=f"{problem}; it is left alone")
    except OSError as problem:
        return evolve(change, state="unreadable", message=f"{problem.strerror or problem}; it is left alone")


def _addition(request: Request, client: Client, path: Path, change: Change, command: str) -> Change:
    editor, keys, text = _editor(path), (client.container, NAME), change.before or ""
    wanted = client.server(request.scope, request.folder, command)
    existing = _entry(editor.parse(text), keys)
    ours = existing if isinstance(existing, dict) and _differs_in_place_only(existing, wanted) else None
    note = client.project_note if request.scope == "project" else client.user_note
    known = frozenset(strings_in([wanted, client.preamble, command_line(ours)]))
    state: State = "added" if existing is None else "updated"
    change = evolve(change, state=state, message=note, known=known)
    if ours is not None:
        # Other changes by the user stay, but the path of the command is replaced.
        wanted = {**wanted, **ours, "command": wanted["command"]}
        if wanted == ours:
            return evolve(change, state="present")
    elif existing is not None and not request.force:
        message = f"it has another server {NAME}: {_shown(existing)}; --force replaces it"
        return evolve(change, state="different", message=message)
    own = _own_commands(request, client, wanted, replaces=existing is not None)
    if own:
        return evolve(change, commands=own)
    if ours is not None:
        for key, value in wanted.items():
            if key not in ours or ours[key] != value:
                text = editor.put(text, keys, key, value)
        return evolve(change, after=text)
    after = editor.set(text, keys, wanted, client.preamble)
    if existing is not None:
        return evolve(change, after=after)
    hollows = editor.hollows(text, keys)
    if change.before is None:
        hollows[""] = None
    return evolve(change, after=after, made=Made(hollows, folder=not path.parent.exists()))


def _removal(request: Request, client: Client, path: Path, change: Change) -> Change:
    editor, keys, text = _editor(path), (client.container, NAME), change.before or ""
    existing = _entry(editor.parse(text), keys)
    if existing is None:
        return change
    if not request.force and not _starts_cairn(existing):
        message = f"its server {NAME} is another one: {_shown(existing)}; --force removes it"
        return evolve(change, state="different", message=message)
    own = _own_commands(request, client, None, replaces=True)
    if own:
        return evolve(change, state="removed", commands=own)
    made = record.recall(path)
    if _starts_cairn(existing):
        own_values = client.server(request.scope, request.folder, command_line(existing)[0])
        known = frozenset(strings_in([own_values, client.preamble, command_line(existing)]))
        change = evolve(change, known=known)
    after = editor.restore(editor.remove(text, keys), made.hollows, client.preamble)
    return evolve(change, state="removed", after=after, made=made)


def _own_commands(
    request: Request, client: Client, added: Entry | None, *, replaces: bool
) -> tuple[tuple[str, ...], ...]:
    """Return the commands of Claude Code that change its user settings, if it is installed.

    Claude Code rewrites that file all the time, and would overwrite the changes of other programs.
    """
    if client.name != "claude" or request.scope != "user" or request.machine.find("claude") is None:
        return ()
    scope = ("--scope", "user")
    remove = (("claude", "mcp", "remove", *scope, NAME),) if replaces else ()
    if added is None:
        return remove
    return (*remove, ("claude", "mcp", "add-json", *scope, NAME, json.dumps(added)))


def _instructed(request: Request, *, remove: bool = False) -> list[Change]:
    wanted = instructions.files_to_clean if remove else instructions.files_to_write
    found = wanted(request.clients, request.folder)
    return [_with_instructions(path, request.folder, remove) for path in found]


def _with_instructions(path: Path, project: Path, remove: bool) -> Change:
    change = Change("", path.name, path, "absent", project=project)
    try:
        change = evolve(change, before=files.read(path, project))
    except UneditableSettingsError as problem:
        return evolve(change, state="uneditable", message=f"{problem}; it is left alone")
    except (UnreadableSettingsError, OSError) as problem:
        return evolve(change, state="unreadable", message=f"{problem}; it is left alone")
    text = change.before or ""
    is_there = instructions.has_paragraph(text)
    if not remove:
        after = instructions.with_paragraph(text)
        if after == text:
            return evolve(change, state="present")
        made = Made({} if text.strip() else {"": change.before})
        return evolve(change, state="updated" if is_there else "added", after=after, made=made)
    if not is_there:
        return change
    made, left = record.recall(path), instructions.without_paragraph(text)
    after_all = left if left.strip() else made.hollows.get("", left)
    return evolve(change, state="removed", after=after_all, made=made)


def _editor(path: Path) -> Editor:
    return TomlEditor() if path.suffix == ".toml" else JsoncEditor()


def _entry(settings: object, keys: Sequence[str]) -> object:
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _shown(entry: object) -> str:
    """Return what an entry starts or connects to, without what may be keys and tokens."""
    url = entry.get("url") if isinstance(entry, dict) else None
    words = command_line(entry)
    if words:
        return command_shown(words)
    return url_shown(url) if isinstance(url, str) else "an entry without a command"


def _starts_cairn(entry: object) -> bool:
    """Return whether an entry runs `cairn mcp` of any installation."""
    words = command_line(entry)
    return len(words) > 1 and PureWindowsPath(words[0]).stem.lower() == "cairn" and words[1] == "mcp"


def _differs_in_place_only(existing: object, wanted: dict[str, object]) -> bool:
    """Return whether an entry runs `cairn mcp` with the same arguments, but maybe of another installation."""
    return _starts_cairn(existing) and command_line(existing)[1:] == command_line(wanted)[1:]
