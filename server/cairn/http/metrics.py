"""What the HTTP front and the LSP socket count of themselves, beside all else that is counted."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import Counter, Gauge
from prometheus_client.platform_collector import PlatformCollector

from cairn.operations.exposition import exposition
from cairn.operations.metrics import Metrics


class FrontMetrics:
    """The counts of one process. For one event loop."""

    def __init__(self, editors: Callable[[], int], metrics: Metrics | None = None) -> None:
        """`editors` says how many are connected; `metrics` is what all fronts of the process count."""
        self._metrics = metrics or Metrics()
        self._platform = PlatformCollector(registry=None)
        self._requests = Counter("cairn_http_requests", "HTTP requests", ("route", "status"), registry=None)
        self.in_flight = Gauge(
            "cairn_http_requests_in_flight", "HTTP requests that are being answered", registry=None
        )
        self._connected = Gauge("cairn_lsp_connections", "Editors that are connected", registry=None)
        self._connected.set_function(editors)

    def answered(self, route: str, status: int) -> None:
        """Count a request; `route` is one of the few addresses there are, or `other`."""
        self._requests.labels(route, str(status)).inc()

    def text(self) -> bytes:
        """All of it as it is now, in Prometheus' text format."""
        return exposition(self._metrics, self._platform, self._requests, self.in_flight, self._connected)
