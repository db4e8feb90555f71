"""Expressions that describe values and their types, in one notation for all languages.

- `a.b().c[]` is the value of a chain: names with dots between, `()` for a call, `[]` for an element.
- `:Foo` is an instance of the type `Foo`, `:Foo[]` a collection of instances, `:Foo|Bar` an instance of
  either type.
- "?" is code that is not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache

UNKNOWN = "?"
LITERAL = ":literal"
"""A string or a number. Its type is never defined in the workspace."""
LONGEST = 240
"""The maximum length in characters of the code that is read. Longer receivers are chains of builders."""

_QUOTES = ("'", '"', "`")
_OPENING = {"(": ")", "[": "]", "{": "}"}
_SEPARATOR = re.compile(r"\s*(?:\?\.|!!?\.|&\.|\.|\?->|->|::|\\)\s*")
_PREFIX = re.compile(
    r"(?:(?:await|new|try|yield|return|co_await|throw|ref|out|typeof|lazy)\b[!?]?\s*|[&*]\s*|mut\s+)+"
)
_TURBOFISH = re.compile(r"(?<=[\w:])(?:::)?<[\w\s,.:&*<>\[\]?'|]*>(?=\s*[(.:{\[]|\s*\Z)")
_CAST = re.compile(r"(.*?)\s+(?:as[?!]?|satisfies)\s+([\w.$<>\[\]:]+)\Z", re.DOTALL)
_ALIAS = re.compile(r"(?:\w+\.)*[A-Z_]\w*\[[\"']?(?:\w+\.)*[A-Z][\w\s,.|\[\]\"']*\]")
_CHAIN = re.compile(r"[\w$@]+(?:\(\)|\[\])*(?:\.[\w$@]+(?:\(\)|\[\])*)*")


_WRAPPED = re.compile(r"(?:functools\.)?partial\(\s*([\w.]+)\s*[,)].*|method\(:(\w+[?!]?)\)", re.DOTALL)
"""Code for a function that calls another: `partial(moor, 1)` of Python, `method(:moor)` of Ruby."""


@lru_cache(20_000)
def chain(code: str) -> str:
    """Return the expression for code; UNKNOWN if it contains more than names, calls and elements."""
    if len(code) > LONGEST:
        return UNKNOWN
    code = code.strip()
    if "(" not in code and " " not in code and _CHAIN.fullmatch(code):
        return code
    if code[:1] in _QUOTES or code[:1].isdigit() or code[:2] in ('f"', "f'", 'b"', "b'", 'r"', "r'"):
        return LITERAL
    if _ALIAS.fullmatch(code):
        return type_expression(code) or UNKNOWN
    if cast := _CAST.fullmatch(code):
        return type_expression(cast[2]) or UNKNOWN
    if "(" in code and (wrapped := _WRAPPED.fullmatch(code)):
        return wrapped[1] or wrapped[2]
    code = _PREFIX.sub("", code, count=1) if _PREFIX.match(code) else code
    code = _hollow(code)
    if code.startswith("()"):
        return UNKNOWN
    code = _TURBOFISH.sub("", code)
    code = _SEPARATOR.sub(".", code.rstrip("?!;")).replace("?", "").replace("!", "").lstrip(".")
    # `Foo{}` and `Foo {}` create an instance.
    code = re.sub(r"\s*\{\}", "()", code, count=1)
    code = re.sub(r"(?<=[\w)])\s+\(\)", "()", code)
    return code if _CHAIN.fullmatch(code) else UNKNOWN


def _hollow(code: str) -> str:
    """Return the code without parentheses around all of it and without the content of its outer brackets."""
    out: list[str] = []
    closing: list[str] = []
    content = 0
    quote = ""
    for place, letter in enumerate(code):
        if quote:
            if letter == quote and code[place - 1] != "\\":
                quote = ""
        elif closing and letter in "\"'`":
            quote = letter
        elif letter in _OPENING:
            if not closing:
                content = place + 1
            closing.append(_OPENING[letter])
        elif closing:
            if letter == closing[-1]:
                closing.pop()
                if not closing:
                    if not out and letter == ")":
                        # `(await x).y`, `(*p).y`, `((Foo) x).y`
                        inner = chain(code[content:place])
                        rest = code[place + 1 :]
                        return (inner if inner != UNKNOWN and not inner.startswith(":") else "()") + _hollow(
                            rest
                        )
                    out.append({")": "()", "]": "[]", "}": "{}"}[letter])
        else:
            out.append(letter)
    return "".join(out)


_WRAPPERS = frozenset(
    """
    Optional Annotated Final ClassVar Awaitable Coroutine Required NotRequired Self Type type Promise Partial
    Readonly Required NonNullable Awaited Arc Rc Box RefCell Mutex RwLock Cell Pin Option Result Cow NonNull
    Weak OnceCell OnceLock LazyLock MutexGuard Ref RefMut unique_ptr shared_ptr weak_ptr scoped_refptr atomic
    CompletableFuture Future Supplier Lazy AtomicReference WeakReference Task ValueTask Nullable Provider
    """.split()
)
"""Types that wrap another type. Code that uses a variable of such a type mostly calls methods of the wrapped
type."""
_COLLECTIONS = frozenset(
    """
    list List Sequence Iterable Iterator Collection Set set frozenset FrozenSet tuple Tuple deque
    Generator AsyncIterator AsyncGenerator AsyncIterable MutableSequence Array ReadonlyArray ArrayList
    LinkedList Queue Deque IEnumerable IList ICollection IReadOnlyList IReadOnlyCollection HashSet Stack Vec
    VecDeque Seq vector MutableList MutableSet BlockingQueue Stream Flow Iter slice
    """.split()
)
_MAPS = frozenset(
    """
    dict Dict Mapping MutableMapping DefaultDict OrderedDict defaultdict Map Record HashMap BTreeMap
    ConcurrentHashMap LinkedHashMap Dictionary IDictionary IReadOnlyDictionary ConcurrentDictionary MutableMap
    map unordered_map ReadonlyMap WeakMap TreeMap
    """.split()
)
_QUALIFIERS = re.compile(
    r"^(?:(?:const|volatile|struct|union|enum|class|final|static|mutable|register|unsigned|readonly|inline"
    r"|virtual|extern|async|abstract|override|public|private|protected|internal|sealed|partial|open|lateinit"
    r"|var|val|let|dyn|impl|mut|typename|explicit|constexpr|in|out|ref|params|inout|some|any|keyof|unsafe|pub"
    r"|where|extends|super)\s+|\?\s+|[&*^]+\s*|'\w+\s+|->\s*|:\s*|@[\w.]+(?:\([^)]*\))?\s*)+"
)
_HEAD = re.compile(r"[\w$.:\\]+")


@lru_cache(20_000)
def type_expression(code: str) -> str:
    """Return `:Foo` for the code of a type, `:Foo|Bar` for one of two types; "" for one without a name."""
    names = dict.fromkeys(_type_names(code, 0))
    return f":{'|'.join(list(names)[:_MOST_TYPES])}" if names else ""


def _type_names(code: str, depth: int) -> list[str]:
    """Return the possible types of a value whose type is this code, followed by the type arguments."""
    if depth > 6 or len(code) > LONGEST:
        return []
    code = code.strip().strip("\"'`").strip()
    code = _QUALIFIERS.sub("", code).strip()
    if code.startswith("[]") or re.match(r"\[\w+\](?=[\w*])", code):  # Go: []Foo, [4]Foo
        return _elements(code[code.index("]") + 1 :], depth)
    if code.startswith("map["):
        return _elements(code[code.find("]") + 1 :], depth)
    if code.startswith("[") and code.endswith("]"):  # [Foo], [K: V], [T; 4]
        inner = code[1:-1].partition(";")[0]
        return _elements(inner.rpartition(":")[2] if "::" not in inner else inner, depth)
    if code.startswith("("):
        inner = code[1:-1] if code.endswith(")") else ""
        parts = _split(inner)
        return _type_names(parts[0], depth + 1) if parts and "=>" not in code and "->" not in code else []
    alternatives = [part.strip() for part in _split(code, "|+&") if part.strip() not in _NOTHING]
    if len(alternatives) > 1:
        return [name for part in alternatives for name in _type_names(part, depth + 1)]
    code = alternatives[0] if alternatives else ""
    head = _HEAD.match(code)
    if head is None:
        return []
    name = re.sub(r"::|\\", ".", head[0]).strip(".:")
    return _named_with(name, code[head.end() :].strip(), depth)


def _named_with(name: str, rest: str, depth: int) -> list[str]:
    last = name.rpartition(".")[2]
    if rest[:1] in ("<", "["):
        closing = ">" if rest[0] == "<" else "]"
        inner = rest[1 : rest.rfind(closing)] if closing in rest else rest[1:]
        if not inner:  # Foo[]
            return [f"{name}[]"]
        arguments = [part for part in _split(inner) if not part.strip().startswith("'")]
        if last == "Union":
            return [name for part in arguments for name in _type_names(part, depth + 1)]
        if last in _WRAPPERS and arguments:
            return _type_names(arguments[0], depth + 1)
        if last in _COLLECTIONS and arguments:
            return _elements(arguments[0].rpartition("= ")[2], depth)
        if last in _MAPS and arguments:
            return _elements(arguments[-1], depth)
        if rest.endswith("[]"):
            return [f"{name}[]"]
        return [name, *(each for part in arguments for each in _type_names(part, depth + 1))]
    if rest == "auto":  # A concept of C++ before a parameter says little about its type.
        return []
    if rest[:1] not in ("", "*", "&", "?", "!", "=", ",", "{", "."):
        return _type_names(rest, depth + 1) if rest[0].isidentifier() and last in _MODIFIED else [name]
    return [name] if last not in _NOTHING else []


_MOST_TYPES = 4
_NOTHING = frozenset(
    {"None", "null", "undefined", "nil", "void", "error", "()", "Nothing", "Unit", "auto", "var", ""}
)
_MODIFIED = frozenset({"long", "short", "unsigned", "signed"})


def _elements(code: str, depth: int) -> list[str]:
    return [name if name.endswith("[]") else f"{name}[]" for name in _type_names(code, depth + 1)]


def _split(code: str, separators: str = ",") -> list[str]:
    """Return the parts between separators outside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(code):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and not (letter == ">" and code[place - 1 : place] in ("-", "=")):
            depth -= 1
        elif letter in separators and depth == 0:
            parts.append(code[start:place])
            start = place + 1
    return [*parts, code[start:]]
