"""Reads the projects of the questions: their pinned archives, their trees, and the required citations."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import corpus
from attrs import frozen

PYPI, NPM = "pypi", "npm"


class ProjectError(Exception):
    """A project cannot be used; the message says what to do."""


@frozen
class Place:
    """Lines of a file that say what an answer must cite."""

    path: str
    """The path relative to the project's root."""
    first: int
    last: int
    """The last line, 1-based and inclusive."""
    text: str
    """A part of one of these lines."""


@frozen
class Question:
    """A question with all required citations of its answer."""

    id: str
    text: str
    required: tuple[tuple[Place, ...], ...]
    """The required citations, each as alternative places that say the same."""


@frozen
class Project:
    """A pinned archive of a package registry, and the questions about it."""

    name: str
    version: str
    source: str
    archive: str
    sha256: str
    root: str
    """The archive's top folder."""
    questions: tuple[Question, ...]


# --- sets -----------------------------------------------------------------------------------------


def read_projects(folder: Path) -> list[Project]:
    """Return the projects of a set, by name. Raises ProjectError for an empty folder or an invalid file."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise ProjectError(f"{folder} has no question sets (NAME.json).")
    return [_read(file) for file in files]


def _read(file: Path) -> Project:
    try:
        item = json.loads(file.read_text(encoding="utf-8"))
        project = Project(**{**item, "questions": tuple(_question(each) for each in item["questions"])})
    except (ValueError, TypeError, KeyError) as problem:
        raise ProjectError(f"{file} is not a question set: {problem!r}") from problem
    if project.source not in (PYPI, NPM):
        raise ProjectError(f"{file}: source is {project.source!r}, not {PYPI!r} or {NPM!r}.")
    return project


def _question(item: dict[str, Any]) -> Question:
    required = tuple(tuple(map(_place, alternatives)) for alternatives in item["cites"])
    return Question(item["id"], item["question"], required)


def _place(item: dict[str, Any]) -> Place:
    first, last = item["lines"]
    return Place(item["path"], first, last, item["text"])


# --- trees ----------------------------------------------------------------------------------------


def tree_of(project: Project, folder: Path) -> Path:
    """Return `folder/NAME/ROOT`, unpacked from `folder/ARCHIVE`; a missing archive is downloaded.

    Raises ProjectError if the archive is another one, or the tree lacks the places of the questions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = corpus.Source(f"{project.name}=={project.version}", project.sha256)
    archive = folder / project.archive
    if not archive.exists():
        _fetch(project, source, folder)
    if not archive.exists() or _sha256(archive) != project.sha256:
        raise ProjectError(
            f"{archive} is missing or does not have the pinned SHA-256. Remove it, and it will be downloaded."
        )
    tree = (folder / project.name / project.root).resolve()
    if not tree.exists():
        unfinished = tree.with_name(f"{tree.name}.unfinished")
        corpus.unpack(source, archive, unfinished)
        unfinished.rename(tree)
    if missing := misplaced(project.questions, tree):
        raise ProjectError(
            f"{tree} lacks the text to cite: {'; '.join(missing)}. Remove it, and it will be unpacked again."
        )
    return tree


def misplaced(questions: Sequence[Question], tree: Path) -> list[str]:
    """Return the places whose text is not in one of their lines."""
    places = {place: None for each in questions for alternatives in each.required for place in alternatives}
    return [f"{place.path}:{place.first}: {place.text!r}" for place in places if not _has_text(tree, place)]


def _has_text(tree: Path, place: Place) -> bool:
    try:
        lines = (tree / place.path).read_text(encoding="utf-8").split("\n")
    except OSError:
        return False
    return any(place.text in line for line in lines[place.first - 1 : place.last])


def _fetch(project: Project, source: corpus.Source, folder: Path) -> None:
    """Download the archive into `folder`. Raises ProjectError if pip or npm fails."""
    try:
        if project.source == PYPI:
            corpus.download(source, folder)
        else:
            print(f"downloading {project.archive}", file=sys.stderr, flush=True)
            npm = ("npm", "pack", "--silent", "--ignore-scripts", f"{project.name}@{project.version}")
            subprocess.run(npm, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise ProjectError(f"{problem}. Put {project.archive} into {folder} yourself.") from problem


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
