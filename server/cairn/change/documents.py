"""Find the documents that name changed definitions, with the sentences in which they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cairn.change.dependents import States
from cairn.change.evidence import Concerned
from cairn.change.touched import Touched
from cairn.index.store.deadline import check_end
from cairn.protocol.change_messages import ChangeKind
from cairn.retrieval.explanations import explaining

_MOST_DEFINITIONS = 12
"""The maximum number of definitions that are looked for, at 5 to 10 ms each."""
_MOST_DOCUMENTS = 4
_SHORTEST = 3
"""The minimum length of a name. Shorter ones are words."""
_OF_BODY = 0.3
"""How much less likely a document is out of date if only the body of a definition changed."""


def documents_with_names(states: States, touched: Sequence[Touched]) -> Iterator[Concerned]:
    """Yield the documents outside of the change that name definitions as they were before it, those of the
    most telling changes first."""
    changed = {*states.by_before, *states.by_after}
    wanted = [each for each in touched if each.before and len(each.name) >= _SHORTEST and _reason(each)]
    for each in wanted[:_MOST_DEFINITIONS]:
        check_end()
        for found in (
            explaining(states.reader, each.before, _MOST_DOCUMENTS, states.before) if each.before else ()
        ):
            if found.stored.path not in changed:
                sure = found.strength * (_OF_BODY if each.kind is ChangeKind.BODY else 1.0)
                yield Concerned(
                    found.stored.path,
                    found.line,
                    found.stored.chunk.header_path.replace(" > ", " › "),
                    "document",
                    (_reason(each),),
                    round(sure, 2),
                    (each.index,),
                    text=found.sentence,
                )


def _reason(touched: Touched) -> str:
    name = touched.before.name if touched.before else ""
    after = touched.after
    if touched.kind is ChangeKind.REMOVED:
        return f"names `{name}`, which was removed"
    if touched.kind is ChangeKind.RENAMED and after is not None:
        return f"names `{name}`, now `{after.name}`"
    if touched.kind is ChangeKind.SIGNATURE:
        return f"names `{name}`, whose signature changed"
    return f"names `{name}`" if touched.kind is ChangeKind.BODY else ""
