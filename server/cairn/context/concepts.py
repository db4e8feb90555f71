"""Collects facts about a document's project from the index: its name, its terms, the start of its README."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve

from cairn.context.markdown import as_code
from cairn.context.model import Item
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.text.paragraphs import Paragraph, read_paragraphs
from cairn.text.verbatim import lines_with_ends

_TERMS, _PROJECT, _README = 1.0, 0.9, 0.8
_MOST_COLLECTIONS = 12
_FEWEST_WORDS = 4
"""The minimum number of words, besides images and links, of a paragraph of text. A row of badges has none."""

_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|`[^`]*<[^>]*>`_+|<?https?://\S+")
_MARKDOWN = (".md", ".markdown", ".mdx")
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
    lines = lines_with_ends("".join(stored.chunk.text for stored in reader.page(path)))
    markdown = path.lower().endswith(_MARKDOWN)
    found = next(filter(_is_text, read_paragraphs(enumerate(lines), markdown)), None)
    if found is None:
        return None
    first, last = found.numbers[0], found.numbers[-1] + 1
    return Item(
        "".join(lines[first:last]),
        title="",
        score=_README,
        path=path,
        lines=(first, last),
        quoted=True,
        language="markdown" if markdown else "",
    )


def _is_text(found: Paragraph) -> bool:
    without_links = _LINK.sub(" ", _IMAGE.sub(" ", found.text))
    return not found.item and len(_WORD.findall(without_links)) >= _FEWEST_WORDS
