"""The checks of `cairn doctor`, how to run them, and those of the installation."""

from __future__ import annotations

import enum
import importlib.metadata
import importlib.util
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

import cairn
from cairn.errors import CairnError
from cairn.paths import data_dir, private_folder
from cairn.settings.layers import Layers
from cairn.settings.sources import user_file
from cairn.text.counts import sized

REINSTALL = "Install Cairn anew: one of the libraries it needs is missing, or made for another Python."


class Level(enum.StrEnum):
    OK = "ok"
    NOTE = "note"
    """The status of a finding that does not stop Cairn from working."""
    PROBLEM = "problem"


@frozen
class Check:
    name: str
    level: Level
    message: str
    remedy: str = ""


@frozen
class Examination:
    """The results of all checks, ordered so that the remedy of one may also fix later problems."""

    checks: tuple[Check, ...]
    problems: int = field()

    @problems.default
    def _count(self) -> int:
        return sum(check.level is Level.PROBLEM for check in self.checks)


def note(message: str, remedy: str = "") -> Check:
    """Return a note; `run_checks` sets its name."""
    return Check("", Level.NOTE, message, remedy)


def problem(message: str, remedy: str) -> Check:
    """Return a problem; `run_checks` sets its name."""
    return Check("", Level.PROBLEM, message, remedy)


CheckFunction = Callable[[], Check | str | None]
"""A check. The function returns a string if all is well, and None if there is nothing to check."""


def run_checks(checks: Iterable[tuple[str, CheckFunction]]) -> Iterator[Check]:
    """Yield the result of each named check. An exception of a check is yielded as a problem."""
    for name, check in checks:
        try:
            found = check()
        except CairnError as error:
            found = problem(str(error), "")
        except ImportError as error:
            found = problem(str(error), REINSTALL)
        except OSError as error:
            found = problem(str(error), "Make this readable and writable for you, or set CAIRN_DATA_DIR.")
        if isinstance(found, str):
            yield Check(name, Level.OK, found)
        elif found is not None:
            yield evolve(found, name=name)


# --- the installation ----------------------------------------------------------------------------------

_NO_ROOM, _LITTLE_ROOM = 50_000_000, 1_000_000_000
"""The limits of free space in bytes. An index of 40,000 chunks takes about 60 MB."""
_SERVE = ("mcp", "starlette", "uvicorn", "prometheus_client")
"""Optional packages of the extra `serve`, as in `pyproject.toml`."""
_SENTENCE = "where are ships assigned to berths"


def installation_checks() -> tuple[tuple[str, CheckFunction], ...]:
    return (
        ("Python", _python),
        ("Cairn", _cairn),
        ("data folder", _data_folder),
        ("settings", _settings),
        ("SQLite", _sqlite),
        ("code model", _code_model),
        ("model", _model),
        ("grammars", _grammars),
        ("git", _git),
        ("extras", _extras),
    )


def _python() -> Check | str:
    bits = struct.calcsize("P") * 8
    version = ".".join(map(str, sys.version_info[:3]))
    place = "virtual environment" if sys.prefix != sys.base_prefix else "not a virtual environment"
    found = f"{version}, {bits} bit, {place}, {sys.executable}"
    if bits < 64:
        return problem(found, "Use a 64 bit Python: there is no onnxruntime for others.")
    return found


def _cairn() -> str:
    return f"{cairn.__version__}, {Path(cairn.__file__).parent}"


def _data_folder() -> Check | str:
    folder = data_dir()
    remedy = "Free space there, or set CAIRN_DATA_DIR to a writable folder."
    try:
        private_folder(folder)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"cairn")
    except OSError as error:
        return problem(f"{folder} cannot be written: {error.strerror or error}", remedy)
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {sized(free)} free"
    if free < _NO_ROOM:
        return problem(found, remedy)
    return note(found, remedy) if free < _LITTLE_ROOM else found


def _settings() -> Check | str:
    path = user_file()
    warnings = Layers().without_workspace().texts()
    if warnings:
        return problem("; ".join(warnings), "Correct the file or the variable, or remove it.")
    return str(path) if path.exists() else f"{path} is not there; the defaults count"


def _sqlite() -> Check | str:
    import apsw
    import sqlite_vec

    try:
        connection = apsw.Connection(":memory:")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        ((version,),) = connection.execute("SELECT vec_version()")
    except (OSError, apsw.Error) as error:
        return problem(f"FTS5 or sqlite-vec does not load: {error}", REINSTALL)
    return f"{apsw.sqlite_lib_version()}, FTS5, sqlite-vec {version}"


def _code_model() -> Check | str:
    if not _embeds():
        return note("switched off by the settings (`embedding.enabled`); answers use keywords only")
    import numpy  # noqa: F401 - so that its import does not count as loading the model

    from cairn.embedding.packaged import load_packaged

    table, text = _timed(load_packaged)
    return f"{table.id}, {text}"


def _model() -> Check | str | None:
    from cairn.embedding.onnx_model import find_model, load_embedder

    settings = Layers().without_workspace().settings.embedding
    if not settings.enabled or not settings.model:
        return None
    model = find_model(Path(settings.model))
    _, text = _timed(lambda: load_embedder(model, settings.threads))
    return f"{model.id} in {model.folder}, {text}"


def _timed(load: Callable[[], Any]) -> tuple[Any, str]:
    """Load a model and embed a sentence. Return the model, and a text with dimensions and durations."""
    began = time.perf_counter()
    model = load()
    loaded = time.perf_counter()
    vector = model.embed_queries([_SENTENCE])[0]
    ended = time.perf_counter()
    load_ms, sentence_ms = (loaded - began) * 1000, (ended - loaded) * 1000
    text = f"{len(vector)} dimensions, intact, loaded in {load_ms:.0f} ms, a sentence in {sentence_ms:.1f} ms"
    return model, text


def _embeds() -> bool:
    return Layers().without_workspace().settings.embedding.enabled


def _grammars() -> Check | str:
    from cairn.chunking.grammars import parse

    tree = parse("python", b"def berth():\n    return 1\n")
    if tree is None or tree.root_node.has_error:
        return problem("no syntax trees; code is cut by lines instead of definitions", REINSTALL)
    return f"semble-grammars {importlib.metadata.version('semble-grammars')}"


def _git() -> Check | str:
    program = shutil.which("git")
    message = "git was not found: no history, and files tracked although ignored are left out"
    return program or note(message, "Install git, or add it to PATH.")


def _extras() -> Check | str:
    missing = ", ".join(name for name in _SERVE if importlib.util.find_spec(name) is None)
    if missing:
        need = "`cairn serve` and `cairn mcp` need it"
        return note(f'{missing} not installed; {need}: `pip install "cairn-ls[serve]"`')
    return "serve"
