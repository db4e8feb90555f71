"""Facts received over tokens as a small SVG file, a line for each system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from engine.svg import COLOURS, dot, drawing, line, text

from agents.figures import CURVE

_WIDTH, _HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 540, 40, 340
_LABELLED = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000)


def svg(curves: Mapping[str, Mapping[str, float]], title: str) -> str:
    """The plot: by system, the mean share of the facts from 0 to 1 over tokens, which are logarithmic."""
    parts: list[str] = [text(_LEFT, 24, title)]
    for tenth in range(0, 11, 2):
        y = _up(tenth / 10)
        parts += [line(_LEFT, y, _RIGHT, y), text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", "end")]
    for tokens in _LABELLED:
        x = _across(tokens)
        parts += [line(x, _TOP, x, _BOTTOM), text(x, _BOTTOM + 18, f"{tokens:,}", "middle")]
    words = "tokens received and written, definitions of tools included (4 characters each)"
    parts.append(text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, words, "middle"))
    for place, ((name, curve), colour) in enumerate(zip(curves.items(), COLOURS, strict=False)):
        shown = [(_across(tokens), _up(curve[str(tokens)])) for tokens in CURVE]
        parts += [line(*start, *end, colour, 2) for start, end in pairwise(shown)]
        parts += [dot(x, y, colour, True) for x, y in shown]
        y = _TOP + 10 + 22 * place
        parts += [dot(_RIGHT + 30, y - 4, colour, True), text(_RIGHT + 44, y, name)]
    return drawing(_WIDTH, _HEIGHT, parts)


def _across(tokens: int) -> float:
    least, most = math.log(CURVE[0]), math.log(CURVE[-1])
    return _LEFT + 20 + (math.log(tokens) - least) / (most - least) * (_RIGHT - _LEFT - 40)


def _up(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)
