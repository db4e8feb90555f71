"""Completion for shells: the script for a shell, and the values that complete an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from cairn.startup.streams import visible
from cairn.text.nearest import nearest

VARIABLE = "_CAIRN_COMPLETE"
"""The environment variable with which a shell's script requests completions instead of running a command."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    Run it whenever your shell starts: for bash, add `source <(cairn completion bash)` to ~/.bashrc.
    """
    script = get_completion_class(shell)
    assert script is not None  # click supports these three shells.
    print(script(context.find_root().command, {}, "cairn", VARIABLE).source())


class ChunkTypeName(click.ParamType):  # type: ignore[type-arg]  # no generic before click 8.5
    name = "type"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value. The error for an unknown value suggests the most similar one."""
        names = _chunk_types()
        if value not in names:
            meant = nearest(str(value).lower(), names)
            hint = f"did you mean {meant}?" if meant else f"expected one of {', '.join(names)}."
            self.fail(f"{value!r} is not a type; {hint}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return _items(_chunk_types(), incomplete)


def directories(_context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


def paths_in_folders(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete a file. If other workspace folders are named, complete a path in those."""
    folders = [Path(folder) for folder in context.params.get("folders") or [Path()]]
    if folders == [Path()]:
        return [CompletionItem(incomplete, type="file")]
    inside, _, begun = incomplete.rpartition("/")
    found = (
        place for folder in folders if (folder / inside).is_dir() for place in (folder / inside).iterdir()
    )
    names = {f"{place.name}/" if place.is_dir() else place.name for place in found}
    begin = f"{inside}/" if inside else ""
    hidden = begun.startswith(".")
    offered = (name for name in sorted(names) if hidden or not name.startswith("."))
    return _items((begin + name for name in offered), incomplete)


def _completed_by(values: Callable[[click.Context], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Return a completer of an argument. It offers the values that begin with the typed text."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _items(values(context), incomplete)

    return complete


def _items(values: Iterable[str], begun: str) -> list[CompletionItem]:
    """Return the values that begin with the typed text, without those that could control the terminal."""
    return [
        CompletionItem(value)
        for value in values
        if value.startswith(begun) and "\n" not in value and visible(value) == value
    ]


@_completed_by
def languages_like(_: click.Context) -> Iterable[str]:
    from cairn.languages.registry import KNOWN_LANGUAGES

    return sorted(KNOWN_LANGUAGES)


@_completed_by
def methods_like(_: click.Context) -> Iterable[str]:
    from cairn.engine.methods import METHODS

    return METHODS


@_completed_by
def clients_like(_: click.Context) -> Iterable[str]:
    from cairn.clients.table import BY_NAME

    return BY_NAME


@_completed_by
def collections_like(context: click.Context) -> Iterable[str]:
    """Return the collections of those folders that are indexed."""
    from cairn.engine.status import collection_names

    folders: Sequence[Path] = context.params.get("folders") or [Path()]
    return sorted({name for folder in folders for name in collection_names(Path(folder))})


@_completed_by
def revisions_like(context: click.Context) -> Iterable[str]:
    """Return the branches and tags of the folders' repositories."""
    from cairn.workspace.git import GitError
    from cairn.workspace.repository import locate

    names: set[str] = set()
    for folder in context.params.get("folders") or [Path()]:
        repository = locate(Path(folder))
        with suppress(GitError):
            names |= repository.names(*_REVISIONS) if repository is not None else set()
    return sorted(
        name.removeprefix(f"{folder}/") for name in names for folder in _REVISIONS if name.startswith(folder)
    )


_REVISIONS = ("refs/heads", "refs/tags", "refs/remotes")


def _chunk_types() -> list[str]:
    from cairn.protocol.chunk_types import ChunkType

    return [kind.value for kind in ChunkType]
