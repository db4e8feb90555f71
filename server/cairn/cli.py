"""The command line: parses, calls the engine, prints. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cairn import __version__
from cairn.cli_config import config
from cairn.cli_mcp import mcp
from cairn.cli_serve import openapi, serve
from cairn.errors import CairnError, IndexUnavailableError, InvalidRequestError

if TYPE_CHECKING:
    from cairn.engine import Engine

_POLL_SECONDS = 0.05
_LOOK_SECONDS = 1.0
"""How often to look at what changes seldom: a pause, the end of another process."""

FAILED, INTERRUPTED = 1, 130

_folder_option = click.option(
    "-C",
    "--folder",
    default=".",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The workspace folder.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, as the protocol has it.")
_no_wait_option = click.option(
    "--no-wait", is_flag=True, help="Answer as soon as keywords are indexed, without waiting for vectors."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
# Other programs are called cairn, too; by the distribution's name an editor knows this one.
@click.version_option(__version__, prog_name="cairn", message="%(prog)s, version %(version)s (cairn-ls)")
def cli() -> None:
    """Cairn finds the places in a workspace that answer a question, and shows where they stand."""


cli.add_command(serve)
cli.add_command(openapi)


@cli.command()
def lsp() -> None:
    """Serve an editor over stdin and stdout (LSP)."""
    from cairn.early import answer_initialize

    stdout = sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print would break the protocol
    answered = answer_initialize(sys.stdin.buffer, stdout)

    from cairn.kept_bytecode import kept_bytecode
    from cairn.memory import made_to_last

    with made_to_last(), kept_bytecode("server"):
        from cairn.lsp import serve_stdio

    sys.exit(serve_stdio(answered, stdout))


@cli.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Index every file anew, also what has not changed.")
@_json_option
def index(folder: Path, force: bool, as_json: bool) -> None:
    """Bring the index of FOLDER up to date."""
    if force:
        _index_anew(folder, "", as_json)
        return
    with _opened(folder) as engine:
        _wait(engine, vectors=True)
        _print_status(engine, as_json)


@cli.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@_folder_option
@_json_option
def reindex(path: Path | None, folder: Path, as_json: bool) -> None:
    """Index a file, what lies in a directory, or else everything anew, also what has not changed."""
    from cairn.operations.control import path_in

    _index_anew(folder, path_in(folder, path) if path else "", as_json)


@cli.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path))
def pause(folder: Path) -> None:
    """Have the editor or command that indexes FOLDER make no vectors until `cairn resume`."""
    _set_paused(folder, paused=True)


@cli.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path))
def resume(folder: Path) -> None:
    """Let indexing of FOLDER go on after `cairn pause`."""
    _set_paused(folder, paused=False)


@cli.command()
@click.argument("query")
@_folder_option
@click.option("-n", "--limit", default=10, show_default=True, help="Number of results.")
@click.option("-t", "--type", "types", multiple=True, help="Only prose, code, api, cmd or config.")
@click.option("-l", "--language", "languages", multiple=True, help="Only this language, such as python.")
@click.option("-p", "--path", "paths", multiple=True, help="Only files that match this glob.")
@click.option("-c", "--collection", "collections", multiple=True, help="Only this collection.")
@click.option("--alpha", type=float, help="0 keywords only … 1 meaning only.")
@click.option(
    "--case", is_flag=True, help="Find QUERY, or what it has in quotes, as written, in the same case."
)
@click.option(
    "--word", is_flag=True, help="Find QUERY, or what it has in quotes, as written, in whole words."
)
@click.option("--explain", is_flag=True, help="Show what made each result's score.")
@_no_wait_option
@_json_option
def search(
    query: str,
    folder: Path,
    limit: int,
    types: tuple[str, ...],
    languages: tuple[str, ...],
    paths: tuple[str, ...],
    collections: tuple[str, ...],
    alpha: float | None,
    case: bool,
    word: bool,
    explain: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Show the passages of the workspace that answer QUERY best."""
    from cairn import protocol, schema, terminal

    only = {"type": types, "language": languages, "path": paths, "collection": collections}
    data = {"query": _not_empty(query), "limit": limit, "alpha": alpha, "explain": explain, "filter": only}
    params = schema.structure({**data, "caseSensitive": case, "wholeWord": word}, protocol.SearchParams)
    with _opened(folder) as engine:
        _wait_to_ask(engine, vectors=not no_wait)
        answer = engine.search(params)
        if as_json:
            _print_json(answer)
        else:
            terminal.print_search(answer)


@cli.command()
@click.argument("query")
@_folder_option
@click.option("--max-bullets", type=int, help="Pieces of evidence at most.")
@click.option(
    "--format", "style", type=click.Choice(["markdown", "plain", "json"]), help="Layout of the prompt."
)
@click.option("--include", multiple=True, help="Only collections that match this glob.")
@click.option("--exclude", multiple=True, help="Not the collections that match this glob.")
@_no_wait_option
@_json_option
def discover(
    query: str,
    folder: Path,
    max_bullets: int | None,
    style: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    no_wait: bool,
    as_json: bool,
) -> None:
    """Gather cited evidence for QUERY, and a prompt that holds it."""
    from cairn import protocol, schema, terminal

    data = {"query": _not_empty(query), "maxBullets": max_bullets, "format": style, "include": include}
    params = schema.structure({**data, "exclude": exclude or None}, protocol.DiscoverParams)
    with _opened(folder) as engine:
        _wait_to_ask(engine, vectors=not no_wait)
        answer = engine.discover(params)
        if as_json:
            _print_json(answer)
        else:
            terminal.print_discovery(answer)


@cli.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@_json_option
def status(folder: Path, as_json: bool) -> None:
    """Show what the index of FOLDER holds, without changing it."""
    with _opened(folder, keep_indexed=False) as engine:
        _print_status(engine, as_json)


@cli.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--reset", is_flag=True, help="Forget all of it.")
@_json_option
def feedback(folder: Path, reset: bool, as_json: bool) -> None:
    """Show what was learned in FOLDER from the results that were opened, or forget it."""
    from cairn import protocol, terminal
    from cairn.operations.feedback import store_of

    store = store_of(folder)
    if reset:
        answer = protocol.ResetFeedbackAnswer(store.reset())
        if as_json:
            _print_json(answer)
        else:
            click.echo(f"forgotten: {answer.forgotten} choices")
        return
    files = store.files()
    if as_json:
        _print_json(files)
    else:
        terminal.print_feedback(files)


@cli.command()
@click.option("--why", "path", type=click.Path(path_type=Path), help="Explain whether this path is indexed.")
@_folder_option
@_json_option
def doctor(path: Path | None, folder: Path, as_json: bool) -> None:
    """Check the installation, or explain with --why which rule decides about a file."""
    from cairn import terminal
    from cairn.operations.doctor import examine, why

    if path is not None:
        answer = why(path, folder)
        if as_json:
            _print_json(answer)
        else:
            terminal.print_why(answer)
        return
    checks = examine()
    if as_json:
        _print_json(checks)
    else:
        terminal.print_checks(checks)
    if not all(check.ok for check in checks):
        sys.exit(FAILED)


@cli.group()
def model() -> None:
    """The embedding model."""


@model.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def install(folder: Path | None) -> None:
    """Install the default model, or the one in FOLDER (model.onnx and tokenizer.json)."""
    from cairn.embedding.install import install_default, install_folder

    def report(line: str) -> None:
        click.echo(line, err=True)

    installed = install_folder(folder, report) if folder else install_default(report)
    click.echo(f"{installed.name}, {installed.dimension} dimensions, is ready in {installed.folder}")


cli.add_command(config)
cli.add_command(mcp)


def main() -> None:
    """Run the command line. Errors end with one line and a non-zero exit code."""
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except CairnError as problem:
        click.echo(f"cairn: {problem}", err=True)
        sys.exit(FAILED)
    except (KeyboardInterrupt, click.Abort):
        click.echo("\ncairn: interrupted; what is indexed is kept.", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # `cairn search … | head`
        sys.stderr.close()
        sys.exit(FAILED)


@contextmanager
def _opened(folder: Path, *, keep_indexed: bool = True) -> Iterator[Engine]:
    from cairn.engine import Engine

    # One answer is wanted, not to follow changes.
    engine = Engine({"index": {"watch": False}})
    try:
        engine.add_folder(folder, keep_indexed=keep_indexed)
        yield engine
    finally:
        engine.stop()


def _index_anew(folder: Path, path: str, as_json: bool) -> None:
    """Index `path` anew; where another process indexes the folder, it does that and this one waits."""
    from cairn.operations.control import is_being_indexed
    from cairn.protocol import ReindexParams

    other = is_being_indexed(folder)
    with _opened(folder, keep_indexed=not other) as engine:
        engine.reindex(ReindexParams(path or None))
        _wait(engine, vectors=True, written_by=folder if other else None)
        _print_status(engine, as_json)


def _set_paused(folder: Path, *, paused: bool) -> None:
    from cairn.operations.control import set_paused
    from cairn.terminal import waiting

    with waiting("Asking the process that indexes …"):
        set_paused(folder, paused)
    click.echo("paused; saved files are still taken in" if paused else "resumed")


def _wait_to_ask(engine: Engine, *, vectors: bool) -> None:
    """As `_wait`; where the index cannot be brought up to date, an answer from what it holds is better than none."""
    try:
        _wait(engine, vectors=vectors)
    except IndexUnavailableError as problem:
        if not engine.status().searchable:
            raise
        click.echo(f"cairn: {problem}\nAnswering from what was indexed before.", err=True)


def _wait(engine: Engine, *, vectors: bool, written_by: Path | None = None) -> None:
    """Show progress until the index is up to date, but for vectors where indexing is paused.

    An interrupt while vectors are made goes on without them. With `written_by`, the folder is indexed by another
    process: raises IndexUnavailableError when that ends.
    """
    from cairn.operations.control import is_being_indexed
    from cairn.terminal import progress_bars

    look_at = 0.0
    with progress_bars() as show:
        while True:
            progress = engine.progress()
            show(progress)
            if progress.problem:
                raise IndexUnavailableError(progress.problem)
            if progress.complete or (progress.scanned and not vectors):
                return
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                if written_by and not is_being_indexed(written_by):
                    raise IndexUnavailableError("The process that was indexing ended; run this again.")
                if progress.scanned and engine.status().paused:
                    click.echo(
                        "Indexing is paused, some vectors are missing; `cairn resume` goes on.", err=True
                    )
                    return
            try:
                time.sleep(_POLL_SECONDS)
            except KeyboardInterrupt:
                if not progress.scanned:
                    raise
                click.echo("\nGoing on with what is indexed so far.", err=True)
                return


def _not_empty(query: str) -> str:
    if not query.strip():
        raise InvalidRequestError("query", "is empty; ask a question or name a symbol")
    return query


def _print_status(engine: Engine, as_json: bool) -> None:
    from cairn.terminal import print_status

    answer = engine.status()
    if as_json:
        _print_json(answer)
    else:
        print_status(answer)


def _print_json(answer: Any) -> None:
    from cairn.schema import unstructure

    click.echo(json.dumps(unstructure(answer), ensure_ascii=False, indent=2))
