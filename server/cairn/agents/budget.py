"""Keeps an answer within a budget of tokens by leaving out whole lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

_BYTES_PER_TOKEN = 3
"""The number of bytes per token of a language model, for code with line numbers. With a vocabulary of 65,000
tokens, the median of 636 pieces of 60 lines in eight languages was 3.07."""

LEAST_TOKENS, MOST_TOKENS = 100, 50_000
"""The limits of `max_tokens`. A shorter answer could not say what it leaves out."""


def estimated_tokens(text: str) -> int:
    """Return an estimate of how many tokens a language model needs for `text`, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


@frozen
class Budget:
    """The maximum number of tokens of an answer, and the function that counts them."""

    tokens: int
    count: Callable[[str], int]
    option: str = "max_tokens"
    """What sets the budget, as an answer names it."""

    def holds(self, *parts: str) -> bool:
        return self.count(joined(*parts)) <= self.tokens

    def cut(self, text: str) -> str:
        lines = text.split("\n")
        count = largest_fitting(len(lines), lambda count: self.holds("\n".join(lines[:count])))
        return "\n".join(lines[:count])


def joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def largest_fitting(possible: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `possible` that fits, or 0. This is a binary search."""
    low, high = 0, possible
    if possible and fits(possible):
        return possible
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def fit(head: str, items: Sequence[str], foot: Callable[[int], str], budget: Budget) -> str:
    """Return an answer of the head, as many items as fit, and the foot.

    `foot(count)` is the text below `count` items: how to get the rest, and what the index lacks. If no item
    fits beside the head, the head is left out. If the first item still does not fit, it is cut after a line.
    """
    for above in dict.fromkeys((head, "")):
        count = largest_fitting(
            len(items),
            lambda shown, above=above: budget.holds(above, *items[:shown], foot(shown)),  # type: ignore[misc]
        )
        if count or not items:
            return _not_empty(budget.cut(joined(above, *items[:count], foot(count))), budget)
    lines = items[0].split("\n")
    begun = largest_fitting(len(lines), lambda shown: budget.holds("\n".join(lines[:shown]), CUT, foot(1)))
    if begun > 1:
        return joined("\n".join(lines[:begun]), CUT, foot(1))
    return _not_empty(budget.cut(joined(foot(0), head)), budget)


CUT = "…"


def _not_empty(text: str, budget: Budget) -> str:
    return (
        text
        or f"Nothing of the answer fits into {budget.tokens:,} tokens; ask with a higher {budget.option}."
    )
