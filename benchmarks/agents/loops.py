"""Computes the cost of a loop of tool calls until the facts of a question have been received.

A loop is an iterator of steps. It decides by rules alone, from the question and from what its tools returned
so far.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from answers.facts import CHARACTERS_PER_TOKEN, Fact, FactQuestion, plain
from attrs import frozen

TOKEN_CAP = 60_000
"""The number of tokens after which a loop gives up, with the definitions of tools."""
CALL_CAP = 30
"""The number of calls after which a loop gives up."""


@frozen
class Step:
    """One call of a tool."""

    call: str
    """The call as the model writes it: the tool's name and its arguments as JSON."""
    answer: str
    """The tool's answer as it is in the model's context."""
    shown: str | None = None
    """The readable form of the answer, if that differs: the text inside JSON without its escapes."""

    @property
    def read(self) -> str:
        """Return the text that is searched for facts."""
        return self.answer if self.shown is None else self.shown


@frozen
class Trace:
    """The tokens and facts that one loop received for one question."""

    question: FactQuestion
    spent: tuple[float, ...]
    """The tokens after each call: the question, all calls and all answers so far, without tool
    definitions."""
    have: tuple[tuple[bool, ...], ...]
    """Whether each fact has been received, after each call."""

    def share(self, step: int) -> float:
        """Return the share of the facts received after the call `step`."""
        return sum(self.have[step]) / len(self.question.facts)

    def reached(self, share: float, definitions: float) -> int | None:
        """Return the index of the call after which the share was reached within the caps; None for never."""
        steps = range(len(self.spent))
        return next(
            (
                step
                for step in steps
                if self.share(step) >= share - 1e-9 and self.spent[step] + definitions <= TOKEN_CAP
            ),
            None,
        )

    def tokens_to(self, share: float, definitions: float) -> float | None:
        """Return the tokens until the share is reached, with `definitions`; None if it never is."""
        step = self.reached(share, definitions)
        return None if step is None else self.spent[step] + definitions

    def calls_to(self, share: float, definitions: float) -> int | None:
        """Return the calls until the share is reached; None if it never is."""
        step = self.reached(share, definitions)
        return None if step is None else step + 1

    def share_within(self, tokens: float, definitions: float) -> float:
        """Return the largest share reached within `tokens`, with `definitions`."""
        within = [step for step, spent in enumerate(self.spent) if spent + definitions <= tokens]
        return self.share(within[-1]) if within else 0.0


def tokens(text: str) -> float:
    """Return the length of a text in tokens of four characters."""
    return len(text) / CHARACTERS_PER_TOKEN


def follow(question: FactQuestion, steps: Iterable[Step]) -> Trace:
    """Take steps until all facts are received, a cap is reached, or the loop ends."""
    have = [False] * len(question.facts)
    total, spent, record = tokens(question.text), [], []
    for step in steps:
        total += tokens(step.call) + tokens(step.answer)
        text = plain(step.read)
        have = [known or _is_in(fact, text) for known, fact in zip(have, question.facts, strict=True)]
        spent.append(total)
        record.append(tuple(have))
        if all(have) or total >= TOKEN_CAP or len(spent) >= CALL_CAP:
            break
    return Trace(question, tuple(spent), tuple(record))


def half(question: FactQuestion) -> str:
    """Return `a` or `b`, by a hash of the question: loops are tuned on one half and checked on the other."""
    return "ab"[hashlib.sha256(f"{question.repository.name}\n{question.text}".encode()).digest()[0] % 2]


def _is_in(fact: Fact, text: str) -> bool:
    return any(plain(snippet) in text for snippet in fact.snippets)
