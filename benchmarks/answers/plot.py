"""Share of the facts over tokens as a small SVG file, a line for each system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from engine.figures import Figures
from engine.svg import COLOURS, dot, drawing, line, text

from answers.facts import BUDGETS

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 480, 40, 340


def svg(systems: Mapping[str, Figures]) -> str:
    """The plot: share from 0 to 1 over budgets, which are logarithmic; systems without figures are left out."""
    parts: list[str] = []
    for tenth in range(0, 11, 2):
        y = _up(tenth / 10)
        parts += [line(_LEFT, y, _RIGHT, y), text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", "end")]
    for budget in BUDGETS:
        x = _across(budget)
        parts += [line(x, _TOP, x, _BOTTOM), text(x, _BOTTOM + 18, f"{budget:,}", "middle")]
    parts += [
        text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, "tokens (4 characters each)", "middle"),
        text(_LEFT, 24, "share of the facts that an answer needs"),
    ]
    measured = {name: figures["facts"] for name, figures in systems.items() if figures.get("facts")}
    for place, ((name, facts), colour) in enumerate(zip(measured.items(), COLOURS, strict=False)):
        shown = [
            (_across(budget), _up(facts[str(budget)])) for budget in BUDGETS if facts[str(budget)] is not None
        ]
        parts += [line(*start, *end, colour, 2) for start, end in pairwise(shown)]
        parts += [dot(x, y, colour, True) for x, y in shown]
        y = _TOP + 10 + 22 * place
        parts += [dot(_RIGHT + 30, y - 4, colour, True), text(_RIGHT + 44, y, name)]
    return drawing(_WIDTH, _HEIGHT, parts)


def _across(budget: int) -> float:
    least, most = math.log(BUDGETS[0]), math.log(BUDGETS[-1])
    return _LEFT + 20 + (math.log(budget) - least) / (most - least) * (_RIGHT - _LEFT - 40)


def _up(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)
