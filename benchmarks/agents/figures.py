"""Computes figures from traces: facts over tokens, tokens and calls to shares of the facts, ratios of
systems."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from engine.figures import Figures

from agents.loops import TOKEN_CAP, Trace

SHARES = (0.5, 0.8, 1.0)
"""The shares of a question's facts for which tokens and calls are reported."""
HEADLINE = 0.8
CURVE = (500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 60_000)
"""The token counts at which the mean share of the facts is reported."""
SESSION = 5
"""The number of questions in a session, which share the cost of the tool definitions."""


def summary(traces: Sequence[Trace], definitions: float) -> Figures:
    """Return the figures of one system over some questions. All token counts include `definitions`."""
    return {
        "questions": len(traces),
        "definitions": round(definitions),
        "facts_within": {str(t): round(_mean_share(traces, t, definitions), 4) for t in CURVE},
        "until": {f"{share:.0%}": _cost_of_share(traces, share, definitions) for share in SHARES},
    }


def cost(traces: Sequence[Trace], definitions: float) -> float:
    """Return the geometric mean of the tokens until the headline's share, by which loops are chosen; the cap
    where it is not reached.

    Questions count by ratios, so a few that need the whole cap do not decide alone.
    """
    return statistics.geometric_mean(_capped(trace, HEADLINE, definitions) for trace in traces)


def mean_cost(traces: Sequence[Trace], definitions: float) -> float:
    """Return the arithmetic mean of the same values as `cost`."""
    return statistics.fmean(_capped(trace, HEADLINE, definitions) for trace in traces)


def compared(
    ours: Sequence[Trace],
    our_definitions: float,
    theirs: Sequence[Trace],
    their_definitions: float,
    share: float = HEADLINE,
) -> Figures:
    """Compare our tokens with theirs until a share of the facts; both sequences have the same questions."""
    pairs = [
        (a.tokens_to(share, our_definitions), b.tokens_to(share, their_definitions))
        for a, b in zip(ours, theirs, strict=True)
    ]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    either = [(a or TOKEN_CAP, b or TOKEN_CAP) for a, b in pairs if a is not None or b is not None]
    return {
        "we_reach": sum(a is not None for a, _ in pairs),
        "they_reach": sum(b is not None for _, b in pairs),
        "both": _ratios(both),
        "with_cap": _ratios(either),
    }


def _ratios(pairs: Sequence[tuple[float, float]]) -> Figures:
    if not pairs:
        return {"questions": 0}
    ours, theirs = zip(*pairs, strict=True)
    return {
        "questions": len(pairs),
        "our_mean": round(statistics.fmean(ours)),
        "their_mean": round(statistics.fmean(theirs)),
        "ratio_of_means": round(statistics.fmean(ours) / statistics.fmean(theirs), 3),
        "our_median": round(statistics.median(ours)),
        "their_median": round(statistics.median(theirs)),
        "median_of_ratios": round(statistics.median(a / b for a, b in pairs), 3),
    }


def _cost_of_share(traces: Sequence[Trace], share: float, definitions: float) -> Figures:
    reached = [trace for trace in traces if trace.reached(share, definitions) is not None]
    tokens = [trace.tokens_to(share, definitions) or 0.0 for trace in reached]
    calls = [trace.calls_to(share, definitions) or 0 for trace in reached]
    capped = [_capped(trace, share, definitions) for trace in traces]
    return {
        "reached": len(reached),
        "tokens": _middle(tokens),
        "calls": _middle(calls, 1),
        "tokens_with_cap": _middle(capped),
    }


def _middle(values: Sequence[float], digits: int = 0) -> Figures:
    if not values:
        return {"mean": None, "median": None}
    mean, median = statistics.fmean(values), statistics.median(values)
    return {"mean": round(mean, digits or None), "median": round(median, digits or None)}


def _capped(trace: Trace, share: float, definitions: float) -> float:
    tokens = trace.tokens_to(share, definitions)
    return TOKEN_CAP if tokens is None else tokens


def _mean_share(traces: Sequence[Trace], tokens: float, definitions: float) -> float:
    return statistics.fmean(trace.share_within(tokens, definitions) for trace in traces)
