"""Draws facts received over tokens as a small SVG file, a line for each system."""

from __future__ import annotations

from collections.abc import Mapping

from engine.curves import curves_svg

from agents.figures import CURVE

_LABELLED = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000)
_AXIS = "tokens received and written, definitions of tools included (4 characters each)"


def svg(curves: Mapping[str, Mapping[str, float]], title: str) -> str:
    """Return the plot: by system, the mean share of the facts from 0 to 1 over tokens, on a log axis."""
    numbered = {name: {tokens: curve[str(tokens)] for tokens in CURVE} for name, curve in curves.items()}
    return curves_svg(numbered, _LABELLED, title, _AXIS, 540)
