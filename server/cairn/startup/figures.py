"""Figures about this machine, its processes and queries, without which everything works as well.

Phones, sandboxes and Wine refuse some figures. Such a figure is unknown, and nothing fails because of it.
"""

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

from attrs import define, field

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_BUSY = ("user", "nice", "system", "irq", "softirq", "steal", "interrupt", "dpc")
"""Fields of psutil's processor times that count as busy. Each system has some of them. The time of guests is
left out, because `user` includes it."""


@contextmanager
def never_failing(what: str) -> Iterator[None]:
    """Log an exception of the block instead of raising it, so that no answer is lost with a figure.

    `what` is logged once, because what fails with one query fails with the next one, too.
    """
    try:
        yield
    except Exception:
        if what not in _reported:
            _reported.add(what)
            logger.exception("%s failed", what)


_reported: set[str] = set()


def asked(figure: Callable[[Any], T]) -> T | None:
    """Return what is read from psutil; None if the system refuses it, or if the process has ended."""
    import psutil  # The import takes 30 ms.

    try:
        return figure(psutil)
    except (psutil.Error, OSError, RuntimeError, ValueError, AttributeError) as problem:
        logger.debug("a figure is unknown: %r", problem)
        return None


def busy_seconds() -> float:
    """Return the seconds for which all cores of this machine were busy so far; 0 if unknown."""
    times = asked(lambda psutil: psutil.cpu_times())
    return float(sum(getattr(times, name, 0.0) for name in _BUSY))


def processor_seconds(process_id: int) -> float:
    """Return the processor time that a process has used so far; 0 if it has ended, or if it is unknown."""
    times = asked(lambda psutil: psutil.Process(process_id).cpu_times())
    return 0.0 if times is None else float(times.user + times.system)


def resident_bytes() -> int:
    """Return the memory of this process; 0 if unknown."""
    return asked(lambda psutil: int(psutil.Process().memory_info().rss)) or 0


def start_time() -> float:
    """Return the time when this process began, in Unix seconds; 0 if unknown."""
    return asked(lambda psutil: float(psutil.Process().create_time())) or 0.0


def is_on_battery() -> bool:
    battery = asked(lambda psutil: psutil.sensors_battery())
    return battery is not None and not battery.power_plugged


# --- percentiles -----------------------------------------------------------------------------------------


def percentile(durations: Iterable[float], share: float) -> float | None:
    """Return the duration that `share` (0 to 1) of the durations do not exceed; None if there are none."""
    ordered = sorted(durations)
    # Rounding errors of the nearest rank, as in 0.07 * 100 = 7.000000000000001, are ignored.
    return ordered[max(1, math.ceil(share * len(ordered) - 1e-9)) - 1] if ordered else None


# --- the processor time of a query ---------------------------------------------------------------------


@define(eq=False)
class ProcessorTime:
    """The processor time that threads have spent on a piece of work; 0 if the system refuses this figure.

    Other programs do not change it.
    """

    seconds: float = 0.0
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of this thread during the block."""
        token, began = _current.set(self), thread_seconds()
        try:
            yield
        finally:
            ended = thread_seconds()
            if began is not None and ended is not None:
                with self._lock:
                    self.seconds += ended - began
            _current.reset(token)


_current: ContextVar[ProcessorTime | None] = ContextVar("processor_time", default=None)


def part_of_request(work: Callable[P, T]) -> Callable[P, T]:
    """Return `work` for another thread, once. Its time then counts with the time of the calling thread, and
    cancelling the request of the calling thread also ends it."""
    time_here = _current.get() or ProcessorTime()
    return functools.partial(copy_context().run, time_here.counted()(work))


def thread_seconds() -> float | None:
    """Return the processor time of this thread; None if the system refuses it."""
    try:
        return time.thread_time()
    except OSError:
        return None
