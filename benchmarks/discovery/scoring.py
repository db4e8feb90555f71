"""Scores an answer of `cairn/discover`: required citations found, text at its citation, equal repeats."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from cairn.text.verbatim import lines_of, stands_in
from discovery.projects import Place, Question

_VARYING = frozenset({"metrics", "index"})
"""The parts of an answer that depend on the run: times, and the time of the last index change."""


@frozen
class Scored:
    """The score of one question, asked with one `maxBullets`."""

    question: Question
    max_bullets: int
    found: int
    """The required citations that some bullet cites."""
    in_excerpts: int
    """The required citations of which some excerpt shows a line."""
    in_either: int
    """The required citations found in a bullet or an excerpt."""
    in_chunks: int
    """The required citations in one of the answer's chunks."""
    bullets: int
    standing: int
    """The bullets whose text is in the lines that they cite."""
    same: bool
    """Whether repeats have the same bytes, from the same process and from another one."""
    action: str
    prompt_tokens: int
    ms: float

    @property
    def required(self) -> int:
        return len(self.question.required)


def score(
    question: Question,
    max_bullets: int,
    answers: Sequence[Mapping[str, Any]],
    tree: Path,
    prompt_tokens: int,
    ms: float,
) -> Scored:
    """Score the first of `answers`, all to one question. `prompt_tokens` are those of its prompt."""
    answer = answers[0]
    return Scored(
        question=question,
        max_bullets=max_bullets,
        found=covered(answer["bullets"], question),
        in_excerpts=covered(answer.get("excerpts", ()), question),
        in_either=covered([*answer["bullets"], *answer.get("excerpts", ())], question),
        in_chunks=covered(answer["chunks"], question),
        bullets=len(answer["bullets"]),
        standing=sum(has_cited_text(bullet, tree) for bullet in answer["bullets"]),
        same=len({fingerprint(each) for each in answers}) == 1,
        action=answer["verdict"]["action"],
        prompt_tokens=prompt_tokens,
        ms=ms,
    )


def covered(shown: Iterable[Mapping[str, Any]], question: Question) -> int:
    """Return the number of required citations with an alternative that shares a line with a shown piece."""
    pieces = list(shown)
    return sum(
        any(overlaps(each, place) for each in pieces for place in alternatives)
        for alternatives in question.required
    )


def overlaps(shown: Mapping[str, Any], place: Place) -> bool:
    """Return whether a piece with an LSP range (0-based, end excluded) shares a line with a place."""
    first, end = shown["range"]["start"]["line"], shown["range"]["end"]["line"]
    return bool(shown["path"] == place.path and first < place.last and place.first <= end)


def has_cited_text(bullet: Mapping[str, Any], tree: Path) -> bool:
    """Return whether the file on disk has the bullet's text in its lines, and the citation names these."""
    first, end = bullet["range"]["start"]["line"], bullet["range"]["end"]["line"]
    if bullet["citation"] != f"{bullet['path']}#L{first + 1}-L{end}":
        return False
    try:
        text = (tree / bullet["path"]).read_bytes().decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    return stands_in(bullet["text"], lines_of(text)[first:end])


def fingerprint(answer: Mapping[str, Any]) -> str:
    """Return the answer's JSON without the parts that vary from run to run; keys stay in their order."""
    return json.dumps({name: value for name, value in answer.items() if name not in _VARYING})


# --- figures --------------------------------------------------------------------------------------


def figures(scored: Sequence[Scored]) -> dict[str, Any]:
    """Return figures of some questions, each of which was asked with the same numbers of bullets.

    `found` is by `maxBullets`; `bullets`, `standing` and `same_bytes` are of all answers, the others of those
    with the first number: chunks and verdicts hardly depend on it, and repeated questions take less time.
    """
    settings = list(dict.fromkeys(each.max_bullets for each in scored))
    with_setting = {most: [each for each in scored if each.max_bullets == most] for most in settings}
    first = with_setting[settings[0]]
    required = sum(each.required for each in first)
    return {
        "questions": len(first),
        "required": required,
        "found": {
            str(most): _share(sum(e.found for e in some), required) for most, some in with_setting.items()
        },
        "in_excerpts": _share(sum(each.in_excerpts for each in first), required),
        "in_either": _share(sum(each.in_either for each in first), required),
        "in_chunks": _share(sum(each.in_chunks for each in first), required),
        "bullets": sum(each.bullets for each in scored),
        "standing": _share(sum(each.standing for each in scored), sum(each.bullets for each in scored)),
        "same_bytes": _share(sum(each.same for each in scored), len(scored)),
        "actions": dict(sorted(Counter(each.action for each in first).items())),
        "biggest_prompt_tokens": max(each.prompt_tokens for each in first),
        "median_ms": round(statistics.median(each.ms for each in first), 1),
    }


def _share(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return `figures` as a Markdown table, a row for each name."""
    settings = list(next(iter(rows.values()))["found"])
    heads = ["", "questions", "required"]
    heads += [f"found, {most} bullets" for most in settings]
    heads += [
        "in excerpts",
        "in either",
        "in chunks",
        "bullets standing",
        "same bytes",
        "verdicts",
        "biggest prompt",
        "median ms",
    ]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for name, each in rows.items():
        cells = [name, str(each["questions"]), str(each["required"])]
        cells += [_percent(each["found"][most]) for most in settings]
        cells += [
            _percent(each[name])
            for name in ("in_excerpts", "in_either", "in_chunks", "standing", "same_bytes")
        ]
        cells += [", ".join(f"{count} {action}" for action, count in each["actions"].items())]
        cells += [str(each["biggest_prompt_tokens"]), f"{each['median_ms']:g}"]
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
