"""Commands for questions: search, discover, related, context and page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cairn.cli.command_folders import (
    POSITION,
    find_file,
    folders_option,
    from_here,
    lines_named,
    no_wait_option,
    path_inside,
    place_in,
    places_named,
    places_option,
    unnamed_project,
)
from cairn.cli.completion import ChunkTypeName, collections_like, languages_like
from cairn.cli.output import F, WrongUsageError, alternatives, answers
from cairn.cli.question import Question, compact_options, max_tokens_option, session_options
from cairn.errors import InvalidRequestError

if TYPE_CHECKING:
    from cairn.engine.request import Request


def _filter(places: Sequence[str], folders: Sequence[Path]) -> dict[str, Any]:
    project = unnamed_project()
    if not places and project is not None and project.below:
        return {"path": [str(from_here("."))]}
    return {"path": places_named(places, folders)} if places else {}


_LISTED = 200
"""The number of lines of an exact search on a terminal."""
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
@compact_options
@session_options
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
@compact_options
@session_options
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
@compact_options
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
    _, file, at = place_in(place, folders, POSITION)
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
@max_tokens_option
@session_options
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
        data={"path": path_inside(folder, file) if folder and file else places[0], "folder": shown_folder},
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
    file `must_exist`, raise InvalidRequestError for these, and always for a file outside of the folders.
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
        if must_exist or from_here(given).exists():
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
