"""Commands that make, control and show an index, and that maintain an installation.

`cairn call` calls any method of the protocol by its name.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from cairn.cli.command_folders import (
    folder_argument,
    folder_option,
    folders_option,
    no_wait_option,
    opened,
    wait,
    wait_to_ask,
)
from cairn.cli.completion import methods_like
from cairn.cli.output import (
    FAILED,
    WrongUsageError,
    alternatives,
    answers,
    print_json,
    report,
    show,
    structured,
)
from cairn.errors import CairnError
from cairn.operations.places import path_in, require_directory

_TEAM_SECONDS = 15.0
"""How long `cairn status` waits for a team's server, in seconds."""


@click.command()
@folder_argument
@click.option("--force", is_flag=True, help="Index every file again, even if it has not changed.")
@answers
def index(folder: Path, force: bool, as_json: bool) -> None:
    """Bring the index of FOLDER up to date."""
    _index(folder, as_json, reindexed="" if force else None)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, readable=False))
@folder_option
@answers
def reindex(path: Path | None, folder: Path, as_json: bool) -> None:
    """Index a file, a directory or everything again, even if nothing has changed there."""
    _index(folder, as_json, reindexed=path_in(folder, path) if path else "")


@click.command()
@folder_argument
@answers
def pause(folder: Path, as_json: bool) -> None:
    """Stop making vectors until `cairn resume`.

    This also stops the editor or command that indexes FOLDER. Saved files are still indexed by keywords.
    """
    _set_paused(folder, as_json, paused=True)


@click.command()
@folder_argument
@answers
def resume(folder: Path, as_json: bool) -> None:
    """Continue after `cairn pause`."""
    _set_paused(folder, as_json, paused=False)


@click.command()
@folder_argument
@click.option(
    "--all", "everything", is_flag=True, help="Show each collection, and each rule that leaves files out."
)
@answers
def status(folder: Path, everything: bool, as_json: bool) -> None:
    """Show the state of the index of FOLDER."""
    from cairn.cli.console import waiting
    from cairn.cli.state_text import print_status
    from cairn.engine.runner import answer

    with opened(folder, keep_indexed=False) as engine:
        if any(each.sharing for each in engine.folders):
            with waiting("Waiting for the team's server …"):
                engine.wait_for_team(_TEAM_SECONDS)
        shown = partial(print_status, everything=everything)
        show(answer(engine.request(), "status", {}, as_json=False), shown, as_json)


def _index(folder: Path, as_json: bool, *, reindexed: str | None) -> None:
    """Bring the index up to date, and index the path `reindexed` again: "" is everything, None nothing.

    If another process indexes the folder, that process does the work, and this one waits.
    """
    from cairn.cli.state_text import print_status
    from cairn.engine.runner import answer
    from cairn.engine.status import status_of
    from cairn.operations.control import is_being_indexed

    other = reindexed is not None and is_being_indexed(folder)
    with opened(folder, keep_indexed=not other) as engine:
        if reindexed is not None:
            answer(engine.request(), "reindex", {"path": reindexed or None})
        wait(engine, vectors=True, rest=math.inf, written_by=[folder] if other else [])
        report(status_of(engine.request()), print_status, as_json)


def _set_paused(folder: Path, as_json: bool, *, paused: bool) -> None:
    from cairn.cli.console import waiting
    from cairn.cli.state_text import print_paused
    from cairn.operations.control import set_paused
    from cairn.protocol import PausedAnswer

    with waiting("Waiting for the process that indexes …"):
        set_paused(folder, paused)
    report(PausedAnswer(paused), print_paused, as_json)


# --- the installation ------------------------------------------------------------------------------


@click.command()
@folder_argument
@click.option("--reset", is_flag=True, help="Forget all of it.")
@answers
def feedback(folder: Path, reset: bool, as_json: bool) -> None:
    """Show what was learned from opened results.

    With --reset, forget it.
    """
    from cairn import protocol
    from cairn.cli import state_text
    from cairn.operations.feedback import store_of

    store = store_of(folder)
    if reset:
        report(protocol.ResetFeedbackAnswer(store.reset()), state_text.print_forgotten, as_json)
    else:
        show(store.files(), state_text.print_feedback, as_json)


_BY_HAND = {"3": 3, "2": 2, "1": 1, "off": 0, "auto": None}


@click.command()
@click.argument("wanted", required=False, type=click.Choice([*_BY_HAND]))
@folder_option
@answers
def phase(wanted: str | None, folder: Path, as_json: bool) -> None:
    """Show or set the phase of retrieval.

    3 uses vectors, keywords and names, 2 omits vectors, 1 uses names and keywords alone, off uses nothing. A
    phase set so applies at once in every process with the folder open, until auto leaves it to the settings
    and the kill switch.
    """
    from cairn.cli import state_text
    from cairn.engine.runner import answer
    from cairn.engine.status import status_of

    with opened(folder, keep_indexed=False) as engine:
        if wanted is not None:
            answer(engine.request(), "setPhase", {"phase": _BY_HAND[wanted]})
        show(status_of(engine.request()).retrieval, state_text.print_retrieval, as_json)


@click.command()
@click.option(
    "--why",
    "path",
    type=click.Path(path_type=Path, readable=False),
    help="Explain whether this path is indexed.",
)
@folder_option
@answers
def doctor(path: Path | None, folder: Path, as_json: bool) -> None:
    """Check the installation and a folder's index.

    With --why, explain which rule decides about a file, and its state in the index.
    """
    require_directory(folder)
    from cairn.cli import state_text

    if path is not None:
        from cairn.operations.why import why

        show(why(path, folder), state_text.print_why, as_json)
        return
    from cairn.cli.console import waiting
    from cairn.engine.status import status_of
    from cairn.operations.folder_checks import examine
    from cairn.protocol import StatusAnswer

    def status() -> StatusAnswer:
        with opened(folder, keep_indexed=False) as engine:
            return status_of(engine.request())

    with waiting("Checking …"):
        examination = examine(folder, status)
    show(examination, state_text.print_examination, as_json)
    if examination.problems:
        sys.exit(FAILED)


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("given", nargs=-1)
def model(given: tuple[str, ...]) -> None:
    """Say what replaced `cairn model install` of Cairn 0.2."""
    raise CairnError(
        "Cairn installs no further model any more: the code model that comes with it ranks as well. To use a"
        " model of your own, set `embedding.model` to a folder with model.onnx and tokenizer.json."
    )


# --- settings --------------------------------------------------------------------------------------


@click.group()
def config() -> None:
    """Show the settings of a folder, and where they come from."""


@config.command("show")
@folder_argument
@click.option("--all", "everything", is_flag=True, help="Show the defaults as well.")
@answers
def show_settings(folder: Path, everything: bool, as_json: bool) -> None:
    """Show the settings of FOLDER that differ from the defaults, where each comes from, and invalid ones.

    Settings made in an editor are known only to the Cairn process of that editor.
    """
    require_directory(folder)
    from cairn.cli.state_text import print_settings
    from cairn.settings.layers import Layers
    from cairn.settings.shown import shown

    show(shown(Layers().of(folder.resolve()), everything=everything), print_settings, as_json)


@config.command()
@answers
def schema(as_json: bool) -> None:
    """Print the JSON schema of config.toml and .cairn.toml, with which TOML editors check them."""
    from cairn.settings.shown import settings_schema

    print_json(settings_schema())


@config.command()
@folder_argument
@answers
def path(folder: Path, as_json: bool) -> None:
    """Show the files with the settings of FOLDER: your own, then the workspace's, which takes precedence."""
    require_directory(folder)
    from cairn.settings.sources import user_file
    from cairn.settings.tree import WORKSPACE_FILE

    files = [user_file(), folder.resolve() / WORKSPACE_FILE]

    def shown(_: object) -> None:
        for file in files:
            print(file if file.exists() else f"{file} (not there)")

    show([{"path": str(file), "exists": file.exists()} for file in files], shown, as_json)


# --- any method ------------------------------------------------------------------------------------


@click.command()
@click.argument("method", shell_complete=methods_like)
@click.argument("params", required=False, metavar="[PARAMS_JSON|-]")
@folders_option
@no_wait_option
@answers
def call(method: str, params: str | None, folders: Sequence[Path], no_wait: bool, as_json: bool) -> None:
    """Call any METHOD of the protocol, with JSON.

    METHOD is its name, such as `search` or `cairn/expandQueries`. The answer and errors are printed as JSON.
    The params are JSON, `-` to read them from stdin, or left out for none.
    """
    from cairn.engine.methods import METHODS, Needs
    from cairn.engine.runner import answer
    from cairn.operations.control import is_being_indexed, set_paused
    from cairn.protocol import PausedAnswer

    name = method.removeprefix("cairn/")
    if name not in METHODS:
        raise WrongUsageError("method", f"there is no {method!r}{alternatives(name, list(METHODS))}")
    data = _json_of(params)
    structured(data, METHODS[name].params_class())  # An error is reported before anything is indexed.
    if name in _STEERING:  # The effect of the method would end with this process.
        for folder in folders:
            set_paused(folder, _STEERING[name])
        print_json(PausedAnswer(_STEERING[name]))
        return
    others = [folder for folder in folders if name == "reindex" and is_being_indexed(folder)]
    asks = METHODS[name].needs is not Needs.NOTHING
    with opened(*folders, keep_indexed=(asks or name == "reindex") and not others) as engine:
        if asks:
            wait_to_ask(engine, vectors=not no_wait)
        answered = answer(engine.request(), name, data)
        if name == "reindex":
            wait(engine, vectors=True, written_by=others)
        print_json(answered)


_STEERING = {"pause": True, "resume": False}


def _json_of(params: str | None) -> Any:
    given = sys.stdin.read() if params == "-" else params
    if given is None or not given.strip():
        return {}
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as problem:
        example = '{"query": "…"}'
        raise WrongUsageError(
            "params", f"are not JSON ({problem}); give an object such as '{example}', or - and stdin"
        ) from None
