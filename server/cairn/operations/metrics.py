"""The interface for counting requests and other events.

Only `cairn serve` shows metrics, so only `cairn serve` counts (`cairn.operations.prometheus`). Other
processes use `Metrics`, which counts nothing and imports no library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cairn.protocol import DiscoverAnswer, SearchAnswer


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
