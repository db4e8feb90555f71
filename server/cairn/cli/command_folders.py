"""The folders of a command: their options, opening an engine on them, and waiting for their indexes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from cairn.agents.place_text import Place, place_named
from cairn.cli.completion import directories, paths_in_folders
from cairn.cli.output import WrongUsageError, remark
from cairn.errors import IndexUnavailableError, InvalidRequestError
from cairn.operations.places import path_in, project_of, require_directory
from cairn.paths import contains_home
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

_POLL_SECONDS = 0.05
_REST_SECONDS = 1.0
"""How long a question waits for the end of other work. For 13,000 files it is done by then, and the next
question ranks by its results."""
_STILL_SECONDS = 60.0
"""After this time without progress, another process does not seem to index. It may have been stopped."""
_LOOK_SECONDS = 1.0
"""The interval of checks for rare events: a pause, or the end of another process."""

HERE: ContextVar[Path | None] = ContextVar("here", default=None)
"""The directory to which the paths of a command line are relative; None means this process's current one."""


def from_here(path: str | Path) -> Path:
    """Return the absolute path of a path in a command line, without following links."""
    here = HERE.get()
    return Path(os.path.abspath(here / path if here else path))  # noqa: PTH100


class _FolderPath(click.Path):
    """A folder. Its path becomes absolute if the command line comes from another process."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        folder = super().convert(value, param, ctx)
        return folder if HERE.get() is None else from_here(Path(os.fsdecode(folder)))


@frozen
class Project:
    """The project of the folder in which a command is run."""

    root: Path
    below: str
    """The path of the folder in the project; "" if it is the project's own."""

    @property
    def note(self) -> str:
        return f"cairn: in {self.below}/ of {self.root} (-C . takes it as a workspace)" if self.below else ""


def project_here(option: str = " -C") -> Project:
    """Return the project of the current folder, which is the folder itself if `-C` names it.

    Raise InvalidRequestError for the home folder, and for one that contains more than a project; `option` is
    what names a folder to the command.
    """
    here = from_here(".")
    context = click.get_current_context(silent=True)
    if context is not None and _IS_NAMED in context.meta:
        root = here.resolve()
    elif contains_home(root := project_of(here)):
        from cairn.engine.folders import refusal

        named = f"{context.command_path}{option}" if context is not None else "cairn"
        raise InvalidRequestError("", refusal(here, named))
    if root == here.resolve():
        return Project(Path() if HERE.get() is None else here, "")
    return Project(root, path_in(root, here))


def unnamed_project() -> Project | None:
    """Return the project of the current command line if that names no folder."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_UNNAMED) if context is not None else None


def _or_project(context: click.Context, param: click.Parameter, given: Any) -> Any:
    if given:
        return given
    project = context.meta[_UNNAMED] = project_here()
    return [project.root] if param.multiple else project.root


def _or_project_said(context: click.Context, param: click.Parameter, given: Any) -> Any:
    folder = _or_project(context, param, given)
    if (project := unnamed_project()) is not None and project.note:
        remark(project.note)
    return folder


_UNNAMED, _IS_NAMED = "cairn.project", "cairn.is_named"
_PATH = _FolderPath(path_type=Path, readable=False)
_DEFAULT = "by default, the project that the current folder is in"

folder_argument = click.argument(
    "folder", required=False, type=_PATH, callback=_or_project_said, shell_complete=directories
)
_folder = partial(click.option, "-C", "--folder", type=_PATH, shell_complete=directories)
folder_option = _folder(callback=_or_project_said, help=f"The workspace folder; {_DEFAULT}.")
folders_option = _folder(
    "folders",
    multiple=True,
    callback=_or_project,
    help=f"The workspace folder, or several times for several; {_DEFAULT}.",
)


def _run_in(context: click.Context, _: click.Parameter, folder: Path | None) -> None:
    if folder is not None and not context.resilient_parsing:
        require_directory(folder)
        os.chdir(folder)
        context.meta[_IS_NAMED] = True


def add_folder_option(command: click.Command) -> None:
    """Let a command and its subcommands accept `-C`. One that does not use the option itself runs there."""
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        add_folder_option(each)
    if not any("-C" in parameter.opts for parameter in command.params):
        help_text = "Run in this folder."
        _folder("run_in", is_eager=True, expose_value=False, callback=_run_in, help=help_text)(command)


places_option = click.option(
    "--in",
    "-p",
    "--path",
    "places",
    metavar="PATH",
    multiple=True,
    shell_complete=paths_in_folders,
    help="Only in this folder, file or glob, or not in what matches !GLOB; several times for any of several.",
)
no_wait_option = click.option(
    "--no-wait", is_flag=True, help="Answer as soon as keywords are indexed, without waiting for vectors."
)


@contextmanager
def opened(*folders: Path, keep_indexed: bool = True) -> Iterator[Engine]:
    """Open an engine on these folders. Raise InvalidRequestError for a path that is not a folder."""
    for folder in folders:
        require_directory(folder)
    from cairn.engine.engine import Engine

    # A command requests one answer and does not follow changes.
    engine = Engine({"index": {"watch": False}})
    try:
        for folder in folders:
            engine.add_folder(folder, keep_indexed=keep_indexed)
        yield engine
    finally:
        engine.stop()


def wait_to_ask(engine: Engine, *, vectors: bool) -> None:
    """Wait as `wait` does. If the index cannot be updated, continue with the index as it is."""
    try:
        wait(engine, vectors=vectors)
    except IndexUnavailableError as problem:
        from cairn.engine.status import status_of

        if not status_of(engine.request()).searchable:
            raise
        remark(f"cairn: {problem}\nAnswering from what was indexed before.")


def wait(
    engine: Engine, *, vectors: bool, rest: float = _REST_SECONDS, written_by: Sequence[Path] = ()
) -> None:
    """Show progress until the index has what a question needs. If indexing is paused, vectors may be missing.

    Without `vectors`, or after an interrupt, this returns before all vectors are made. If this process writes
    the index, `rest` are the seconds to wait for what else it does at the moment, such as counting imports.
    Other processes index the folders `written_by`. Raise IndexUnavailableError when one of these ends, and if
    another process that indexes a folder makes no progress.
    """
    from cairn.cli.console import progress_bars
    from cairn.engine.status import other_writer, status_of
    from cairn.operations.control import is_being_indexed

    engine.request().catch_up()
    look_at, seen, seen_at, other = 0.0, None, time.monotonic(), ""
    deadline = seen_at + rest
    with progress_bars() as show:
        while True:
            progress = engine.progress()
            # Whether another process writes is known only once the engine has asked for the lock.
            other = other or other_writer(engine.folders)
            show(progress, other)
            if progress.problem:
                raise IndexUnavailableError(progress.problem)
            if not progress.suffices(vectors=vectors):
                deadline = time.monotonic() + rest
            elif not (vectors and progress.is_busy and time.monotonic() < deadline):
                return
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                other = other_writer(engine.folders)
                if progress != seen:
                    seen, seen_at = progress, time.monotonic()
                elif other and time.monotonic() > seen_at + _STILL_SECONDS:
                    raise IndexUnavailableError(
                        f"The index lacks changes, and {other} has indexed none for {_STILL_SECONDS:.0f}"
                        " seconds. End that process, and run this again."
                    )
                if not all(map(is_being_indexed, written_by)):
                    raise IndexUnavailableError("The process that was indexing has ended. Run this again.")
                if progress.scanned and status_of(engine.request()).paused:
                    remark("Indexing is paused and some vectors are missing; `cairn resume` continues it.")
                    return
            try:
                time.sleep(_POLL_SECONDS)
            except KeyboardInterrupt:
                if not progress.scanned:
                    raise
                remark("\nContinuing with what is indexed so far.")
                return


# --- places in files -------------------------------------------------------------------------------

POSITION = "FILE:LINE or FILE:LINE:COLUMN"
"""The usual form of a position, for errors."""


def place_in(text: str, folders: Sequence[Path], form: str) -> tuple[Path, Path, Place]:
    """Return the workspace folder and the file of a place, and the place, of which `form` is the usual form.

    Raise WrongUsageError for a place in another form or beyond the end of its file, InvalidRequestError for
    another file.
    """
    place = lines_named(text)
    is_known = place.last == place.first if "COLUMN" in form else not place.column
    if not place.first or not is_known:
        raise WrongUsageError("place", f"expected {form}, got {text!r}")
    folder, file = find_file(place.path, folders)
    _require_line(file, place)
    return folder, file, place


def lines_named(text: str) -> Place:
    """Parse a place. One that is only a name has the line 0. Raise WrongUsageError for impossible lines."""
    try:
        return place_named(text)
    except InvalidRequestError as problem:
        raise WrongUsageError("place", str(problem).removeprefix(f"{problem.field}: ")) from None


def find_file(path: str, folders: Sequence[Path]) -> tuple[Path, Path]:
    """Return the workspace folder of the file, and its path on disk. Raise InvalidRequestError.

    A path may be absolute, relative to the current directory, as a shell completes it, or relative to a
    workspace folder, as in answers.
    """
    for folder in folders:
        require_directory(folder)
    here = from_here(path)
    in_folders = [(folder, Path(os.path.abspath(folder / path))) for folder in folders]  # noqa: PTH100
    for folder, place in (*((folder, here) for folder in folders), *in_folders):
        if os.path.lexists(place) and real_place(place).is_relative_to(folder.resolve()):
            return folder, place
    named = ", ".join(str(folder.resolve()) for folder in folders)
    problem = (
        f"is not in {named}; name its folder with -C"
        if here.exists()
        else f"is neither here nor in {named}; give a path as in Cairn's answers"
    )
    raise InvalidRequestError("path", f"{path} {problem}")


def places_named(given: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Return the places for the protocol: an absolute path if it exists from the current directory.

    Raise WrongUsageError for globs that can never match.
    """
    from cairn.workspace.ignore_patterns import is_glob, selection_problem

    places = [_place_named(each, folders) for each in given]
    globs = [each for each in places if is_glob(each) and not os.path.lexists(from_here(each))]
    every = (problem for each in globs if (problem := selection_problem((each.removeprefix("!"),))))
    problem = next(every, None) or (selection_problem(globs) if len(globs) == len(places) else None)
    if problem:
        raise WrongUsageError("filter.path", problem)
    return places


def _place_named(given: str, folders: Sequence[Path]) -> str:
    here = from_here(given)
    if not given.strip() or not os.path.lexists(here):
        return given
    is_inside = any(real_place(here).is_relative_to(folder.resolve()) for folder in folders)
    # A path that exists in another place may also exist in a workspace folder.
    is_relative = any(os.path.lexists(folder / given) for folder in folders)
    return str(here) if is_inside or not is_relative else given


def _require_line(file: Path, place: Place) -> None:
    from cairn.workspace.scan import read_text

    try:
        text = read_text(file)
    except OSError:  # The answer reports this.
        return
    lines = max(1, len(text.splitlines())) if text is not None else 0
    if lines and place.first > lines + 1:  # A cursor may be after the end of the last line.
        problem = f"{place.path} has {counted(lines, 'line')}, got line {place.first}"
        raise WrongUsageError("place", problem)


def real_place(path: Path) -> Path:
    """Return the file's real path. Links in its folder's path are followed; the file itself may be a link."""
    return path.parent.resolve() / path.name


def path_inside(folder: Path, file: Path) -> str:
    return real_place(file).relative_to(folder.resolve()).as_posix()
