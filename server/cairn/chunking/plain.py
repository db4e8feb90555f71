"""Cut text without a syntax tree, such as configuration, by blank lines and indentation."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from attrs import evolve

from cairn.chunking.classify import file_type
from cairn.chunking.definition_place import DEFINITION
from cairn.chunking.lines import Lines
from cairn.chunking.model import Chunk
from cairn.chunking.outline import MAXIMUM
from cairn.protocol.chunk_types import ChunkType

# The patterns of the keys or section headers by which chunks of configuration are named.
_SECTIONS = {
    language: re.compile(pattern, re.MULTILINE)
    for languages, pattern in {
        "toml ini properties editorconfig gomod": r"^[ \t]*\[{1,2}(?P<name>[^\[\]\r\n]+)\]",
        "yaml": r"^(?P<name>[\w.$/-]+)[ \t]*:(?=\s|$)",
        "json json5 jsonc": r"^(?P<indent>[ \t]+)[\"'](?P<name>[^\"'\r\n]+)[\"'][ \t]*:",
    }.items()
    for language in languages.split()
}
_KINDS = {
    **dict.fromkeys("def func fn fun sub proc procedure let task template".split(), "function"),
    **dict.fromkeys(("message", "record", "model"), "struct"),
    "protocol": "interface", "service": "interface",
}  # fmt: skip

_SIGNATURE_LIMIT = 200
# The pattern of a line that is not blank, a comment or a bracket.
_CONTENT = re.compile(r"^[ \t]*[^\s#;/{\[]", re.MULTILINE)


def plain_chunks(path: str, language: str, lines: Lines) -> list[Chunk]:
    chunk_type = file_type(path, language, lines.text(0, len(lines)))
    chunks: list[Chunk] = []
    sections = _SECTIONS.get(language)
    # The outermost keys of JSON have the indentation of the first key.
    first = sections.search(lines.text(0, len(lines))) if sections is not None else None
    indent = first.groupdict().get("indent") if first is not None else None
    section = ""
    for position, (start, end) in enumerate(lines.pieces(0, len(lines), MAXIMUM)):
        text = lines.text(start, end)
        chunk = Chunk(position, start, end, text, chunk_type, language, title=PurePosixPath(path).stem)
        if sections is not None:
            found = [match for match in sections.finditer(text) if match.groupdict().get("indent") == indent]
            chunk = _configuration(chunk, found, section, PurePosixPath(path).name)
            section = found[-1]["name"].strip() if found else section
        elif chunk_type in (ChunkType.CODE, ChunkType.API) and language:
            chunk = _code(chunk)
        chunks.append(chunk)
    return chunks


def _configuration(chunk: Chunk, found: list[re.Match[str]], before: str, name: str) -> Chunk:
    """Return the chunk, named by the section or key in which it starts: the first of `found`, or the last one
    `before` it."""
    starts_new = found and (not before or not _CONTENT.search(chunk.text, 0, found[0].start()))
    header = found[0]["name"].strip() if starts_new else before
    return evolve(chunk, title=f"{name}: {header}" if header else name, header_path=header)


def _code(chunk: Chunk) -> Chunk:
    """Return the chunk with the definitions that it seems to contain."""
    found = list(re.finditer(DEFINITION, chunk.text, re.MULTILINE))
    if not found:
        return chunk
    keyword, name = found[0].group(1, 2)
    head = chunk.text[found[0].start() :].lstrip()
    return evolve(
        chunk,
        title=name,
        header_path=name,
        symbol=name,
        symbol_kind=_KINDS.get(keyword, keyword),
        defines=tuple(dict.fromkeys(match.group(2) for match in found)),
        signature=re.split(r"[\r\n]", head, maxsplit=1)[0].rstrip(" {")[:_SIGNATURE_LIMIT],
    )
