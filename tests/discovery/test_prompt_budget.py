"""The prompt and its budget, with evidence of real documents and code, counted by the default model's tokenizer."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.discovery.discovery_builders import chunk

from cairn.chunking.chunker import chunk_text
from cairn.discovery import (
    AnswerPlanConfig,
    BulletCategory,
    CompressionConfig,
    FormatStyle,
    PromptRenderConfig,
    build_answer_plan,
    compress_evidence,
    render_llm_prompt,
)
from cairn.embedding.model_files import find_model
from cairn.embedding.tokenization import load_tokenizer

PROJECT = Path(__file__).parents[2]
SOURCES = ("README.md", "docs/*.md", "server/cairn/discovery/*.py", "editor_client/**/*.md")


def project_chunks():
    """The passages of this project's own documents and of the package that is tested."""
    for pattern in SOURCES:
        for file in sorted(PROJECT.glob(pattern)):
            if "node_modules" in file.parts:
                continue
            path = file.relative_to(PROJECT).as_posix()
            for each in chunk_text(path, file.read_text(encoding="utf-8")):
                yield chunk(
                    each.text,
                    0.9,
                    path,
                    each.position,
                    collection=f"cairn-{'source' if path.endswith('.py') else 'docs'}",
                    line_range=(each.start_line, each.end_line),
                    chunk_type=each.type.value,
                    language=each.language,
                    signature=each.signature,
                )


@pytest.fixture(scope="module")
def evidence():
    """Bullets of different texts."""
    bullets = compress_evidence(
        list(project_chunks()), 1_000, 100, CompressionConfig(), "how is evidence found"
    )
    distinct = list({each.text: each for each in bullets}.values())
    assert len(distinct) > 150
    assert len({each.category for each in distinct}) > 3
    return distinct


@pytest.fixture(scope="module")
def count():
    model = find_model()
    if model is None:
        pytest.fail("The default model is not installed. Run `cairn model install` before the tests.")
    return load_tokenizer(model).count


def bullets_in(prompt, style):
    """The texts of all bullets; their number is what the prompt says it is."""
    if "none fits into" in prompt or not prompt:
        return []
    if style is FormatStyle.JSON:
        data = json.loads(prompt)
        pieces = data["found"]["pieces"]
        texts = [piece["text"] for section in data["sections"] for piece in section["evidence"]]
    else:
        pieces = int(re.search(r"^Found (\d+) relevant", prompt, re.MULTILINE)[1])
        texts = re.findall(r"^\d+\. (.*) \[[^\]]*\]$", prompt, re.MULTILINE)
    assert len(texts) == pieces
    return texts


CHOICES = st.lists(
    st.tuples(st.integers(0, 10_000), st.floats(0, 1), st.sampled_from(BulletCategory)),
    min_size=1,
    max_size=150,
    unique_by=lambda choice: choice[0],
)
BUDGETS = st.lists(st.one_of(st.integers(0, 200), st.integers(200, 8000)), min_size=2, max_size=5).map(sorted)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=CHOICES, budgets=BUDGETS, query=st.sampled_from(["", "O que é o vectorizer"]))
@pytest.mark.parametrize("style", FormatStyle)
def test_whatever_the_budget_it_holds_and_a_larger_one_loses_nothing(
    evidence, count, style, choices, budgets, query
):
    drawn = {
        number % len(evidence): attrs.evolve(evidence[number % len(evidence)], score=score, category=category)
        for number, score, category in choices
    }
    bullets = list(drawn.values())
    texts = {each.text for each in bullets}
    plan = build_answer_plan(bullets, AnswerPlanConfig())
    shown = set()
    for budget in budgets:
        config = PromptRenderConfig(format_style=style, max_prompt_tokens=budget)
        prompt = render_llm_prompt(plan, bullets, config, count, query)
        assert count(prompt) <= budget
        found = bullets_in(prompt, style)
        assert set(found) <= texts  # whole
        assert len(found) == len(set(found))
        assert shown <= set(found)
        assert render_llm_prompt(plan, bullets, config, count, query) == prompt
        shown = set(found)
        left_out = [each.score for each in bullets if each.text not in shown]
        kept = [each.score for each in bullets if each.text in shown]
        assert not kept or not left_out or min(kept) >= max(left_out)


@pytest.mark.parametrize("style", FormatStyle)
def test_the_budget_is_used(evidence, count, style):
    """Of all the evidence as much is shown as fits: one more bullet would not."""
    plan = build_answer_plan(evidence, AnswerPlanConfig())
    longest = max(count(each.text) + count(f"{each.citation} {each.source_id}") for each in evidence)
    held = []
    for budget in range(400, 8001, 400):
        prompt = render_llm_prompt(
            plan, evidence, PromptRenderConfig(format_style=style, max_prompt_tokens=budget), count
        )
        held.append(len(bullets_in(prompt, style)))
        assert budget - 4 * longest < count(prompt) <= budget
    assert all(first < second for first, second in itertools.pairwise(held))
