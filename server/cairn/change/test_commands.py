"""The commands of a project's own test runners for chosen tests.

A command is only given where manifests, settings or the tests themselves tell the runner. Arguments are
quoted for a POSIX shell.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from attrs import define, field

from cairn.change.evidence import Concerned
from cairn.index.reader.index_reader import IndexReader
from cairn.languages.registry import detect_language
from cairn.protocol.change_messages import TestCommand

_MOST_TESTS = 8
"""The maximum number of tests of a file that a command names; for more, it runs the whole file."""


@define(eq=False)
class Project:
    """The files of a folder, as far as they tell how its tests are run."""

    reader: IndexReader
    _texts: dict[str, str] = field(factory=dict, init=False)

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(path for (path,) in self.reader.select_all("SELECT path FROM files"))

    def text(self, path: str) -> str:
        """Return the text of a file, "" if it is not indexed."""
        if path not in self._texts:
            chunks = self.reader.page(path) if path in self.paths else ()
            self._texts[path] = "\n".join(stored.chunk.text for stored in chunks)
        return self._texts[path]

    def above(self, path: str) -> Iterator[str]:
        """Yield the folders around a file, the innermost first, and "" last."""
        folder = posixpath.dirname(path)
        while folder:
            yield folder
            folder = posixpath.dirname(folder)
        yield ""

    def nearest(self, path: str, names: Sequence[str], *, pattern: str = "") -> str:
        """Return the path of the nearest file above with one of the names, whose text matches the pattern; ""
        if there is none."""
        for folder in self.above(path):
            for name in names:
                found = posixpath.join(folder, name)
                if found in self.paths and (not pattern or re.search(pattern, self.text(found))):
                    return found
        return ""

    def beside(self, path: str, name: str) -> bool:
        """Whether the folder of a file has another file of that name."""
        return posixpath.join(posixpath.dirname(path), name) in self.paths


_Runner = Callable[[Project, Sequence[Concerned]], Iterable[TestCommand]]


def test_commands(reader: IndexReader, tests: Sequence[Concerned]) -> list[TestCommand]:
    """Return the commands that run the tests, in the order of the best test of each."""
    project = Project(reader)
    groups: dict[_Runner, list[Concerned]] = defaultdict(list)
    for test in tests:
        runner = _RUNNERS.get(detect_language(test.path) or "")
        if runner is not None:
            groups[runner].append(test)
    found = [command for runner, group in groups.items() for command in runner(project, group)]
    order = {test.path: number for number, test in enumerate(tests)}
    return sorted(found, key=lambda each: min(order.get(path, len(order)) for path in each.paths))


def _command(words: Iterable[str], folder: str, tests: Iterable[Concerned]) -> TestCommand:
    return TestCommand(shlex.join(words), folder, tuple(dict.fromkeys(test.path for test in tests)))


def _below(folder: str, path: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def _by_folder(tests: Iterable[Concerned], manifest: Callable[[str], str]) -> dict[str, list[Concerned]]:
    """Return the tests by the path of their manifest, without those that have none."""
    found: dict[str, list[Concerned]] = defaultdict(list)
    for test in tests:
        if path := manifest(test.path):
            found[path].append(test)
    return found


def _names(test: Concerned, pattern: str) -> list[str]:
    """Return the qualified names of a file's chosen tests if all of them match, with the enclosing names;
    else none, so that the whole file is run."""
    names = test.tests
    is_known = 0 < len(names) <= _MOST_TESTS and all(re.search(pattern, name) for name in names)
    return list(names) if is_known else []


# --- Python ------------------------------------------------------------------------------------------

_PYTHON_SETTINGS = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "conftest.py")


def _python(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    requirements = [
        path for path in project.paths if re.search(r"requirements[^/]*(/[^/]+)?\.(txt|in)$", path)
    ]
    settings = [
        path for path in (*_PYTHON_SETTINGS, "Pipfile", "noxfile.py", "manage.py") if path in project.paths
    ]
    text = "\n".join(map(project.text, (*settings, *sorted(requirements)[:20])))
    uses_pytest = re.search(r"\bpytest\b", text) or any(
        path.endswith("conftest.py") for path in project.paths
    )
    if not uses_pytest:
        uses_pytest = any("import pytest" in project.text(test.path) for test in tests)
    if uses_pytest:
        yield _command(("pytest", *(id for test in tests for id in _node_ids(test))), "", tests)
    elif manage := project.nearest(tests[0].path, ["manage.py"], pattern="django"):
        folder = posixpath.dirname(manage)
        modules = (_module(_below(folder, test.path)) for test in tests)
        yield _command(("python", "manage.py", "test", *modules), folder, tests)
    elif any(re.search(r"\bunittest\b", project.text(test.path)) for test in tests):
        yield _command(("python", "-m", "unittest", *(_below("", test.path) for test in tests)), "", tests)


def _node_ids(test: Concerned) -> list[str]:
    names = _names(test, r"(?:^|\.)test\w*$|^Test\w*$")
    return [f"{test.path}::{name.replace('.', '::')}" for name in names] or [test.path]


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


# --- Go, Rust ------------------------------------------------------------------------------------------


def _go(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    for manifest, group in _by_folder(tests, lambda path: project.nearest(path, ["go.mod"])).items():
        root = posixpath.dirname(manifest)
        packages: dict[str, list[Concerned]] = defaultdict(list)
        for test in group:
            if test.path.endswith("_test.go"):
                packages[posixpath.dirname(_below(root, test.path))].append(test)
        for package, here in packages.items():
            names = [_names(test, r"^(?:Test|Benchmark|Fuzz|Example)\w*$") for test in here]
            chosen = list(dict.fromkeys(name for each in names for name in each)) if all(names) else []
            words = ["go", "test", f"./{package}" if package else "."]
            yield _command([*words, *(["-run", f"^({'|'.join(chosen)})$"] if chosen else [])], root, here)


def _rust(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    def manifest(path: str) -> str:
        return project.nearest(path, ["Cargo.toml"], pattern=r"(?m)^\[package\]")

    for found, group in _by_folder(tests, manifest).items():
        folder = posixpath.dirname(found)
        name = re.search(r"(?ms)^\[package\].*?^name\s*=\s*\"([^\"]+)\"", project.text(found))
        words = ["cargo", "test", *(["-p", name[1]] if name and folder else [])]
        whole, integration = [], []
        for test in group:
            inside = _below(folder, test.path)
            target = re.fullmatch(r"tests/(?:([^/]+)\.rs|([^/]+)/main\.rs)", inside)
            if target:
                integration.append((target[1] or target[2], test))
            elif inside.startswith("src/"):
                yield _command([*words, "--", *_rust_filters(inside, test)], "", [test])
            else:
                whole.append(test)
        if integration:
            targets = [word for target, _ in integration for word in ("--test", target)]
            yield _command([*words, *targets], "", [test for _, test in integration])
        if whole:
            yield _command([*words, "--tests"], "", whole)


def _rust_filters(inside: str, test: Concerned) -> list[str]:
    """Return the paths of a source file's tests, which `cargo test` takes as filters."""
    module = inside.removeprefix("src/").removesuffix(".rs").removesuffix("/mod").replace("/", "::")
    module = "" if module in ("lib", "main") else f"{module}::"
    names = _names(test, r"\w") or ["tests"]
    return [module + name.replace(".", "::") for name in names]


# --- JavaScript, TypeScript ----------------------------------------------------------------------------

_JS_RUNNERS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("vitest", ("npx", "vitest", "run")),
    ("jest", ("npx", "jest")),
    ("react-scripts", ("npx", "react-scripts", "test", "--watchAll=false")),
    ("mocha", ("npx", "mocha")),
    ("ava", ("npx", "ava")),
    ("tap", ("npx", "tap")),
    ("@hapi/lab", ("npx", "lab")),
    ("lab", ("npx", "lab")),
    ("borp", ("npx", "borp")),
    ("jasmine", ("npx", "jasmine")),
    ("uvu", ("npx", "uvu")),
)
_JS_SCRIPTS: Sequence[tuple[str, tuple[str, ...]]] = (
    (r"\bbun test\b", ("bun", "test")),
    (r"\bdeno test\b", ("deno", "test")),
    (r"\bnode\b.*--test\b", ("node", "--test")),
)


_CYPRESS = ("npx", "cypress", "run", "--spec")


def _javascript(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    groups: dict[tuple[str, tuple[str, ...]], list[Concerned]] = defaultdict(list)
    for test in tests:
        found = _js_runner(project, test.path)
        if found is not None:
            groups[found].append(test)
    for (folder, words), group in groups.items():
        if words == _CYPRESS:
            specs = ",".join(_below(folder, test.path) for test in group)
            yield _command((*words, specs), folder, group)
            continue
        yield _command((*words, *(_below(folder, test.path) for test in group)), folder, group)


def _js_runner(project: Project, path: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the folder and the command of the nearest package that names a test runner."""
    if re.search(r"from\s+['\"]@playwright/test['\"]|require\(['\"]@playwright/test", project.text(path)):
        manifest = project.nearest(path, ["package.json"])
        return posixpath.dirname(manifest), ("npx", "playwright", "test")
    if re.search(r"\.cy\.\w+$", path):
        return posixpath.dirname(project.nearest(path, ["package.json"])), _CYPRESS
    for folder in project.above(path):
        manifest = posixpath.join(folder, "package.json")
        if manifest in project.paths and (words := _js_command(project.text(manifest))):
            return folder, words
    return None


@lru_cache(200)
def _js_command(text: str) -> tuple[str, ...] | None:
    """Return the command of the runner that a package.json names: that of its script `test`, else one that it
    depends on."""
    try:
        package = json.loads(text)
        scripts = package.get("scripts") or {}
        needed = {**(package.get("dependencies") or {}), **(package.get("devDependencies") or {})}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None
    ordered = sorted(scripts, key=lambda name: (name != "test", not name.startswith("test"), name))
    script = " && ".join(str(scripts[name]) for name in ordered if name.startswith(("test", "unit")))
    for pattern, words in _JS_SCRIPTS:
        if re.search(pattern, script):
            return words
    named = [(name, words) for name, words in _JS_RUNNERS if re.search(rf"(?<![\w@/-]){name}\b", script)]
    named += [(name, words) for name, words in _JS_RUNNERS if name in needed]
    return named[0][1] if named else None


# --- JVM, .NET -----------------------------------------------------------------------------------------


def _jvm(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    def manifest(path: str) -> str:
        return project.nearest(path, ["pom.xml", "build.gradle", "build.gradle.kts"])

    for found, group in _by_folder(tests, manifest).items():
        folder, name = posixpath.split(found)
        classes = list(dict.fromkeys(_class(test.path) for test in group))
        if name == "pom.xml":
            top = posixpath.dirname(project.nearest(found, ["mvnw"]) or found)
            wrapper = "./mvnw" if project.nearest(found, ["mvnw"]) else "mvn"
            module = ["-pl", _below(top, folder)] if folder != top else []
            yield _command([wrapper, *module, f"-Dtest={','.join(classes)}", "test"], top, group)
        else:
            settings = ("settings.gradle", "settings.gradle.kts", "gradlew")
            top = posixpath.dirname(project.nearest(found, settings) or found)
            wrapper = "./gradlew" if posixpath.join(top, "gradlew") in project.paths else "gradle"
            module_path = _below(top, folder).replace("/", ":") if folder != top else ""
            chosen = [word for each in classes for word in ("--tests", f"*{each}")]
            yield _command([wrapper, f":{module_path}:test" if module_path else "test", *chosen], top, group)


def _class(path: str) -> str:
    return posixpath.basename(path).partition(".")[0]


def _dotnet(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    projects = {
        posixpath.dirname(path): path for path in project.paths if re.search(r"\.(cs|fs|vb)proj$", path)
    }

    def manifest(path: str) -> str:
        return next((projects[folder] for folder in project.above(path) if folder in projects), "")

    for found, group in _by_folder(tests, manifest).items():
        names = list(dict.fromkeys(_class(test.path) for test in group))
        chosen = "|".join(f"FullyQualifiedName~{name}" for name in names)
        yield _command(("dotnet", "test", found, "--filter", chosen), "", group)


# --- Ruby, PHP, Elixir, C ------------------------------------------------------------------------------


_RUBY_TEST = re.compile(r"_test\.rb$|(?:^|/)test_\w+\.rb$")


def _ruby(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    bundled = ["bundle", "exec"] if "Gemfile" in project.paths else []
    specs = [test for test in tests if test.path.endswith("_spec.rb")]
    others = [test for test in tests if _RUBY_TEST.search(test.path)]
    if specs:
        yield _command([*bundled, "rspec", *map(_with_line, specs)], "", specs)
    if others and "bin/rails" in project.paths:
        yield _command(["bin/rails", "test", *map(_with_line, others)], "", others)
    elif others:
        for test in others:
            folder = "spec" if test.path.startswith("spec/") else "test"
            yield _command([*bundled, "ruby", "-Ilib", f"-I{folder}", test.path], "", [test])


def _with_line(test: Concerned) -> str:
    """Return the path with the line of its only chosen test."""
    return f"{test.path}:{test.line + 1}" if len(test.tests) == 1 and test.line else test.path


def _php(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    text = "".join(map(project.text, ("composer.json",)))
    runner = "pest" if "pestphp/pest" in text else "phpunit" if "phpunit" in text else ""
    if not runner and {"phpunit.xml", "phpunit.xml.dist"} & project.paths:
        runner = "phpunit"
    group = [test for test in tests if test.path.endswith("Test.php")] if runner else []
    if len(group) == 1:
        yield _command((f"vendor/bin/{runner}", group[0].path), "", group)
    elif group:  # It takes one path only.
        names = dict.fromkeys(_class(test.path) for test in group)
        yield _command((f"vendor/bin/{runner}", "--filter", f"({'|'.join(names)})"), "", group)


def _elixir(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    for found, group in _by_folder(tests, lambda path: project.nearest(path, ["mix.exs"])).items():
        folder = posixpath.dirname(found)
        paths = [_below(folder, _with_line(test)) for test in group if test.path.endswith("_test.exs")]
        if paths:
            yield _command(("mix", "test", *paths), folder, group)


def _c(project: Project, tests: Sequence[Concerned]) -> Iterator[TestCommand]:
    settings = r"\b(?:enable_testing|add_test|gtest_discover_tests|include\s*\(\s*CTest)\b"
    if project.nearest(tests[0].path, ["CMakeLists.txt"], pattern=settings):
        yield _command(("ctest", "--test-dir", "build"), "", tests)
    elif makefile := project.nearest(
        tests[0].path, ["Makefile", "GNUmakefile"], pattern=r"(?m)^(?:test|check)\s*:"
    ):
        found = re.search(r"(?m)^(test|check)\s*:", project.text(makefile))
        yield _command(("make", found[1] if found else "test"), posixpath.dirname(makefile), tests)
    elif makefile := project.nearest(tests[0].path, ["Makefile.am"]):
        yield _command(("make", "check"), posixpath.dirname(makefile), tests)


_RUNNERS: dict[str, _Runner] = {
    "python": _python, "go": _go, "rust": _rust, "javascript": _javascript, "typescript": _javascript,
    "tsx": _javascript, "jsx": _javascript, "java": _jvm, "kotlin": _jvm, "groovy": _jvm, "scala": _jvm,
    "csharp": _dotnet, "ruby": _ruby, "php": _php, "elixir": _elixir, "c": _c, "cpp": _c,
}  # fmt: skip
