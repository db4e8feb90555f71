"""Questions about real projects: a right file is in the top three, and evidence stands where it is cited."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from cairn.text.verbatim import stands_in

from .daemon import run_daemon

SDISTS = {"flask": "3.1.3", "httpx": "0.28.1"}
CORPORA = Path(sys.prefix) / "corpora"
"""The folder beside the environment's packages into which the projects are fetched once."""

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "discover"

QUESTIONS = [
    ("flask", "how does routing work", ("src/flask/sansio/scaffold.py", "src/flask/sansio/app.py", "src/flask/app.py")),  # noqa: E501
    ("flask", "how are sessions signed and stored in a cookie", ("src/flask/sessions.py",)),
    ("flask", "where are templates rendered", ("src/flask/templating.py",)),
    ("flask", "how does a blueprint register itself on the app", ("src/flask/sansio/blueprints.py",)),
    ("flask", "load configuration values from a file", ("src/flask/config.py",)),
    ("flask", "how does the application context push and pop work", ("src/flask/ctx.py",)),
    ("flask", "JSONProvider", ("src/flask/json/provider.py",)),
    ("httpx", "how does digest authentication work", ("httpx/_auth.py",)),
    ("httpx", "how are redirects followed", ("httpx/_client.py",)),
    ("httpx", "where are multipart uploads encoded", ("httpx/_multipart.py",)),
    ("httpx", "how is gzip content decoded", ("httpx/_decoders.py",)),
    ("httpx", "default timeout configuration", ("httpx/_config.py",)),
    ("httpx", "calling a WSGI app directly instead of over the network", ("httpx/_transports/wsgi.py",)),
    ("httpx", "ResponseNotRead", ("httpx/_exceptions.py",)),
]  # fmt: skip


@pytest.fixture(scope="session")
def projects() -> dict[str, Path]:
    """The unpacked source distributions by name."""
    roots = {}
    for name, version in SDISTS.items():
        root = CORPORA / f"{name}-{version}"
        if not root.exists():
            CORPORA.mkdir(exist_ok=True)
            source = ("--no-deps", "--no-binary=:all:", "-d", str(CORPORA), f"{name}=={version}")
            subprocess.run([sys.executable, "-m", "pip", "download", "-qq", *source], check=True)
            with tarfile.open(CORPORA / f"{name}-{version}.tar.gz") as archive:
                archive.extractall(CORPORA, filter="data")
        roots[name] = root
    return roots


@pytest.fixture(scope="module")
def answers(projects: dict[str, Path]) -> dict[tuple[str, str], Any]:
    """The answers to each (project, question), by command."""

    async def ask(project: str, root: Path) -> None:
        async with run_daemon(root) as cairn:
            await cairn.ready()
            for question in (question for name, question, _ in QUESTIONS if name == project):
                found[project, question] = {
                    "search": await cairn.search(question),
                    "discover": await cairn.discover(question),
                }

    found: dict[tuple[str, str], Any] = {}
    for project, root in projects.items():
        command = [sys.executable, "-m", "cairn", "index", str(root), "--quiet"]
        subprocess.run(command, check=True, timeout=600)
        asyncio.run(ask(project, root))
    return found


def test_the_script_of_the_readme_answers_a_question(projects: dict[str, Path]) -> None:
    question = "how does digest authentication work"
    seen = _script(str(projects["httpx"]), question, "--color", "always")
    assert seen.returncode == 0
    assert "httpx/_auth.py" in seen.stdout
    assert "DigestAuth" in seen.stdout
    compact = _script(str(projects["httpx"]), question)
    assert compact.stdout.startswith("=== httpx/_auth.py\n")
    prompt = _script(str(projects["httpx"]), question, "--prompt")
    assert f"## Question\n{question}" in prompt.stdout


def test_the_answer_in_the_readme_is_the_one_that_people_get(
    projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    example = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("```console\n")[2].partition("```")[0]
    )
    command, *expected = example.splitlines()
    _, _, _, question = shlex.split(command)
    seen = _script(str(projects["flask"]), question, "--color", "always")
    lines = iter(Text.from_ansi(seen.stdout).plain.splitlines())
    for line in filter(None, map(str.rstrip, expected)):
        assert line == "…" or any(each.rstrip() == line for each in lines), line


@pytest.mark.parametrize(
    ("arguments", "code"), [((), 2), (("somewhere",), 2), (("no/such/folder", "why"), 1)]
)
def test_the_script_of_the_readme_refuses_bad_arguments(arguments: tuple[str, ...], code: int) -> None:
    done = _script(*arguments)
    assert done.returncode == code
    assert done.stderr
    assert "Traceback" not in done.stderr


def _script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("command", ["search", "discover"])
@pytest.mark.parametrize(("project", "question", "right"), QUESTIONS)
def test_a_right_file_is_in_the_top_three(
    answers: dict[tuple[str, str], Any], project: str, question: str, right: tuple[str, ...], command: str
) -> None:
    answer = answers[project, question][command]
    paths = [result["path"] for result in answer["results" if command == "search" else "chunks"]]
    assert set(dict.fromkeys(paths[:3])) & set(right), paths[:5]


@pytest.mark.parametrize(("project", "question"), [row[:2] for row in QUESTIONS])
def test_every_bullet_stands_on_the_lines_it_cites(
    answers: dict[tuple[str, str], Any], projects: dict[str, Path], project: str, question: str
) -> None:
    bullets = answers[project, question]["discover"]["bullets"]
    assert bullets
    for bullet in bullets:
        path, first, last = re.fullmatch(r"(.+)#L(\d+)-L(\d+)", bullet["citation"]).groups()  # type: ignore[union-attr]
        lines = (projects[project] / path).read_text().splitlines()[int(first) - 1 : int(last)]
        assert stands_in(bullet["text"], lines)
        assert 3 <= len(bullet["text"].split()) <= 30
