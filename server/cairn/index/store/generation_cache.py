"""A cache of what was read of an index, by the index's generation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from attrs import define, field

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@define(eq=False)
class GenerationCache(Generic[K, V]):
    """Values by key, `most` of them at most; safe from many threads at once.

    Questions that follow each other, while somebody types or looks around, find the same chunks and files.
    """

    most: int
    _known: tuple[Hashable, dict[K, V]] = field(factory=lambda: (None, {}), init=False)

    def get(
        self, version: Hashable, keys: Iterable[K], read: Callable[[list[K]], Mapping[K, V]]
    ) -> dict[K, V]:
        """The values of `keys` as they were in `version` of the index or later; `read` reads those not known.

        Keys that `read` has no value for are left out, and asked for again.
        """
        cached = self._known
        if cached[0] != version:  # a thread that still fills the old values fills what is not read any more
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
