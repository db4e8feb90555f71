"""Lua, Perl, shells and Vim script."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.languages.imports import FILES, Imports, Module, by_line, by_path, compiled, pattern
from cairn.languages.language import Language
from cairn.languages.syntax import NamedNode, Node, Syntax, find, named, text_of, type_of, value_kind


def _lua_function(node: Node, assigned_to: Node | None = None) -> NamedNode | None:
    """Recognise a function that is named `f`, `M.f` or `M:f`."""
    name = assigned_to or find(node, "name")
    if type_of(name) == "identifier":
        return NamedNode(text_of(name), "function", node)
    kind = "method" if type_of(name) == "method_index_expression" else "function"
    last = text_of(name, "field") or text_of(name, "method")
    return NamedNode(last, kind, node, text_of(name, "table"))


def _lua_assignment(node: Node) -> NamedNode | None:
    name, value = find(node, "variable_list", 0), find(node, "expression_list", 0)
    if value is None or text_of(value).startswith(("require(", "require ", 'require"')):
        return None
    if value.type == "function_definition":
        return _lua_function(value, name)
    text = text_of(name)
    return NamedNode(text, value_kind(text), node) if type_of(name) == "identifier" else None


def _shell_variable(node: Node) -> NamedNode | None:
    name = text_of(node, "name")
    return NamedNode(name, value_kind(name), node) if name.isidentifier() else None


LUA = Language(
    "lua",
    endings="lua luau rockspec",
    interpreters="lua luajit",
    syntax=Syntax(
        {"function_declaration": _lua_function, "assignment_statement": _lua_assignment},
        wrappers="variable_declaration",
    ),
    imports=Imports(
        pattern(
            "lua",
            r"[ \t]*(?:local[ \t]++[\w, ]++=[ \t]*+|return[ \t]++)?"
            r"require[ \t]*+\(?[ \t]*+[\"']([\w./-]+)[\"']",
            ".",
        ),
        resolvers={"lua": by_path((".lua", "/init.lua", ".luau"))},
    ),
)

PERL = Language(
    "perl",
    endings="pl plx pm psgi t",
    interpreters="perl",
    syntax=Syntax(
        {
            "function_definition subroutine_declaration_statement": "function",
            "class_statement": "class",
            "method_declaration_statement": "method",
            "package_statement": named("module", "package_name"),
        },
        separator="::",
    ),
    imports=Imports(
        pattern("pl", r"[ \t]*(?:use|require)[ \t]+([A-Z]\w*(?:::\w+)*)", "::"),
        resolvers={"pl": by_path((".pm", ".pl"))},
    ),
)

_SOURCE = r"[ \t]*(?:source|\.)[ \t]+([^\n;&|]+)"


def _sourced(text: str) -> Iterator[Module]:
    """Read `source ./x.sh` as a relative path, and `. "$HERE/x.sh"` as the end of a path."""
    for argument in by_line(_SOURCE).findall(text):
        path = compiled(r"^.*[$`)}][^/]*").sub("", argument)
        here = path == argument and not path.lstrip("\"'").startswith((".", "/"))
        if words := path.replace('"', " ").replace("'", " ").split():
            yield Module("file", f"{'./' if here else ''}{words[0].lstrip('/')}")


_SOURCES = Imports(_sourced, resolvers=FILES)

BASH = Language(
    "bash",
    endings="bash ebuild ksh sh zsh",
    files=(
        ".bash_aliases .bash_logout .bash_profile .bashrc .envrc .kshrc .profile .zprofile .zshenv .zshrc "
        "apkbuild bashrc configure gradlew mvnw pkgbuild"
    ),
    interpreters="ash bash dash ksh sh zsh",
    aliases="shell",
    syntax=Syntax(
        {"function_definition": "function", "variable_assignment": _shell_variable},
        wrappers="declaration_command",
        sections="if_statement list",
    ),
    imports=_SOURCES,
)
BATS = Language("bats", endings="bats", interpreters="bats", imports=_SOURCES)
FISH = Language("fish", endings="fish", interpreters="fish", imports=_SOURCES)
POWERSHELL = Language(
    "powershell",
    endings="ps1 psd1 psm1",
    interpreters="pwsh",
    aliases="ps pwsh",
    syntax=Syntax(
        {
            "function_statement": named("function", "function_name"),
            "class_statement": named("class", "simple_name"),
            "enum_statement": named("enum", "simple_name"),
            "class_method_definition": named("method", "simple_name"),
        },
        wrappers="statement_list script_block script_block_body",
    ),
)
VIM = Language(
    "vim",
    endings="vim",
    files=".vimrc _vimrc vimrc",
    aliases="viml vimscript",
    syntax=Syntax({"function_definition": named("function", "function_declaration", "name")}),
)
