"""Finds or clones repositories at their pinned revisions. They are read and never written to."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

from engine.place import git

from retrieval.sets import Repository


class CheckoutError(Exception):
    """A checkout cannot be used; the message says what to do."""


def add_checkouts_option(parser: argparse.ArgumentParser) -> None:
    """Add the required option `--checkouts`, which takes one or more folders."""
    parser.add_argument(
        "--checkouts",
        type=Path,
        nargs="+",
        required=True,
        help="folder of the repositories; missing ones are cloned into it",
    )


def checkout(repository: Repository, folder: Path) -> Path:
    """Return `folder/NAME` at the pinned revision, cloned with its history if it is missing.

    Raises CheckoutError if it is at another revision or has changes.
    """
    place = (folder / repository.name).resolve()
    try:
        if not place.exists():
            _clone(repository, place)
        _verify(repository, place)
    except subprocess.CalledProcessError as problem:
        said = problem.stderr.strip()
        raise CheckoutError(
            f"{place}: git failed: {said}. Remove the folder, and it will be cloned again."
        ) from problem
    return place


def _clone(repository: Repository, place: Path) -> None:
    unfinished = place.with_name(f"{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    git(place.parent, "clone", "--quiet", "--no-checkout", repository.address, str(unfinished))
    git(unfinished, "checkout", "--quiet", "--detach", repository.revision)
    unfinished.rename(place)


def _verify(repository: Repository, place: Path) -> None:
    if git(place, "rev-parse", "--show-toplevel").strip() != str(place):
        raise CheckoutError(f"{place} is not a repository. Remove the folder, and it will be cloned.")
    revision = git(place, "rev-parse", "HEAD").strip()
    if revision != repository.revision:
        wanted = repository.revision
        raise CheckoutError(f"{place} is at {revision}. Run `git -C {place} checkout --detach {wanted}`.")
    # Without optional locks git writes nothing, not even refreshed file times.
    if changes := git(place, "--no-optional-locks", "status", "--porcelain").splitlines():
        raise CheckoutError(
            f"{place} has {len(changes)} changed or untracked files ({changes[0].strip()} …)."
            " Commit them elsewhere, or remove the folder, and it will be cloned again."
        )
    if not (place / repository.folder).is_dir():
        raise CheckoutError(f"{place} has no folder {repository.folder}; correct repos.tsv.")
