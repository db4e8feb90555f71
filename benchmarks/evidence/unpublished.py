"""Make two code bases that no language model has read.

They are this project's code without its documents, and a public library whose words are replaced by others.

    python benchmarks/evidence/unpublished.py own COMMIT DEST
    python benchmarks/evidence/unpublished.py renamed CHECKOUT DEST

The library is rq, at the commit that `questions.json` names.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_OWN = ("server", "editor_client/src", "tests")
_LEFT_OUT = re.compile(r"(^|/)(docs|\.github)/|README|CHANGES|LICENSE|AGENTS|mailmap|codecov|deepsource")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
_REPLACED = dict(
    pair.split(":")
    for pair in (
        "job:errand jobs:errands queue:lane queues:lanes queued:laned enqueue:admit "
        "enqueued:admitted enqueues:admits enqueueing:admitting dequeue:pull dequeued:pulled "
        "worker:porter workers:porters workerpool:portercrew registry:ledger registries:ledgers "
        "scheduler:planner schedulers:planners scheduled:planned schedule:plan schedules:plans "
        "result:outcome results:outcomes retry:rerun retries:reruns retried:reran "
        "dependency:prerequisite dependencies:prerequisites dependents:followers "
        "dependent:follower execution:passage executions:passages heartbeat:pulse "
        "heartbeats:pulses horse:mule workhorse:packmule suspend:freeze suspended:frozen "
        "suspension:freezing intermediate:halfway burst:sweep cron:almanac rq:tram "
        "deferred:postponed canceled:revoked cancel:revoke callback:sequel callbacks:sequels "
        "pubsub:bulletin command:order commands:orders group:bundle groups:bundles pool:crew "
        "failed:broken failure:breakage repeat:encore repeats:encores webhook:w "
        "rqscheduler:tramplanner ttl:lifespan maintenance:upkeep cleanup:sweeping unique:sole "
        "death:demise birth:origin serializer:packer serializers:packers timeout:deadline "
        "timeouts:deadlines "
    ).split()
)
"""The words of identifiers, comments and paths, each with its replacement, in lower case."""


def own(commit: str, destination: Path) -> None:
    """Write the code of this project at a commit, without documents."""
    top = Path(__file__).resolve().parents[2]
    destination.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", str(top), "archive", commit, *_OWN], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "x", "-C", str(destination)], input=archive, check=True)
    for file in destination.rglob("*.md"):
        file.unlink()


def renamed(checkout: Path, destination: Path) -> None:
    """Write the text files of a checkout with replaced words."""
    listed = subprocess.run(
        ["git", "-C", str(checkout), "ls-files"], check=True, capture_output=True, text=True
    ).stdout
    for path in listed.splitlines():
        if _LEFT_OUT.search(path):
            continue
        try:
            text = (checkout / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        file = destination / replaced(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(replaced(text), encoding="utf-8")


def replaced(text: str) -> str:
    return _PART.sub(_replacement, text)


def _replacement(part: re.Match[str]) -> str:
    word = part[0]
    other = _REPLACED.get(word.lower())
    if other is None:
        return word
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other.capitalize() if word[0].isupper() else other


if __name__ == "__main__":
    what, source, place = sys.argv[1:]
    if what == "own":
        own(source, Path(place))
    else:
        renamed(Path(source), Path(place))
