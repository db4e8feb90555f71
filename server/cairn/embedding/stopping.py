"""Breaking off a model call that is running on another thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cairn.errors import CairnError

if TYPE_CHECKING:
    from onnxruntime import RunOptions

# onnxruntime's number for "fatal only": a run that was broken off on purpose is no error to print.
_LOG_FATAL = 4


class EmbeddingStoppedError(CairnError):
    """The caller's `stop` said so before all texts were done."""


class StopSwitch:
    """A `stop` for `Embedder.embed` that also ends the batch in progress.

    onnxruntime looks at it between two operators of the graph: after 2 ms for 4 texts of 64 tokens. Any
    thread may turn it on; it stays on until `clear`.
    """

    def __init__(self) -> None:
        self._on = False
        self._runs: set[RunOptions] = set()
        self._changing = threading.Lock()

    def __call__(self) -> bool:
        """Whether it is on."""
        return self._on

    def set(self) -> None:
        """End what runs under this switch, and all that would start under it."""
        with self._changing:
            self._on = True
            for options in self._runs:
                options.terminate = True

    def clear(self) -> None:
        """Let embedding go on; the caller asks for the rest again."""
        with self._changing:
            self._on = False

    @contextlib.contextmanager
    def running(self) -> Iterator[RunOptions]:
        """Options for one model call; raises EmbeddingStoppedError instead of onnxruntime's own error."""
        import onnxruntime

        options = onnxruntime.RunOptions()
        options.log_severity_level = _LOG_FATAL
        with self._changing:
            options.terminate = self._on
            self._runs.add(options)
        # onnxruntime raises an undocumented type, the same for a stop as for anything else.
        try:
            yield options
        except Exception as problem:
            if not options.terminate:
                raise
            raise stopped() from problem
        finally:
            with self._changing:
                self._runs.discard(options)


def stopped() -> EmbeddingStoppedError:
    """The error that a stop raises."""
    return EmbeddingStoppedError("Embedding was stopped before all texts were done.")
