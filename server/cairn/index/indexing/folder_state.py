"""What the indexing thread of one folder and those who ask it share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import Factory, define, field

from cairn.embedding.shared import SharedModel
from cairn.index.indexing.gate import QueryGate
from cairn.index.indexing.intervals import Intervals
from cairn.index.indexing.progress import Progress
from cairn.index.indexing.work_queue import WorkQueue
from cairn.paths import workspace_dir
from cairn.settings.tree import Settings


@define(eq=False)
class FolderState:
    """Written by the indexing thread, but for the queue."""

    root: Path
    settings: Callable[[], Settings]
    """Asked anew at each scan."""
    models: SharedModel
    on_change: Callable[[], None]
    """Called on the indexing thread when the status may have changed."""
    gate: QueryGate
    intervals: Intervals
    data: Path = field(init=False, default=Factory(lambda self: workspace_dir(self.root), takes_self=True))
    queue: WorkQueue = field(factory=WorkQueue, init=False)
    progress: Progress = field(factory=Progress, init=False)
    problems: dict[str, str] = field(factory=dict, init=False)
    """What is wrong now, by topic, in sentences for the status."""
    looked_at: float = field(default=0.0, init=False)
    """When every file was last looked at."""

    def note(self, topic: str, problem: str | None) -> None:
        """Set, or with None take back, what is wrong."""
        if problem is not None:
            self.problems[topic] = problem
        else:
            self.problems.pop(topic, None)
        self.on_change()
