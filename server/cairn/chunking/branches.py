"""Finds the branches, loops and closures around places in a function: `if not cached`, `for x in y`.

The rules go by the types of nodes, which most grammars share. A place in a condition or in the head of a loop
is not inside the branch: it runs before the branch is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tree_sitter import Node, Tree

from cairn.chunking.grammars import parse

_LONGEST = 40
"""The maximum length of a shown condition in characters. A longer one is cut."""

_IFS = frozenset(
    """if_statement if_expression if unless if_modifier unless_modifier elif_clause elsif
    conditional_expression ternary_expression conditional""".split()
)
_ELSES = frozenset({"else_clause", "else"})
_LATER_IFS = frozenset({"elif_clause", "elsif"})
_LOOPS = frozenset(
    """for_statement for_in_statement for_expression for_range_loop foreach_statement enhanced_for_statement
    for while_statement while_expression while until do_statement do_while_statement loop_expression
    while_modifier until_modifier""".split()
)
_COMPREHENSIONS = frozenset(
    "list_comprehension set_comprehension dictionary_comprehension generator_expression".split()
)
_CLAUSES: Mapping[str, str] = {
    **dict.fromkeys(("match_arm", "switch_expression_arm"), "=>"),
    **dict.fromkeys(("switch_rule", "when_entry"), "->"),
    **dict.fromkeys(
        """case_clause switch_case switch_default expression_case type_case default_case communication_case
        switch_block_statement_group switch_section case_statement except_clause
        except_group_clause""".split(),
        r"(?<!:):(?!:)",
    ),
    **dict.fromkeys(("when", "in_clause"), r"\bthen\b"),
    **dict.fromkeys("catch_clause catch_block finally_block rescue ensure".split(), r"\{"),
    "finally_clause": r"[:{]",
}
"""The clauses of `switch`, `match` and `try`, and the pattern that ends their head, as a line end does."""
_CLAUSE_WORDS = ("case ", "default", "when ", "else", "in ", "except", "catch", "rescue", "finally", "ensure")
_TRIES = frozenset({"try_statement", "try_expression", "try_with_resources_statement"})
_BLOCKS = frozenset({"block", "statement_block", "compound_statement"})
_CLOSURES = frozenset(
    """lambda arrow_function function_expression closure_expression func_literal lambda_expression
    lambda_literal anonymous_function anonymous_method_expression async_block""".split()
)
_CLOSURES_OF_CALLS = frozenset({"block", "do_block"})
"""The closures of Ruby, which are parts of a call. In other languages, these nodes are statements."""
_ARGUMENTS = frozenset(
    """arguments argument_list value_arguments value_argument argument annotated_lambda keyword_argument
    block_argument pair""".split()
)
_CALLS = frozenset(
    """call call_expression method_invocation invocation_expression new_expression object_creation_expression
    method_call""".split()
)
_CALLED = ("function", "method", "name", "constructor", "type")
_NAME_CALLED = re.compile(r"(\w+)[!?]?\s*(?:<[^<>]*>)?\s*(?:\([^()]*\))?\s*\Z")
_MARKED = {
    "go_statement": "go", "defer_statement": "defer", "raise_statement": "raise", "throw_statement": "throw",
    "throw_expression": "throw",
}  # fmt: skip
_HOSTS = frozenset({"select"})
"""Macros whose arms run one at a time."""

Position = tuple[int, int]
"""A 0-based line, and a column in bytes."""


def parsed(language: str, text: str) -> Tree | None:
    """Return the syntax tree; None if the language has no grammar or the text is not in it."""
    return parse(language, text.encode())


def branches(tree: Tree, places: Iterable[tuple[Position, Position]]) -> list[tuple[str, ...]]:
    """Return the branches around each place, outermost first.

    A place is a position and that of the name of its function, at which the search ends.
    """
    return [_around(tree, at, function) for at, function in places]


def _around(tree: Tree, at: Position, function: Position) -> tuple[str, ...]:
    marks: list[str] = []
    child = tree.root_node.descendant_for_point_range(at, at)
    chosen: Node | None = None
    """The last `if` in one of whose branches the place is. In the `else` of another, it is an `else if`."""
    while child is not None and (node := child.parent) is not None:
        if node.start_point <= function <= node.end_point:
            break
        text = _mark(node, child, function)
        if text == "else" and chosen is not None and chosen.id == child.id:
            marks[-1] = f"else {marks[-1].removeprefix('else ')}" if marks[-1] != "else" else "else"
        elif text:
            marks.append(text)
        if node.type in _IFS and (text or child.type in _ELSES):
            chosen = node
        child = node
    return tuple(reversed(marks))


def _mark(node: Node, child: Node, function: Position) -> str:
    """Return the text for the branch of `node` that contains `child`; "" if it is in no branch."""
    kind = node.type
    if kind in _IFS:
        return _choice(node, child)
    if kind in _ELSES or (kind == "let_declaration" and _field(node, child) == "alternative"):
        return "else"
    if kind in _LOOPS:
        return _loop(node, child)
    if kind in _COMPREHENSIONS and _field(node, child) == "body":
        clause = next((each for each in node.named_children if each.type == "for_in_clause"), node)
        return _short(_text(clause))
    if kind in _CLAUSES:
        return _clause(node, child, _CLAUSES[kind])
    if kind in _TRIES:
        return "try" if child.type in _BLOCKS else ""
    if kind in _MARKED:
        return _MARKED[kind]
    if kind == "macro_invocation" and child.type == "token_tree":
        name = _text(node).partition("!")[0].rpartition(":")[2]
        return f"in {name}!" if name in _HOSTS else ""
    is_closure = kind in _CLOSURES or (
        kind in _CLOSURES_OF_CALLS and node.parent is not None and node.parent.type == "call"
    )
    return _closure(node, function) if is_closure else ""


def _choice(node: Node, child: Node) -> str:
    field = _field(node, child)
    if field in ("condition", "initializer") or child.type in _ELSES or child.type in _LATER_IFS:
        return ""
    words = [each.type for each in node.children if each.end_byte <= child.start_byte and not each.is_named]
    if field == "alternative" or "else" in words:
        return "else"
    condition = node.child_by_field_name("condition")
    if condition is None:  # Python's `a if b else c` has no fields.
        if "if" in words:
            return ""
        named = node.named_children
        condition = named[1] if len(named) > 1 else None
    word = "unless" if node.type.startswith("unless") else "else if" if node.type in _LATER_IFS else "if"
    return _short(f"{word} {_bare(_text(condition))}" if condition is not None else word)


def _loop(node: Node, child: Node) -> str:
    is_do = node.type.startswith("do")
    body = node.child_by_field_name("body")
    if body is None and node.named_children:
        body = node.named_children[0 if is_do else -1]
    if body is None or body.id != child.id:
        return ""
    if is_do or node.type == "loop_expression":
        return "loop"
    if body.start_byte == node.start_byte:  # Ruby's `work() while waiting`.
        condition = node.child_by_field_name("condition")
        word = node.type.partition("_")[0]
        return _short(f"{word} {_bare(_text(condition))}" if condition is not None else word)
    head = (node.text or b"")[: body.start_byte - node.start_byte].decode("utf-8", "replace")
    return _short(_bare_head(re.sub(r"\A'\w+\s*:", "", head)))


def _clause(node: Node, child: Node, end: str) -> str:
    text = _text(node)
    found = re.search(rf"{end}|\n", text)
    head = text[: found.start()] if found else text
    if child.start_byte < node.start_byte + len(head.encode()):
        return ""
    head = _bare_head(head) if node.type.startswith("catch") else _squeezed(head)
    return _short(head if head.startswith(_CLAUSE_WORDS) else f"case {head}")


def _closure(node: Node, function: Position) -> str:
    """Return the name of the function to which the closure is passed: `in spawn`."""
    around = node.parent
    while around is not None and around.type in _ARGUMENTS:
        around = around.parent
    if around is None or around.start_point <= function <= around.end_point:
        return ""
    if around.type not in _CALLS:
        return "async" if node.type == "async_block" else "in a closure"
    called = next(filter(None, map(around.child_by_field_name, _CALLED)), None) or around.named_child(0)
    if called is not None and called.start_byte <= node.start_byte < called.end_byte:
        return ""  # It is called where it stands.
    name = _NAME_CALLED.search(_text(called)[-200:]) if called is not None else None
    return f"in {name[1]}" if name else "in a closure"


def _field(node: Node, child: Node) -> str:
    for number, each in enumerate(node.children):
        if each.id == child.id:
            return node.field_name_for_child(number) or ""
    return ""


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _bare_head(text: str) -> str:
    """Return a head such as `while (waiting)` without the parentheses."""
    word, _, rest = re.sub(r"\A(\w+)\(", r"\1 (", _squeezed(text)).partition(" ")
    return f"{word} {_bare(rest)}".strip()


def _bare(text: str) -> str:
    """Return the text without the parentheses and marks around it."""
    text = _squeezed(text).rstrip(" {:")
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


def _short(text: str) -> str:
    text = _squeezed(text).rstrip(" {:")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
