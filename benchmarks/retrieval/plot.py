"""Draws quality against latency as a small SVG file: a colour for each system, filled for the folder, hollow
for the checkout."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from attrs import frozen
from engine.figures import Figures
from engine.svg import COLOURS, dot, drawing, line, text

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 500, 40, 340


@frozen
class Point:
    """One system in one mode."""

    system: str
    mode: str
    ms: float
    ndcg: float


def points(results: Figures) -> list[Point]:
    """Return the points of all systems that have figures."""
    return [
        Point(name, mode, figures["ms"]["p50"], figures["mean_of_questions"]["ndcg_at_10"])
        for mode, measured in results["modes"].items()
        for name, figures in measured["systems"].items()
        if "ms" in figures
    ]


def svg(shown: Sequence[Point]) -> str:
    """Return the plot: NDCG@10 from 0 to 1 over the median latency in ms, on a logarithmic axis."""
    least = math.floor(math.log10(max(0.1, min(point.ms for point in shown))))
    most = max(least + 1, math.ceil(math.log10(max(point.ms for point in shown))))
    colours = dict(zip(dict.fromkeys(p.system for p in shown), COLOURS, strict=False))
    modes = list(dict.fromkeys(point.mode for point in shown))

    def across(ms: float) -> float:
        return _LEFT + (math.log10(max(0.1, ms)) - least) / (most - least) * (_RIGHT - _LEFT)

    def up(ndcg: float) -> float:
        return _BOTTOM - ndcg * (_BOTTOM - _TOP)

    parts: list[str] = []
    for tenth in range(0, 11, 2):
        y = up(tenth / 10)
        parts += [line(_LEFT, y, _RIGHT, y), text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", "end")]
    for power in range(least, most + 1):
        x = across(10.0**power)
        parts += [line(x, _TOP, x, _BOTTOM), text(x, _BOTTOM + 18, f"{10.0**power:g}", "middle")]
    middle = (_LEFT + _RIGHT) / 2
    parts += [text(middle, _BOTTOM + 40, "p50 of a question, ms", "middle"), text(_LEFT, 24, "NDCG@10")]
    for point in shown:
        parts.append(dot(across(point.ms), up(point.ndcg), colours[point.system], point.mode == modes[0]))
    parts += _legend(colours, modes)
    return drawing(_WIDTH, _HEIGHT, parts)


def _legend(colours: Mapping[str, str], modes: Sequence[str]) -> list[str]:
    x, y, parts = _RIGHT + 30, _TOP + 10, []
    for system, colour in colours.items():
        parts += [dot(x, y - 4, colour, True), text(x + 14, y, system)]
        y += 22
    for mode in modes:
        parts += [dot(x, y + 12, "#000000", mode == modes[0]), text(x + 14, y + 16, mode)]
        y += 22
    return parts
