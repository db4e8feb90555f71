"""`cairn team`: one index for a team, in PostgreSQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cairn.cli.output import answers, print_json, remark, report, show, to_stderr
from cairn.errors import InvalidRequestError, TeamError, needing
from cairn.text.counts import counted

if TYPE_CHECKING:
    from cairn.team.commit_indexing import IndexResult
    from cairn.team.garbage import Collected
    from cairn.team.team_store import OwnedStore, StoredRepository, StoreState

store_option = click.option(
    "--store",
    metavar="URL",
    help=(
        "The database of the store's owner, or a file with its URL. Default: CAIRN_STORE_URL, or this "
        "machine's trial."
    ),
)


@click.group()
def team() -> None:
    """One index for a team, in PostgreSQL with pgvector.

    `cairn team up` starts a trial on this machine; `cairn team index` adds a repository to it.
    """


def _owned(store: str | None) -> OwnedStore:
    with needing("serve", "team"):
        from cairn.team.team_store import OwnedStore
    return OwnedStore.at([store] if store else [])


@team.command()
@answers
def up(as_json: bool) -> None:
    """Start a trial on this machine: a database of its own, and a token for you with access to everything.

    It runs until `cairn team down`, which keeps its data.
    """
    with needing("serve", "team-trial"):
        from cairn.team.team_store import ensure_trial_token, logins_folder, start_trial
    server, store = start_trial()
    token_file = ensure_trial_token(store, logins_folder())

    def shown(_: Any) -> None:
        print(f"The trial database runs in {server.folder}; your token is in {token_file}.")
        if token_file.parent == logins_folder():
            print("  The token beside your settings is for another store: give this one in CAIRN_TEAM_TOKEN")
        print("  cairn team index FOLDER_OR_URL    adds a repository")
        print("  cairn team serve                  answers from it, over REST, MCP and LSP")
        print("  cairn team down                   stops it, and keeps its data")

    report(
        {"folder": str(server.folder), "running": server.running(), "tokenFile": str(token_file)},
        shown,
        as_json,
    )


@team.command()
@answers
def down(as_json: bool) -> None:
    """Stop the trial on this machine, and keep its data."""
    from cairn.team.trial import trial_server

    server = trial_server()
    server.stop()
    report(
        {"folder": str(server.folder), "running": server.running()},
        lambda _: print(f"The trial database in {server.folder} is stopped."),
        as_json,
    )


@team.command()
@store_option
@click.option(
    "--server-login", default="", metavar="ROLE", help="Let servers log in as this role of the database."
)
@click.option(
    "--password-from",
    metavar="VARIABLE",
    help="Create that role, or change its password, with the password in this environment variable.",
)
@answers
def prepare(store: str | None, server_login: str, password_from: str | None, as_json: bool) -> None:
    """Create or update Cairn's tables in a database of your own.

    The URL is that of the owner, who may create roles. A server's login sees only what the reader of each
    request may see.
    """
    owned = _owned(store)
    if password_from is not None:
        password = os.environ.get(password_from, "")
        if not server_login or not password:
            raise click.UsageError("--password-from needs --server-login and a variable that is set")
        owned.make_login(server_login, password)
    version = owned.prepare(server_login)
    report({"version": version}, lambda _: print(f"The store has version {version} of its tables."), as_json)


@team.command("add-server")
@click.argument("name")
@click.argument("url", metavar="URL_FILE")
@store_option
@answers
def add_server(name: str, url: str, store: str | None, as_json: bool) -> None:
    """Allow repositories on another PostgreSQL server.

    The store's own server reaches it by the URL in a file. Its user there owns a database with pgvector.
    `cairn team index --on NAME` puts repositories there.
    """
    _owned(store).add_server(name, url)
    report(
        {"name": name},
        lambda _: print(f"The store has the server {name}: cairn team index FOLDER|URL --on {name}"),
        as_json,
    )


@team.command()
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|URL...")
@click.option("--ref", help="A branch, tag or commit. Default: the folder's, or the remote's main branch.")
@click.option("--name", help="The repository's name in the store. Default: the end of its address.")
@click.option("--on", "server", default="", metavar="NAME", help="Put new ones on this server of the store.")
@click.option("--apart", is_flag=True, help="Share no rows with forks, which may have other readers.")
@store_option
@answers
def index(
    sources: Sequence[str],
    ref: str | None,
    name: str | None,
    server: str,
    apart: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Index repositories into the store: local clones, or URLs.

    Only files that the store does not have are read. The command may be killed at any moment. With several
    repositories, one that cannot be indexed is reported and the others are indexed.
    """
    owned = _owned(store)
    from cairn.team.commit_indexing import index_repository

    if name and len(sources) > 1:
        raise click.UsageError("--name is for one repository")
    done: list[IndexResult] = []
    for source in sources:
        try:
            done.append(index_repository(owned.url, source, ref, name, remark, server=server, apart=apart))
        except (InvalidRequestError, TeamError) as problem:
            if len(sources) == 1:
                raise
            to_stderr(f"{source}: {problem}")
            continue
        if not as_json:
            report(done[-1], _print_indexed, as_json)
    if as_json:
        print_json(done)
    if len(done) < len(sources) or any(each.problems for each in done):
        sys.exit(1)


def _print_indexed(done: IndexResult) -> None:
    what = (
        f"{done.files_read:,} of {counted(done.files, 'file')} read, "
        f"{counted(done.chunks_new, 'new passage')}"
        if done.is_new
        else "was there"
    )
    print(f"{done.repository} {done.ref} at {done.commit[:10]}: {what}, {done.seconds:.1f} s")
    for problem in done.problems:
        to_stderr(f"  {problem}")


@team.command()
@store_option
@answers
def status(store: str | None, as_json: bool) -> None:
    """Show the state of the store: its size, its servers and its readers."""
    show(_owned(store).state(), _print_state, as_json)


def _print_state(state: StoreState) -> None:
    print(f"{state.place} · PostgreSQL {state.version}")
    print(
        f"  repositories: {state.repositories:,}; snapshots: {state.snapshots:,}; passages: {state.chunks:,};"
        f" {state.bytes / 1e6:,.0f} MB"
    )
    elsewhere = f", {state.shards_elsewhere} of them on other servers" if state.shards_elsewhere else ""
    print(f"  shards: {state.shards}{elsewhere}; readers: {state.readers}")
    for replica in state.replicas:
        print(f"  replica {replica}")


@team.command()
@store_option
@answers
def repositories(store: str | None, as_json: bool) -> None:
    """List the indexed repositories."""
    show(_owned(store).repositories(), _print_repositories, as_json)


def _print_repositories(found: Sequence[StoredRepository]) -> None:
    for each in found:
        counts = f"{counted(each.files, 'file')}, {counted(each.chunks, 'passage')}"
        apart = "  apart" if each.apart else ""
        print(f"{each.name}  {', '.join(each.refs)}  {each.commit[:10]}  {counts}  {each.indexed_at}{apart}")
    if not found:
        print("Nothing is indexed yet: cairn team index FOLDER|URL")


@team.command()
@click.argument("reader")
@click.argument("granted", nargs=-1, metavar="[REPOSITORY]...")
@click.option("--all", "everything", is_flag=True, help="All repositories, including future ones.")
@click.option(
    "--token", "wants_token", is_flag=True, help="Create a token for the reader, which is shown only once."
)
@store_option
@answers
def grant(
    reader: str, granted: Sequence[str], everything: bool, wants_token: bool, store: str | None, as_json: bool
) -> None:
    """Let READER, a person or an agent, see repositories."""
    if not (granted or everything or wants_token):
        raise click.UsageError("name repositories, or give --all or --token")
    owned = _owned(store)
    if granted or everything:
        owned.grant(reader, granted, everything=everything)
    token = owned.token(reader) if wants_token else None

    def shown(_: Any) -> None:
        if granted or everything:
            remark(f"{reader} sees {'all repositories' if everything else ', '.join(granted)}.")
        if token:
            print(token)

    show({"reader": reader, "token": token}, shown, as_json)


@team.command()
@click.argument("reader")
@click.argument("taken", nargs=-1, metavar="[REPOSITORY]...")
@store_option
@answers
def revoke(reader: str, taken: Sequence[str], store: str | None, as_json: bool) -> None:
    """Take repositories from READER. Without repositories, take all access, including tokens."""
    _owned(store).revoke(reader, taken)
    what = ", ".join(taken) if taken else "anything"
    report({"reader": reader}, lambda _: print(f"{reader} does not see {what} any more."), as_json)


@team.command()
@store_option
@answers
def readers(store: str | None, as_json: bool) -> None:
    """List who may see what."""
    found = _owned(store).readers()

    def shown(_: Any) -> None:
        for each in found:
            sees = "everything" if each.everything else ", ".join(each.repositories) or "nothing"
            print(f"{each.name}  {counted(each.tokens, 'token')}  {sees}")
        if not found:
            print("There are no readers yet: cairn team grant READER --all --token")

    show(found, shown, as_json)


@team.command()
@click.option("--gone-refs", is_flag=True, help="Also forget branches that the repository no longer has.")
@store_option
@answers
def gc(gone_refs: bool, store: str | None, as_json: bool) -> None:
    """Delete what no branch needs any more. Questions are still answered meanwhile."""
    owned = _owned(store)
    from cairn.team.garbage import collect_garbage

    report(collect_garbage(owned.url, gone_refs=gone_refs, progress=remark), _print_collected, as_json)


@team.command()
@click.argument("repository")
@store_option
@answers
def remove(repository: str, store: str | None, as_json: bool) -> None:
    """Remove a repository from the store, with all that no other repository needs."""
    owned = _owned(store)
    from cairn.team.garbage import remove_repository

    report(remove_repository(owned.url, repository, progress=remark), _print_collected, as_json)


def _print_collected(done: Collected) -> None:
    counts = [
        counted(done.snapshots, "snapshot"),
        counted(done.files, "file"),
        counted(done.chunks, "passage"),
    ]
    print(f"Deleted {counts[0]}, {counts[1]} and {counts[2]}.")
    for problem in done.problems:
        to_stderr(f"  {problem}")
