"""JavaScript and TypeScript, where many definitions assign a function to a variable or property."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator
from functools import partial

from cairn.languages import path_aliases
from cairn.languages.imports import DEFAULT, Import, Imports, Module, Places, compiled, statements
from cairn.languages.language import Language, Scoping, unless_xml
from cairn.languages.syntax import NamedNode, Node, Rule, Syntax, find, named, text_of, type_of
from cairn.languages.web_islands import angular_template

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_TEST_CALLS = frozenset({"describe", "context", "suite", "it", "test", "specify"})
_STRINGS = frozenset({"string", "template_string"})


def _value_kind(value: Node | None) -> str:
    """Return `function` or `class` if the value is one; "" for data."""
    while type_of(value) == "assignment_expression":
        # Follow `a = b = function …`.
        value = find(value, "right")
    if type_of(value) == "call_expression":
        # A call may wrap a function, `memo(() => …)`; method calls such as `list.map(…)` give data.
        if type_of(find(value, "function")) != "identifier":
            return ""
        value = find(value, "arguments", 0)
    elif type_of(value) == "class":
        return "class"
    return "function" if type_of(value) in _FUNCTIONS else ""


def _variable(node: Node) -> NamedNode | None:
    name, value = find(node, "name"), find(node, "value")
    if type_of(name) != "identifier" or text_of(value).startswith(("require(", "await imp")):
        return None
    kind = _value_kind(value)
    if not kind:
        declaration = node.parent.children if node.parent is not None else []
        kind = "constant" if declaration and declaration[0].type == "const" else "variable"
    return NamedNode(text_of(name), kind, node)


def _assignment(node: Node) -> NamedNode | None:
    """Recognise `module.exports.x = …`, `app.handle = function …` and `Foo.prototype.bar = …`."""
    left, right = find(node, "left"), find(node, "right")
    if left is None or right is None:
        return None
    kind = _value_kind(right)
    if text_of(left) in ("module.exports", "exports"):
        if right.type == "assignment_expression":
            return _assignment(right)
        return NamedNode(text_of(right, "name"), kind, node) if kind else None
    if left.type != "member_expression":
        return None
    name, owner = text_of(left, "property"), text_of(left, "object")
    if owner in ("module.exports", "exports"):
        return NamedNode(name, kind or "variable", node)
    if not kind or "(" in owner or "\n" in owner:
        return None
    parts = [part for part in owner.split(".") if part not in ("prototype", "this")]
    return NamedNode(name, "method" if kind == "function" else kind, node, parts[-1] if parts else "")


def _pair(node: Node) -> NamedNode | None:
    """Recognise a function in an object: `{ name: function () {} }`."""
    if not _value_kind(find(node, "value")):
        return None
    return NamedNode(text_of(node, "key").strip("'\"`"), "method", node)


def _field(name_field: str, node: Node) -> NamedNode | None:
    kind = "method" if _value_kind(find(node, "value")) == "function" else "field"
    return NamedNode(text_of(node, name_field), kind, node)


def _test(node: Node) -> NamedNode | None:
    """Recognise a test such as `describe("router", () => …)`. It gives a heading, but is not a symbol."""
    callee, first = find(node, "function"), find(node, "arguments", 0)
    if type_of(callee) == "member_expression":
        callee = find(callee, "object")
    is_test = type_of(callee) == "identifier" and text_of(callee) in _TEST_CALLS
    return NamedNode(text_of(first)[1:-1], "test", node) if is_test and type_of(first) in _STRINGS else None


_RULES: dict[str, str | Rule] = {
    "function_declaration generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "field_definition": partial(_field, "property"),
    "variable_declarator": _variable,
    "assignment_expression": _assignment,
    "pair": _pair,
    "call_expression": _test,
}
_WRAPPERS = "export_statement expression_statement lexical_declaration variable_declaration"
_JAVASCRIPT = Syntax(_RULES, wrappers=_WRAPPERS, leading="decorator")
_TYPESCRIPT = Syntax(
    {
        **_RULES,
        "function_signature": "function",
        "abstract_class_declaration": "class",
        "method_signature abstract_method_signature": "method",
        "interface_declaration": "interface",
        "type_alias_declaration": "type",
        "enum_declaration": "enum",
        "internal_module": "module",
        "public_field_definition": partial(_field, "name"),
        "module": named("module", "identifier nested_identifier string"),
    },
    wrappers=f"{_WRAPPERS} ambient_declaration",
    leading="decorator",
)

_STATEMENT = r"[ \t]*(?:import|export)\b(?:[^'\"`;=()]{0,1500}?\bfrom)?[ \t]*[\"'][^\"'\n]+[\"']"
_CALLS = tuple(rf"{word}\([ \t]*[\"'`][^\"'`\n$]+[\"'`]" for word in ("require", "import"))
_TEMPLATE = r"\btemplateUrl[ \t]*:[ \t]*[\"'`][^\"'`\n$]+[\"'`]"
_MODULE = r"(?:\bfrom|\bimport|\brequire\(|\bimport\(|\btemplateUrl\s*:)\s*[\"'`]([^\"'`\n]+)[\"'`]"
_NAMED = r"\{([^{}]*)\}"
_AS = r"(?:\btype\s+)?([\w$]+)\s*(?:(?:\bas\b|:)\s*([\w$]+))?"
_STAR = r"\*(?:\s*as\s+([\w$]+))?"
_DEFAULT = r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from\b)"
_REQUIRED = r"(?:module\.)?([\w$.]+)\s*=\s*require\([^)]*\)(?:\.([\w$]+))?"
_LOCAL_EXPORT = r"(?:export\s+default\s+|export\s*=\s*|module\.exports\s*=\s*)([\w$]+)\s*;?\Z"
_COMMENT = r"//[^\n]*|/\*(?s:.{0,2000}?)\*/"


def _module(name: str) -> Module:
    name = name.partition("?")[0].removeprefix("node:")
    return Module("js", f"{name}/" if name in (".", "..") else name)


def _names(statement: str) -> Iterator[Import]:
    """Read imports of ES modules, re-exports, `require`, and default exports of a name in the same file."""
    text = compiled(_COMMENT).sub("", statement).strip()
    if local := compiled(_LOCAL_EXPORT).match(text):
        yield Import(DEFAULT, None, local[1])
        return
    found = compiled(_MODULE).search(text)
    module = _module(found[1]) if found else None
    if required := compiled(_REQUIRED).match(text):
        name = required[1].rpartition(".")[2]
        yield Import(DEFAULT if name == "exports" else name, module, required[2] or "")
        return
    head = text[: found.start()] if found else text
    if default := compiled(_DEFAULT).match(text):
        yield Import(default[1], module, DEFAULT)
    for names in compiled(_NAMED).findall(head):
        for member, alias in compiled(_AS).findall(names):
            yield Import(alias or member, module, member)
    if star := compiled(_STAR).search(head):
        yield Import(star[1] or "*", module)


def _modules(text: str) -> Iterator[Module]:
    found = list(statements(_STATEMENT, text))
    for pattern in (*_CALLS, _TEMPLATE):
        for call in compiled(pattern).finditer(text):
            line = text[text.rfind("\n", 0, call.start()) + 1 : call.start()].lstrip()
            if not line.startswith(("//", "*", "/*")):
                found.append(call[0])
    for statement in found:
        name = compiled(_MODULE).search(statement)
        if name is not None and not name[1].startswith(("node:", "http:", "https:")):
            yield _module(name[1])


def _package_json(text: str) -> Iterator[Module]:
    """Read `{"name": "@s/p", "main": "lib/p.js"}` as the names `@s/p` and `lib/p.js`."""
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):  # This is a template or an unfinished file, which no file imports.
        return
    if not isinstance(manifest, dict):
        return
    if isinstance(name := manifest.get("name"), str):
        yield Module("=js", name)
    for key in ("source", "module", "main", "types"):
        if isinstance(entry := manifest.get(key), str):
            yield Module("=entry", entry)


_SCRIPTS = tuple(".ts .tsx .js .jsx .mts .cts .mjs .cjs .d.ts .vue .svelte .json .coffee".split())
_FILES = ("", *_SCRIPTS, *(f"/index{ending}" for ending in _SCRIPTS))
_ENTRIES = ("src/index", "index", "src/main", "lib/index", "main", "lib/main")
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""The endings of compiled files, by which TypeScript imports their sources."""
_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")


def _resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
    name = module.name
    if name.startswith("."):
        found = _script(places, folder, name)
        return (found,) if found else _entries(places, posixpath.normpath(f"{folder}/{name}"))
    for target in path_aliases.targets(places, folder, name):
        if found := _script(places, "", target):
            return (found,)
    if declared := places.folder_of("js", name, folder):
        package, rest = declared
        starts = (rest, f"src/{rest}", f"lib/{rest}") if rest else _ENTRIES
        if not rest and (entries := _entries(places, package)):
            return entries
        return (next((each for start in starts if (each := _script(places, package, start))), None),)
    if name.startswith(("@/", "~/", "#/")):  # Bundlers map these to the source folder.
        return (places.absolute(folder, name[2:], _FILES),)
    if name.startswith("$lib/"):  # Svelte maps this to the folder `lib` of the source folder.
        return (places.absolute(folder, name[1:], _FILES),)
    return (places.absolute(folder, name, _FILES),) if name.startswith(("src/", "app/")) else ()


def _entries(places: Places, folder: str) -> tuple[str, ...]:
    """Return the first code file of the manifest that is not a build result, and its type declarations."""
    folder = folder.strip("./")
    found = list(filter(None, (_script(places, folder, each) for each in places.entries.get(folder, ()))))
    code = [path for path in found if not path.endswith(_DECLARATIONS)]
    types = [path for path in found if path.endswith(_DECLARATIONS)]
    return tuple(dict.fromkeys([*code[:1], *types[:1]]))


def _script(places: Places, folder: str, name: str) -> str | None:
    stem, ending = posixpath.splitext(name)
    if sources := _COMPILED.get(ending):
        return places.relative(folder, stem, (ending, *sources))
    return places.relative(folder, name, _FILES)


_COMMON_QUERIES = r"""
; The common part of JavaScript and TypeScript.
(identifier) @read
(shorthand_property_identifier) @read
(member_expression object: (_) @on property: (property_identifier) @read)
(member_expression object: (_) @on property: (private_property_identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @on property: (property_identifier) @call))
(call_expression function: (member_expression object: (_) @on property: (private_property_identifier) @call))
(call_expression function: (parenthesized_expression (identifier) @call))
(call_expression function: (await_expression (identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @on property: (property_identifier) @call))

(decorator (identifier) @decorate)
(decorator (member_expression object: (_) @on property: (property_identifier) @decorate))

(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_expression object: (_) @on property: (property_identifier) @write))

(import_statement) @import
(export_statement source: (string)) @import
(export_statement (export_clause)) @import
(export_statement value: (identifier)) @import
(variable_declarator value: (call_expression function: (identifier) @_require) (#eq? @_require "require")) @import
(variable_declarator
  value: (member_expression object: (call_expression function: (identifier) @_require))
  (#eq? @_require "require")) @import
(assignment_expression
  left: (member_expression)
  right: (call_expression function: (identifier) @_require) (#eq? @_require "require")) @import
(assignment_expression left: (member_expression object: (identifier) @_module) right: (identifier)
  (#eq? @_module "module")) @import

(export_statement "default" declaration: (_ name: (_) @default))
(assignment_expression
  left: (member_expression object: (identifier) @_module) right: (function_expression name: (identifier) @default)
  (#eq? @_module "module"))
(assignment_expression
  left: (member_expression object: (identifier) @_module)
  right: (assignment_expression
    left: (member_expression property: (_) @default) right: [(class) (function_expression) (arrow_function)])
  (#eq? @_module "module"))
(assignment_expression
  left: (member_expression object: (identifier) @_module) right: (class name: (_) @default)
  (#eq? @_module "module"))

(function_declaration body: (statement_block (return_statement (_) @result)))
(method_definition body: (statement_block (return_statement (_) @result)))
(variable_declarator value: (arrow_function body: (statement_block (return_statement (_) @result))))
(variable_declarator value: (arrow_function body: (call_expression) @result))
(variable_declarator value: (arrow_function body: (new_expression) @result))
(variable_declarator value: (function_expression body: (statement_block (return_statement (_) @result))))
(assignment_expression right: (function_expression body: (statement_block (return_statement (_) @result))))

[(arrow_function) (function_expression)] @closure

; Bindings
(variable_declarator name: (identifier) @bind value: (_) @value)
(variable_declarator name: (identifier) @bind !value)
(variable_declarator name: (identifier) @bind value: (ternary_expression consequence: (_) @value))
(variable_declarator name: (identifier) @bind value: (ternary_expression alternative: (_) @value))
(variable_declarator name: (identifier) @bind value: (binary_expression left: (_) @value))
(variable_declarator name: (identifier) @bind value: (binary_expression right: (_) @value))
(variable_declarator name: (identifier) @holder value: (object
  (pair key: (property_identifier) @member value: [(identifier) (member_expression)] @value)))
(variable_declarator name: (identifier) @holder value: (object (shorthand_property_identifier) @member))
(assignment_expression
  left: (member_expression object: (identifier) @holder property: (property_identifier) @member)
  right: [(identifier) (member_expression)] @value)
([(arguments (object (pair key: (property_identifier) @member value: [(identifier) (member_expression)] @value)))
  (return_statement
    (object (pair key: (property_identifier) @member value: [(identifier) (member_expression)] @value)))])
(assignment_expression left: (member_expression) @exports
  right: (object (pair key: (property_identifier) @member value: (identifier) @value))
  (#eq? @exports "module.exports"))
(shorthand_property_identifier_pattern) @bind
(pair_pattern value: (identifier) @bind)
(array_pattern (identifier) @bind)
(rest_pattern (identifier) @bind)
(arrow_function parameter: (identifier) @bind)
(catch_clause parameter: (identifier) @bind)
(for_in_statement left: (identifier) @bind right: (_) @item)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (_) @value)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (binary_expression right: (_) @value))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @field)
  right: (ternary_expression alternative: (_) @value))
"""  # noqa: E501
_JSX_QUERIES = r"""
; Rendering a component calls it, once.
(jsx_closing_element name: (identifier) @skip)
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
(jsx_opening_element name: (member_expression object: (_) @on property: (property_identifier) @call))
(jsx_self_closing_element name: (member_expression object: (_) @on property: (property_identifier) @call))
"""
_JAVASCRIPT_QUERIES = r"""
(class_heritage (identifier) @inherit)
(class_heritage (member_expression object: (_) @on property: (property_identifier) @inherit))

; Bindings
(formal_parameters (identifier) @bind)
(formal_parameters (assignment_pattern left: (identifier) @bind right: (_) @value))
(field_definition property: (property_identifier) @bind value: (_) @value)
(field_definition property: (property_identifier) @bind !value)
"""
_TYPESCRIPT_QUERIES = r"""
(type_identifier) @read
(nested_type_identifier module: (_) @on name: (type_identifier) @read)

(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression object: (_) @on property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(implements_clause (generic_type name: (type_identifier) @inherit))
(implements_clause (nested_type_identifier module: (_) @on name: (type_identifier) @inherit))
; An object has the members of its type.
(variable_declarator type: (type_annotation (type_identifier) @inherit) value: (object))
(variable_declarator type: (type_annotation (generic_type name: (type_identifier) @inherit)) value: (object))
(extends_type_clause type: (type_identifier) @inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @inherit))

(call_expression function: (non_null_expression (identifier) @call))
(call_expression function: (instantiation_expression (identifier) @call))

(function_declaration return_type: (_) @returns)
(generator_function_declaration return_type: (_) @returns)
(function_signature return_type: (_) @returns)
(method_definition return_type: (_) @returns)
(method_signature return_type: (_) @returns)
(abstract_method_signature return_type: (_) @returns)
(arrow_function return_type: (_) @returns)
(function_expression return_type: (_) @returns)

(public_field_definition value: (arrow_function body: (statement_block (return_statement (_) @result))))
(public_field_definition value: (arrow_function body: (call_expression) @result))
(public_field_definition value: (arrow_function body: (new_expression) @result))

(export_statement "=" (identifier)) @import

; Bindings
(required_parameter pattern: (identifier) @bind type: (_) @type)
(required_parameter pattern: (identifier) @bind !type value: (_) @value)
(required_parameter pattern: (identifier) @bind !type !value)
(optional_parameter pattern: (identifier) @bind type: (_) @type)
(optional_parameter pattern: (identifier) @bind !type)
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (_) @type)
(optional_parameter (accessibility_modifier) pattern: (identifier) @field type: (_) @type)
(variable_declarator type: (type_annotation (_) @of) value: (object
  (pair key: (property_identifier) @member value: [(identifier) (member_expression)] @value)))
(variable_declarator type: (type_annotation (_) @of) value: (object
  (shorthand_property_identifier) @member))
(variable_declarator name: (identifier) @holder value: [(as_expression . (object
  (pair key: (property_identifier) @member value: [(identifier) (member_expression)] @value)))
  (satisfies_expression . (object
  (pair key: (property_identifier) @member value: [(identifier) (member_expression)] @value)))])
(type_parameter name: (type_identifier) @generic constraint: (constraint (_) @type))
(variable_declarator name: (identifier) @bind type: (_) @type)
(public_field_definition name: (property_identifier) @bind type: (_) @type)
(public_field_definition name: (property_identifier) @bind !type value: (_) @value)
(public_field_definition name: (private_property_identifier) @bind type: (_) @type)
(public_field_definition name: (private_property_identifier) @bind !type value: (_) @value)
(property_signature name: (property_identifier) @bind type: (_) @type)
(type_alias_declaration name: (type_identifier) @bind value: (_) @type)
"""

_MANIFESTS = {"package.json": _package_json, **dict.fromkeys(path_aliases.FILES, path_aliases.read)}
SCRIPT_IMPORTS = Imports(_modules, _names, resolvers={"js": _resolve}, manifests=_MANIFESTS)
_scripted = partial(
    Language,
    imports=SCRIPT_IMPORTS,
    scoping=Scoping(constructors="constructor", guess=0.45, override=0.5),
    family="script",
)

JAVASCRIPT = _scripted(
    "javascript",
    endings="cjs es6 js jsm jsx mjs",
    interpreters="node nodejs",
    aliases="javascriptreact",
    syntax=_JAVASCRIPT,
    queries=(_COMMON_QUERIES, _JSX_QUERIES, _JAVASCRIPT_QUERIES),
)
TYPESCRIPT = _scripted(
    "typescript",
    endings="cts mts ts",
    interpreters="bun deno ts-node tsx",
    by_text=unless_xml("typescript"),
    syntax=_TYPESCRIPT,
    queries=(_COMMON_QUERIES, _TYPESCRIPT_QUERIES),
    islands=angular_template,
)
TSX = _scripted(
    "tsx",
    endings="tsx",
    aliases="typescriptreact",
    syntax=_TYPESCRIPT,
    queries=(_COMMON_QUERIES, _JSX_QUERIES, _TYPESCRIPT_QUERIES),
)
COFFEESCRIPT = Language("coffeescript", endings="coffee", imports=SCRIPT_IMPORTS)
