"""How long an answer may be: tokens are counted, and what does not fit is left out in whole lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from cairn.errors import ModelError

if TYPE_CHECKING:
    from cairn.engine.engine import Engine

_BYTES_PER_TOKEN = 3
"""How many bytes of code with line numbers a language model's token holds: 3.07 with a vocabulary of 65,000 tokens, as the median of
636 pieces of 60 lines in eight languages."""

LEAST_TOKENS, MOST_TOKENS = 100, 50_000
"""What an answer may be asked to take. With fewer it could not say what it leaves out."""


def estimated_tokens(text: str) -> int:
    """About how many tokens language models take for `text`, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def token_counter(engine: Engine) -> Callable[[str], int]:
    """What counts an answer's tokens: the installed model's tokenizer or the estimate, whichever counts more."""
    try:
        tokenizer = engine.model.tokenizer()
    except ModelError:  # `status` says so
        tokenizer = None
    if tokenizer is None:
        return estimated_tokens
    count = tokenizer.count
    return lambda text: max(count(text), estimated_tokens(text))


@frozen
class Budget:
    """How many tokens an answer may take, and how they are counted."""

    tokens: int
    count: Callable[[str], int]

    def holds(self, *parts: str) -> bool:
        """Whether an answer of these parts may be given."""
        return self.count(joined(*parts)) <= self.tokens

    def left(self, *parts: str) -> int:
        """The tokens that remain beside these parts."""
        return max(0, self.tokens - self.count(joined(*parts)))

    def cut(self, text: str) -> str:
        """The first lines of `text` that fit, where it has to be cut."""
        lines = text.split("\n")
        return "\n".join(lines[: most(len(lines), lambda count: self.holds("\n".join(lines[:count])))])


def joined(*parts: str) -> str:
    """The parts that are not empty, each on lines of its own."""
    return "\n".join(filter(None, parts))


def most(possible: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `possible` that fits, where every smaller one does; 0 where none does."""
    low, high = 0, possible
    if possible and fits(possible):
        return possible
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def fitted(head: str, items: Sequence[str], foot: Callable[[int], str], budget: Budget) -> tuple[str, int]:
    """An answer of the head, as many of the items as fit, from the first on, and the foot, and how many items it has.

    `foot` says what stands below that many items: what was left out, and what the answer lacks. Where the budget is so small
    that no item fits beside the head, the head is left out; where the first one still does not fit, it is cut between two lines.
    """
    for above in dict.fromkeys((head, "")):
        count = most(len(items), lambda shown, above=above: budget.holds(above, *items[:shown], foot(shown)))  # type: ignore[misc]
        if count or not items:
            return _not_empty(budget.cut(joined(above, *items[:count], foot(count))), budget), count
    lines = items[0].split("\n")
    begun = most(len(lines), lambda shown: budget.holds("\n".join(lines[:shown]), CUT, foot(1)))
    if begun > 1:
        return joined("\n".join(lines[:begun]), CUT, foot(1)), 1
    return _not_empty(budget.cut(joined(foot(0), head)), budget), 0


CUT = "…"


def _not_empty(text: str, budget: Budget) -> str:
    return text or f"Nothing of the answer fits into {budget.tokens:,} tokens; ask with a higher max_tokens."
