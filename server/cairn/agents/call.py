"""One call of a tool: the engine that answers it, and the budget of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from cairn.agents.budget import LEAST_TOKENS, Budget, token_counter
from cairn.agents.places import Paths
from cairn.engine.runner import answer

if TYPE_CHECKING:
    from cairn.engine.engine import Engine
    from cairn.engine.request import Tell
    from cairn.index.store.deadline import Cancelled


@frozen(eq=False)
class ToolCall:
    """A call of a tool, which runs on a thread of the engine."""

    engine: Engine
    front: str
    cancelled: Cancelled
    tell: Tell | None = None

    def request(self, method: str, params: Any) -> Any:
        """Return the answer of a method of the protocol as an object of its class."""
        return answer(
            self.engine, method, params, self.cancelled, front=self.front, tell=self.tell, as_json=False
        )

    def budget(self, wanted: int | None, usual: int) -> Budget:
        """Return the answer's budget: `wanted` tokens, else the number in the settings, else `usual`."""
        tokens = wanted or self.engine.settings().agents.max_tokens or usual
        return Budget(max(LEAST_TOKENS, tokens), token_counter(self.engine))

    @property
    def paths(self) -> Paths:
        return Paths.of(self.engine)
