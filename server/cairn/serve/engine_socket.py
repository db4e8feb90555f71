"""Opens the engine of this process to the user's other processes: `cairn mcp`, and commands that query.

The process announces its engine in each workspace's data folder (`cairn.attach.engine_records`), listens on a
private socket, and speaks the protocol of `cairn.attach.channel`. A workspace has only one announced engine:
a background engine yields to an editor or a server, which then answers its clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cairn import __version__
from cairn.attach.channel import CLIENT, ENGINE, GREETING, GREETING_LENGTH, listening, remove_socket
from cairn.attach.engine_records import BACKGROUND, PROTOCOL, Record
from cairn.attach.finding import find
from cairn.attach.proof import PROOF_LENGTH, fresh_nonce, is_equal, proof
from cairn.attach.relay import MAX_LINE_BYTES, MOVE
from cairn.engine.methods import CLI
from cairn.engine.runner import answer as engine_answer
from cairn.errors import CairnError
from cairn.operations.presence import Presence
from cairn.serve.announcements import Announcements

if TYPE_CHECKING:
    from cairn.cli.main import CommandOutput
    from cairn.cli.question import Question
    from cairn.engine.host import Host
    from cairn.engine.pool import PooledEngine
    from cairn.engine.request import Request

T = TypeVar("T")

logger = logging.getLogger(__name__)

Wish = dict[str, Any]

_FIRST_SECONDS = 10.0
"""The timeout for a client's proof, and for its request."""
_MOST_UNPROVED = 64
"""The maximum number of connections whose clients have not proved themselves. The oldest makes room."""
_ACCEPT_SECONDS = 1.0
"""The interval of attempts while no connection can be accepted, for example with too many open files."""
_FOLLOW_SECONDS = 2.0
"""The interval of updates of the announced folders. Within it, a second editor takes over from the first."""
_TAKEOVER_SECONDS = 3.0
"""How long this process waits, before it ends, for another process to take over the folders."""
_MOVE_SECONDS = 2.0
_READY_SECONDS = 5.0
"""How long a command's question waits here for changes to be indexed. Then the command itself waits and shows
the progress."""
_LOOK_SECONDS = 0.02


class EngineSocket:
    """Serves the connections of other processes on one event loop."""

    def __init__(
        self,
        host: Callable[[], Host],
        open_folders: Callable[[], Iterable[Path]],
        keep_seconds: float,
        kind: str | None,
    ) -> None:
        """Listen from now on; `serve` answers the connections. If `kind` is None, the engine is private.

        `host` returns the host of this process's engines, and is called on a thread. `open_folders` returns
        the folders that are open in this process. Idle engines are kept for `keep_seconds`. Raises OSError if
        a socket cannot be made.
        """
        self._socket: socket.socket | None = None
        address = ""
        if kind is not None:
            self._socket, address = listening()
        token = secrets.token_urlsafe(32)
        record = Record(address, token, os.getpid(), __version__, kind or "", PROTOCOL)
        self.announcements = Announcements(record)
        self.presence = Presence()
        self._host, self._open_folders, self._keep_seconds = host, open_folders, keep_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._unproved: dict[asyncio.Task[None], None] = {}
        """The tasks of connections whose clients have not proved themselves, the oldest first."""

    async def serve(self, stop: asyncio.Event) -> None:
        """Answer until `stop` is set. Then withdraw the announcements and close all connections."""
        from cairn.engine.pool import EnginePool

        self._stop = stop
        self._pool = EnginePool(self._host, self._keep_seconds)
        async with contextlib.AsyncExitStack() as ending:
            ending.push_async_callback(self._pool.close)
            ending.push_async_callback(self._cancel_tasks)
            if self._socket is not None:
                ending.callback(remove_socket, self.announcements.record.address)
                ending.push_async_callback(asyncio.to_thread, self.announcements.end)
                self._keep(self._accept(self._socket))
                self._keep(self._follow())
            await stop.wait()

    def connect(self, connection: socket.socket) -> None:
        """Answer a connection. Call this on the loop of `serve`."""
        if len(self._unproved) >= _MOST_UNPROVED:
            oldest = next(iter(self._unproved))
            del self._unproved[oldest]
            oldest.cancel()
        connection.setblocking(False)
        task = self._keep(self._admit(connection))
        self._unproved[task] = None
        task.add_done_callback(lambda _: self._unproved.pop(task, None))

    async def _cancel_tasks(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        with listening:
            while True:
                try:
                    connection, _ = await asyncio.get_running_loop().sock_accept(listening)
                except OSError as problem:
                    logger.debug("no connection can be accepted: %s", problem)
                    await asyncio.sleep(_ACCEPT_SECONDS)
                    continue
                self.connect(connection)
                await asyncio.sleep(0)  # Others run, too, while many clients connect.

    async def _follow(self) -> None:
        while True:
            try:
                await asyncio.to_thread(lambda: self.announcements.follow(self._open_folders()))
            except OSError as problem:
                logger.warning("other processes may not find this engine: %s", problem)
            await asyncio.sleep(_FOLLOW_SECONDS)

    # --- one connection ----------------------------------------------------------------------------

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _admit(self, connection: socket.socket) -> None:
        """Answer the connection if its client proves itself. Until then, nothing of it is buffered."""
        with contextlib.ExitStack() as refused:
            refused.callback(connection.close)
            try:
                async with asyncio.timeout(_FIRST_SECONDS):
                    is_proved = await self._prove(connection)
            except (TimeoutError, OSError) as problem:
                logger.debug("a connection was closed: %s", problem)
                return
            if not is_proved:
                return
            refused.pop_all()
        self._unproved.pop(asyncio.current_task(), None)  # type: ignore[arg-type]
        await self._answer(*await asyncio.open_connection(sock=connection, limit=MAX_LINE_BYTES))

    async def _prove(self, connection: socket.socket) -> bool:
        """Prove this engine to the client. Return whether the client proves itself. Raises OSError."""
        greeting = await _received(connection, GREETING_LENGTH)
        if not greeting.startswith(GREETING):
            return False
        token, own = self.announcements.record.token, fresh_nonce()
        other = greeting.removeprefix(GREETING).decode("ascii", "replace")
        answer = own + proof(token, ENGINE, other, own)
        await asyncio.get_running_loop().sock_sendall(connection, answer.encode())
        given = (await _received(connection, PROOF_LENGTH)).decode("ascii", "replace")
        return is_equal(given, proof(token, CLIENT, other, own))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                wish = json.loads(await reader.readline())
            if not isinstance(wish, dict):
                return
            answers = {
                "hello": self._hello,
                "mcp": self._mcp,
                "method": self._method,
                "command": self._command,
                "yield": self._yield,
            }
            answer = answers.get(str(wish.get("want")))
            if answer is None:
                await _send(writer, {"error": f"this engine does not know {wish.get('want')!r}"})
                return
            with self.presence.here():
                await answer(wish, reader, writer)
        except (TimeoutError, ConnectionError, ValueError, RecursionError, CairnError) as problem:
            # The client reports the error itself and continues without this engine.
            logger.debug("a connection was closed: %s", problem)
        except Exception:
            logger.exception("a connection was closed")
        finally:
            writer.close()

    async def _hello(self, wish: Wish, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _send(writer, {"ok": True})

    async def _mcp(self, wish: Wish, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.to_thread(importlib.import_module, "cairn.mcp.mcp_server")
        except ImportError:
            await _send(writer, {"error": "the installation of the engine lacks the extra `serve`"})
            return
        from cairn.mcp.mcp_server import serve_connection
        from cairn.mcp.workspaces import Workspaces
        from cairn.settings.layers import Layers

        async def move(folders: Sequence[Path]) -> bool:
            return not wish.get("moved") and await self._moved(folders, writer)

        await _send(writer, {"ok": True})
        named = [Path(folder) for folder in wish.get("folders", ())]
        workspaces = Workspaces(self._pool, named, Path(wish["cwd"]), move)
        settings = Layers().without_workspace().settings.agents
        tools = settings.tools if wish.get("tools") is None else wish["tools"]
        structured = settings.structured or bool(wish.get("structured"))
        await serve_connection(reader, writer, workspaces, tools, structured=structured)

    async def _moved(self, folders: Sequence[Path], writer: asyncio.StreamWriter) -> bool:
        """Send the client to the process whose engine has these folders. Return False if there is none."""
        elsewhere = [folder for folder in folders if folder.resolve() not in self.announcements]
        if not elsewhere or len(elsewhere) < len(folders):
            return False
        found = await asyncio.to_thread(find, elsewhere, {"want": "hello"}, _MOVE_SECONDS)
        if found is None:
            return False
        found[0].close()
        await _send(writer, {MOVE: [str(folder) for folder in elsewhere]})
        return True

    async def _method(self, wish: Wish, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._lent([Path(folder) for folder in wish.get("folders", ())]) as lent:
            answer = await self._once_ready(
                lent,
                lambda request: engine_answer(request, str(wish["method"]), wish.get("params"), front=CLI),
                vectors=not wish.get("noWait"),
            )
        await _send(writer, {} if answer is None else {"answer": answer})

    async def _command(self, wish: Wish, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from cairn.cli.main import CommandOutput, question_of

        arguments = [str(each) for each in wish.get("arguments", ())]
        given = wish.get("input")
        data = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else None
        question = await asyncio.to_thread(question_of, arguments, Path(wish["here"]), data)
        ran = question if isinstance(question, CommandOutput) else await self._run(question, arguments)
        await _send(
            writer, {} if ran is None else {"stdout": ran.stdout, "stderr": ran.stderr, "code": ran.code}
        )

    async def _run(self, question: Question, arguments: Sequence[str]) -> CommandOutput | None:
        """Return the output of a command line; None if the command has to open the index itself."""
        from cairn.cli.main import CommandOutput, failed

        if not question.has_text:
            return None
        async with self._lent([folder.resolve() for folder in question.folders]) as lent:
            try:
                text = await self._once_ready(lent, question.text, vectors=not question.no_wait)
            except CairnError as problem:
                return failed(problem, arguments)
        return None if text is None else CommandOutput(f"{text}\n", f"{question.note}\n")

    @contextlib.asynccontextmanager
    async def _lent(self, folders: Sequence[Path]) -> AsyncIterator[PooledEngine]:
        lent = await self._pool.lend(folders)
        try:
            yield lent
        finally:
            self._pool.give_back(lent)

    async def _once_ready(
        self, lent: PooledEngine, work: Callable[[Request], T], *, vectors: bool
    ) -> T | None:
        """Return the result of `work`; None if the command has to wait until some folders are ready."""
        from cairn.cli.question import is_ready

        def once(request: Request) -> T | None:
            return work(request) if is_ready(request, vectors=vectors) else None

        ends = time.monotonic() + _READY_SECONDS
        while not lent.problems:
            answer = await lent.runner.work(once)
            if answer is not None or time.monotonic() >= ends:
                return answer
            await asyncio.sleep(_LOOK_SECONDS)
        return None

    async def _yield(self, wish: Wish, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.announcements.record.kind != BACKGROUND:
            await _send(writer, {"error": "this engine is an editor's or a server's"})
            return
        await asyncio.to_thread(self.announcements.end)
        await _send(writer, {"ok": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(_TAKEOVER_SECONDS):
                await reader.read()  # This wait ends when the other process has taken over the folders.
        self._stop.set()


async def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    await writer.drain()


async def _received(connection: socket.socket, length: int) -> bytes:
    """Return the next `length` bytes. Raises OSError if the client closes the connection before."""
    data = b""
    while len(data) < length:
        part = await asyncio.get_running_loop().sock_recv(connection, length - len(data))
        if not part:
            raise ConnectionError("the client closed the connection")
        data += part
    return data
