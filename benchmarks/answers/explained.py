"""Shows one question for reading by hand: its facts and the retrieved text."""

from __future__ import annotations

from answers.asking import Retrieved
from answers.facts import MAIN_BUDGET


def explained(system: str, retrieved: Retrieved) -> str:
    """Return each fact with the least budget at which it is in the text, and the text at the main budget."""
    question = retrieved.question
    share = retrieved.share(MAIN_BUDGET)
    lines = [
        f"## {question.id} ({question.kind}), {system}",
        question.text,
        f"verdict: {retrieved.action or '-'}; facts at {MAIN_BUDGET:,} tokens: "
        f"{'-' if share is None else f'{share:.2f}'}",
    ]
    for fact in question.facts:
        needed = retrieved.needed(fact)
        state = "MISSED" if needed is None else f"found from {needed:,} tokens"
        lines.append(
            f"- {state}: {fact.why}{' (vital)' if fact.vital else ''}; {fact.place}: "
            f"{' | '.join(fact.snippets)}"
        )
    unsound = len(retrieved.cited) - retrieved.standing
    if unsound:
        lines.append(f"{unsound} of {len(retrieved.cited)} citations are not in their files.")
    return "\n".join([*lines, "", retrieved.texts[MAIN_BUDGET], ""])
