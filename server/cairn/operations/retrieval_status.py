"""What `cairn status` tells of phases and questions, for one workspace folder."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from cairn.operations.kill_switch import KillSwitch, PhaseState
from cairn.operations.override import PhaseOverride, read_override
from cairn.operations.query_log import QueryLog, RecentQueries, read_recent


@frozen
class RetrievalStatus:
    """The phase in this process and in the others, and what the latest questions were like."""

    state: PhaseState | None
    """Of this process; None where it answers no questions, as in `cairn status` while an editor has the
    folder open."""
    override: PhaseOverride
    recent: RecentQueries
    log_failures: int = 0
    """Lines that this process could not log."""
    warnings: tuple[str, ...] = ()
    """What is damaged, or cannot be written."""


def retrieval_status(
    data: Path, switch: KillSwitch | None = None, log: QueryLog | None = None
) -> RetrievalStatus:
    """The status of the folder whose data folder is `data`. Takes 10 ms or so, for the log."""
    override = read_override(data)
    problems = (override.problem, log.problem if log else None)
    return RetrievalStatus(
        state=switch.state() if switch else None,
        override=override,
        recent=read_recent(data),
        log_failures=log.failures if log else 0,
        warnings=tuple(problem for problem in problems if problem),
    )
