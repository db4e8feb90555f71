"""One call of a tool: what is asked of which engine, and within which budget."""

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
class Asked:
    """A call, on a thread of the engine."""

    engine: Engine
    front: str
    cancelled: Cancelled
    tell: Tell | None = None

    def ask(self, method: str, params: Any) -> Any:
        """What a method of the protocol answers, as an object of its class."""
        return answer(
            self.engine, method, params, self.cancelled, front=self.front, tell=self.tell, as_json=False
        )

    def budget(self, wanted: int | None, usual: int) -> Budget:
        """The tokens that the answer may take: those that are `wanted`, else those of the settings, else the `usual` ones."""
        tokens = wanted or self.engine.settings().agents.max_tokens or usual
        return Budget(max(LEAST_TOKENS, tokens), token_counter(self.engine))

    @property
    def paths(self) -> Paths:
        """How files are called in the answer."""
        return Paths.of(self.engine)
