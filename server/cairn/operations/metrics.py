"""What is counted about requests.

Only `cairn serve` shows metrics, so only it counts them (`cairn.operations.prometheus`); every other process has the
`Metrics` of this module, which counts nothing and imports no library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from cairn.protocol import DiscoverAnswer, SearchAnswer


@frozen
class IndexFigures:
    """The state of retrieval in numbers, over all folders, at the time somebody asks for the metrics."""

    files: int = 0
    chunks: int = 0
    embedded: int = 0
    """Chunks with a vector."""
    queued: int = 0
    """Chunks that wait for one."""
    generation: int = 0
    complete: bool = False
    phase: int = 0
    wanted: int = 0
    enabled: bool = False
    log_failures: int = 0
    """Lines that the log of questions lost."""


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

    def discovery(self, answer: DiscoverAnswer) -> None:
        """Take in the metrics of a discovery that was answered; that it was asked for, `request` counts."""

    def feedback(self, action: str) -> None:
        """Count something that was done with a result."""

    def phase_change(self, before: int, after: int) -> None:
        """Count a step of the phase."""
