"""What a loop of tool calls costs until the facts of a question have been received.

A loop is an iterator of steps. It decides by rules alone, from the question and from what its tools returned
so far.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from answers.facts import CHARACTERS_PER_TOKEN, Fact, FactQuestion, plain
from attrs import frozen

TOKEN_CAP = 60_000
"""Tokens after which a loop gives up, definitions of tools included."""
CALL_CAP = 30
"""Calls after which a loop gives up."""


@frozen
class Step:
    """One call of a tool."""

    call: str
    """What the model writes: the tool's name and its arguments as JSON."""
    answer: str
    """What the tool returns, as it stands in the model's context."""
    shown: str | None = None
    """The answer as it reads, where that differs: the text inside JSON without its escapes."""

    @property
    def read(self) -> str:
        """The text in which facts are looked for."""
        return self.answer if self.shown is None else self.shown


@frozen
class Trace:
    """What one loop received for one question."""

    question: FactQuestion
    spent: tuple[float, ...]
    """Tokens after each call: the question, all calls and all answers so far, but not the definitions of the
    tools."""
    have: tuple[tuple[bool, ...], ...]
    """After each call, for each fact, whether it has been received."""

    def share(self, step: int) -> float:
        """The share of the facts received after so many calls."""
        return sum(self.have[step]) / len(self.question.facts)

    def reached(self, share: float, definitions: float) -> int | None:
        """The index of the call after which so large a share was there within the caps; None for never."""
        steps = range(len(self.spent))
        return next(
            (
                step
                for step in steps
                if self.share(step) >= share - 1e-9 and self.spent[step] + definitions <= TOKEN_CAP
            ),
            None,
        )

    def tokens_until(self, share: float, definitions: float) -> float | None:
        """Tokens until the share is there, `definitions` included; None where it never is."""
        step = self.reached(share, definitions)
        return None if step is None else self.spent[step] + definitions

    def calls_until(self, share: float, definitions: float) -> int | None:
        """Calls until the share is there; None where it never is."""
        step = self.reached(share, definitions)
        return None if step is None else step + 1

    def share_within(self, tokens: float, definitions: float) -> float:
        """The largest share that is there within so many tokens, `definitions` included."""
        within = [step for step, spent in enumerate(self.spent) if spent + definitions <= tokens]
        return self.share(within[-1]) if within else 0.0


def tokens(text: str) -> float:
    """The length of a text in tokens of four characters."""
    return len(text) / CHARACTERS_PER_TOKEN


def follow(question: FactQuestion, steps: Iterable[Step]) -> Trace:
    """Take steps until all facts are there, a cap is reached, or the loop has nothing left to ask."""
    have = [False] * len(question.facts)
    total, spent, record = tokens(question.text), [], []
    for step in steps:
        total += tokens(step.call) + tokens(step.answer)
        text = plain(step.read)
        have = [known or _stands(fact, text) for known, fact in zip(have, question.facts, strict=True)]
        spent.append(total)
        record.append(tuple(have))
        if all(have) or total >= TOKEN_CAP or len(spent) >= CALL_CAP:
            break
    return Trace(question, tuple(spent), tuple(record))


def half(question: FactQuestion) -> str:
    """`a` or `b`, by a hash of the question: loops are tuned on one half and checked on the other."""
    return "ab"[hashlib.sha256(f"{question.repository.name}\n{question.text}".encode()).digest()[0] % 2]


def _stands(fact: Fact, text: str) -> bool:
    return any(plain(snippet) in text for snippet in fact.snippets)
