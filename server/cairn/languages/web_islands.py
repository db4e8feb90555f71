"""Islands of JavaScript in markup: scripts, handlers and values of components and pages."""

from __future__ import annotations

import re

from cairn.languages.islands import QUOTED, Extent, Island, Islands, Part, Role

_JAVASCRIPT = Part("javascript", typed="typescript")
_TYPESCRIPT = Part("typescript")
_TSX = Part("tsx")

COMMENT = Island(r"<!--(?:[^-]++|-(?!->))*+", Role.SKIPPED)
STYLE = Island(r"<style\b[^>]{0,500}+>(?:[^<]++|<(?!/style))*+", Role.SKIPPED)
_DATA = Island(
    r"<script\b(?=[^>]{0,500}?type=[\"'][^\"'>]{0,60}(?:json|template|x-))[^>]{0,500}+>"
    r"(?:[^<]++|<(?!/script))*+",
    Role.SKIPPED,
)
_SCRIPT_PATTERN = r"<script\b[^>]{0,500}+(?<!/)>(?P<code>(?:[^<]++|<(?!/script))*+)"
_SCRIPT = Island(_SCRIPT_PATTERN, Role.SCRIPT, _JAVASCRIPT, before=b"", after=b"")
_ELEMENT = Island(r"<(?P<code>[A-Za-z][\w-]{0,80}+)", Role.COMPONENT)
MARKUP = (COMMENT, STYLE, _DATA, _SCRIPT, _ELEMENT)


def _handler(regex: str) -> Island:
    """Return an island of statements, which become a block."""
    return Island(regex, Role.HANDLER, _TYPESCRIPT, before=b";{", after=b"}")


def _value(regex: str, extent: Extent = Extent.GROUP) -> Island:
    """Return an island of a value. In parentheses, an object is not read as a block."""
    return Island(regex, Role.EXPRESSION, _TYPESCRIPT, extent, before=b";(", after=b")")


_VUE_KINDS = (
    *MARKUP,
    _handler(rf"\s(?:@|v-on:)[\w:.-]{{1,60}}+{QUOTED}"),
    _value(rf"\s(?::|v-(?!on:|slot|pre)[a-z-]{{1,20}}+:?)[\w:.-]{{0,60}}+{QUOTED}"),
    _value(r"\{\{(?P<code>(?:[^{}]++|\{[^{}]*+\}|\}(?!\}))*+)"),
)
_ANGULAR_KINDS = (
    _handler(rf"\s(?:\([\w.:@-]{{1,60}}+\)|\*[\w-]{{1,40}}+){QUOTED}"),
    _value(rf"\s\[\(?[\w.-]{{1,60}}+\)?\]{QUOTED}"),
    _value(r"@(?:else\s)?(?:if|for|switch|case)\s?\(", Extent.NESTED),
)
_HTML_KINDS = (*_VUE_KINDS, *_ANGULAR_KINDS, _handler(rf"\son[a-z]{{3,20}}+{QUOTED}"))
_SVELTE_KINDS = (
    *MARKUP,
    Island(r"\son[\w|:-]{1,60}+=[\"']?\{", Role.HANDLER, _TYPESCRIPT, Extent.NESTED),
    Island(r"\s(?:use|transition|in|out|animate):(?P<code>[\w.]{1,80}+)", Role.HANDLER, _TYPESCRIPT),
    Island(r"\{(?!/)(?:[#:@][a-z]{1,10}+(?:\sif)?)?", Role.EXPRESSION, _TYPESCRIPT, Extent.NESTED),
)
_ASTRO_KINDS = (
    Island(
        r"\A\s{0,9}+---(?P<code>(?:[^-]++|-(?!--))*+)---", Role.SCRIPT, _TYPESCRIPT, before=b"", after=b""
    ),
    COMMENT,
    STYLE,
    Island(_SCRIPT_PATTERN, Role.SCRIPT, _TYPESCRIPT, before=b"", after=b""),
    _ELEMENT,
    Island(r"\{", Role.EXPRESSION, _TSX, Extent.NESTED),
)
VUE = Islands("javascript", _VUE_KINDS, is_component=True)
SVELTE = Islands("javascript", _SVELTE_KINDS, is_component=True)
ASTRO = Islands("typescript", _ASTRO_KINDS, is_component=True)
HTML = Islands("javascript", _HTML_KINDS)
_ANGULAR_TEMPLATE = re.compile(rb"\btemplate\s?:\s?`(?P<code>[^`]*+)")
_ANGULAR = Islands("typescript", (COMMENT, STYLE, *_ANGULAR_KINDS, _VUE_KINDS[-1]), _ANGULAR_TEMPLATE)


def angular_template(_path: str, source: bytes) -> Islands | None:
    """Find the template inside a component of Angular."""
    return _ANGULAR if b"@Component" in source and b"template" in source else None
