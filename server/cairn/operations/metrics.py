"""What is counted about requests.

Only `cairn serve` shows metrics, so only it counts them (`cairn.operations.prometheus`); every other process has the
`Metrics` of this module, which counts nothing and imports no library.
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
    """The state of retrieval in numbers, over all folders, at the time somebody asks for the metrics.

    Each is shown as `cairn_<its name>`.
    """

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
    """Lines the log of questions lost, since the start."""


class Metrics:
    """Where the engine reports what happened. Methods may be called from several threads at once."""

    def request(self, method: str, front: str, seconds: float, outcome: str, error: str = "") -> None:
        """Count a request that has ended, however it did.

        `method` is the protocol's, without `cairn/`; `front` is `lsp`, `http`, `mcp` or `cli`; `outcome` is
        `ok`, `cancelled`, `invalid` or `error`; `error` is the name of the exception's class, if there was
        one.
        """

    def search(self, answer: SearchAnswer, *, cached: bool) -> None:
        """Count a search that was answered; `cached` says that its answer was there already."""

    def discovery(self, answer: DiscoverAnswer, *, cached: bool) -> None:
        """Take in the metrics of a discovery that was answered, as `search`; that it was asked for, `request` counts."""

    def feedback(self, action: str) -> None:
        """Count something that was done with a result."""

    def phase_change(self, before: int, after: int) -> None:
        """Count a step of the phase."""
