"""Draws the processor time of a query over the size of the index, as a small SVG file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from engine.svg import COLOURS, dot, drawing, line, text

from speed.queries import Kind

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 420, 60, 30, 370
_RIGHT = 440
_CHUNKS = (100, 1_000, 10_000, 100_000, 1_000_000)
_MS = (1, 10, 100, 1_000)


def svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the plot. Both axes are logarithmic; each kind of query of each system is a line."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        for kind in Kind:
            for system, figures in row["asked"].get(kind, {}).items():
                points = lines.setdefault(f"{system}, {kind}", [])
                points.append((row["chunks"], max(_MS[0], figures["cpu_ms"])))
    parts = [text(_LEFT, 18, "processor time of a query in ms, over chunks")]
    parts += [
        line(_LEFT, _y(ms), _RIGHT, _y(ms)) + text(_LEFT - 6, _y(ms) + 4, f"{ms:,}", "end") for ms in _MS
    ]
    parts += [text(_x(chunks), _BOTTOM + 18, f"{chunks:,}", "middle") for chunks in _CHUNKS]
    for number, (name, points) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        for (chunks, ms), (to_chunks, to_ms) in itertools.pairwise(points):
            parts.append(line(_x(chunks), _y(ms), _x(to_chunks), _y(to_ms), colour, 2))
        parts += [dot(_x(chunks), _y(ms), colour, filled=number < len(COLOURS)) for chunks, ms in points]
        parts.append(dot(_RIGHT + 20, _TOP + 20 * number, colour, filled=number < len(COLOURS)))
        parts.append(text(_RIGHT + 32, _TOP + 20 * number + 4, name))
    return drawing(_WIDTH, _HEIGHT, parts)


def _x(chunks: float) -> float:
    return _along(chunks, _CHUNKS, _LEFT, _RIGHT)


def _y(ms: float) -> float:
    return _along(ms, _MS, _BOTTOM, _TOP)


def _along(value: float, labels: Sequence[int], start: float, end: float) -> float:
    share = math.log(value / labels[0]) / math.log(labels[-1] / labels[0])
    return start + share * (end - start)
