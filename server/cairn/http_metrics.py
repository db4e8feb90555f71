"""What the HTTP front and the LSP socket count of themselves, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class FrontMetrics:
    """The counts of one process. For one event loop."""

    def __init__(self, editors: Callable[[], int], more: Callable[[], bytes] = lambda: b"") -> None:
        """`editors` says how many are connected; `more` writes down, in the same format, what others
        count."""
        self._more = more
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "cairn_http_requests", "HTTP requests", ("route", "status"), registry=self._registry
        )
        self.in_flight = Gauge(
            "cairn_http_requests_in_flight", "HTTP requests that are being answered", registry=self._registry
        )
        connected = Gauge("cairn_lsp_connections", "Editors that are connected", registry=self._registry)
        connected.set_function(editors)

    def answered(self, route: str, status: int) -> None:
        """Count a request; `route` is one of the few addresses there are, or `other`."""
        self._requests.labels(route, str(status)).inc()

    def text(self) -> bytes:
        """All of it as it is now."""
        return generate_latest(self._registry) + self._more()
