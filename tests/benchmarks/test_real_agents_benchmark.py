"""The benchmark of real agents: what its wrapper runs, refuses and logs, and how answers are scored."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agents.real import report, wrapper
from agents.real.__main__ import results
from agents.real.judging import judge_sheet, read_judged
from agents.real.prepare import prepare, sets, write_tool
from agents.real.runs import (
    Answer,
    Call,
    InputError,
    Lines,
    Question,
    Run,
    lines_of,
    read_questions,
    read_runs,
)
from agents.real.scoring import finds
from attrs import evolve

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the wrapper needs a POSIX system")

BERTH = Lines("src/berth.py", 10, 24)
ANSWERED = Question("quay-1", "quay", "How long?", "At most 30 m.", "how", (BERTH, Lines("port.py", 9, 9)))
ABSENT = Question("quay-2", "quay", "Where are whales counted?", "Nowhere.", "absent", ())
CONDITIONS = {"date": "today", "model": "m", "cairn": "0", "commit": "c", "machine": "x", "setup": "By hand."}


# --- the wrapper ----------------------------------------------------------------------------------


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "corpora"
    (folder / "quay").mkdir(parents=True)
    (folder / "quay" / "berth.py").write_text("LONGEST = 30\nSHORTEST = 3\n/tmp\n")
    (folder / "sheet.json").write_text("the answers")
    (folder / "quay" / "link").symlink_to(folder / "sheet.json")
    monkeypatch.setenv("CORPORA", str(folder))
    monkeypatch.setenv("AGENT_HOME", str(tmp_path))
    monkeypatch.delenv("AGENT_SESSIONS", raising=False)
    return folder


def logged(corpora: Path, run: str) -> list[dict[str, Any]]:
    log = corpora.parent / "log" / f"{run}.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_wrapper_runs_and_logs_a_command(corpora: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert wrapper.main(["g-a", "quay", "grep", "-n", "LONGEST", "berth.py"]) == 0
    assert capfd.readouterr().out == "1:LONGEST = 30\n"
    (call,) = logged(corpora, "g-a")
    assert call.pop("seconds") >= 0
    command = ["grep", "-n", "LONGEST", "berth.py"]
    assert call == {"run": "g-a", "repository": "quay", "command": command, "bytes": 15, "exit": 0}


@pytest.mark.parametrize(
    "command",
    [
        "cairn search berth",
        "python3 -c pass",
        "cat ../sheet.json",
        "cat link",
        "grep -f../sheet.json x berth.py",
        "grep --file=../sheet.json x berth.py",
        "grep -e x ../sheet.json",
        "grep x /etc/hosts",
        "rg --pre=cat x",
        "sed -ni p berth.py",
        "find . -name berth.py -delete",
        "find . -exec cat {} ;",
        'awk {print>"new"} berth.py',
        'awk BEGIN{system("id")}',
        "git commit",
        "git -C .. log",
        "git log --output=new",
    ],
)
def test_wrapper_refuses_and_logs_other_commands(
    command: str, corpora: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(corpora.rglob("*"))
    assert wrapper.main(["g-a", "quay", *command.split()]) == wrapper.REFUSED
    out = capfd.readouterr().out
    assert out.endswith(".\n")
    (call,) = logged(corpora, "g-a")
    assert (call["exit"], call["bytes"]) == (wrapper.REFUSED, len(out))
    assert sorted(corpora.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "out"),
    [
        (["grep", "-c", "/tmp", "berth.py"], "1\n"),
        (["sed", "-n", "2p", "berth.py"], "SHORTEST = 3\n"),
        (["awk", 'NR > 2 { print FILENAME ">" $0 }', "berth.py"], "berth.py>/tmp\n"),
        (["find", ".", "-name", "*.py"], "./berth.py\n"),
    ],
)
def test_wrapper_allows_patterns_that_look_like_paths_or_redirections(
    command: list[str], out: str, corpora: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert wrapper.main(["b-a", "quay", *command]) == 0
    assert capfd.readouterr().out == out


def test_wrapper_reads_only_repositories_of_the_questions(
    corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpora / "references").mkdir()
    monkeypatch.setenv("REPOSITORIES", "harbour quay")
    assert wrapper.main(["g-a", "quay", "ls"]) == 0
    for other in ("references", "harbour", "..", "quay/..", ""):
        assert wrapper.main(["g-a", other, "ls"]) == wrapper.REFUSED


def test_sed_cannot_write_a_file(corpora: Path) -> None:
    assert wrapper.main(["g-a", "quay", "sed", "w new", "berth.py"]) not in (0, wrapper.REFUSED)
    assert not (corpora / "quay" / "new").exists()


def test_arm_of_cairn_runs_nothing_else(corpora: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert wrapper.main(["c-a", "quay", "cat", "berth.py"]) == wrapper.REFUSED
    assert wrapper.main(["c-a", "quay", "cairn", "install"]) == wrapper.REFUSED
    assert wrapper.main(["c-a", "quay", "cairn", "search", "-C", "..", "x"]) == wrapper.REFUSED
    assert "LONGEST" not in capfd.readouterr().out


def test_session_belongs_to_a_run_and_repository(
    corpora: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAIRN", "echo")
    monkeypatch.setenv("AGENT_SESSIONS", "1")
    wrapper.main(["c-a", "quay", "cairn", "search", "long berths"])
    wrapper.main(["c-a", "quay", "cairn", "callers", "moor"])
    assert capfd.readouterr().out == "search --session c-a-quay long berths\ncallers moor\n"


def test_long_output_is_cut(corpora: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (corpora / "quay" / "sea.txt").write_text("≈" * 200_000, encoding="utf-8")
    wrapper.main(["g-a", "quay", "cat", "sea.txt"])
    out = capfd.readouterr().out
    assert out == "≈" * 30_000 + "\n[cut after 30,000 characters of 600,000 bytes]\n"
    assert logged(corpora, "g-a")[0]["bytes"] == len(out.encode())


def test_command_ends_at_the_time_limit(corpora: Path) -> None:
    ran = wrapper.run(["tail", "-f", "berth.py"], corpora / "quay", limit=0.5)
    assert ran.code == wrapper.TIMED_OUT
    assert ran.text.endswith("/tmp\n[stopped after 0.5 seconds]\n")


def test_task_sheet_names_only_commands_that_its_arm_may_use() -> None:
    for arm in wrapper.arms():
        named = {line.split()[2] for line in arm.text.splitlines() if line.startswith("- cairn ")}
        assert named <= set(arm.commands.get("cairn", ()))
        assert bool(named) == ("cairn" in arm.commands)


def test_prepared_tool_runs_without_further_variables(corpora: Path) -> None:
    home = corpora.parent
    assert prepare("harbour", [ANSWERED, ABSENT], home) == ["g-harbour", "c-harbour", "b-harbour"]
    environment = {"AGENT_HOME": str(home), "CORPORA": str(corpora), "PATH": os.environ["PATH"]}
    write_tool(home, environment)
    command = [str(home / "tool"), "g-harbour", "quay", "head", "-1", "berth.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, check=True
    )
    assert done.stdout == "LONGEST = 30\n"
    assert "30 m" not in (home / "q" / "harbour.json").read_text()
    sheet = (home / "briefs" / "b-harbour.txt").read_text()
    assert f"{home.resolve()}/tool b-harbour REPO COMMAND" in sheet
    assert "cairn discover" in sheet
    assert "rg, grep" in sheet
    assert "$AGENT_HOME" not in sheet
    with pytest.raises(InputError, match="has run"):
        prepare("harbour", [ANSWERED, ABSENT], home)


def test_sets_mix_neighbours() -> None:
    questions = [evolve(ANSWERED, id=str(each)) for each in range(5)]
    parts = {name: [each.id for each in some] for name, some in sets("kept", questions, 2).items()}
    assert parts == {"kept-a": ["0", "3"], "kept-b": ["1", "4"], "kept-c": ["2"]}
    assert sets("kept", questions, None) == {"kept": questions}


# --- questions, answers and figures ---------------------------------------------------------------


def item(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "repo": question.repository,
        "question": question.text,
        "answer": question.answer,
        "kind": question.kind,
        "lines": [str(lines) for lines in question.lines],
    }


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("src/berth.py:12-13", True),
        ("./src/berth.py:24", True),
        ("src/berth.py:5-7", True),
        ("src/berth.py:27-30", True),
        ("src/berth.py:5-6", False),
        ("src/berth.py:28-40", False),
        ("berth.py:12-13", False),
        ("src/berth.py", False),
    ],
)
def test_citation_finds_lines_at_most_three_lines_away(place: str, found: bool) -> None:
    assert finds(filter(None, [lines_of(place)]), BERTH) == found


def test_citations_beyond_the_limits_do_not_count() -> None:
    assert finds([Lines("a.py", 1, 900)], Lines("a.py", 18, 20))
    assert not finds([Lines("a.py", 1, 900)], Lines("a.py", 19, 20))
    others = [Lines("b.py", each, each) for each in range(8)]
    assert finds([*others[1:], BERTH], BERTH)
    assert not finds([*others, BERTH], BERTH)


def answer(*places: Lines, found: bool = True) -> Answer:
    return Answer("Up to thirty.", places, 0, found)


def run(name: str, arm: str, answers: dict[str, Answer], *sizes: int) -> Run:
    calls = tuple(Call("quay", ("git", "grep"), size, 0.5, 0) for size in sizes)
    return Run(name, arm, "a", (ANSWERED, ABSENT), answers, calls)


GREP = run("g-a", "grep", {"quay-1": answer(BERTH), "quay-2": answer(found=False)}, 300, 100)
CAIRN = run("c-a", "cairn", {"quay-1": answer(*ANSWERED.lines)}, 100)


def test_figures_compare_costs_and_answers() -> None:
    judged = {"g-a": {"quay-1": 0.5, "quay-2": 1.0}, "c-a": {"quay-1": 1.0}}
    found = results([GREP, CAIRN], judged)
    grep, ours = found["arms"]["grep"], found["arms"]["cairn"]
    assert grep["bytes"] == {"sum": 400, "median": 400, "ratio": 1.0, "ratio_of_medians": 1.0}
    assert (ours["bytes"]["ratio"], ours["calls"]["ratio"]) == (0.25, 0.5)
    assert (grep["cited"], ours["cited"]) == (0.5, 1.0)
    assert (grep["correct"], ours["correct"]) == (0.75, 0.5)
    assert (grep["absent_recognized"], ours["absent_recognized"]) == (1, 0)
    assert (grep["answered"], ours["answered"]) == (2, 1)
    assert grep["repositories"] == {"quay": {"questions": 2, "calls": 2, "bytes": 400, "seconds": 1.0}}
    assert grep["commands"] == {"git grep": 2}
    assert [grep["kinds"][kind]["correct"] for kind in ("how", "absent")] == [0.5, 1.0]


def test_ratios_compare_only_sets_that_both_arms_answered() -> None:
    more = evolve(run("c-b", "cairn", {}, 100_000), set="b")
    ours = results([GREP, CAIRN, more], None)["arms"]["cairn"]
    assert ours["bytes"]["sum"] == 100_100
    assert ours["bytes"]["ratio"] == 0.25


def test_report_has_a_row_for_each_arm_and_run() -> None:
    text = report.markdown({"conditions": CONDITIONS, **results([GREP, CAIRN], None)})
    assert "| cairn | 1 | 2 | 1 · 1 · 0.50 · 0.50 | 100 · 100 · 0.25 · 0.25 |" in text
    assert "| g-a | 2 of 2 | 0.50 |  | 1 of 1 | 0 | 0 |" in text
    assert "By hand." in text


def test_judge_does_not_see_which_run_answered(tmp_path: Path) -> None:
    questions = {each.id: each for each in (ANSWERED, ABSENT)}
    text, key = judge_sheet(questions, [GREP, CAIRN], random.Random(1))
    assert not any(each in text for each in ("g-a", "c-a", "grep", "airn"))
    assert "At most 30 m." in text
    assert sorted(key["quay-1"].values()) == ["c-a", "g-a"]
    assert sorted(key["quay-2"].values()) == ["g-a"]
    assert all(f"### {code}\n" in text for codes in key.values() for code in codes)
    grades = {name: {code: 0.5 if run == "g-a" else 1 for code, run in key[name].items()} for name in key}
    (tmp_path / "key.json").write_text(json.dumps(key))
    (tmp_path / "grades.json").write_text(json.dumps(grades))
    judged = read_judged(tmp_path / "grades.json", [GREP, CAIRN], tmp_path / "key.json")
    assert judged == {"g-a": {"quay-1": 0.5, "quay-2": 0.5}, "c-a": {"quay-1": 1}}


def test_missing_grade_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "grades.json").write_text(json.dumps({"g-a": {"quay-1": 0.7, "quay-2": 1}}))
    with pytest.raises(InputError, match=r"give 0, 0\.5 or 1 to g-a quay-1, c-a quay-1$"):
        read_judged(tmp_path / "grades.json", [GREP, CAIRN])


def test_runs_are_read_with_their_answers_and_calls(corpora: Path) -> None:
    home = corpora.parent
    (home / "a.json").write_text(json.dumps([item(ANSWERED), item(ABSENT)]))
    prepare("a", [ANSWERED, ABSENT], home, count=2)
    wrapper.main(["g-a-2", "quay", "cat", "berth.py"])
    given = {"id": "quay-1", "answer": "30", "found": True, "citations": ["./port.py:9", "port.py"]}
    (home / "ans" / "g-a-2.json").write_text(json.dumps([given]))
    questions = read_questions([home / "a.json"])
    (found,) = read_runs(home, questions)
    assert (found.arm, found.set, found.questions) == ("grep", "a", (ANSWERED, ABSENT))
    assert found.answers == {"quay-1": Answer("30", (Lines("port.py", 9, 9),), 1, True)}
    assert [(call.name, call.code) for call in found.calls] == [("cat", 0)]
    (home / "ans" / "g-a-2.json").write_text("not JSON")
    with pytest.raises(InputError, match="g-a-2"):
        read_runs(home, questions)
