"""Draws parts of the plots, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

COLOURS = ("#0b6e4f", "#1f77b4", "#9467bd", "#d97706", "#666666", "#b91c1c", "#0891b2")
"""The colours of the systems, in their order."""
GREY = "#dddddd"


def drawing(width: int, height: int, parts: Sequence[str]) -> str:
    """Return a file with the parts on white, in units of about a pixel."""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    style = 'font-family="sans-serif" font-size="12"'
    white = f'<rect width="{width}" height="{height}" fill="white"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n'
        + "\n".join([white, *parts])
        + "\n</svg>\n"
    )


def dot(x: float, y: float, colour: str, filled: bool) -> str:
    """Return a point of a plot."""
    fill = colour if filled else "white"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'


def line(x: float, y: float, to_x: float, to_y: float, colour: str = GREY, width: int = 1) -> str:
    """Return a straight line; grey ones are for the grid."""
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Return a label that starts, ends or has its middle at x."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
