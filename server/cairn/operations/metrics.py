"""The interface for counting requests and other events.

Only `cairn serve` shows metrics, so only `cairn serve` counts (`cairn.operations.prometheus`). Other
processes use `Metrics`, which counts nothing and imports no library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from cairn.protocol import DiscoverAnswer, SearchAnswer


def _gauge(description: str) -> Any:
    return field(default=0, metadata={"description": description})


@frozen
class IndexFigures:
    """The current state of retrieval in numbers, over all folders. Each is shown as `cairn_<name>`."""

    phase: int = _gauge("The phase that searches are answered in; 0 is off")
    phase_wanted: int = _gauge("The phase that is asked for, by the settings or by hand")
    retrieval_enabled: bool = _gauge("Whether retrieval.enabled is on")
    index_files: int = _gauge("Files in the index")
    index_chunks: int = _gauge("Chunks in the index")
    index_embedded_chunks: int = _gauge("Chunks with a vector")
    index_queued_chunks: int = _gauge("Chunks that wait for a vector")
    index_generation: int = _gauge("How often the index was changed")
    index_complete: bool = _gauge("Whether every file is indexed and embedded")
    query_log_failures: int = 0
    """The number of lines that could not be written to the query log since the start."""


class Metrics:
    """The counters to which engines report. Thread-safe. The methods of this class do nothing."""

    def request(self, method: str, front: str, seconds: float, outcome: str, error: str = "") -> None:
        """Count a finished request. `method` is the name in the protocol without `cairn/`; `front` is `lsp`,
        `http`, `mcp`, `web` or `cli`; `outcome` is `ok`, `cancelled`, `invalid` or `error`; `error` is the
        name of the exception's class, or "".
        """

    def search(self, answer: SearchAnswer, *, cached: bool) -> None:
        """Count an answered search."""

    def discovery(self, answer: DiscoverAnswer, *, cached: bool) -> None:
        """Count an answered discovery and the figures in its answer."""

    def feedback(self, action: str) -> None:
        """Count an action on a result."""

    def phase_change(self, before: int, after: int) -> None:
        """Count a change of the phase."""
