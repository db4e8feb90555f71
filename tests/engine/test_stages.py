"""The single stages of discovery answer any request, or say what is wrong with it."""

from __future__ import annotations

import enum
import itertools
import json
import os
import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import ask
from tests.engine.engines import NO_VECTORS, indexed

from cairn import protocol
from cairn.engine import methods
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError, QueryCancelledError
from cairn.schema.bounds import Bounds, bounds_of
from cairn.schema.convert import camel_case, structure, unstructure
from cairn.settings import discovery as config
from cairn.settings.discovery import DiscoveryConfig

PARAMS = {name: stage.params_class() for name, stage in methods.STAGES.items()}

CONFIGS: dict[str, Any] = {
    "filterCollections": config.FilterConfig,
    "scoreCollections": config.ScoringConfig,
    "expandQueries": config.ExpansionConfig,
    "broadDiscovery": config.BroadDiscoveryConfig,
    "semanticFocus": config.SemanticFocusConfig,
    "promoteReadme": config.ReadmePromotionConfig,
    "compressEvidence": config.CompressionConfig,
    "buildAnswerPlan": config.AnswerPlanConfig,
    "renderPrompt": config.PromptRenderConfig,
}

SENTENCES = (
    "The berth is a place where one ship at a time is moored.",
    'def moor(ship):\n    """Moor the ship at the berth that is free and long enough."""\n',
    "- a list\n\n> quoted `code`\n\n| a | b |\n",
    "\0\ud800 \u2028 ``` ]( (((( \"\"\" /* */ \r\n",
)  # fmt: skip
NAMES = (
    "harbour-source", "harbour-docs", "x-test", "*", "[", "../a.md", "README.md", "src/a.py", "",
    "\ud800", "\0",
)  # fmt: skip

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**63])
    | st.floats()
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
texts = st.sampled_from([*SENTENCES, *NAMES])
SHARE = Bounds(0, 1)


def fitting(hint: Any, sound: bool) -> st.SearchStrategy[Any]:
    """Generate JSON of the shape of `hint`; if `sound`, with values that almost every field accepts."""
    if hint is str:
        return texts if sound else texts | st.text(st.characters(codec=None), max_size=30)
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.integers(0, 20) if sound else st.integers(-1, 60) | st.integers()
    if hint is float:
        return st.floats(0, 1.5) if sound else st.floats() | st.integers()
    if isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        return st.sampled_from([member.value for member in hint])
    if attrs.has(hint):
        return shaped(hint, sound)
    arguments = typing.get_args(hint)
    if hint == tuple[int, int]:
        lines = st.lists(fitting(int, sound), min_size=2, max_size=2)
        return lines.map(sorted) if sound else lines
    if typing.get_origin(hint) is tuple:
        return st.lists(fitting(arguments[0], sound), max_size=4)
    if type(None) in arguments:
        inner = next(each for each in arguments if each is not type(None))
        return st.none() | fitting(inner, sound)
    raise AssertionError(f"no values for {hint}")


def shaped(cls: Any, sound: bool, own_config: Any = None) -> st.SearchStrategy[dict[str, Any]]:
    """Generate an object of the class with required and optional fields, some of them junk unless `sound`."""
    if cls is protocol.Range and sound:
        lines = st.lists(st.integers(0, 20), min_size=2, max_size=2).map(sorted)
        return lines.map(lambda pair: unstructure(protocol.whole_lines(*pair)))
    hints = typing.get_type_hints(cls)
    needed, others = {}, {}
    for field in attrs.fields(cls):
        values = shaped(own_config, sound) if field.name == "config" else fitting(hints[field.name], sound)
        bounds = bounds_of(field)
        if sound and bounds == SHARE:
            values = st.floats(0, 1)
        elif sound and hints[field.name] is int and bounds and bounds.low and bounds.high:
            values = st.integers(int(bounds.low), int(bounds.high))
        if sound and field.name.endswith("_at"):
            values = st.none() | st.datetimes(timezones=st.just(UTC) | st.none()).map(datetime.isoformat)
        place = needed if field.default is attrs.NOTHING else others
        place[camel_case(field.name)] = values if sound else seldom_junk(values)
    return st.fixed_dictionaries(needed, optional=others)


def seldom_junk(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 20).flatmap(lambda number: junk if number == 7 else values)


@pytest.fixture(scope="module")
def engine(module_folder: Path) -> Iterator[Engine]:
    folder = module_folder / "harbour"
    folder.mkdir()
    (folder / "README.md").write_text(f"# Harbour\n\n{SENTENCES[0]}\n")
    (folder / "moor.py").write_text(SENTENCES[1] + "    return ship\n")
    for part in range(40):
        words = " ".join(f"ship berth tide pilot word{part}x{n}." for n in range(40))
        (folder / f"note{part}.md").write_text(f"# Note {part}\n\n{words}\n")
    with indexed(folder, **NO_VECTORS) as engine:
        yield engine


def test_every_stage_has_its_own_settings() -> None:
    assert list(methods.STAGES) == list(CONFIGS)
    values = attrs.asdict(DiscoveryConfig(), recurse=False).values()
    assert set(CONFIGS.values()) == {type(value) for value in values if attrs.has(type(value))}


def answered(engine: Engine, name: str, params: Any) -> bool:
    """Return whether the stage answered with valid JSON, or refused. Other errors fail the test."""
    try:
        answer = ask(engine, name, params)
    except InvalidRequestError:
        return False
    json.dumps(unstructure(answer), allow_nan=False)
    return True


hypotheses = settings(
    max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.parametrize("name", PARAMS)
def test_a_stage_answers_or_refuses_any_request(engine: Engine, name: str) -> None:
    @hypotheses
    @given(shaped(PARAMS[name], False, CONFIGS[name]) | junk)
    def holds(params: Any) -> None:
        answered(engine, name, params)

    holds()


@pytest.mark.parametrize("name", PARAMS)
def test_a_stage_answers_any_request_within_its_limits(engine: Engine, name: str) -> None:
    @hypotheses
    @given(shaped(PARAMS[name], True, CONFIGS[name]))
    def holds(params: Any) -> None:
        params.get("config", {}).pop("tokenizer", None)  # the file does not exist
        params.get("filter", {}).pop("path", None)  # the folder does not exist
        assert answered(engine, name, params)

    holds()


@pytest.mark.parametrize("name", ["semanticFocus", "discover"])
def test_a_request_for_a_cross_encoder_logs_a_warning(
    engine: Engine, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    own = {"crossEncoder": True}
    params = {
        "semanticFocus": {"queries": ["berth"], "collection": {"name": "harbour-docs"}, "config": own},
        "discover": {"query": "berth", "config": {"focus": own}},
    }
    assert ask(engine, name, params[name])
    assert "crossEncoder has no effect: no cross-encoder comes with Cairn" in caplog.text


@pytest.mark.parametrize("stage", [*PARAMS][3:5])
def test_a_cancelled_stage_ends(engine: Engine, stage: str) -> None:
    params = {"queries": [f"ship berth word{n}x{n}" for n in range(30)]}
    if stage == "semanticFocus":
        params["collection"] = {"name": "harbour-docs"}
    looks = itertools.count()
    request = structure(params, PARAMS[stage])
    with pytest.raises(QueryCancelledError):
        ask(engine, stage, request, lambda: next(looks) >= 3)
    assert next(looks) <= 3 * 30 + 10  # each query's leg checks before it starts
    assert ask(engine, stage, request).chunks


@pytest.mark.parametrize("last", ["filter_collections", "broad_discovery", "compress_evidence"])
def test_a_cancelled_discovery_starts_no_other_stage(engine: Engine, last: str) -> None:
    stages: list[str] = []

    def note(progress: protocol.DiscoverProgress) -> None:
        stages.append(progress.stage)

    params = protocol.DiscoverParams(f"which ship has which berth {last}")
    with pytest.raises(QueryCancelledError):
        ask(engine, "discover", params, lambda: last in stages, note)
    assert stages[-1] == last
    ask(engine, "discover", params, tell=note)
    assert stages[-1] == "render_llm_prompt"


def test_evidence_is_not_read_from_files_outside_the_index(engine: Engine, tmp_path: Path) -> None:
    secret = "The password of the harbour master is written on this very page."
    (tmp_path / "secret.md").write_text(secret)
    [folder] = engine.folders
    relative = os.path.relpath(tmp_path / "secret.md", folder.root)
    for path in (relative, str(tmp_path / "secret.md"), "docs/../../secret.md"):
        metadata = {"filePath": path, "lineRange": [0, 1], "folder": folder.uri}
        chunk = {"collection": "x", "docId": path, "content": secret, "score": 0.9, "metadata": metadata}
        request = structure({"chunks": [chunk], "query": "password"}, PARAMS["compressEvidence"])
        assert ask(engine, "compressEvidence", request).bullets == ()
