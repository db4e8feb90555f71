"""How many tokens each part of a context may take."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.context.model import PartName
from cairn.settings.tree import ContextSettings


def part_budgets(settings: ContextSettings, total: int | None = None) -> dict[PartName, int]:
    """Tokens by part: those of the settings, or of `total` tokens.

    A smaller total takes from every part in proportion; what a larger one has to spare is for the passages. Their sum
    is `total` where it is given. A part that needs less than its budget leaves the rest unused.
    """
    own = {
        PartName.CORE_CONCEPTS: settings.core_concepts,
        PartName.PASSAGES: settings.passages,
        PartName.EDITOR_STATE: settings.editor_state,
        PartName.DIAGNOSTICS: settings.diagnostics,
        PartName.RECENT_QUERIES: settings.recent_queries,
    }
    if total is None:
        return own
    shares = _scaled(own, total) if total < sum(own.values()) else own
    others = sum(share for name, share in shares.items() if name is not PartName.PASSAGES)
    return {**shares, PartName.PASSAGES: total - others}


def _scaled(own: Mapping[PartName, int], total: int) -> dict[PartName, int]:
    whole = sum(own.values())
    return {name: tokens * total // whole for name, tokens in own.items()}
