"""Draws the share of the facts over tokens as a small SVG file, a line for each system."""

from __future__ import annotations

from collections.abc import Mapping

from engine.curves import curves_svg
from engine.figures import Figures

from answers.facts import BUDGETS


def svg(systems: Mapping[str, Figures]) -> str:
    """Return the plot: shares from 0 to 1 over budgets, on a log axis, without systems that have no
    figures."""
    measured = {name: figures["facts"] for name, figures in systems.items() if figures.get("facts")}
    curves = {name: {budget: facts[str(budget)] for budget in BUDGETS} for name, facts in measured.items()}
    title = "share of the facts that an answer needs"
    return curves_svg(curves, BUDGETS, title, "tokens (4 characters each)", 480)
