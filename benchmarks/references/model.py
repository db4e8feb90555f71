"""Stores sets of functions with the callers that a language server knows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen


@frozen
class Site:
    """A call: a line of a file, 0-based."""

    path: str
    line: int


@frozen
class Sampled:
    """A function, method or type, and every call of it that the server knows."""

    path: str
    line: int
    """The line of its name, 0-based."""
    character: int
    name: str
    kind: str
    callers: tuple[Site, ...] = ()
    """The calls; in a set of uses, every use."""


@frozen
class CallerSet:
    """The functions sampled from one repository."""

    repository: str
    address: str
    revision: str
    language: str
    server: str
    """The server's name and version."""
    seconds: float
    """The server's time for all functions, once it was ready."""
    covered: tuple[str, ...]
    """The files that the server reads. Calls elsewhere are neither right nor wrong."""
    functions: tuple[Sampled, ...] = field(factory=tuple)


def read_sets(paths: Iterable[Path]) -> list[CallerSet]:
    """Return the sets in these files, and in the files of these folders."""
    files = [file for path in paths for file in (sorted(path.glob("*.json.gz")) if path.is_dir() else [path])]
    return [_read(json.loads(gzip.decompress(file.read_bytes()))) for file in files]


def write_set(found: CallerSet, folder: Path) -> Path:
    """Write the set to a file named after its repository, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{found.repository}.json.gz"
    text = json.dumps(asdict(found), ensure_ascii=False)
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    return file


def _read(data: dict[str, Any]) -> CallerSet:
    functions = tuple(
        Sampled(**{**each, "callers": tuple(Site(**site) for site in each["callers"])})
        for each in data["functions"]
    )
    return CallerSet(**{**data, "covered": tuple(data["covered"]), "functions": functions})
