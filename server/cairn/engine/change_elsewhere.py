"""The other repositories of a change: the other open folders, or those of the team's index."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from attrs import define, evolve, field

from cairn.change.dependents import Dependent, States
from cairn.change.elsewhere import dependents_elsewhere, texts_of, wanted_elsewhere
from cairn.change.touched import Touched
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.errors import OutOfTimeError, StoreUnavailableError
from cairn.index.reader.index_reader import IndexReader
from cairn.protocol.change_messages import ChangePlace

_MOST_TEXTS = 6
"""The maximum number of texts that a team's server looks for in the imports of all files."""


@define
class OtherRepositories:
    request: Request
    folder: Folder
    """The folder with the change."""
    seconds: float
    """How long a team's repositories are looked at."""
    seen: dict[str, Folder] = field(factory=dict)
    """The repositories that were looked at, by URI."""
    problem: str = ""
    """Why not all of them were looked at."""

    def dependents(self, states: States, touched: Sequence[Touched]) -> Iterator[Dependent]:
        """Yield what depends on the changed definitions, repository by repository."""
        wanted = wanted_elsewhere(states, touched)
        try:
            yield from dependents_elsewhere(states, wanted, self._importing(texts_of(wanted)))
        except StoreUnavailableError as problem:
            self.problem = f"Not all other repositories were looked at: {problem}"

    def _importing(self, texts: Sequence[str]) -> Iterator[tuple[str, IndexReader]]:
        is_team = self.request.elsewhere is not None or self.folder.revision is not None
        if is_team and len(texts) > _MOST_TEXTS:
            texts = texts[:_MOST_TEXTS]
            self.problem = "Other repositories were searched for uses of the first packages only."
        ends = time.perf_counter() + self.seconds
        for each in self.request.others(self.folder, texts) if texts else ():
            # A deadline measures the work of this process, but here the time is that of the network.
            if is_team and time.perf_counter() > ends:
                raise OutOfTimeError("There was no time for all repositories of the team.")
            self.seen[each.uri] = each
            yield each.uri, each.reader

    def shown_in(self, places: Iterable[ChangePlace]) -> Request:
        """Return the request with the repositories of these places as its folders, too."""
        shown = {each.folder for each in places}
        more = [each for uri, each in self.seen.items() if uri in shown and each not in self.request.folders]
        return evolve(self.request, folders=(*self.request.folders, *more)) if more else self.request

    def lines(self, uri: str, path: str) -> Sequence[str] | None:
        """Return the lines of a file in one of these repositories; None for another URI."""
        folder = self.seen.get(uri)
        return None if folder is None else folder.lines_of(path)
