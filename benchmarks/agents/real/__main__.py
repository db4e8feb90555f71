"""Score real agents: what they spent with grep, Cairn or both, and how good their answers are.

    python benchmarks/agents/real --questions FILE [FILE ...] --home DIR --judge-sheet SHEET
    python benchmarks/agents/real --questions FILE [FILE ...] --home DIR [--judged FILE [--key FILE]]
        [--model NAME] [--setup TEXT] [--output FILE]

`--questions` has the reference answers and lines, and the folder `--home` what `prepare.py`, the wrapper and
the agents wrote. `--judge-sheet` writes all answers for a blind judge to SHEET, and the key beside it. See
README.md.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from engine.figures import Figures, run_conditions
from retrieval.results import commit

from agents.real import report
from agents.real.judging import judge_sheet, read_judged
from agents.real.runs import InputError, Run, read_questions, read_runs
from agents.real.scoring import BASE, Judged, arm_figures, run_figures
from agents.real.wrapper import arms


def main() -> None:
    options = _arguments()
    try:
        questions = read_questions(options.questions)
        runs = read_runs(options.home, questions)
        judged = read_judged(options.judged, runs, options.key) if options.judged else None
    except InputError as problem:
        sys.exit(str(problem))
    if not runs:
        sys.exit(f"{options.home} has no runs; README.md says how to make them")
    if options.judge_sheet:
        text, key = judge_sheet(questions, runs, random.Random())
        options.judge_sheet.write_text(text, encoding="utf-8")
        _write(options.judge_sheet.with_suffix(".key.json"), key)
        return
    conditions = {**run_conditions(), "commit": commit(), "model": options.model, "setup": options.setup}
    if options.date:
        conditions["date"] = options.date
    record = {"conditions": conditions, **results(runs, judged)}
    text = report.markdown(record)
    print(text)
    if options.output:
        _write(options.output, record)
        options.output.with_suffix(".md").write_text(text, encoding="utf-8")


def results(runs: Sequence[Run], judged: Judged | None) -> Figures:
    """Return the figures of each arm and run."""
    by_arm = {arm.name: [run for run in runs if run.arm == arm.name] for arm in arms()}
    return {
        "arms": {name: arm_figures(each, by_arm[BASE], judged) for name, each in by_arm.items() if each},
        "runs": {run.name: run_figures(run, judged) for run in runs},
    }


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=Path, nargs="+", required=True, help="files of questions")
    parser.add_argument("--home", type=Path, required=True, help="folder with q, ans and log")
    parser.add_argument("--judge-sheet", type=Path, help="only write the answers for a blind judge here")
    parser.add_argument("--judged", type=Path, help="the judge's grades, by run and question")
    parser.add_argument("--key", type=Path, help="the key, if the grades are by question and letters")
    parser.add_argument("--model", default="not named", help="the model of the agents")
    parser.add_argument("--setup", default="", help="how they ran: the client, limits, sessions")
    parser.add_argument("--date", help="the date of the runs; by default that of the scoring")
    parser.add_argument("--output", type=Path, help="also write the figures here, and as Markdown beside it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
