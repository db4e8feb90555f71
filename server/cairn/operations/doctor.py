"""Answers two questions of somebody whose Cairn does not do what they expect.

Why is a file in the index, or not (`why`)? And is the installation sound (`examine`)? Neither touches an
index; the rules asked are the very ones that a scan asks.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from cairn.config_layers import Layers
from cairn.errors import CairnError, InvalidRequestError
from cairn.paths import data_dir
from cairn.workspace.decision import Decision
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import read_text

_ENOUGH_WATCHES = 65_536
"""Linux grants one watch per directory; a checkout with its dependencies can have tens of thousands."""
_INOTIFY = Path("/proc/sys/fs/inotify")

_REINSTALL = "Install Cairn anew: one of the libraries it needs is missing, or made for another Python."


@frozen
class Why:
    """Whether a path is indexed, and the rule that decided."""

    path: str
    """Relative to the workspace folder, with `/`; "" is the folder itself."""
    directory: bool
    indexed: bool
    """Of a directory: whether the scan looks into it."""
    rule: str
    detail: str
    """What is particular to this path, such as ignore file, line and pattern; may be ""."""
    warnings: tuple[str, ...] = ()
    """What in the settings could not be used."""


@frozen
class Check:
    """One line of the examination."""

    name: str
    ok: bool
    message: str
    remedy: str = ""


def why(path: Path, folder: Path) -> Why:
    """Explain the decision about `path`, absolute or relative to the current directory, in the workspace `folder`.

    Raises InvalidRequestError if the folder or the path does not exist, or one is not in the other.
    """
    root = folder.resolve()
    if not root.is_dir():
        raise InvalidRequestError("folder", f"{folder} is not a directory that can be read")
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link is asked about itself, not about its target
    if not os.path.lexists(absolute):
        raise InvalidRequestError("path", f"{path} does not exist")
    relative = _below(absolute, folder, root)
    laid = Layers().of(root)
    rules = FileRules(root, laid.settings.index)
    directory = absolute.is_dir() and not absolute.is_symlink()
    decision = _decide(rules, root, relative, directory)
    return Why(relative, directory, decision.indexed, decision.rule, decision.detail, tuple(laid.texts()))


def _below(path: Path, folder: Path, root: Path) -> str:
    shown = Path(os.path.abspath(folder))  # noqa: PTH100
    for place, base in ((path, shown), (path.parent.resolve() / path.name, root), (path.resolve(), root)):
        if place.is_relative_to(base):
            relative = place.relative_to(base).as_posix()
            return "" if relative == "." else relative
    raise InvalidRequestError("path", f"{path} is not in the folder {root}; name its folder with -C")


def _decide(rules: FileRules, root: Path, path: str, directory: bool) -> Decision:
    if not path:
        return Decision(True, "it is the workspace folder")
    if directory:
        return rules.decide_descent(path)
    decision = rules.decide(path)
    if not decision.indexed:
        return decision
    try:
        text = read_text(root / path)
    except OSError as problem:
        return Decision(False, f"cannot be read: {problem.strerror or problem}")
    if text is None:
        return Decision(False, "binary content", "only its name can be found")
    by_content = rules.decide_content(path, text)
    return decision if by_content.indexed else by_content


def examine() -> tuple[Check, ...]:
    """Check what Cairn needs from this machine. Raises nothing: what fails is a line with a remedy."""
    checks: Sequence[tuple[str, Callable[[], Check | str]]] = (
        ("data folder", _data_folder),
        ("settings", _settings),
        ("SQLite", _sqlite),
        ("model", _model),
        ("watching", check_watching),
        ("git", _git),
    )
    return tuple(_checked(name, check) for name, check in checks)


def _checked(name: str, check: Callable[[], Check | str]) -> Check:
    try:
        found = check()
    except CairnError as problem:
        return Check(name, False, str(problem))
    except ImportError as problem:
        return Check(name, False, str(problem), _REINSTALL)
    return Check(name, True, found) if isinstance(found, str) else found


def _data_folder() -> Check | str:
    folder = data_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"cairn")
    except OSError as problem:
        return Check(
            "data folder",
            False,
            f"{folder} cannot be written: {problem.strerror or problem}",
            "Free space there, or set CAIRN_DATA_DIR to a writable folder.",
        )
    return str(folder)


def _settings() -> Check | str:
    warnings = Layers().without_workspace().texts()
    return (
        Check("settings", False, "; ".join(warnings), "Correct the file or the variable, or remove it.")
        if warnings
        else "sound"
    )


def _sqlite() -> Check | str:
    import apsw
    import sqlite_vec

    try:
        connection = apsw.Connection(":memory:")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        ((version,),) = connection.execute("SELECT vec_version()")
    except (OSError, apsw.Error) as problem:
        return Check("SQLite", False, f"FTS5 or sqlite-vec does not load: {problem}", _REINSTALL)
    return f"{apsw.sqlite_lib_version()}, FTS5, sqlite-vec {version}"


def _model() -> Check | str:
    from cairn.embedding.model_files import find_model

    model = find_model()
    if model is None:
        message = "no embedding model is installed; answers use keywords only"
        return Check("model", False, message, "Run `cairn model install`.")
    return f"{model.name}, {model.dimension} dimensions"


def check_watching(limits: Path = _INOTIFY) -> Check:
    """Whether the system lets us watch enough directories; `limits` is where Linux says how many."""
    if not limits.is_dir():
        return Check("watching", True, "the system sets no limit")
    try:
        watches = int((limits / "max_user_watches").read_text())
        instances = int((limits / "max_user_instances").read_text())
    except (OSError, ValueError) as problem:
        return Check("watching", True, f"the limits of inotify cannot be read: {problem}")
    message = f"{watches} directories, {instances} watchers"
    if watches < _ENOUGH_WATCHES:
        remedy = "Without enough watches Cairn polls. Run: sudo sysctl fs.inotify.max_user_watches=524288"
        return Check("watching", False, message, remedy)
    return Check("watching", True, message)


def _git() -> Check | str:
    program = shutil.which("git")
    if program is None:
        message = "git was not found: no history, and files tracked although ignored are left out"
        return Check("git", False, message, "Install git, or add it to PATH.")
    return program
