"""Sends questions to Cairn and keeps the retrieved text at each budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from answers.citations import Cited, cited_in_answer, cited_in_prompt
from answers.facts import BUDGETS, CHARACTERS_PER_TOKEN, MAIN_BUDGET, Fact, FactQuestion, cut, found
from cairn.retrieval.verdict import Action
from cairn.settings.layers import CHARACTERS

DISCOVER, SEARCH = "discover", "search"
_LIMIT = 30
"""The number of results requested from `cairn/search`."""

Request = Callable[[str, dict[str, Any]], Any]
"""A function from a method and its params to the result, as JSON data."""


@frozen
class Retrieved:
    """The text that one system retrieves for one question."""

    question: FactQuestion
    texts: Mapping[int, str]
    """The text by budget, cut at it."""
    ms: float
    """The time from the question to the answer at the main budget, which is requested first."""
    action: str = ""
    """The verdict; "" for a system without verdicts."""
    evidence: bool = True
    """Whether the answer shows any evidence."""
    phases_lost: int = 0
    """The number of answers in a lower phase than wanted, as on a machine that is too busy."""
    cited: Sequence[Cited] = field(factory=tuple)
    """The number of cited lines at all budgets."""
    standing: int = 0
    """The number of these that are in their files."""

    @property
    def refused(self) -> bool:
        """Return whether the answer is a refusal without evidence."""
        return self.action == Action.NO_MATCH or (self.action == Action.CLARIFY and not self.evidence)

    def facts_found(self, budget: int) -> tuple[bool, ...]:
        """Return for each fact of the question whether the text has it."""
        return found(self.question.facts, self.texts[budget], budget)

    def share(self, budget: int, *, vital: bool = False) -> float | None:
        """Return the share of the facts, or of the vital ones, in the text; None if there are none."""
        pairs = zip(self.question.facts, self.facts_found(budget), strict=True)
        counted = [have for fact, have in pairs if fact.vital or not vital]
        return sum(counted) / len(counted) if counted else None

    def tokens(self, budget: int) -> float:
        """Return the length of the text at the budget, four characters a token."""
        return len(self.texts[budget]) / CHARACTERS_PER_TOKEN

    def needed(self, fact: Fact) -> int | None:
        """Return the least budget at which the text has the fact."""
        place = self.question.facts.index(fact)
        return next((budget for budget in sorted(self.texts) if self.facts_found(budget)[place]), None)


def one_text(question: FactQuestion, text: str, ms: float, **known: Any) -> Retrieved:
    """Return the answer of a system that does not know the budget: the same text, cut at each."""
    return Retrieved(question, {budget: cut(text, budget) for budget in BUDGETS}, ms, **known)


def passages_text(passages: Iterable[tuple[str, int, int, str]]) -> str:
    """Return passages (path, first and last line from 1, text) in their order, each after a line with its
    path and lines."""
    return "".join(f"{path}:{first}-{last}\n{text.rstrip()}\n\n" for path, first, last, text in passages)


def ask_discover(request: Request, question: FactQuestion, tree: Path) -> Retrieved:
    """Request `answerPrompt` of `cairn/discover` for each budget."""
    answers, took = {}, 0.0
    for budget in sorted(BUDGETS, key=lambda budget: budget != MAIN_BUDGET):
        render = {"maxPromptTokens": budget, "tokenizer": CHARACTERS}
        began = time.perf_counter()
        answers[budget] = request("cairn/discover", {"query": question.text, "config": {"render": render}})
        took = took or (time.perf_counter() - began) * 1000
    main = answers[MAIN_BUDGET]
    cited = [
        cited
        for answer in answers.values()
        for cited in (*cited_in_answer(answer), *cited_in_prompt(answer["answerPrompt"]))
    ]
    return Retrieved(
        question,
        {budget: cut(answers[budget]["answerPrompt"], budget) for budget in BUDGETS},
        took,
        action=main["verdict"]["action"],
        evidence=bool(main["bullets"] or main.get("excerpts")),
        phases_lost=sum(map(_phase_lost, answers.values())),
        cited=cited,
        standing=sum(each.matches_file(tree) for each in cited),
    )


def ask_search(request: Request, question: FactQuestion, tree: Path) -> Retrieved:
    """Request the passages of `cairn/search`: the best of each result, then further ones of the same file."""
    began = time.perf_counter()
    answer = request("cairn/search", {"query": question.text, "limit": _LIMIT, "context": 0})
    ms = (time.perf_counter() - began) * 1000
    passages = [
        (result["path"], shown["range"]["start"]["line"] + 1, shown["range"]["end"]["line"], shown["text"])
        for result in answer["results"]
        for shown in ({**result, "text": result["snippet"]}, *(result.get("passages") or ()))
    ]
    cited = list(cited_in_answer(answer))
    return one_text(
        question,
        passages_text(passages),
        ms,
        action=answer["verdict"]["action"],
        evidence=bool(answer["results"]),
        phases_lost=int(_phase_lost(answer)),
        cited=cited,
        standing=sum(each.matches_file(tree) for each in cited),
    )


CAIRN: Mapping[str, Callable[[Request, FactQuestion, Path], Retrieved]] = {
    DISCOVER: ask_discover,
    SEARCH: ask_search,
}
"""The function that asks each of Cairn's own systems about a checkout."""


def _phase_lost(answer: Mapping[str, Any]) -> bool:
    return bool(answer["retrieval"]["phase"] < answer["retrieval"]["wanted"])
