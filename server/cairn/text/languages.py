"""Detect a file's language by its name, extension or first line, and the category of a language.

A language has the name of its bundled tree-sitter grammar, if there is one.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache

from cairn.text.nearest import nearest


class Category(enum.StrEnum):
    PROSE = "prose"
    CONFIG = "config"
    CODE = "code"


@lru_cache(maxsize=256)
def detect_language(path: str, first_line: str = "") -> str:
    """Return the language of the file at `path` (with `/` or `\\`), "" if unknown. If the name does not
    decide, a `#!` in the optional `first_line` does."""
    name = re.split(r"[/\\]", path)[-1]
    lower = name.lower()
    if language := _BY_NAME.get(lower):
        return language
    if _REQUIREMENTS.fullmatch(lower):
        return "requirements"
    # The longest known ending wins: `x.blade.php` before `x.php`.
    parts = lower.split(".")
    for index in range(1, len(parts)):
        if language := _BY_EXTENSION.get(".".join(parts[index:])):
            return language
    for pattern, language in _BY_PATTERN:
        if pattern.fullmatch(lower):
            return language
    if shebang := _SHEBANG.match(first_line[:_SHEBANG_LIMIT]):
        return _INTERPRETERS.get(re.sub(r"[\d.]+$", "", shebang.group(1).lower()), "")
    return ""


def language_of(path: str, text: str) -> str:
    """Return the language of a file; the text decides between languages that share an extension."""
    language = detect_language(path, re.split(r"[\r\n]", text[:200], maxsplit=1)[0])
    start = text[:_PROBE]
    if language == "c" and path.lower().endswith(".h"):
        if _OBJC_HEADER.search(start):
            return "objc"
        return "cpp" if _CPP_HEADER.search(start) else "c"
    if language in ("typescript", "objc") and start.lstrip().startswith("<?xml"):
        # A user interface translation of Qt begins like this.
        return "xml"
    return language


def language_of_fence(info: str) -> str:
    """Return the language in a fence's info string: `js {1,3}` → `javascript`. Unknown names stay."""
    match = _FENCE_WORD.match(info.strip())
    if not match:
        return ""
    word = match.group(1).lower()
    return _ALIASES.get(word) or _BY_EXTENSION.get(word) or word


def category(language: str) -> Category:
    """Return the language's category. It is code unless it is prose or configuration."""
    if language in PROSE_LANGUAGES:
        return Category.PROSE
    if language in CONFIG_LANGUAGES:
        return Category.CONFIG
    return Category.CODE


PROSE_LANGUAGES = frozenset("asciidoc latex markdown org rst text typst".split())

CONFIG_LANGUAGES = frozenset(
    """
    caddyfile cmake csv dockerfile dotenv dtd editorconfig gitignore gomod hcl ini json json5 jsonc kdl nginx
    properties requirements toml xml yaml
    """.split()
)

# The number of characters that decide the language. A licence and an include guard may come before the first
# clue.
_PROBE = 20_000
_OBJC_HEADER = re.compile(r"^@(?:interface|protocol|class|import)\b", re.MULTILINE)
_CPP_HEADER = re.compile(
    r"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|(?:public|private|protected)\s*:"
    r"|using\s+(?:namespace\s+)?\w)|\bstd::|\bconstexpr\b",
    re.MULTILINE,
)
_SHEBANG_LIMIT = 200
_FENCE_WORD = re.compile(r"\{?\s*\.?([A-Za-z0-9_+#.-]+)")
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*(?:\w+=\S+\s+)*)?(?:\S*/)?([\w.+-]+)")


def _inverted(table: str, themselves: str = "") -> dict[str, str]:
    """Return `c: c h` as `{"c": "c", "h": "c"}`. Languages in `themselves` have only their own name."""
    found = {word: word for word in themselves.split()}
    language = ""
    for word in table.split():
        if word.endswith(":"):
            language = word[:-1]
        else:
            found[word] = language
    return found


_INTERPRETERS = _inverted(
    """
    awk: awk gawk
    bash: ash bash dash ksh sh zsh
    erlang: escript
    haskell: runghc runhaskell stack
    javascript: node nodejs
    lua: lua luajit
    nix: nix-shell
    powershell: pwsh
    python: pypy python
    r: rscript
    ruby: jruby ruby
    scheme: guile
    tcl: tclsh
    typescript: bun deno ts-node tsx
    """,
    themselves="bats dart elixir fish groovy julia just kotlin make ocaml perl php racket scala swift",
)

_BY_NAME = _inverted(
    """
    bash: .bash_aliases .bash_logout .bash_profile .bashrc .envrc .kshrc .profile .zprofile .zshenv
        .zshrc apkbuild bashrc configure gradlew mvnw pkgbuild
    cmake: cmakecache.txt cmakelists.txt
    dockerfile: containerfile dockerfile
    editorconfig: .editorconfig
    erlang: rebar.config
    gitignore: .cairnignore .dockerignore .eslintignore .gitattributes .gitignore .ignore .npmignore
        .prettierignore codeowners
    gomod: go.mod go.sum go.work
    groovy: jenkinsfile
    ini: .coveragerc .flake8 .gitconfig .gitmodules .npmrc .pylintrc pylintrc
    json: .swcrc .watchmanconfig
    json5: .babelrc
    jsonc: .eslintrc .jshintrc
    just: .justfile justfile
    make: gnumakefile makefile
    nginx: nginx.conf
    python: sconscript sconstruct wscript
    ruby: brewfile capfile dangerfile fastfile gemfile guardfile podfile rakefile vagrantfile
    starlark: build build.bazel module.bazel tiltfile workspace
    text: authors changelog changes code_of_conduct contributing contributors copying credits history
        install licence license maintainers news notice readme thanks todo
    toml: cargo.lock pipfile poetry.lock uv.lock
    vim: .vimrc _vimrc vimrc
    yaml: .clang-format .clang-tidy .clangd .gemrc .prettierrc procfile
    """,
    themselves="caddyfile",
)

_REQUIREMENTS = re.compile(r"(?:[\w-]*requirements|constraints)[\w-]*\.txt")
_BY_PATTERN = (
    (re.compile(r"(?:dockerfile|containerfile)[._-].+|.+\.(?:dockerfile|containerfile)"), "dockerfile"),
    (re.compile(r"\.env(?:\..+)?"), "dotenv"),
    (re.compile(r"makefile\..+"), "make"),
    (re.compile(r"(?:licen[cs]e|copying|notice|readme|changelog)[._-].+"), "text"),
)

_BY_EXTENSION = _inverted(
    """
    ada: ada adb ads
    asciidoc: adoc asc asciidoc
    assembly: asm s
    bash: bash ebuild ksh sh zsh
    batch: bat cmd
    c: c h
    capnproto: capnp
    clojure: bb clj cljc cljs edn
    cobol: cob
    coffeescript: coffee
    cpp: c++ cc cpp cppm cu cuh cxx h++ hh hpp hxx inl ino ipp ixx metal tcc tpp
    crystal: cr
    csharp: cs csx
    csv: csv tsv
    dtd: dtd ent
    elisp: el
    elixir: ex exs
    embedded_template: eex ejs erb
    erlang: app.src erl hrl
    flatbuffers: fbs
    fortran: f f03 f08 f77 f90 f95 for
    fsharp: fs fsi fsx
    glsl: frag glsl vert
    gotmpl: gotmpl tmpl
    graphql: gql graphql graphqls
    groovy: gradle groovy gvy
    handlebars: hbs mustache
    haskell: hs hsc lhs
    haxe: hx
    hcl: hcl nomad tf tfvars
    heex: heex leex
    html: htm html xhtml
    ini: cfg conf desktop ini service
    java: jav java
    javascript: cjs es6 js jsm jsx mjs
    jinja2: j2 jinja jinja2 njk
    json: avsc geojson json jsonl webmanifest
    jsonc: code-workspace jsonc
    jsonnet: jsonnet libsonnet
    julia: jl
    jupyter: ipynb
    kotlin: kt ktm kts
    latex: cls latex ltx sty tex
    lisp: cl lisp lsp
    lua: lua luau rockspec
    make: mak mk
    markdown: livemd markdown md mdc mdown mdx mkd qmd rmd
    nim: nim nims
    objc: m mm
    ocaml: ml mli
    pascal: pas
    perl: pl plx pm psgi t
    php: blade.php inc php php3 php4 php5 phps phtml
    powershell: ps1 psd1 psm1
    pug: jade pug
    purescript: purs
    python: pxd py pyi pyw pyx
    racket: rkt rktl
    reason: re
    rescript: res
    rst: rest rst
    ruby: gemspec jbuilder podspec rake rb rbi rbs ru thor
    rust: rs
    scala: mill sbt sc scala
    scheme: scm sld ss
    solidity: sol
    sql: ddl psql sql
    starlark: bazel bzl star
    stylus: styl
    text: text txt
    typescript: cts mts ts
    typst: typ
    verilog: sv svh v
    vhdl: vhd vhdl
    wat: wast wat
    xml: csproj fsproj plist pom props resx svg targets vbproj wsdl xaml xml xsd xsl xslt
    yaml: yaml yml
    zig: zig zon
    """,
    themselves="""
    astro awk bats cmake css d dart elm fish go haml hlsl json5 just kdl less liquid nix odin org
    prisma properties proto r sass scss slim sml svelte swift tcl thrift toml tsx twig vb vim vue wgsl
    """,
)

CODE_EXTENSIONS = frozenset(
    ending for ending, language in _BY_EXTENSION.items() if language not in CONFIG_LANGUAGES | {"text"}
)
"""The last parts of names, without the dot, of files of code or marked-up prose."""

DETECTED_LANGUAGES = frozenset(
    {"requirements", *_BY_NAME.values(), *_BY_EXTENSION.values(), *(language for _, language in _BY_PATTERN)}
)
"""Every language that `detect_language` can return."""

# Names that people write after a fence, in addition to languages and extensions.
_ALIASES = _inverted(
    """
    bash: shell
    console: bash-session console sh-session shell-session shellsession terminal
    csharp: c#
    dockerfile: docker
    fsharp: f#
    go: golang
    hcl: terraform
    javascript: javascriptreact
    jinja2: jinja
    lisp: commonlisp
    make: makefile
    markdown: md
    objc: objective-c objectivec
    powershell: ps pwsh
    proto: protobuf
    python: ipython py3 python3
    text: none plain plaintext
    tsx: typescriptreact
    vim: viml vimscript
    yaml: yml
    """,
    themselves="pycon",
)

KNOWN_LANGUAGES = DETECTED_LANGUAGES | frozenset(_ALIASES.values())


def nearest_language(name: str) -> str:
    """Return the known language most similar to `name`, "" if none is similar: `pyton` → `python`."""
    return nearest(name.lower(), sorted(KNOWN_LANGUAGES))
