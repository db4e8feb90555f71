"""Prepares whole checkouts, each with an index that the real daemon makes with Cairn's own code model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, frozen
from engine.daemon import Daemon
from engine.figures import Figures
from engine.place import make_data_folder
from engine.ready import indexed
from retrieval.checkouts import checkout
from retrieval.sets import Repository

from answers.facts import FactQuestion


@frozen
class Workplace:
    """A repository, its checkout, the data folder of its index, and the questions about it."""

    repository: Repository
    tree: Path
    data: Path
    questions: tuple[FactQuestion, ...] = ()

    @contextmanager
    def served(self) -> Iterator[tuple[Daemon, Figures]]:
        """Serve the checkout by the real daemon with a complete index; also yield figures of the index."""
        if not self.data.exists():
            make_data_folder(self.data)
        with indexed(self.tree, self.data) as served:
            yield served


def workplaces(questions: Sequence[FactQuestion], checkouts: Sequence[Path], data: Path) -> list[Workplace]:
    """Return one workplace for each repository, in the order of the questions. Repositories in none of the
    folders `checkouts` are cloned into the first.

    Raises CheckoutError as `checkout` does.
    """
    repositories = dict.fromkeys(question.repository for question in questions)
    return [
        evolve(
            place,
            questions=tuple(question for question in questions if question.repository == place.repository),
        )
        for place in prepared(repositories, checkouts, data)
    ]


def prepared(repositories: Iterable[Repository], checkouts: Sequence[Path], data: Path) -> list[Workplace]:
    """Return one workplace without questions for each repository, as `workplaces` does."""
    return [
        Workplace(
            repository,
            checkout(repository, _folder_of(repository, checkouts)),
            data.resolve() / repository.name,
        )
        for repository in repositories
    ]


def _folder_of(repository: Repository, checkouts: Sequence[Path]) -> Path:
    return next((folder for folder in checkouts if (folder / repository.name).exists()), checkouts[0])
