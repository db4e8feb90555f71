"""What an index still lacks once every file is in it, most useful first: static vectors, history, the
vocabulary, vectors, tidiness."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable
from pathlib import Path

from cairn.index.indexing.progress import Activity, Progress
from cairn.index.indexing.surroundings import History, update_in_degrees
from cairn.index.store.database import check_soundness
from cairn.index.store.maintenance import Maintenance
from cairn.index.store.meta import Facts
from cairn.index.store.writer import IndexWriter
from cairn.index.text.vocabulary import VocabularyIntake
from cairn.index.vectors.vectors import ModelSource, StaticIntake, VectorIntake
from cairn.settings.tree import EmbeddingSettings, Settings
from cairn.startup.memory import give_back_memory

_TIDY_AFTER = 60.0
"""Seconds of quiet before tidying: whoever saves, saves again."""
_TIDY_EVERY = 3600.0
_CHECK_DAYS = 7
"""A file that nobody reads in full may be damaged unseen; looking takes 1.5 s for 77,000 chunks."""
_DAY = 24 * 3600
_GRAPH_AFTER, _GRAPH_EVERY = 3.0, 60.0
"""Seconds since files were last written, and between two counts of imports, at most. A count reads every file's, 0.35 s for
13,000 files, and a save would wait for it."""
_GRAPH_AFTER_COUNTS, _GRAPH_EVERY_COUNTS = 10, 200
"""The same in times of the latest count: imports of a small folder, and those of any at first, are counted at once."""
_MODEL_SECONDS = 30.0
"""How often a folder without an installed model looks whether there is one now."""

Problem = Callable[[str, str | None], None]
"""Gets a topic, and a sentence for the status or None where all is well again."""

PHASE_WITH_VECTORS = 3
"""S2's phase from which vectors are used."""


class Background:
    """Steps of work for the thread that owns the writer. Each ends soon after `interrupted()` turns true."""

    def __init__(
        self,
        root: Path,
        writer: IndexWriter,
        models: ModelSource,
        progress: Progress,
        open_paths: Callable[[], Container[str]],
        on_problem: Problem,
    ) -> None:
        self._writer = writer
        self._progress = progress
        self._on_problem = on_problem
        self._vectors = VectorIntake(
            writer, models, progress, open_paths, lambda problem: on_problem("model", problem)
        )
        self._static = StaticIntake(writer, models, progress, open_paths)
        self._history = History(writer.db, root)
        self._vocabulary = VocabularyIntake(writer.db)
        self._maintenance = Maintenance(writer.db)
        self._busy_at = time.monotonic()
        self._tidied_at = float("-inf")
        self._written_at = float("-inf")
        self._counted_at = float("-inf")
        self._count_seconds = 0.0
        self._look_for_model_at = 0.0
        self._selected: Settings | None = None
        self._table_is_due = False
        """While the static table is still to be selected: loading it would hold up the first files."""

    def select_models(self, settings: Settings) -> None:
        """Use what is installed, as the settings allow."""
        if settings == self._selected and self._vectors.has_model:
            return
        self._selected = settings
        self._vectors.select_model(_embedding(settings))
        self._static.announce(_embedding(settings))
        self._table_is_due = True
        self._look_for_model_at = time.monotonic() + _MODEL_SECONDS

    def added(self, ids: list[int], settings: Settings) -> None:
        """New chunks were written."""
        self._busy_at = self._written_at = time.monotonic()
        self._static.added(ids, settings.embedding)
        self._vectors.put_first(ids)

    def put_first(self, paths: Iterable[str]) -> None:
        """Somebody looks at these files."""
        self._vectors.put_first(self._writer.chunk_ids(paths))

    def step(self, settings: Settings, interrupted: Callable[[], bool], on_step: Callable[[], None]) -> bool:
        """Do some of what is missing; false once nothing is, for now."""
        now = time.monotonic()
        if settings != self._selected or (not self._vectors.has_model and now >= self._look_for_model_at):
            self.select_models(settings)
        if self._table_is_due:
            self._static.select_table(_embedding(settings))
            self._table_is_due = False
        self._progress.activity = Activity.STATIC
        if self._static.step(settings.embedding):
            on_step()
            return True
        self._progress.activity = Activity.HISTORY
        if settings.index.history and self._history.update(interrupted):
            self._on_problem("history", None if interrupted() else self._history.problem or None)
            return True
        if self._vocabulary.is_due and now >= self._written_at + _GRAPH_AFTER:
            self._vocabulary.step()
            return True
        facts = self._writer.facts()
        if facts.counted != facts.links and now >= self._count_at():
            update_in_degrees(self._writer.db)
            self._writer.note(counted=facts.links)
            self._counted_at, self._count_seconds = now, time.monotonic() - now
            return True
        self._progress.activity = Activity.EMBEDDING
        if self._vectors.step(settings.embedding, interrupted, on_step):
            self._busy_at = time.monotonic()
            return True
        self._progress.activity = Activity.IDLE
        return self._tidy(settings, interrupted, now, facts)

    def next_look(self) -> float | None:
        """Seconds after which a further `step` may find something to do; None if only a change can bring it."""
        now = time.monotonic()
        due = [] if self._vectors.has_model else [self._look_for_model_at]
        facts = self._writer.facts()
        if facts.counted != facts.links:
            due.append(self._count_at())
        if self._vocabulary.is_due:
            due.append(self._written_at + _GRAPH_AFTER)
        if not _is_tidy(facts):
            due.append(self._tidy_at())
        return max(0.0, min(due) - now) if due else None

    def _count_at(self) -> float:
        after = min(_GRAPH_AFTER, _GRAPH_AFTER_COUNTS * self._count_seconds)
        every = min(_GRAPH_EVERY, _GRAPH_EVERY_COUNTS * self._count_seconds)
        return max(self._written_at + after, self._counted_at + every)

    def _tidy_at(self) -> float:
        return max(self._busy_at + _TIDY_AFTER, self._tidied_at + _TIDY_EVERY)

    def _tidy(self, settings: Settings, interrupted: Callable[[], bool], now: float, facts: Facts) -> bool:
        if _is_tidy(facts) or now < self._tidy_at():
            return False
        self._progress.activity = Activity.TIDYING
        if not facts.checked_on:
            self._writer.note(checked_on=_today())  # it was made by this process, or one that ended well
        elif _today() - facts.checked_on >= _CHECK_DAYS:
            if check_soundness(self._writer.db, interrupted):
                self._writer.note(checked_on=_today())
        elif self._maintenance.run(settings.index, interrupted):
            self._tidied_at = time.monotonic()
            self._writer.note(tidied=facts.content, tidied_on=_today())
            self._writer.checkpoint()
            give_back_memory()
        self._progress.activity = Activity.IDLE
        return True


def _is_tidy(facts: Facts) -> bool:
    """Whether nothing was written since the index was tidied; vectors grow too old by the day."""
    return (facts.tidied, facts.tidied_on) == (facts.content, _today())


def _today() -> int:
    return int(time.time() // _DAY)


def _embedding(settings: Settings) -> EmbeddingSettings | None:
    """How vectors are made, None where none are."""
    enabled = settings.embedding.enabled and settings.retrieval.phase >= PHASE_WITH_VECTORS
    return settings.embedding if enabled else None
