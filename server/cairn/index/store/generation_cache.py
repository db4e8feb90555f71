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
        known_version, known = self._known
        if known_version != version:
            known = {}
            self._known = (
                version,
                known,
            )  # a thread that still fills the old values fills what is not read any more
        found: dict[K, V] = {}
        missing: list[K] = []
        for key in keys:
            value = known.get(key)
            if value is None:
                missing.append(key)
            else:
                found[key] = value
        if missing:
            new = read(missing)
            if len(known) + len(new) > self.most:
                known = {}
                self._known = (version, known)
            known.update(new)
            found.update(new)
        return found
