"""Components and templates: markup with islands of code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cairn.languages import web_islands
from cairn.languages.imports import FILES, Import, Imports, Module, compiled, pattern
from cairn.languages.islands import QUOTED, Extent, Finder, Island, Islands, Part, Role
from cairn.languages.javascript import SCRIPT_IMPORTS
from cairn.languages.language import Language, Scoping
from cairn.languages.syntax import NamedNode, Node, Syntax, named, text_of
from cairn.languages.web_islands import COMMENT, MARKUP, STYLE

# --- tags with two languages ----------------------------------------------------------------------------


def _macro(node: Node) -> NamedNode | None:
    return NamedNode(text_of(node, "signature", "call_expression", "identifier"), "macro", node)


# The tags that define macros and blocks are read as Julia, which has `macro x(…)`, `module x` and `end`, and
# expressions as Python, which they resemble.
TAGS = Language(
    "template_tags",
    syntax=Syntax({"macro_definition": _macro, "module_definition": named("block")}),
    queries=("",),
)
_TAGS = Part(TAGS.name, "julia")
_EXPRESSIONS = Part("python", opening="[0", closing="]")
_TAG = r"\{%[-+~]?\s{0,9}+"
_TAG_END = r"(?P<code>(?:[^%-]++|-(?!%\})|%(?!\}))*+)"
_JINJA_KINDS = (
    Island(r"\{#(?:[^#]++|#(?!\}))*+", Role.SKIPPED),
    Island(
        rf"{_TAG}(?P<code>macro\s{{1,9}}\w{{1,100}}+\s?\((?:[^()%{{}}]++|\([^()]*+\))*+\))",
        Role.SCRIPT,
        _TAGS,
        before=b"",
    ),
    Island(rf"{_TAG}block\s{{1,9}}(?P<code>\w{{1,100}}+)", Role.SCRIPT, _TAGS, before=b"module "),
    Island(rf"{_TAG}(?P<code>end)(?:macro|block)\b", Role.SCRIPT, _TAGS, before=b""),
    Island(rf"{_TAG}(?P<code>(?:from|import)\s[^%]*+)", Role.IMPORT),
    Island(
        rf"{_TAG}(?:if|elif|elseif|for|do|set\s[\w\s,.]{{1,80}}=|call(?:\s?\([^()%]{{0,200}}+\))?)\s{_TAG_END}",
        Role.EXPRESSION,
        _EXPRESSIONS,
        before=b",(",
        after=b")",
    ),
    Island(
        r"\{\{[-+~]?(?P<code>(?:[^{}-]++|-(?!\}\})|\{[^{}]*+\}|\}(?!\}))*+)",
        Role.EXPRESSION,
        _EXPRESSIONS,
        before=b",(",
        after=b")",
    ),
)
_JINJA = Islands("jinja2", (*_JINJA_KINDS, *MARKUP[:-1]), imports="jinja2")
_TWIG = Islands("twig", (*_JINJA_KINDS, *MARKUP[:-1]), imports="twig")


def _html(_path: str, source: bytes) -> Islands:
    return _JINJA if b"{%" in source else web_islands.HTML


_FROM = r"from\s+[\"']([^\"'\n]+)[\"']\s+import\s+(.+)"
_WHOLE = r"import\s+[\"']([^\"'\n]+)[\"']\s+as\s+(\w+)"
_MEMBER = r"(\w+)(?:\s+as\s+(\w+))?"


def _imported(statement: str) -> Iterator[Import]:
    """Read `from "x.html" import a as b` and `import "x.html" as x`."""
    text = " ".join(statement.split()).rstrip("-+~ ")
    if whole := compiled(_WHOLE).match(text):
        yield Import(whole[2], Module("file", whole[1]))
    elif members := compiled(_FROM).match(text):
        names = re.sub(r" with(?:out)? context$", "", members[2])
        for name, alias in compiled(_MEMBER).findall(names):
            yield Import(alias or name, Module("file", members[1]), name)


_INCLUDES = Imports(
    pattern(
        "file", r"\{%-?[ \t]*(?:extends|include|import|from|embed)[ \t]+[\"']([^\"'\n]+)", by_lines=False
    ),
    _imported,
    resolvers=FILES,
)


def _embedded(language: str) -> Islands:
    code = r"(?P<code>(?:[^%-]++|-(?!%>)|%(?!>))*+)"
    kinds = (
        Island(r"<%[#%](?:[^%]++|%(?!>))*+", Role.SKIPPED),
        Island(rf"<%[=-]{{0,2}}+{code}", Role.EXPRESSION, Part(language)),
    )
    return Islands(language, kinds)


_EMBEDDED = {"ejs": _embedded("javascript"), "eex": _embedded("elixir")}
_RUBY = _embedded("ruby")

# --- C# and PHP -----------------------------------------------------------------------------------------

_MEMBERS = Part("csharp", opening="partial class {0}{{", closing="}")
_CSHARP = Part("csharp")
_ELEMENTS = Part("csharp", opening="_=new[]{{0", closing="};")
_DIRECTIVES = (
    r"(?!(?:page|using|inject|model|inherits|implements|attribute|namespace|layout|typeparam|section|media|"
    r"addTagHelper|removeTagHelper|rendermode|keyframes|else)\b|\w{1,60}[:=])"
)


def _razor_value(regex: str, role: Role = Role.EXPRESSION, extent: Extent = Extent.GROUP) -> Island:
    """Return an island of a value, which becomes an element of an array. Few expressions are statements."""
    return Island(regex, role, _ELEMENTS, extent, before=b",", after=b"")


_RAZOR_KINDS = (
    Island(r"@\*(?:[^*]++|\*(?!@))*+", Role.SKIPPED),
    COMMENT,
    STYLE,
    Island(r"<script\b[^>]{0,500}+>(?:[^<]++|<(?!/script))*+", Role.SKIPPED),
    Island(r"@(?:code|functions)\s{0,9}+\{", Role.SCRIPT, _MEMBERS, Extent.NESTED, before=b"", after=b""),
    Island(r"@(?P<code>using\s[\w.= ]{1,200}+)", Role.IMPORT),
    _razor_value(rf"\s@(?:on|bind)[\w:.-]{{1,60}}+{QUOTED}", Role.HANDLER),
    _razor_value(r"\s[A-Z]\w{0,60}+=(?P<quote>[\"'])@?(?P<code>[A-Za-z_]\w{0,60}+)(?P=quote)", Role.HANDLER),
    Island(
        r"(?:(?<![\w@])@|\belse\s)(?P<code>(?:if|foreach|for|while|switch|lock)\s?\()",
        Role.EXPRESSION,
        _CSHARP,
        Extent.NESTED,
    ),
    Island(r"(?<![\w@])@\{", Role.EXPRESSION, _CSHARP, Extent.NESTED),
    _razor_value(r"(?<![\w@])@(?P<code>\()", extent=Extent.NESTED),
    _razor_value(
        rf"(?<![\w@])@(?:await\s)?{_DIRECTIVES}(?P<code>[A-Za-z_]\w{{0,100}}+)", extent=Extent.CHAIN
    ),
    Island(r"<(?P<code>[A-Z]\w{0,80}+)", Role.COMPONENT),
)
_INJECT = Island(r"@inject\s(?P<code>[\w.<>,]{1,200}+\s\w{1,100}+)", Role.SCRIPT, _MEMBERS, before=b"")
_BLAZOR = Islands("csharp", (_INJECT, *_RAZOR_KINDS), is_component=True, imports="csharp")
_RAZOR = Islands("csharp", _RAZOR_KINDS, imports="csharp")

_PHP = Part("php", "php_only")
_BLADE_KINDS = (
    Island(r"\{\{--(?:[^-]++|-(?!-\}\}))*+", Role.SKIPPED),
    Island(r"@php\b(?!\s?\()(?P<code>(?:[^@]++|@(?!endphp))*+)", Role.SCRIPT, _PHP, before=b"", after=b""),
    Island(r"@section\(\s?[\"'](?P<code>\w{1,100}+)[\"']\s?\)", Role.SCRIPT, _TAGS, before=b"module "),
    Island(r"@(?P<code>end)section\b", Role.SCRIPT, _TAGS, before=b""),
    Island(
        r"@(?:if|elseif|foreach|for|while|unless|isset|empty|switch|case|php|json)\s?\(",
        Role.EXPRESSION,
        _PHP,
        Extent.NESTED,
        before=b";(",
        after=b")",
    ),
    Island(
        r"\{(?:\{|!!)(?P<code>(?:[^!{}]++|!(?!!\})|\{[^{}]*+\}|\}(?!\}))*+)",
        Role.EXPRESSION,
        _PHP,
        before=b";(",
        after=b")",
    ),
)
_BLADE = Islands("php", _BLADE_KINDS)


def blade(path: str, _source: bytes) -> Islands | None:
    """Find the islands of a template of Blade."""
    return _BLADE if path.endswith(".blade.php") else None


def _always(islands: Islands) -> Finder:
    return lambda _path, _source: islands


VUE = Language("vue", endings="vue", imports=SCRIPT_IMPORTS, islands=_always(web_islands.VUE))
SVELTE = Language("svelte", endings="svelte", imports=SCRIPT_IMPORTS, islands=_always(web_islands.SVELTE))
ASTRO = Language("astro", endings="astro", imports=SCRIPT_IMPORTS, islands=_always(web_islands.ASTRO))
HTML = Language("html", endings="htm html xhtml", imports=_INCLUDES, islands=_html)
EMBEDDED_TEMPLATE = Language(
    "embedded_template",
    endings="eex ejs erb",
    islands=lambda path, _: _EMBEDDED.get(path.rpartition(".")[2], _RUBY),
)
RAZOR = Language(
    "razor",
    endings="cshtml razor",
    islands=lambda path, _: _BLAZOR if path.endswith(".razor") else _RAZOR,
)
JINJA2 = Language(
    "jinja2",
    endings="j2 jinja jinja2 njk",
    aliases="jinja",
    imports=_INCLUDES,
    scoping=Scoping(),
    family="python",
    islands=_always(_JINJA),
)
TWIG = Language(
    "twig", endings="twig", imports=_INCLUDES, scoping=Scoping(), family="php", islands=_always(_TWIG)
)
