"""Commands for questions: search, discover, related, context, page, and the directions of references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cairn.cli.command_folders import (
    find_file,
    folders_option,
    from_here,
    lines_named,
    no_wait_option,
    place_in,
    places_named,
    places_option,
    real_place,
    unnamed_project,
)
from cairn.cli.completion import ChunkTypeName, collections_like, languages_like
from cairn.cli.output import F, WrongUsageError, alternatives, answers
from cairn.cli.question import Question
from cairn.errors import InvalidRequestError

if TYPE_CHECKING:
    from cairn.engine.request import Request


def _filter(places: Sequence[str], folders: Sequence[Path]) -> dict[str, Any]:
    project = unnamed_project()
    if not places and project is not None and project.below:
        return {"path": [str(from_here("."))]}
    return {"path": places_named(places, folders)} if places else {}


_max_tokens = click.option(
    "--max-tokens",
    type=click.IntRange(100, 50_000),
    help="Answer in compact text of at most this many tokens, also on a terminal.",
)
_cursor = click.option(
    "--cursor",
    help="Continue a compact answer: repeat the command with the option of its line `more:`.",
)


_session = click.option(
    "--session",
    metavar="NAME",
    help="Answer in compact text without the lines that this session's commands have printed.",
)
_again = click.option("--again", is_flag=True, help="Print lines that the session has printed before.")


def _compact_options(command: F) -> F:
    return _max_tokens(_cursor(command))


def _session_options(command: F) -> F:
    return _session(_again(command))


_LISTED = 200
"""The number of lines of an exact search on a terminal."""
_POSITION = "FILE:LINE or FILE:LINE:COLUMN"
_collections_option = partial(click.option, multiple=True, shell_complete=collections_like)


def _as_written(name: str, how: str) -> Callable[[F], F]:
    return click.option(name, is_flag=True, help=f"Find QUERY, or its quoted part, as written, {how}.")


@click.command()
@click.argument("query")
@folders_option
@click.option(
    "-n",
    "--limit",
    type=int,
    help="Number of results: 10 on a terminal, else 5. With --exact, of lines: 200.",
)
@click.option("--exact", is_flag=True, help="List every line that contains QUERY as it is written.")
@click.option("--regex", is_flag=True, help="List every line that matches QUERY, a regular expression.")
@click.option("--ignore-case", is_flag=True, help="With --exact or --regex, ignore upper and lower case.")
@click.option(
    "-t", "--type", "types", multiple=True, type=ChunkTypeName(), help="Only prose, code, api, cmd or config."
)
@click.option(
    "-l",
    "--language",
    "languages",
    multiple=True,
    shell_complete=languages_like,
    help="Only this language, such as python.",
)
@places_option
@_collections_option("-c", "--collection", "collections", help="Only this collection.")
@click.option("--alpha", type=float, help="0 keywords only … 1 meaning only.")
@_as_written("--case", "in the same case")
@_as_written("--word", "in whole words")
@click.option(
    "--passages", default=3, show_default=True, help="Passages of one file, if that many are useful."
)
@click.option("--explain", is_flag=True, help="Show how each result's score was computed.")
@_compact_options
@_session_options
@no_wait_option
@answers
def search(
    query: str,
    types: tuple[str, ...],
    languages: tuple[str, ...],
    collections: tuple[str, ...],
    case: bool,
    word: bool,
    exact: bool,
    regex: bool,
    ignore_case: bool,
    limit: int | None,
    alpha: float | None,
    passages: int,
    explain: bool,
    folders: Sequence[Path],
    places: Sequence[str],
    **options: Any,
) -> Question:
    """Show the passages that answer QUERY best.

    With --exact or --regex, list every line that contains it instead, and say if the list is complete.
    """
    _require_words(query)
    from cairn.cli.answer_text import print_search
    from cairn.cli.occurrence_text import print_occurrences

    data = {
        "query": query,
        "filter": {
            **_filter(places, folders),
            "type": types,
            "language": languages,
            "collection": collections,
        },
        "alpha": alpha,
        "passages": passages,
        "explain": explain,
        "caseSensitive": case,
        "wholeWord": word,
        "exact": exact,
        "regex": regex,
        "ignoreCase": ignore_case,
    }
    is_exact = exact or regex
    usual = _LISTED if is_exact else 10
    return Question(
        folders=folders,
        method="search",
        data={**data, "bestOnly": True, "limit": usual if limit is None else limit},
        shown=print_occurrences if is_exact else print_search,
        tool="search",
        arguments={**data, "limit": limit},
        check=partial(_require_collections, wanted=collections) if collections else None,
        **options,
    )


@click.command()
@click.argument("query")
@folders_option
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of excerpts on a terminal.",
)
@click.option("--max-bullets", type=int, help="The most pieces of evidence.")
@click.option(
    "--format", "style", type=click.Choice(["markdown", "plain", "json"]), help="Layout of the prompt."
)
@click.option("--prompt", "prompt_alone", is_flag=True, help="Print only the prompt for a language model.")
@_compact_options
@_session_options
@places_option
@_collections_option("--include", help="Only collections that match this glob.")
@_collections_option("--exclude", help="No collections that match this glob.")
@no_wait_option
@answers
def discover(
    query: str,
    limit: int,
    max_bullets: int | None,
    style: str | None,
    prompt_alone: bool,
    max_tokens: int | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    folders: Sequence[Path],
    places: Sequence[str],
    **options: Any,
) -> Question:
    """Show excerpts that answer QUERY, the most useful file first, also as a prompt."""
    _require_words(query)
    from cairn.cli import answer_text

    data = {
        "query": query,
        "maxBullets": max_bullets,
        "include": include,
        "exclude": exclude or None,
        "filter": _filter(places, folders),
        "format": style,
        "config": {} if max_tokens is None else {"render": {"maxPromptTokens": max_tokens}},
    }
    shown = answer_text.print_prompt if prompt_alone else partial(answer_text.print_discovery, limit=limit)
    return Question(
        folders=folders,
        method="discover",
        data=data,
        shown=shown,
        tool="" if prompt_alone else "discover",
        max_tokens=max_tokens,
        check=partial(_require_matches, globs=include) if include else None,
        **options,
    )


@click.command()
@click.argument("place", metavar="FILE:LINE[-LINE]")
@folders_option
@click.option("-n", "--limit", default=10, show_default=True, help="Number of results.")
@_compact_options
@no_wait_option
@answers
def related(place: str, limit: int, folders: Sequence[Path], **options: Any) -> Question:
    """Show what is related to lines of a file."""
    _, file, at = place_in(place, folders, "FILE:LINE or FILE:LINE-LINE")
    from cairn.cli import answer_text

    start = {"line": at.first - 1, "character": 0}
    # Whole lines end before the first character of the next line. An empty range means its line.
    end = start if at.first == at.last else {"line": at.last, "character": 0}
    return Question(
        folders=folders,
        method="related",
        data={"textDocument": {"uri": file.as_uri()}, "range": {"start": start, "end": end}, "limit": limit},
        shown=answer_text.print_related,
        tool="related",
        arguments={"path": f"{file}:{at.first}-{at.last}", "limit": limit},
        **options,
    )


@click.command()
@click.argument("place", metavar="FILE:LINE[:COLUMN]")
@folders_option
@click.option(
    "--ask", "query", default="", help="A question about the place; passages that answer it come first."
)
@click.option("--budget", type=int, help="Tokens of the whole context.")
@click.option("-n", "--limit", default=10, show_default=True, help="Number of passages.")
@no_wait_option
@answers
def context(
    place: str, query: str, budget: int | None, limit: int, folders: Sequence[Path], **options: Any
) -> Question:
    """Show what belongs to a place in a file.

    The passages are followed by a context made of them, for a language model.
    """
    _, file, at = place_in(place, folders, _POSITION)
    from cairn.cli import answer_text

    data = {
        "textDocument": {"uri": file.as_uri()},
        "position": {"line": at.first - 1, "character": max(0, at.column - 1)},
        "query": query,
        "budget": budget,
        "limit": limit,
    }
    return Question(folders, "context", data, answer_text.print_context, **options)


@click.command()
@click.argument("places", metavar="FILE[:LINE[-LINE]]|NAME...", nargs=-1, required=True)
@folders_option
@_max_tokens
@_session_options
@answers
def page(
    places: tuple[str, ...], folders: Sequence[Path], max_tokens: int | None, as_json: bool, **options: Any
) -> Question:
    """Show the numbered lines of files or parts of files, or the definitions of names.

    A file alone is shown on a terminal as it is indexed. Of a long file, a program gets the outline.
    """
    from cairn.cli import answer_text

    if as_json and len(places) > 1:
        raise WrongUsageError("place", "--json is of one file; give one, or leave it out")
    read = [_place_to_read(each, folders, must_exist=as_json) for each in places]
    folder, file, lines = read[0]
    shown_folder = folder.absolute().as_uri() if folder and len(folders) > 1 else ""
    return Question(
        folders=folders,
        method="fetchPage",
        data={"path": _inside(folder, file) if folder and file else places[0], "folder": shown_folder},
        shown=answer_text.print_page,
        tool="read",
        arguments={
            "path": [f"{file or given}{lines}" for (_, file, lines), given in zip(read, places, strict=True)]
        },
        max_tokens=max_tokens,
        as_json=as_json,
        is_compact=len(places) > 1 or file is None or bool(lines),
        no_wait=True,
        **options,
    )


def _place_to_read(
    given: str, folders: Sequence[Path], *, must_exist: bool
) -> tuple[Path | None, Path | None, str]:
    """Return the folder and the file of a place, and its lines as `:10-40`, or "" for the whole file.

    There is no file for anything else, such as a name, the end of a path, or several places in one text. If a
    file `must_exist`, raise InvalidRequestError for these.
    """
    try:
        return *find_file(given, folders), ""
    except InvalidRequestError:
        try:
            if lines_named(given).first:
                folder, file, at = place_in(given, folders, "FILE:LINE or FILE:LINE-LINE")
                return folder, file, f":{at.first}-{at.last}"
        except (InvalidRequestError, WrongUsageError):
            if must_exist:
                raise
        if must_exist:
            raise
        return None, None, ""


def _require_words(query: str) -> None:
    if not query.strip():
        raise WrongUsageError("query", "is empty; ask a question or name a symbol")


def _require_collections(request: Request, wanted: Sequence[str]) -> None:
    known = _collections(request) if wanted else []
    for name in wanted:
        if name not in known:
            raise InvalidRequestError("filter.collection", f"there is no {name!r}{alternatives(name, known)}")


def _require_matches(request: Request, globs: Sequence[str]) -> None:
    known = _collections(request) if globs else []
    if globs and not any(fnmatchcase(name.lower(), glob.lower()) for name in known for glob in globs):
        problem = f"no collection matches {', '.join(globs)}{alternatives(globs[0], known)}"
        raise InvalidRequestError("include", problem)


def _collections(request: Request) -> list[str]:
    from cairn.engine.runner import answer

    return sorted({each.name for each in answer(request, "collections", {}, as_json=False)})


# --- references ------------------------------------------------------------------------------------


def _follows(command: F) -> F:
    name = click.argument("name", metavar="NAME|FILE:LINE[:COLUMN]")
    depth = click.option("--depth", default=1, show_default=True, help="Levels to follow, up to 5.")
    limit = click.option("-n", "--limit", default=100, show_default=True, help="Number of references.")
    options: tuple[Callable[[F], F], ...] = (
        name, folders_option, depth, limit, places_option, _compact_options, answers,
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


_NAME_HELP = "NAME is its name, optionally with its owner (Owner.name), or a line in it."


def _command(direction: str, summary: str) -> click.Command:
    """Return the command of a direction, which has the direction's name."""

    @click.command(direction, help=f"{summary}\n\n{_NAME_HELP}")
    @_follows
    def follow(name: str, **options: Any) -> Question:
        return _follow(name, direction, **options)

    return follow


DIRECTIONS: tuple[click.Command, ...] = (
    _command(
        "callers",
        "Show who calls a function or makes an instance of a type, and with --depth, who calls those.",
    ),
    _command(
        "callees", "Show what a function calls, in the order of its code, and with --depth, what those call."
    ),
    _command("uses", "Show what calls, imports, reads, writes or inherits from a definition."),
    _command("implementations", "Show the types that extend or implement a type, or a method's overrides."),
    _command("tests", "Show the tests that call a function, directly or through one other function."),
)
"""The commands that follow references. The protocol has the same directions, and `trace`."""


@click.command()
@click.argument("name", metavar="NAME|FILE:LINE[:COLUMN]")
@click.argument("to", metavar="[TO]", required=False)
@folders_option
@click.option("--depth", type=int, help="Levels to follow, up to 10. By default, -n decides.")
@click.option(
    "-n", "--limit", type=int, help="Number of calls: 60 on a terminal, else what the answer holds."
)
@_compact_options
@answers
def trace(name: str, to: str | None, depth: int | None, limit: int | None, **options: Any) -> Question:
    """Show what happens when a function runs: its calls in order, and below each the calls of that function.

    With TO, show only the shortest ways to it. NAME and TO are names, optionally with the owner (Owner.name),
    or lines in functions.
    """
    return _follow(name, "trace", to=to, depth=depth, limit=limit, **options)


def _follow(
    name: str,
    direction: str,
    *,
    folders: Sequence[Path],
    depth: int | None,
    limit: int | None,
    to: str | None = None,
    places: Sequence[str] = (),
    **options: Any,
) -> Question:
    from cairn.cli.answer_text import print_references, print_trace

    for field, given in (("name", name), ("to", to)):
        if given is not None and not given.strip():
            raise WrongUsageError(field, "is empty; give a name, Owner.name or FILE:LINE")
    data = {
        "symbol": _name_or_line(name, folders),
        "direction": direction,
        "to": None if to is None else _name_or_line(to, folders),
        "depth": depth,
        "path": places_named(places, folders),
        "limit": limit,
    }
    is_trace = direction == "trace"
    return Question(
        folders=folders,
        method="references",
        data={**data, "limit": _CALLS if limit is None else limit},
        shown=print_trace if is_trace else partial(print_references, direction=direction),
        tool="references",
        arguments=data,
        no_wait=True,
        **options,
    )


_CALLS = 60
"""The number of calls that a terminal shows of a trace."""


def _name_or_line(text: str, folders: Sequence[Path]) -> str:
    """Return a name as it is, and `FILE:LINE…` with the file's path as in the protocol. Of other paths, the
    engine may know the end."""
    if not lines_named(text).first:
        return text
    try:
        folder, file, at = place_in(text, folders, _POSITION)
    except InvalidRequestError:
        return text
    path = str(file) if len(folders) > 1 else _inside(folder, file)
    return f"{path}:{at.first}" + (f":{at.column}" if at.column else "")


def _inside(folder: Path, file: Path) -> str:
    return real_place(file).relative_to(folder.resolve()).as_posix()
