"""Shows one question for reading by hand: its facts and the retrieved text."""

from __future__ import annotations

from answers.asking import Handed
from answers.facts import MAIN_BUDGET


def explained(system: str, handed: Handed) -> str:
    """Return each fact with the least budget at which it is in the text, and the text at the main budget."""
    question = handed.question
    share = handed.share(MAIN_BUDGET)
    lines = [
        f"## {question.id} ({question.kind}), {system}",
        question.text,
        f"verdict: {handed.action or '-'}; facts at {MAIN_BUDGET:,} tokens: {'-' if share is None else f'{share:.2f}'}",
    ]
    for fact in question.facts:
        needed = handed.needed(fact)
        state = "MISSED" if needed is None else f"found from {needed:,} tokens"
        lines.append(
            f"- {state}: {fact.why}{' (vital)' if fact.vital else ''}; {fact.place}: {' | '.join(fact.snippets)}"
        )
    unsound = len(handed.cited) - handed.standing
    if unsound:
        lines.append(f"{unsound} of {len(handed.cited)} citations do not stand in their files.")
    return "\n".join([*lines, "", handed.texts[MAIN_BUDGET], ""])
