"""The work that the indexing thread does once every file is indexed, the most useful first: static vectors,
git history, vocabulary, import counts, maintenance. A user's own model makes its vectors after the counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from cairn.index.indexing.folder_state import Activity, FolderState
from cairn.index.indexing.git_history import GitHistory
from cairn.index.indexing.links import LinkCounter
from cairn.index.store.database import check_soundness
from cairn.index.store.maintenance import Maintenance, today
from cairn.index.store.meta import Facts
from cairn.index.store.writer import IndexWriter
from cairn.index.text.word_list import WordListIntake
from cairn.index.vectors.intake import VectorIntake
from cairn.index.vectors.store import StaticRecipe
from cairn.settings.tree import EmbeddingSettings, Settings
from cairn.startup.interpreter import trim_memory

_CHECK_DAYS = 7
"""The number of days between checks of the index file for damage. A check takes 1.5 s for 77,000 chunks."""
_PHASE_WITH_VECTORS = 3


class Background:
    """Background work of the thread that owns the writer. A step ends soon after `interrupted()` is true."""

    def __init__(self, state: FolderState, writer: IndexWriter) -> None:
        self._intervals = state.intervals
        self._writer = writer
        self._progress = state.progress
        self._note = state.note
        self._vectors = VectorIntake(
            writer, state.models, lambda: state.queue.open_paths, state.progress.embedded_texts
        )
        self._history = GitHistory(writer.db, state.root)
        self._vocabulary = WordListIntake(writer.db)
        self._links = LinkCounter(writer, state.intervals)
        self._maintenance = Maintenance(writer.db)
        self._busy_at = time.monotonic()
        self._tidied_at = self._written_at = float("-inf")
        self._selected: Settings | None = None
        self._model_is_due = False
        """Whether the next step loads the model. Loading it earlier would delay the first files."""

    def select_model(self, settings: Settings) -> None:
        if settings != self._selected:
            self._selected = settings
            self._vectors.announce(_embedding(settings))
            self._model_is_due = True

    def added(self, ids: list[int], settings: Settings) -> None:
        self._busy_at = self._written_at = time.monotonic()
        self._vectors.added(ids, settings.embedding)

    def recipe(self, settings: Settings) -> StaticRecipe | None:
        return self._vectors.recipe(settings.embedding)

    def put_first(self, paths: Iterable[str]) -> None:
        """Embed the chunks of these files next, because the user opened the files."""
        self._vectors.put_first(self._writer.chunk_ids(paths))

    def step(self, settings: Settings, interrupted: Callable[[], bool], on_step: Callable[[], None]) -> bool:
        """Do some of the pending work; return false if there is none at present."""
        now = time.monotonic()
        self.select_model(settings)
        if self._model_is_due:
            self._vectors.select(_embedding(settings))
            self._model_is_due = False
        self._progress.activity = Activity.STATIC
        if not self._vectors.is_slow and self._vectors.step(settings.embedding):
            on_step()
            return True
        self._progress.activity = Activity.HISTORY
        if settings.index.history and self._history.update(interrupted):
            self._note("history", None if interrupted() else self._history.problem or None)
            return True
        if self._vocabulary.is_due and now >= self._written_at + self._intervals.count_after:
            self._vocabulary.step()
            return True
        self._progress.activity = Activity.COUNTING
        if self._links.step(self._written_at):
            return True
        self._progress.activity = Activity.EMBEDDING
        if self._vectors.step(settings.embedding):
            self._busy_at = time.monotonic()
            on_step()
            return True
        self._progress.activity = Activity.IDLE
        return self._tidy(interrupted, now)

    @property
    def is_counting(self) -> bool:
        """Whether a process counts imports at present."""
        return self._links.is_counting

    def close(self) -> None:
        self._links.close()

    def next_step_at(self) -> float:
        """Return the monotonic time at which `step` may find work, infinity if only a change brings work."""
        due = [self._links.next_step_at(self._written_at)]
        if self._vocabulary.is_due:
            due.append(self._written_at + self._intervals.count_after)
        if not _is_tidy(self._writer.facts()):
            due.append(self._tidy_at())
        return min(due)

    def _tidy_at(self) -> float:
        return max(self._busy_at + self._intervals.tidy_after, self._tidied_at + self._intervals.tidy_every)

    def _tidy(self, interrupted: Callable[[], bool], now: float) -> bool:
        facts = self._writer.facts()
        if _is_tidy(facts) or now < self._tidy_at():
            return False
        self._progress.activity = Activity.TIDYING
        if not facts.checked_on:  # The index is new. After a crash, `CHECK_IS_DUE` sets 1 instead.
            self._writer.note(checked_on=today())
        elif today() - facts.checked_on >= _CHECK_DAYS:
            if check_soundness(self._writer.db, interrupted):
                self._writer.note(checked_on=today())
            else:  # the check was interrupted; it waits for `tidy_every`, as reading a large index takes long
                self._tidied_at = time.monotonic()
        elif self._maintenance.run(interrupted):
            self._tidied_at = time.monotonic()
            self._writer.note(tidied=facts.content, tidied_on=today())
            self._writer.checkpoint()
            trim_memory()
        self._progress.activity = Activity.IDLE
        return True


def _is_tidy(facts: Facts) -> bool:
    """Return whether maintenance ran today and no chunk changed since."""
    return (facts.tidied, facts.tidied_on) == (facts.content, today())


def _embedding(settings: Settings) -> EmbeddingSettings | None:
    enabled = settings.embedding.enabled and settings.retrieval.phase >= _PHASE_WITH_VECTORS
    return settings.embedding if enabled else None
