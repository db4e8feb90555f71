"""One call of a tool: the request in which it is answered, and the budget of its answer."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from attrs import frozen

from cairn.agents.budget import LEAST_TOKENS, Budget, estimated_tokens
from cairn.agents.cursor import Steps, cursor_of
from cairn.agents.places import Paths
from cairn.engine.methods import CLI
from cairn.engine.runner import answer

if TYPE_CHECKING:
    from cairn.engine.methods import Tell
    from cairn.engine.request import Request


@frozen(eq=False)
class ToolCall:
    """A call of a tool, which runs on a thread of the engine."""

    asked: Request
    front: str
    tell: Tell | None = None

    def request(self, method: str, params: Any) -> Any:
        """Return the answer of a method of the protocol as an object of its class."""
        return answer(self.asked, method, params, front=self.front, tell=self.tell, as_json=False)

    def budget(self, wanted: int | None, usual: int) -> Budget:
        """Return the answer's budget: `wanted` tokens, else the number in the settings, else `usual`."""
        tokens = wanted or self.asked.settings.agents.max_tokens or usual
        option = "--max-tokens" if self._is_command else "max_tokens"
        return Budget(max(LEAST_TOKENS, tokens), estimated_tokens, option)

    # An answer advises only what its front can do: commands have options, and tools have arguments.

    @property
    def _is_command(self) -> bool:
        return self.front == CLI

    def more(self, steps: Steps, *question: Any) -> str:
        """Return the line that says how to get the rest of an answer."""
        cursor = cursor_of(steps, *question)
        return f"more: --cursor {cursor}" if self._is_command else f"more: cursor={cursor}"

    def more_lines(self, path: str, first: int, last: int) -> str:
        """Return the line that says how to read further lines of a file."""
        return f"more: {'' if self._is_command else 'path='}{path}:{first}-{last}"

    def other_ways(self, symbol: str) -> str:
        """Return a sentence that says how else to find what refers to a definition."""
        if self._is_command:
            name = shlex.quote(symbol)
            return f"Try `cairn uses {name}`, or `cairn search {name}`."
        return 'Try direction "uses", or search for the name.'

    @property
    def paths(self) -> Paths:
        return Paths.of(self.asked)
