"""Convert what is known about a place to items: the cursor, open documents and diagnostics of the editor, and
the core concepts of the document's project, which are its name, its terms and the start of its README."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve, frozen

from cairn.chunking.paragraphs import Paragraph, read_paragraphs
from cairn.context.builder import Item, as_code, one_line
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.languages.registry import prose_language
from cairn.protocol import Diagnostic, Range, citation
from cairn.text.inline_markup import strip_inline
from cairn.text.verbatim import lines_with_ends

_CURSOR, _FIRST_OPEN, _SHOWN, _OPEN = 1.0, 0.9, 0.8, 0.4
"""The scores of the place, the first open documents, the passage at the cursor, and the other documents. The
names of the first documents take under a tenth of the budget; the passage may take the rest."""
_MOST_FIRST = 5

SEVERITIES = ("error", "warning", "information", "hint")
"""The names of LSP's severities 1 to 4."""


@frozen
class CursorPassage:
    """The passage at the cursor, or the selection."""

    path: str
    """The document's path in the workspace folder, or its name."""
    text: str
    lines: tuple[int, int]
    """The 0-based lines `[start, end)` of the passage in the document."""
    cursor: int
    """The 0-based line of the cursor, or the first line of the selection."""
    selected: bool = False
    language: str = ""
    title: str = ""
    header_path: str = ""
    symbol: str = ""


def editor_items(shown: CursorPassage, open_documents: Sequence[str]) -> tuple[Item, ...]:
    """Return the place, the passage there, and the other open documents, the most important ones first."""
    place = Item(_place(shown), title=shown.path, score=_CURSOR, path=shown.path)
    passage = Item(
        shown.text,
        title="selected" if shown.selected else "at the cursor",
        score=_SHOWN,
        path=shown.path,
        lines=shown.lines,
        quoted=True,
        language=shown.language,
        focus=max(0, min(shown.cursor, shown.lines[1] - 1) - shown.lines[0]),
    )
    passages = [passage] if shown.text.strip() else []
    others = [path for path in dict.fromkeys(open_documents) if path != shown.path]
    documents = [
        Item(
            f"- Open: {as_code(path)}",
            title=path,
            score=(_FIRST_OPEN if number < _MOST_FIRST else _OPEN) - number / 10_000,
            path=path,
        )
        for number, path in enumerate(others)
    ]
    return (place, *documents[:_MOST_FIRST], *passages, *documents[_MOST_FIRST:])


def diagnostic_items(path: str, diagnostics: Sequence[Diagnostic], cursor: int) -> tuple[Item, ...]:
    """Return the diagnostics, the most severe first; of equally severe ones, the nearest to the cursor."""

    def order(each: Diagnostic) -> tuple[int, int, int, str]:
        first, last = touched_lines(each.range)
        return _severity(each), max(first - cursor, cursor - last + 1, 0), first, each.message

    different = {
        (order(each), touched_lines(each.range), each.source, each.code): each for each in diagnostics
    }
    ordered = sorted(different.values(), key=order)
    return tuple(_diagnostic(path, each, 1 / place) for place, each in enumerate(ordered, 1))


def touched_lines(given: Range) -> tuple[int, int]:
    """Return the lines `[first, last)` that the range touches."""
    start, end = given.start, given.end
    return start.line, end.line + (end.character > 0 or end.line == start.line)


def _severity(each: Diagnostic) -> int:
    return each.severity or 1


def query_items(queries: Sequence[str]) -> tuple[Item, ...]:
    different = dict.fromkeys(one_line(query) for query in queries if query.strip())
    return tuple(
        Item(f"- {as_code(query)}", title=query, score=1 / place) for place, query in enumerate(different, 1)
    )


def _place(shown: CursorPassage) -> str:
    inside = shown.header_path if shown.header_path else shown.title
    if shown.symbol and shown.symbol not in inside:
        inside = f"{inside} > {shown.symbol}" if inside else shown.symbol
    what = "Selection" if shown.selected else "Cursor"
    start, end = shown.lines
    where = f"lines {start + 1} to {end}" if shown.selected else f"line {shown.cursor + 1}"
    return f"- {what}: {as_code(shown.path)}, {where}" + (f", in {as_code(inside)}" if inside else "")


def _diagnostic(path: str, each: Diagnostic, score: float) -> Item:
    kind = SEVERITIES[_severity(each) - 1].capitalize()
    code = "" if each.code is None else str(each.code)
    by = " ".join(filter(None, (each.source or "", code)))
    lines = touched_lines(each.range)
    # With this indentation, all lines of the message belong to the list item.
    first, *rest = [line.strip() for line in lines_with_ends(each.message.strip())] or [""]
    head = f"- {kind}, `{citation(path, lines)}`{f' ({by})' if by else ''}: {first}"
    text = "\n".join([head, *(f"  {line}" for line in rest if line)])
    return Item(text, one_line(first), score, path, lines)


_TERMS, _PROJECT, _README = 1.0, 0.9, 0.8
_MOST_COLLECTIONS = 12
_FEWEST_WORDS = 4
"""The minimum number of words, besides images and links, of a paragraph of text. A row of badges has none."""

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|`[^`]*<[^>]*>`_+|<?https?://\S+")
_WORD = re.compile(r"[^\W\d_]{2,}")


def concept_items(
    reader: OverlaidReader, collection: str, terms: Sequence[str], readmes: Sequence[str]
) -> tuple[Item, ...]:
    """Return the core concepts for a document of `collection` ("" for none) in the folder of `reader`.

    `readmes` are the READMEs above the document, the nearest first.
    """
    items = []
    if terms:
        shown = ", ".join(map(as_code, dict.fromkeys(terms)))
        items.append(Item(f"- Terms: {shown}", title="terms", score=_TERMS))
    if project := _project(reader, collection):
        items.append(project)
    introductions = filter(None, (_introduction(reader, path) for path in readmes))
    items += [evolve(item, score=_README - number / 100) for number, item in enumerate(introductions)]
    return tuple(items)


def readmes_above(readmes: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the nearest README above the document at `path`, and that of the whole folder."""
    by_directory: dict[str, str] = {}
    for each in readmes:
        by_directory.setdefault(each.rpartition("/")[0], each)
    directory = path.rpartition("/")[0]
    while directory and directory not in by_directory:
        directory = directory.rpartition("/")[0]
    found = (by_directory.get(directory), by_directory.get(""))
    return tuple(dict.fromkeys(each for each in found if each))


def _project(reader: OverlaidReader, collection: str) -> Item | None:
    """Return the project's name in its manifest, and the other collections of the folder."""
    collections = sorted(reader.stats().collections, key=lambda each: (-each.chunks, each.name))
    if not collections:
        return None
    name = (collection or collections[0].name).rpartition("-")[0]
    shown = [f"{as_code(each.name)} ({each.files})" for each in collections[:_MOST_COLLECTIONS]]
    if len(collections) > _MOST_COLLECTIONS:
        shown.append(f"{len(collections) - _MOST_COLLECTIONS} more")
    text = f"- Project: {as_code(name)}\n- Collections, with files: {', '.join(shown)}"
    return Item(text, title=name, score=_PROJECT)


def _introduction(reader: OverlaidReader, path: str) -> Item | None:
    """Return the lines of a README's first paragraph of running text, if any."""
    text = "".join(stored.chunk.text for stored in reader.page(path))
    language = prose_language(path)
    found = next(filter(_is_text, read_paragraphs(language, text)), None)
    if found is None:
        return None
    return Item(
        "".join(lines_with_ends(text)[found.first : found.last]),
        title="",
        score=_README,
        path=path,
        lines=(found.first, found.last),
        quoted=True,
        language="markdown" if language == "markdown" else "",
    )


def _is_text(found: Paragraph) -> bool:
    without_links = strip_inline(_LINK.sub(" ", _IMAGE.sub(" ", found.source))).text
    return not found.is_item and len(_WORD.findall(without_links)) >= _FEWEST_WORDS
