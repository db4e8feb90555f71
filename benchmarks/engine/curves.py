"""Draws shares over tokens as a small SVG file, a line for each system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from engine.svg import COLOURS, dot, drawing, line, text

_HEIGHT, _LEFT, _TOP, _BOTTOM = 400, 60, 40, 340
_LEGEND = 220
"""The width in pixels to the right of the plot, for the names of the systems."""


def curves_svg(
    curves: Mapping[str, Mapping[int, float | None]],
    labelled: Sequence[int],
    title: str,
    axis: str,
    right: int,
) -> str:
    """Return the plot: by system, shares from 0 to 1 over tokens, on a logarithmic axis. Points without a
    share are left out.

    `labelled` are the tokens that the axis names, the first and the last of all; `right` is the right end of
    the plot, in pixels.
    """
    least, most = math.log(labelled[0]), math.log(labelled[-1])

    def across(tokens: int) -> float:
        return _LEFT + 20 + (math.log(tokens) - least) / (most - least) * (right - _LEFT - 40)

    parts: list[str] = [text(_LEFT, 24, title)]
    for tenth in range(0, 11, 2):
        y = _up(tenth / 10)
        parts += [line(_LEFT, y, right, y), text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", "end")]
    for tokens in labelled:
        x = across(tokens)
        parts += [line(x, _TOP, x, _BOTTOM), text(x, _BOTTOM + 18, f"{tokens:,}", "middle")]
    parts.append(text((_LEFT + right) / 2, _BOTTOM + 40, axis, "middle"))
    for place, ((name, curve), colour) in enumerate(zip(curves.items(), COLOURS, strict=False)):
        shown = [(across(tokens), _up(share)) for tokens, share in curve.items() if share is not None]
        parts += [line(*start, *end, colour, 2) for start, end in pairwise(shown)]
        parts += [dot(x, y, colour, True) for x, y in shown]
        y = _TOP + 10 + 22 * place
        parts += [dot(right + 30, y - 4, colour, True), text(right + 44, y, name)]
    return drawing(right + _LEGEND, _HEIGHT, parts)


def _up(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)
