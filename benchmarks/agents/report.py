"""Writes the results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.figures import Figures
from engine.markdown import table

from agents.figures import CURVE, SESSION, SHARES

_TITLES = {
    "all": "Development questions",
    "chosen on": "… the half that loops were chosen on",
    "checked on": "… the other half",
    "held out": "Questions held out, about other repositories",
}


def markdown(results: Figures) -> str:
    """Return the whole report."""
    conditions = results["conditions"]
    parts = [
        f"# Tokens until the facts are there\n\n{conditions['date']}, {conditions['machine']}, Python "
        f"{conditions['python']}, Cairn {conditions['cairn']} at {conditions['commit']}; load "
        f"{conditions['load']}. A token is four characters; a loop gives up after "
        f"{conditions['token_cap']:,} tokens or {conditions['call_cap']} calls.",
        table(["system", "loop"], [[name, loop] for name, loop in results["chosen"].items()]),
    ]
    for name, group in results["groups"].items():
        parts += [f"## {_TITLES[name]}", *_group(group)]
    parts += ["## Loops: tokens until 80 % of the facts, the cap where they are not reached"]
    parts += [_loops(loops, name) for name, loops in results["loops"].items()]
    parts += ["## Lengths", _listing(results["listing_bytes"])]
    parts += [_sizes(sizes, name) for name, sizes in results["sizes"].items() if sizes]
    return "\n\n".join(parts) + "\n"


def _group(group: Figures) -> list[str]:
    systems = group["systems"]
    curve = table(
        ["share of the facts within", *(f"{tokens:,}" for tokens in CURVE)],
        [[name, *(f"{each['facts_within'][str(t)]:.2f}" for t in CURVE)] for name, each in systems.items()],
    )
    parts = [curve, _cost_table(systems)]
    for key, title in (("compared", ""), ("compared_in_sessions", f", in sessions of {SESSION} questions")):
        if group[key]:
            parts.append(_compared(group[key], title))
    return parts


def _cost_table(systems: Mapping[str, Figures]) -> str:
    rows = []
    for name, each in systems.items():
        for share in (f"{share:.0%}" for share in SHARES):
            costs = each["until"][share]
            cells = [_pair(costs[what]) for what in ("tokens", "calls", "tokens_with_cap")]
            rows.append([name, share, f"{costs['reached']} of {each['questions']}", *cells])
    head = ["mean · median", "facts", "reached", "tokens", "calls", "tokens, the cap where not reached"]
    return table(head, rows)


def _compared(others: Mapping[str, Figures], title: str) -> str:
    rows = []
    for name, each in others.items():
        for key, what in (("both", "both reach"), ("with_cap", "either reaches; the cap for the other")):
            ratios = each[key]
            if ratios["questions"]:
                rows.append(
                    [
                        name,
                        f"{what}: {ratios['questions']}",
                        f"{ratios['our_mean']:,} · {ratios['their_mean']:,}",
                        f"{ratios['ratio_of_means']:.2f}",
                        f"{ratios['our_median']:,} · {ratios['their_median']:,}",
                        f"{ratios['median_of_ratios']:.2f}",
                    ]
                )
    head = [
        f"tokens until 80 %{title}, Cairn by",
        "questions",
        "means",
        "ratio of means",
        "medians",
        "median of ratios",
    ]
    return table(head, rows)


def _loops(loops: Mapping[str, Mapping[str, Sequence[int]]], system: str) -> str:
    ordered = sorted(loops.items(), key=lambda item: tuple(item[1].get("a", ())))
    rows = [
        [name, *(f"{each[side][0]:,} · {each[side][1]:,}" if side in each else "" for side in "ab")]
        for name, each in ordered
    ]
    return table([f"{system}: geometric · arithmetic mean", "chosen on", "checked on"], rows)


def _listing(listing: Mapping[str, int]) -> str:
    return table(["", "bytes of tools/list"], [[name, f"{size:,}"] for name, size in listing.items()])


def _sizes(sizes: Mapping[str, Mapping[str, Any]], name: str) -> str:
    rows = [[what, f"{each['mean']:g}", f"{each['max']:g}"] for what, each in sizes.items()]
    return table([f"{name}: bytes, or tokens ÷ requested budget", "mean", "max"], rows)


def _pair(values: Mapping[str, Any]) -> str:
    return " · ".join("" if values[name] is None else f"{values[name]:,}" for name in ("mean", "median"))
