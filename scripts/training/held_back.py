#!/usr/bin/env python3
"""Make question sets with weak labels from repositories that no model is trained on: from later commits, and
from doc comments.

    python scripts/training/held_back.py --sources DIR --checkouts DIR --sets DIR [--only NAME ...]

`held_back.tsv` pins the repositories. Each is taken from `--sources`, or cloned into it. `--checkouts/NAME`
is reset to a state before its latest commits, and a further commit removes the comments that became
questions. `--sets` gets the questions and a `repos.tsv` that pins those commits, as `benchmarks/retrieval`
reads them. Equal input gives equal questions and equal commits.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from engine.place import git
from held_back_comments import CommentQuestion, Words, comment_questions
from held_back_commits import CommitQuestion, commit_questions, is_source
from retrieval.checkouts import checkout
from retrieval.sets import REPOSITORIES_FILE, Repository

from cairn.settings.tree import IndexSettings
from cairn.workspace.builtin_rules import decide_content
from cairn.workspace.scan import FileRules, ScanReport, read_text, scan

PINNED = Path(__file__).with_name("held_back.tsv")
COMMIT, COMMENT = "commit", "comment"
_WANTED = {COMMIT: 90, COMMENT: 75}
"""The number of questions of each kind and repository, if there are enough."""
_LEAST_LINES = 15
"""Files with fewer lines only re-export other files."""
_SPARE = 1.25
"""The number of commits to try, since some files are not indexed or lie outside the folder."""
_Q = TypeVar("_Q", CommitQuestion, CommentQuestion)
_SUBJECT = "State of the question set"
_WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "set"), ("EMAIL", "set@localhost"))
}


def main() -> None:
    options = _arguments()
    rows = []
    for repository in read_repositories(PINNED):
        if options.only and repository.name not in options.only:
            continue
        made, questions = make(repository, options.sources, options.checkouts)
        counts = {kind: sum(item["category"] == kind for item in questions) for kind in (COMMIT, COMMENT)}
        print(f"{repository.name}: {counts}", flush=True)
        options.sets.mkdir(parents=True, exist_ok=True)
        (options.sets / f"{repository.name}.json").write_text(
            json.dumps(questions, indent=1) + "\n", encoding="utf-8"
        )
        rows.append((made.name, made.language, made.address, made.revision, made.folder))
    _write_rows(options.sets / REPOSITORIES_FILE, rows)


def read_repositories(file: Path) -> list[Repository]:
    """Return the repositories of a file with the columns of `repos.tsv`."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [Repository(*row) for row in csv.reader(lines, delimiter="\t") if row]


def make(repository: Repository, sources: Path, checkouts: Path) -> tuple[Repository, list[dict[str, Any]]]:
    """Return the repository pinned to the commit made in `checkouts/NAME`, and the questions."""
    source = checkout(repository, sources)
    base, commits = commit_questions(source, repository.folder, int(_WANTED[COMMIT] * _SPARE))
    place = checkouts.resolve() / repository.name
    if place.exists():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    git(place.parent, "clone", "--quiet", "--no-checkout", str(source), str(place))
    if git(source, "config", "--default", "false", "--get", "core.sparseCheckout").strip() == "true":
        # Large files may be unavailable at the source.
        patterns = git(source, "sparse-checkout", "list").splitlines()
        git(place, "sparse-checkout", "set", "--no-cone", *patterns)
    git(place, "checkout", "--quiet", "--detach", base)
    indexed = _indexed(place / repository.folder)
    sampled = _sampled(_usable(commits, repository.folder, indexed), COMMIT)
    comments = _remove_comments(place, repository.folder, indexed)
    revision = _commit(place, base)
    items = [_item(question.query, list(question.paths), COMMIT) for question in sampled]
    items += [
        _item(
            question.query,
            [{"path": question.path, "start_line": question.start_line, "end_line": question.end_line}],
            COMMENT,
        )
        for question in comments
    ]
    made = Repository(repository.name, repository.language, str(place), revision, repository.folder)
    return made, items


def _indexed(folder: Path) -> dict[str, str]:
    """Return the texts that Cairn indexes, by their path relative to the folder."""
    rules = FileRules(folder, IndexSettings())
    texts = {}
    for entry in scan(folder, rules, ScanReport()):
        text = read_text(folder / entry.path)
        if text is not None and decide_content(entry.path, text).indexed:
            texts[entry.path] = text
    return texts


def _usable(
    questions: Iterable[CommitQuestion], folder: str, indexed: dict[str, str]
) -> list[CommitQuestion]:
    """Return the questions all of whose files are indexed, with paths relative to the folder."""
    prefix = "" if folder == "." else f"{folder}/"
    usable = []
    for question in questions:
        paths = tuple(path.removeprefix(prefix) for path in question.paths if path.startswith(prefix))
        if len(paths) == len(question.paths) and all(
            indexed.get(path, "").count("\n") >= _LEAST_LINES and _is_plain(path, indexed) for path in paths
        ):
            usable.append(CommitQuestion(question.query, paths))
    return usable


def _is_plain(path: str, indexed: Iterable[str]) -> bool:
    """Return whether no other path ends with this one, or this with it, which the metrics would confuse."""
    return not any(
        other != path and (other.endswith(f"/{path}") or path.endswith(f"/{other}")) for other in indexed
    )


def _remove_comments(place: Path, folder: str, indexed: dict[str, str]) -> list[CommentQuestion]:
    """Remove the comments of the returned questions from the files."""
    words = Words(indexed.values())
    candidates: dict[str, list[CommentQuestion]] = {}
    for path, text in sorted(indexed.items()):
        is_utf8 = (place / folder / path).read_bytes().endswith(text.encode())
        if is_source(path) and is_utf8 and _is_plain(path, indexed):
            candidates[path] = comment_questions(path, text, words)[0]
    chosen = _sampled(
        [question for questions in candidates.values() for question in questions],
        COMMENT,
    )
    kept = []
    for path in sorted({question.path for question in chosen}):
        wanted = {question.query for question in chosen if question.path == path}
        questions, text = comment_questions(path, indexed[path], words, only=wanted)
        (place / folder / path).write_bytes(text.encode())
        kept += questions
    return kept


def _sampled(questions: list[_Q], kind: str) -> list[_Q]:
    """Return at most the wanted number, chosen by a hash."""
    ranked = sorted(questions, key=lambda question: hashlib.sha256(question.query.encode()).digest())
    return ranked[: _WANTED[kind]]


def _commit(place: Path, base: str) -> str:
    """Commit the changes, and return the commit.

    It has two parents: a ranking by history leaves merges out, so the commit says nothing about the files it
    touched.
    """
    git(place, "add", "--update")
    tree = git(place, "write-tree", "--missing-ok").strip()
    when = git(place, "show", "--no-patch", "--format=%cI", base).strip()
    environment = {**os.environ, **_WHO, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    revision = subprocess.run(
        ("git", "-C", str(place), "commit-tree", tree, "-p", base, "-p", f"{base}^", "-m", _SUBJECT),
        env=environment, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    git(place, "reset", "--quiet", "--hard", revision)
    # Otherwise a search of all references would reach later commits.
    git(place, "remote", "remove", "origin")
    return revision


def _item(query: str, targets: list[Any], kind: str) -> dict[str, Any]:
    return {"query": query, "relevant": targets, "secondary": [], "category": kind}


def _write_rows(file: Path, rows: Sequence[tuple[str, ...]]) -> None:
    """Add the rows to the file, in place of those of the same name."""
    known = {row.name: row for row in read_repositories(file)} if file.exists() else {}
    kept = [
        (row.name, row.language, row.address, row.revision, row.folder)
        for name, row in known.items()
        if name not in {row[0] for row in rows}
    ]
    with file.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines, delimiter="\t", lineterminator="\n").writerows(sorted([*kept, *rows]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sources",
        type=Path,
        required=True,
        help="folder of the repositories; missing ones are cloned into it",
    )
    parser.add_argument(
        "--checkouts", type=Path, required=True, help="folder in which the checkouts are made"
    )
    parser.add_argument("--sets", type=Path, required=True, help="output folder of the questions")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    return parser.parse_args()


if __name__ == "__main__":
    main()
