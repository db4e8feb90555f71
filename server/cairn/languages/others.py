"""Languages of which little more than names is known."""

from __future__ import annotations

from cairn.languages.language import Category, Language

ADA = Language("ada", endings="ada adb ads")
ASSEMBLY = Language("assembly", endings="asm s")
AWK = Language("awk", endings="awk", interpreters="awk gawk")
BATCH = Language("batch", endings="bat cmd")
CAPNPROTO = Language("capnproto", endings="capnp")
COBOL = Language("cobol", endings="cob")
CONSOLE = Language("console", aliases="bash-session sh-session shell-session shellsession terminal")
CRYSTAL = Language("crystal", endings="cr")
D = Language("d", endings="d")
ELM = Language("elm", endings="elm")
FLATBUFFERS = Language("flatbuffers", endings="fbs")
FSHARP = Language("fsharp", endings="fs fsi fsx", aliases="f#")
GLSL = Language("glsl", endings="frag glsl vert")
GOTMPL = Language("gotmpl", endings="gotmpl tmpl")
HAML = Language("haml", endings="haml")
HANDLEBARS = Language("handlebars", endings="hbs mustache")
HAXE = Language("haxe", endings="hx")
HEEX = Language("heex", endings="heex leex")
HLSL = Language("hlsl", endings="hlsl")
JSONNET = Language("jsonnet", endings="jsonnet libsonnet")
JUPYTER = Language("jupyter", endings="ipynb")
JUST = Language("just", endings="just", files=".justfile justfile", interpreters="just")
LIQUID = Language("liquid", endings="liquid")
MATLAB = Language("matlab")
NIM = Language("nim", endings="nim nims")
ODIN = Language("odin", endings="odin")
PASCAL = Language("pascal", endings="pas")
PRISMA = Language("prisma", endings="prisma")
PROLOG = Language("prolog")
PUG = Language("pug", endings="jade pug")
PURESCRIPT = Language("purescript", endings="purs")
PYCON = Language("pycon")
REASON = Language("reason", endings="re")
RESCRIPT = Language("rescript", endings="res")
SLIM = Language("slim", endings="slim")
SML = Language("sml", endings="sml")
TCL = Language("tcl", endings="tcl", interpreters="tclsh")
THRIFT = Language("thrift", endings="thrift")
VB = Language("vb", endings="vb")
VERILOG = Language("verilog", endings="sv svh v")
VHDL = Language("vhdl", endings="vhd vhdl")
WAT = Language("wat", endings="wast wat")
WGSL = Language("wgsl", endings="wgsl")

_CONFIG = Category.CONFIG

CADDYFILE = Language("caddyfile", files="caddyfile", category=_CONFIG)
CSV = Language("csv", endings="csv tsv", category=_CONFIG)
DOCKERFILE = Language(
    "dockerfile",
    files="containerfile dockerfile",
    aliases="docker",
    pattern=r"(?:dockerfile|containerfile)[._-].+|.+\.(?:dockerfile|containerfile)",
    category=_CONFIG,
)
DOTENV = Language("dotenv", pattern=r"\.env(?:\..+)?", category=_CONFIG)
DTD = Language("dtd", endings="dtd ent", category=_CONFIG)
EDITORCONFIG = Language("editorconfig", files=".editorconfig", category=_CONFIG)
GITIGNORE = Language(
    "gitignore",
    files=(
        ".cairnignore .dockerignore .eslintignore .gitattributes .gitignore .ignore "
        ".npmignore .prettierignore codeowners"
    ),
    category=_CONFIG,
)
GOMOD = Language("gomod", files="go.mod go.sum go.work", category=_CONFIG)
INI = Language(
    "ini",
    endings="cfg conf desktop ini service",
    files=".coveragerc .flake8 .gitconfig .gitmodules .npmrc .pylintrc pylintrc",
    category=_CONFIG,
)
JSON = Language(
    "json", endings="avsc geojson json jsonl webmanifest", files=".swcrc .watchmanconfig", category=_CONFIG
)
JSON5 = Language("json5", endings="json5", files=".babelrc", category=_CONFIG)
JSONC = Language("jsonc", endings="code-workspace jsonc", files=".eslintrc .jshintrc", category=_CONFIG)
KDL = Language("kdl", endings="kdl", category=_CONFIG)
NGINX = Language("nginx", files="nginx.conf", category=_CONFIG)
PROPERTIES = Language("properties", endings="properties", category=_CONFIG)
REQUIREMENTS = Language(
    "requirements", early_pattern=r"(?:[\w-]*requirements|constraints)[\w-]*\.txt", category=_CONFIG
)
TOML = Language("toml", endings="toml", files="cargo.lock pipfile poetry.lock uv.lock", category=_CONFIG)
XML = Language(
    "xml",
    endings="csproj fsproj plist pom props resx svg targets vbproj wsdl xaml xml xsd xsl xslt",
    category=_CONFIG,
)
YAML = Language(
    "yaml",
    endings="yaml yml",
    files=".clang-format .clang-tidy .clangd .gemrc .prettierrc procfile",
    aliases="yml",
    category=_CONFIG,
)

_PROSE = Category.PROSE

ASCIIDOC = Language("asciidoc", endings="adoc asc asciidoc", category=_PROSE)
LATEX = Language("latex", endings="cls latex ltx sty tex", category=_PROSE)
MARKDOWN = Language(
    "markdown", endings="livemd markdown md mdc mdown mdx mkd qmd rmd", aliases="md", category=_PROSE
)
ORG = Language("org", endings="org", category=_PROSE)
RST = Language("rst", endings="rest rst", category=_PROSE)
TEXT = Language(
    "text",
    endings="text txt",
    files=(
        "authors changelog changes code_of_conduct contributing contributors copying credits "
        "history install licence license maintainers news notice readme thanks todo"
    ),
    aliases="none plain plaintext",
    pattern=r"(?:licen[cs]e|copying|notice|readme|changelog)[._-].+",
    category=_PROSE,
)
TYPST = Language("typst", endings="typ", category=_PROSE)
