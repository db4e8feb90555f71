"""A PostgreSQL server that tests and benchmarks kill, restart, copy and promote. It ends with its process."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from cairn.team.trial import LocalServer


class KillableServer(LocalServer):
    def start(self) -> None:
        super().start()
        atexit.register(self.kill)

    def restart(self) -> None:
        """Stop the server cleanly and start it again, on the same port if possible."""
        self.stop()
        self.start()

    def processes(self) -> list[psutil.Process]:
        """Return the server's processes, the main one first; none if it does not run."""
        main = self._main_process()
        if main is None:
            return []
        with suppress(psutil.NoSuchProcess):
            return [main, *main.children(recursive=True)]
        return [main]

    def kill(self) -> None:
        processes = self.processes()
        for process in processes:
            # The main process is killed first, because it would restart the others.
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _, alive = psutil.wait_procs(processes, timeout=30)
        assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive), alive
        # In many containers, process 1 does not reap ended processes, so a new server would assume that this
        # one still runs.
        if processes and psutil.pid_exists(processes[0].pid):
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    def make_replica(self, folder: Path, settings: Mapping[str, str] | None = None) -> KillableServer:
        """Create a streaming replica of this running server in another folder, without starting it."""
        replica = KillableServer(folder, settings={**self.settings, **(settings or {})})
        replica._prepare_folder()
        unfinished = replica._empty_data()
        # The default, a spread checkpoint, takes minutes.
        arguments = [
            f"--pgdata={unfinished}", f"--dbname={self.url()}", "--write-recovery-conf",
            "--wal-method=stream", "--checkpoint=fast", "--no-sync",
        ]  # fmt: skip
        done = replica._programs.run("pg_basebackup", arguments, folder=replica.folder)
        assert done.returncode == 0, done.stdout
        replica._write_private("password", self.password)
        unfinished.rename(replica._data)
        return replica

    def promote(self) -> None:
        """Make this running replica an independent server that accepts writes."""
        self._control("promote")
