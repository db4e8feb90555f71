"""The commands of a project's own runners for chosen tests."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cairn.change import test_commands as commands
from cairn.change.evidence import Concerned
from tests.change.evidence import Open


def chosen(path: str, *tests: str, line: int = 0) -> Concerned:
    return Concerned(path, line, tests[0] if tests else "", "call", ("calls it",), 1.0, (), tests)


@pytest.mark.parametrize(
    ("files", "tests", "expected"),
    [
        pytest.param(
            {
                "pyproject.toml": "[tool.pytest.ini_options]\n",
                "tests/test_berth.py": "",
                "tests/test_tide.py": "",
            },
            [chosen("tests/test_berth.py", "TestBerth.test_moor", "test_free"), chosen("tests/test_tide.py")],
            [
                (
                    "",
                    "pytest tests/test_berth.py::TestBerth::test_moor tests/test_berth.py::test_free"
                    " tests/test_tide.py",
                )
            ],
            id="pytest",
        ),
        pytest.param(
            {"web/manage.py": "import django\n", "web/port/tests.py": "from django.test import TestCase\n"},
            [chosen("web/port/tests.py")],
            [("web", "python manage.py test port.tests")],
            id="django",
        ),
        pytest.param(
            {"test_berth.py": "import unittest\n"},
            [chosen("test_berth.py")],
            [("", "python -m unittest test_berth.py")],
            id="unittest",
        ),
        pytest.param(
            {"test_berth.py": "x = 1\n"}, [chosen("test_berth.py")], [], id="an unknown Python runner"
        ),
        pytest.param(
            {"go.mod": "module port\n", "berth/berth_test.go": "package berth\n"},
            [chosen("berth/berth_test.go", "TestMoor", "TestFree")],
            [("", "go test ./berth -run '^(TestMoor|TestFree)$'")],
            id="go",
        ),
        pytest.param(
            {"go.mod": "module port\n", "berth/berth_test.go": "package berth\n"},
            [chosen("berth/berth_test.go", "suite.moors")],
            [("", "go test ./berth")],
            id="go, whole package",
        ),
        pytest.param(
            {
                "Cargo.toml": '[package]\nname = "port"\n',
                "tests/moor.rs": "fn a() {}\n",
                "src/tide.rs": "mod tests {}\n",
            },
            [chosen("tests/moor.rs"), chosen("src/tide.rs", "tests.rises")],
            [("", "cargo test --test moor"), ("", "cargo test -- tide::tests::rises")],
            id="cargo",
        ),
        pytest.param(
            {
                "Cargo.toml": "[workspace]\n",
                "hull/Cargo.toml": '[package]\nname = "hull"\n',
                "hull/tests/moor.rs": "fn a() {}\n",
            },
            [chosen("hull/tests/moor.rs")],
            [("", "cargo test -p hull --test moor")],
            id="cargo workspace",
        ),
        pytest.param(
            {
                "package.json": '{"devDependencies": {"vitest": "1"}}',
                "packages/hull/package.json": '{"scripts": {"test": "jest"}}',
                "packages/hull/test/my hull.test.ts": "it('a')\n",
                "src/tide.test.ts": "it('b')\n",
            },
            [chosen("packages/hull/test/my hull.test.ts"), chosen("src/tide.test.ts")],
            [("packages/hull", "npx jest 'test/my hull.test.ts'"), ("", "npx vitest run src/tide.test.ts")],
            id="packages of a workspace",
        ),
        pytest.param(
            {"package.json": '{"scripts": {"test": "node --test"}}', "tide.test.js": "test()\n"},
            [chosen("tide.test.js")],
            [("", "node --test tide.test.js")],
            id="node",
        ),
        pytest.param(
            {"tide.test.js": "test()\n"}, [chosen("tide.test.js")], [], id="an unknown JavaScript runner"
        ),
        pytest.param(
            {
                "pom.xml": "<project/>",
                "core/pom.xml": "<project/>",
                "mvnw": "sh\n",
                "core/src/test/java/TideTest.java": "class T {}",
            },
            [chosen("core/src/test/java/TideTest.java")],
            [("", "./mvnw -pl core -Dtest=TideTest test")],
            id="maven",
        ),
        pytest.param(
            {
                "settings.gradle": "x\n",
                "core/build.gradle": "x\n",
                "core/src/test/kotlin/TideTest.kt": "class T",
            },
            [chosen("core/src/test/kotlin/TideTest.kt")],
            [("", "gradle :core:test --tests '*TideTest'")],
            id="gradle",
        ),
        pytest.param(
            {"test/Port.Tests.csproj": "<Project/>", "test/TideTests.cs": "class T {}"},
            [chosen("test/TideTests.cs")],
            [("", "dotnet test test/Port.Tests.csproj --filter 'FullyQualifiedName~TideTests'")],
            id="dotnet",
        ),
        pytest.param(
            {"Gemfile": "gem 'rspec'\n", "spec/tide_spec.rb": "it\n", "test/test_crane.rb": "x\n"},
            [chosen("spec/tide_spec.rb"), chosen("test/test_crane.rb")],
            [
                ("", "bundle exec rspec spec/tide_spec.rb"),
                ("", "bundle exec ruby -Ilib -Itest test/test_crane.rb"),
            ],
            id="ruby",
        ),
        pytest.param(
            {"composer.json": '{"require-dev": {"phpunit/phpunit": "9"}}', "tests/TideTest.php": "<?php\n"},
            [chosen("tests/TideTest.php")],
            [("", "vendor/bin/phpunit tests/TideTest.php")],
            id="phpunit",
        ),
        pytest.param(
            {"phpunit.xml": "<phpunit/>", "tests/TideTest.php": "<?php\n", "tests/MoorTest.php": "<?php\n"},
            [chosen("tests/TideTest.php"), chosen("tests/MoorTest.php")],
            [("", "vendor/bin/phpunit --filter '(TideTest|MoorTest)'")],
            id="phpunit, several classes",
        ),
        pytest.param(
            {
                "package.json": '{"devDependencies": {"jest": "1"}}',
                "e2e/tide.cy.ts": "it()\n",
                "e2e/moor.cy.ts": "it()\n",
                "src/tide.test.ts": "it()\n",
            },
            [chosen("e2e/tide.cy.ts"), chosen("src/tide.test.ts"), chosen("e2e/moor.cy.ts")],
            [("", "npx cypress run --spec e2e/tide.cy.ts,e2e/moor.cy.ts"), ("", "npx jest src/tide.test.ts")],
            id="cypress beside jest",
        ),
        pytest.param(
            {"bin/rails": "#!/usr/bin/env ruby\n", "spec/factories/tide.rb": "x\n"},
            [chosen("spec/factories/tide.rb")],
            [],
            id="ruby, not a test",
        ),
        pytest.param(
            {"apps/port/mix.exs": "x\n", "apps/port/test/tide_test.exs": "x\n"},
            [chosen("apps/port/test/tide_test.exs", "rises", line=7)],
            [("apps/port", "mix test test/tide_test.exs:8")],
            id="mix",
        ),
        pytest.param(
            {"Makefile": "all:\n\ncheck: all\n", "test/tide.c": "int main;\n"},
            [chosen("test/tide.c")],
            [("", "make check")],
            id="make",
        ),
    ],
)
def test_commands_of_each_runner(
    opened: Open, files: Mapping[str, str], tests: list[Concerned], expected: list[tuple[str, str]]
) -> None:
    # A file without text is not indexed.
    folder = opened({path: text or "x = 1\n" for path, text in files.items()})
    found = commands.test_commands(folder.reader, tests)
    assert [(each.folder, each.command) for each in found] == expected
    assert {path for each in found for path in each.paths} <= {test.path for test in tests}
