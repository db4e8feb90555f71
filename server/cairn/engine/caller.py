"""What the requests of one caller share: the phases of retrieval, cached answers, and recent queries."""

from __future__ import annotations

import datetime
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cairn import protocol
from cairn.engine.answer_cache import AnswerCache, CachedAnswer
from cairn.engine.folders import Folder
from cairn.engine.host import Host
from cairn.operations.kill_switch import KEYWORDS, VECTORS, KillSwitch, PhaseChange, wanted_phase
from cairn.operations.recent_queries import TimingMemory, logged_timings
from cairn.settings.tree import Settings
from cairn.startup.figures import never_failing

_MODEL_SECONDS = 1.0
"""How many seconds the result of a look for a model is used. A look takes 0.2 ms while no model is loaded."""
_TIMED_SEARCHES = 500
_MOST_QUERIES = 5
_RECENT_SECONDS = 5.0
"""How many seconds the figures from the query log are used. Reading the log takes up to 10 ms."""


class QueryHistory:
    """The last few different queries, in memory only, which hint at a person's current work. Thread-safe."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        """The queries, latest last."""
        self._lock = threading.Lock()

    def note(self, query: str) -> None:
        """Add an answered query. It replaces the one before if one of them is a prefix of the other."""
        query = " ".join(query.split())
        if not query:
            return
        with self._lock:
            now, before = query.lower(), self._queries[-1].lower() if self._queries else None
            if before is not None and (now.startswith(before) or before.startswith(now)):
                self._queries.pop()
            others = [known for known in self._queries if known.lower() != now]
            self._queries = [*others, query][-_MOST_QUERIES:]

    def latest(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(reversed(self._queries))


class Caller:
    """The state of one caller's requests. Locally, all requests to an engine have the same. Thread-safe."""

    def __init__(
        self,
        host: Host,
        settings: Callable[[], Settings],
        folders: Callable[[], Sequence[Folder]] = tuple,
        on_change: Callable[[], None] = lambda: None,
        *,
        takes_changes: bool = True,
        timings: TimingMemory | None = None,
    ) -> None:
        """Make the state of a caller with these folders and settings. All folders have one phase."""
        self.on_change = on_change
        """Called, on any thread, when the status may have changed."""
        self.takes_changes = takes_changes
        """Whether methods that change later answers, such as `cairn/feedback`, may be called. This is false
        for a team's index."""
        self.latency: deque[float] = deque(maxlen=_TIMED_SEARCHES)
        """The durations in ms of this caller's latest searches, without failed and cached ones."""
        self.timings = timings or TimingMemory()
        """The latest queries and phase changes of this process, without the query texts."""
        self.cache: AnswerCache[CachedAnswer] = AnswerCache()
        """The latest answers of searches and discoveries."""
        self.context_parts: AnswerCache[Any] = AnswerCache()
        """What was read and found for contexts. Keys begin with the kind of the value."""
        self.queries = QueryHistory()
        self.problem: str | None = None
        """Why a part of the latest search failed, such as the vectors; None if none did."""
        self._host, self._settings, self._folders = host, settings, folders
        self._made_switch: KillSwitch | None = None
        self._making_switch = threading.Lock()
        self._looked_for_model: tuple[float, int] | None = None
        """The time to look for a model again, and the highest phase that the last look found."""
        self._recent: dict[Path, tuple[float, protocol.RecentQueries]] = {}
        """For each folder, the time to read its log again, and the figures from the last read."""

    @property
    def switch(self) -> KillSwitch:
        """The kill switch. It is made on first use, and does not report a phase that was set before as a
        change."""
        if self._made_switch is None:
            with self._making_switch:
                self._made_switch = self._made_switch or KillSwitch(
                    lambda: self._settings().retrieval,
                    on_change=self._changed,
                    override=self._by_hand,
                    most=self._most,
                )
        return self._made_switch

    def recent(self, folder: Folder) -> protocol.RecentQueries:
        """Return figures of the folder's latest queries, in all processes that have it open."""
        now, known = time.monotonic(), self._recent.get(folder.root)
        if known is None or now >= known[0]:
            figures = logged_timings([folder.data]).figures(datetime.datetime.now(datetime.UTC))
            known = self._recent[folder.root] = now + _RECENT_SECONDS, figures
        return known[1]

    def phases(self, settings: Settings) -> tuple[int, int]:
        """Return the phase to answer in, and the phase wanted by hand or by the folders' settings."""
        wanted = wanted_phase(settings.retrieval, self._by_hand(), self._most())
        return min(self.switch.phase(), wanted), wanted

    def _most(self) -> int:
        """Return the highest possible phase. Look for a model that makes vectors at most once a second."""
        now = time.monotonic()
        if self._looked_for_model is None or now >= self._looked_for_model[0]:
            most = VECTORS if self._host.model_in_use()[0] else KEYWORDS
            self._looked_for_model = now + _MODEL_SECONDS, most
        return self._looked_for_model[1]

    def _by_hand(self) -> int | None:
        set_phases = (folder.override.read().phase for folder in self._folders())
        return next((phase for phase in set_phases if phase is not None), None)

    def _changed(self, change: PhaseChange) -> None:
        with never_failing("Counting a change of the phase"):
            self._host.metrics.phase_change(change.before, change.after)
            self.timings.steps.append(change)
            for folder in self._folders():
                folder.log.add_phase_change(change)
        self.on_change()

    def forget_folders(self) -> None:
        """Drop all cached answers and texts. Call this when a folder was removed."""
        self.cache.clear()
        self.context_parts.clear()
