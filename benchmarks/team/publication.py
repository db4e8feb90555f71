"""Publishes an index file into a team's database for a benchmark."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import psycopg
from attrs import frozen

from cairn.index.postgres.access import grant
from cairn.index.postgres.lists import Home
from cairn.index.postgres.publishing import Revision, publish
from cairn.index.postgres.repositories import find_home
from cairn.index.postgres.segment import Segment
from cairn.index.postgres.snapshot_catalogue import SnapshotKey
from cairn.index.postgres.team_schema import prepare

READER = "benchmark"
"""A reader that may see this repository and those published before."""


@frozen
class Publication:
    """A published index file."""

    key: SnapshotKey
    seconds: float
    chunks: int
    """The number of chunks that were not there before."""
    all_chunks: int

    @property
    def pace(self) -> float | None:
        """Return the chunks per second; None if all were there."""
        return round(self.chunks / self.seconds, 1) if self.chunks else None


def published(url: str, repository: str, folder: Path) -> Publication:
    """Publish the index file in `folder` as a repository of the database at `url`, unless it is there."""
    prepare(url)
    with psycopg.connect(url, autocommit=True) as connection:
        home: Home = find_home(connection, repository, "")
        segment = Segment(folder)
        began = time.perf_counter()
        revision = Revision("HEAD", "benchmark", datetime.datetime.now(datetime.UTC), {})
        written = publish(connection, home, revision, segment)
        seconds = time.perf_counter() - began
        every = int(segment.meta()["chunks"])
        segment.close()
        grant(connection, READER, [home.repository])
    key = SnapshotKey(written.snapshot, home.repository, home.pool, home.shard)
    return Publication(key, seconds, written.chunks, every)
