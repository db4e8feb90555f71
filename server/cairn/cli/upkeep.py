"""Commands that maintain an installation: doctor, feedback and the phase."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cairn.cli.folders import folder_argument, folder_option, opened
from cairn.cli.output import FAILED, answers, report, show
from cairn.errors import CairnError
from cairn.operations.places import require_directory


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
    from cairn.operations.doctor import examine

    with waiting("Checking …"):
        examination = examine(folder)
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
