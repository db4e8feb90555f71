"""Scripts inside other files: the code of Vue and Svelte components, of Astro and HTML pages."""

from __future__ import annotations

from tree_sitter import Node, Range

from cairn.chunking.grammars import parse
from cairn.chunking.lines import Lines
from cairn.chunking.outline import Mark, outline
from cairn.chunking.syntax import syntax_of
from cairn.chunking.syntax.rules import find, text_of

# Languages of files that hold scripts.
HOSTS = frozenset({"astro", "html", "svelte", "vue"})
_SCRIPTS = frozenset({"script_element", "frontmatter"})
# Elements around a script: <html><body><div>…; pages that nest deeper do not define much in there.
_DEPTH = 5
_TYPESCRIPT = ('lang="ts', "lang='ts", 'lang="tsx', "text/typescript")


def with_scripts(
    marks: list[Mark], root: Node, language: str, lines: Lines, source: bytes, maximum: int
) -> list[Mark]:
    """`marks` of a host file, with those of its scripts in place of their own."""
    for script in _scripts(root):
        code = find(script, "raw_text frontmatter_js_block") or script
        is_typescript = language == "astro" or any(
            mark in text_of(script, "start_tag") for mark in _TYPESCRIPT
        )
        # Positions stay those of the whole file.
        place = Range(code.start_point, code.end_point, code.start_byte, code.end_byte)
        tree = parse("typescript" if is_typescript else "javascript", source, [place])
        if tree is None:
            continue
        syntax = syntax_of("typescript")
        first, last = script.start_point[0], script.end_point[0]
        inside = [
            mark
            for mark in outline(tree.root_node, syntax, lines, source, maximum)
            if first < mark.line <= last
        ]
        marks = [mark for mark in marks if not first < mark.line <= last] + inside
    return sorted(marks, key=lambda mark: mark.line)


def _scripts(root: Node) -> list[Node]:
    found: list[Node] = []
    level = [root]
    for _ in range(_DEPTH):
        level = [child for node in level for child in node.named_children]
        found.extend(node for node in level if node.type in _SCRIPTS)
    return found
