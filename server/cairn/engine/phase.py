"""Handles `cairn/setPhase`: how much takes part in answers, set by hand."""

from __future__ import annotations

from cairn import protocol
from cairn.engine.request import Request
from cairn.operations.override import write_override


def set_phase(request: Request, params: protocol.SetPhaseParams) -> protocol.PhaseState:
    """At once, in every process that has one of the folders open, until it is taken back.

    Raises OverrideUnavailableError where that cannot be written down.
    """
    for folder in request.folders:
        write_override(folder.indexer.data, params.phase, by="cairn/setPhase")
    state = request.engine.fallback.switch.state()
    request.engine.on_change()
    return state
