"""A cache of values read from an index. It is valid for one generation of the index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from attrs import define, field

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@define(eq=False)
class GenerationCache(Generic[K, V]):
    """A thread-safe cache of at most `most` values by key. It helps because consecutive queries, as a user
    types or browses, find the same chunks and files."""

    most: int
    _known: tuple[Hashable, dict[K, V]] = field(factory=lambda: (None, {}), init=False)

    def get(
        self, version: Hashable, keys: Iterable[K], read: Callable[[list[K]], Mapping[K, V]]
    ) -> dict[K, V]:
        """Return the values of `keys` in `version` of the index or a later one. `read` reads the values that
        are not cached. Keys without a value are left out, and are read again next time."""
        cached = self._known
        # Another thread may still fill the old dictionary, but none reads it any more.
        if cached[0] != version:
            cached = self._known = (version, {})
        known, wanted = cached[1], list(keys)
        found = {key: value for key in wanted if (value := known.get(key)) is not None}
        missing = [key for key in wanted if key not in found]
        if missing:
            new = read(missing)
            if len(known) + len(new) > self.most:
                known = {}
                self._known = (version, known)
            known.update(new)
            found.update(new)
        return found
