"""One tree of settings in layers: the strongest value wins, what cannot be used is reported and left out."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.conftest import STEADY

from cairn.cli.main import cli
from cairn.engine import engine
from cairn.engine.folders import FolderSettings
from cairn.retrieval.signals import SIGNALS
from cairn.schema.convert import camel_case, snake_case
from cairn.settings.discovery import DiscoveryConfig, FormatStyle, SectionType
from cairn.settings.layers import Layered, Layers, overlay
from cairn.settings.marks import NAMES_A_FILE, USER_ONLY, is_marked, limits_of
from cairn.settings.sources import user_file
from cairn.settings.tree import Settings, leaves


def attributes(cls: Any = Settings, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """The attrs field of each setting, by the names from the root on."""
    found: dict[tuple[str, ...], Any] = {}
    for name, attribute in attrs.fields_dict(cls).items():
        default = getattr(cls(), name)
        inside = attributes(type(default), (*above, name)) if attrs.has(type(default)) else None
        found |= {(*above, name): attribute} if inside is None else inside
    return found


def nested(keys: tuple[str, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


Write = Callable[..., Layers]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the user's and the workspace's file and gives all layers."""
    monkeypatch.setenv("CAIRN_CONFIG_DIR", str(tmp_path / "mine"))

    def write(
        user: str = "",
        workspace: str = "",
        editor: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Layers:
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / "config.toml").write_text(user, encoding="utf-8")
        (tmp_path / ".cairn.toml").write_text(workspace, encoding="utf-8")
        return Layers(editor, environment or {})

    return write


def warnings_of(tmp_path: Path, text: str | bytes) -> list[str]:
    """About a workspace file."""
    content = text.encode() if isinstance(text, str) else text
    (tmp_path / ".cairn.toml").write_bytes(content)
    return Layers(environment={}).of(tmp_path).texts()


# --- one place --------------------------------------------------------------------------------------


def test_values_are_laid_over_the_defaults_and_nothing_else_changes() -> None:
    settings, warnings = overlay(
        Settings(), {"discovery": {"broadK": 7, "render": {"format_style": "json"}}}, ""
    )
    assert (settings.discovery.broad_k, settings.discovery.render.format_style) == (7, FormatStyle.JSON)
    assert settings.index == Settings().index
    assert warnings == []


def test_every_setting_can_be_named_in_both_ways() -> None:
    for name in {name for keys in attributes() for name in keys}:
        assert snake_case(camel_case(name)) == snake_case(name) == name
    config, warnings = overlay(DiscoveryConfig(), {"focusTopNCollections": 1}, "config")
    assert (config.focus_top_n_collections, warnings) == (1, [])


def test_a_table_that_is_named_in_both_ways_counts_twice() -> None:
    values = {"kill_switch": {"p95_ms": 1}, "killSwitch": {"min_queries": 2}}
    settings, warnings = overlay(Settings(), {"retrieval": values}, "cairn")
    assert (settings.retrieval.kill_switch.p95_ms, settings.retrieval.kill_switch.min_queries) == (1, 2)
    assert warnings == []


def test_lists_become_typed_tuples() -> None:
    config, warnings = overlay(DiscoveryConfig(), {"plan": {"sections": ["features"]}}, "config")
    assert config.plan.sections == (SectionType.FEATURES,)
    assert warnings == []


@pytest.mark.parametrize(
    ("values", "place"),
    [
        (
            {"index": {"maxFileByte": 3}},
            "cairn.index.maxFileByte: unknown setting; did you mean maxFileBytes?",
        ),
        ({"index": {"maxFileBytes": "3"}}, "cairn.index.maxFileBytes: expected a whole number"),
        ({"index": {"maxFileBytes": -3}}, "cairn.index.maxFileBytes: expected zero or more, got -3"),
        ({"index": []}, "cairn.index: expected a table"),
        (
            {"discovery": {"render": {"formatStyle": "html"}}},
            "cairn.discovery.render.formatStyle: expected one of",
        ),
        ({"index": {"exclude": [1]}}, "cairn.index.exclude: expected a string"),
        ({"search": {"synonyms": ["home"]}}, "cairn.search.synonyms: expected an object, got ['home']"),
        ({"search": {"synonyms": {"home": 3}}}, "cairn.search.synonyms: home: expected a string, got 3"),
        ({"search": {"synonyms": {3: "home"}}}, "cairn.search.synonyms: expected a string as a key, got 3"),
        ({3: {}}, "cairn.3: unknown setting"),
        ({"retrieval": {"phase": 7}}, "cairn.retrieval.phase: expected 1 to 3, got 7"),
        (
            {"retrieval": {"killSwitch": {"errorRate": 3}}},
            "cairn.retrieval.killSwitch.errorRate: expected 0 to 1, got 3",
        ),
        ({"serve": {"port": 70_000}}, "cairn.serve.port: expected 0 to 65,535, got 70000"),
        ({"search": {"legDeadlineMs": math.inf}}, "cairn.search.legDeadlineMs: expected 0 to 600,000, got inf"),
        ({"search": {"legDeadlineMs": math.nan}}, "cairn.search.legDeadlineMs: expected a number, got NaN"),
        ({"search": {"synonyms": {"\x1b\n": 3}}}, r"cairn.search.synonyms: \x1b\n: expected a string, got 3"),
        ({"search": {"weights": {"x": -1e9}}}, "cairn.search.weights: x: expected -1,000 to 1,000, got -1"),
        ({"search": {"weights": {"x": math.inf}}}, "cairn.search.weights: x: expected -1,000 to 1,000, got inf"),
        ({"search": {"candidates": 16**5000}}, "cairn.search.candidates: expected 0 to 100,000, got one of 20,001 bits"),
    ],
)  # fmt: skip
def test_a_bad_value_is_reported_with_its_place_and_the_default_stays(
    values: dict[str, object], place: str
) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert settings == Settings()
    assert len(warnings) == 1
    assert warnings[0].startswith(place)


def test_a_bad_value_does_not_hide_the_good_ones_beside_it() -> None:
    settings, warnings = overlay(Settings(), {"serve": {"port": 70_000, "lspPort": 1}, "x": 1}, "cairn")
    assert (settings.serve.port, settings.serve.lsp_port) == (7420, 1)
    assert len(warnings) == 2


def test_every_ranking_signal_may_have_the_weight_that_it_has() -> None:
    weights = {signal.name: signal.weight for signal in SIGNALS}
    assert min(weights.values()) < 0
    settings, warnings = overlay(Settings(), {"search": {"weights": weights}}, "cairn")
    assert (settings.search.weights, warnings) == (weights, [])


def test_the_defaults_lie_within_their_limits() -> None:
    values = leaves(Settings())
    assert {keys for keys, a in attributes().items() if limits_of(a).problem_with(values[keys])} == set()


def test_discovery_defaults_are_those_of_its_specification() -> None:
    config = DiscoveryConfig()
    assert (config.scoring.name_match_weight, config.scoring.term_boost_weight) == (0.4, 0.3)
    assert (config.expansion.max_expansions, config.broad.mmr_lambda, config.broad.dedup_threshold) == (
        8,
        0.7,
        0.85,
    )
    assert (config.broad.similarity_threshold, config.focus.similarity_threshold) == (0.3, 0.35)
    assert (config.focus.context_window, config.readme.readme_boost) == (3, 1.5)
    assert (config.compression.min_sentence_words, config.compression.max_sentence_words) == (8, 30)
    assert (config.plan.max_bullets_per_section, config.render.max_prompt_tokens) == (5, 4000)
    assert config.filter.default_exclude == ("*-test", "*-backup")


# --- several places -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "value", "origin"),
    [
        ("", 200, ("default",)),
        ("user", 1, ("{user}",)),
        ("user workspace", 2, (".cairn.toml",)),
        ("user workspace editor", 3, ("editor",)),
        ("user workspace editor environment", 4, ("environment CAIRN_SEARCH__CANDIDATES",)),
        ("workspace editor", 3, ("editor",)),
        ("user environment", 4, ("environment CAIRN_SEARCH__CANDIDATES",)),
        ("workspace", 2, (".cairn.toml",)),
    ],
)
def test_the_strongest_place_wins_and_is_known(
    write: Write, tmp_path: Path, places: str, value: int, origin: tuple[str, ...]
) -> None:
    every: dict[str, Any] = {
        "user": "[search]\ncandidates = 1\n",
        "workspace": "[search]\ncandidates = 2\n",
        "editor": {"search": {"candidates": 3}},
        "environment": {"CAIRN_SEARCH__CANDIDATES": "4"},
    }
    laid = write(**{place: every[place] for place in places.split()}).of(tmp_path)
    keys = ("search", "candidates")
    assert laid.settings.search.candidates == value
    assert laid.origins.get(keys, ("default",)) == tuple(o.format(user=user_file()) for o in origin)
    assert laid.warnings == ()
    assert set(laid.origins) <= {keys}


def test_a_bad_value_leaves_the_one_of_the_weaker_place(write: Write, tmp_path: Path) -> None:
    laid = write(user="[search]\ncandidates = 5\n", editor={"search": {"candidates": -1}}).of(tmp_path)
    assert laid.settings.search.candidates == 5
    assert laid.origins["search", "candidates"] == (str(user_file()),)
    assert laid.texts("editor") == ["cairn.search.candidates: expected 0 to 100,000, got -1"]


def test_lists_add_up_in_the_order_of_strength(write: Write, tmp_path: Path) -> None:
    laid = write(
        user='[index]\nexclude = "a"\n',
        workspace='[index]\nexclude = ["b", "c"]\ninclude = ["x"]\n',
        editor={"index": {"exclude": ["d"], "include": ["y"]}},
        environment={"CAIRN_INDEX__EXCLUDE": "e/"},
    ).of(tmp_path)
    assert laid.settings.index.exclude == ("a", "b", "c", "d", "e/")
    places = (str(user_file()), ".cairn.toml", "editor", "environment CAIRN_INDEX__EXCLUDE")
    assert laid.origins["index", "exclude"] == places
    assert laid.settings.index.include == ("y",)


def test_synonyms_of_several_places_add_up_and_their_keys_stay_as_they_are(
    write: Write, tmp_path: Path
) -> None:
    laid = write(
        user='[search.synonyms]\nhome_page = "home"\na = "b"\n',
        workspace='[search.synonyms]\n"quick links" = "shortcuts"\na = "c"\n',
    ).of(tmp_path)
    assert laid.settings.search.synonyms == {"home_page": "home", "a": "c", "quick links": "shortcuts"}
    assert laid.warnings == ()
    assert hash(laid.settings) == hash(laid.settings)


def test_a_folder_tells_what_is_wrong_with_its_own_file_alone_and_reads_it_anew(
    write: Write, tmp_path: Path
) -> None:
    layers = write(user="a = 1\n", workspace="b = 1\n", editor={"search": {"candidates": 3}})
    settings = FolderSettings(layers, tmp_path)
    assert settings.warnings() == [".cairn.toml:1: b: unknown setting"]
    (tmp_path / ".cairn.toml").write_text("[search]\ncandidates = 9\nneighbours = 9\n")
    assert settings.warnings() == []
    assert (settings().search.candidates, settings().search.neighbours) == (3, 9)
    assert settings.without_workspace_file().search.neighbours == 120
    settings.rebase(Layers({}, {}))
    assert settings().search.candidates == 9


# --- files --------------------------------------------------------------------------------------------


DEEP = ".cairn.toml is not used: the key on line 2 has more than 32 parts"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "# c\n\n[search]\nlegDeadlinMs = 3\n",
            ".cairn.toml:4: search.legDeadlinMs: unknown setting; did you mean leg_deadline_ms?",
        ),
        ("search.candidates = 'x'\n", ".cairn.toml:1: search.candidates: expected a whole number, got 'x'"),
        ("[index]\r\n\r\nwatch = 1\r\n", ".cairn.toml:3: index.watch: expected true or false, got 1"),
        ('\n[index]\nexclude = [\n  "]",\n  3,\n]\n', ".cairn.toml:3: index.exclude: expected a string"),
        (
            '[search]\ncore_concepts = """\n[index]\nx = 3\n"""\n[discovery]\nbroadK = -1',
            ".cairn.toml:7: discovery.broadK: expected zero or more",
        ),
        ("\ndiscovery = { render = { format_style = 1 } }", ".cairn.toml:2: discovery.render.format_style: "),
        ('\n["in dex"]\nx = 1', '.cairn.toml:2: in dex: unknown setting; did you mean index?'),
        ("[[index]]\nwatch = true\n", ".cairn.toml:1: index: expected a table of settings"),
        ('"\\u001b[31m" = 1', '.cairn.toml:1: \\x1b[31m: unknown setting'),
        ("[search]\ncandidates = 2026-01-01", ".cairn.toml:2: search.candidates: expected a whole number"),
        ("[index\n", ".cairn.toml is not used: Expected"),
        (b"\xff\xfe\x00", ".cairn.toml is not used: 'utf-8' codec"),
        ("a = " + "[" * 5_000 + "]" * 5_000, ".cairn.toml is not used: it is nested too deeply"),
        ("a = 1" + "0" * 5_000, ".cairn.toml is not used: "),
        ("\n" + "a." * 100_000 + "b = 1", DEEP),
        ("x = 1\n[" + "'a' . " * 100_000 + "b]", DEEP),
        ("\nx = [{" + r'"\"".' * 100_000 + "b = 1}]", DEEP),
        ('a = "' + '\\"' * 400_000, ".cairn.toml is not used: "),
        ("a = '''" + "b.''" * 200_000, ".cairn.toml is not used: "),
        ("#" * 1_000_001, ".cairn.toml is not used: it is larger than 1,000,000 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_with_its_line(
    tmp_path: Path, text: str | bytes, warning: str
) -> None:
    found = warnings_of(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(warning)


def test_a_file_that_is_no_settings_file_does_not_fill_the_screen(tmp_path: Path) -> None:
    found = warnings_of(tmp_path, "".join(f"indx{n} = 1\n" for n in range(10_000)))
    assert len(found) == 51
    assert found[0] == ".cairn.toml:1: indx0: unknown setting; did you mean index?"
    assert found[-1] == ".cairn.toml: 9,950 more such warnings"


def test_a_directory_or_pipe_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / ".cairn.toml").mkdir()
    assert Layers(environment={}).of(tmp_path).texts() == [
        ".cairn.toml is not used: it is not a regular file"
    ]
    if hasattr(os, "mkfifo"):
        (tmp_path / ".cairn.toml").rmdir()
        os.mkfifo(tmp_path / ".cairn.toml")
        assert Layers(environment={}).of(tmp_path).texts() == [
            ".cairn.toml is not used: it is not a regular file"
        ]


def test_a_file_may_name_its_schema(tmp_path: Path) -> None:
    assert warnings_of(tmp_path, '"$schema" = "cairn.json"\n') == []


def test_a_cross_encoder_is_taken_and_its_want_of_effect_told(write: Write, tmp_path: Path) -> None:
    laid = write(workspace="[discovery.focus]\ncross_encoder = true\n").of(tmp_path)
    assert laid.settings.discovery.focus.cross_encoder
    told = "discovery.focus.cross_encoder has no effect: no cross-encoder comes with Cairn"
    assert laid.texts(".cairn.toml") == [f".cairn.toml: {told}"]


def test_the_users_file_is_named_by_its_path(write: Write) -> None:
    laid = write(user="[index]\nexclud = []\n").without_workspace()
    assert laid.texts() == [f"{user_file()}:2: index.exclud: unknown setting; did you mean exclude?"]


# --- the environment ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("CAIRN_SEARCH__LEG_DEADLINE_MS", "400", 400.0),
        ("cairn_search__leg_deadline_ms", "4e2", 400.0),
        ("CAIRN_SEARCH__FEEDBACK", "false", False),
        ("CAIRN_SEARCH__CORE_CONCEPTS", "berth", ("berth",)),
        ("CAIRN_SEARCH__CORE_CONCEPTS", '["berth", "tide"]', ("berth", "tide")),
        ("CAIRN_SEARCH__WEIGHTS", '{ "is a test" = 0 }', {"is a test": 0.0}),
        ("CAIRN_SEARCH__SYNONYMS__HOME", "start page", {"home": "start page"}),
        ("CAIRN_RETRIEVAL__KILL_SWITCH__P95_MS", "7", 7.0),
        ("CAIRN_SERVE__HOST", "127.0.0.2", "127.0.0.2"),
        ("CAIRN_LOG__QUERY_TEXT", "true", True),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "characters", "characters"),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "x'\n[y]\nz = 'a'", "x'\n[y]\nz = 'a'"),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "'a'\nb = 'c'", "'a'\nb = 'c'"),
        ("CAIRN_DISCOVERY__RENDER__TOKENIZER", "", ""),
    ],
)
def test_a_variable_sets_a_setting(name: str, text: str, value: Any) -> None:
    laid = Layers(environment={name: text}).without_workspace()
    assert laid.texts() == []
    [(keys, origins)] = laid.origins.items()
    assert leaves(laid.settings)[keys] == value
    assert origins == (f"environment {name}",)


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        (
            "CAIRN_SEARCH__LEG_DEADLIN_MS",
            "4",
            "CAIRN_SEARCH__LEG_DEADLIN_MS: unknown setting; did you mean CAIRN_SEARCH__LEG_DEADLINE_MS?",
        ),
        (
            "CAIRN_SEARCH_LEG_DEADLINE_MS",
            "4",
            "CAIRN_SEARCH_LEG_DEADLINE_MS: unknown variable; did you mean CAIRN_SEARCH__LEG_DEADLINE_MS?",
        ),
        ("CAIRN_DATADIR", "/x", "CAIRN_DATADIR: unknown variable; did you mean CAIRN_DATA_DIR?"),
        ("CAIRN_SERVE__PORT", "70000", "CAIRN_SERVE__PORT: expected 0 to 65,535, got 70000"),
        ("CAIRN_SERVE__PORT", "many", "CAIRN_SERVE__PORT: expected a whole number, got 'many'"),
        ("CAIRN_SEARCH__VERDICT", "3", "CAIRN_SEARCH__VERDICT: expected a table of settings"),
        ("CAIRN_SEARCH__VERDICT", "{ x = 1 }", "CAIRN_SEARCH__VERDICT.x: unknown setting"),
        ("CAIRN_", "", "CAIRN_: unknown variable"),
        ("CAIRN___", "", "CAIRN___: unknown setting"),
        ("CAIRN_SEARCH__CANDIDATES", "\udd00", "CAIRN_SEARCH__CANDIDATES: expected a whole number, got '�'"),
    ],
)
def test_a_variable_that_cannot_be_used_is_told(name: str, text: str, warning: str) -> None:
    laid = Layers(environment={name: text}).without_workspace()
    assert laid.settings == Settings()
    assert len(laid.texts()) == 1
    assert laid.texts()[0].startswith(warning)


def test_variables_that_are_no_settings_are_left_alone() -> None:
    names = ("CAIRN_DATA_DIR", "CAIRN_CONFIG_DIR", "Cairn_Python", "CAIRN_TEST_BROWSER", "PATH", "CAIRNX")
    assert Layers(environment=dict.fromkeys(names, "x")).without_workspace() == Layered(Settings())


# --- what a workspace may not say ----------------------------------------------------------------------


USER_ONLY = sorted(keys for keys, attribute in attributes().items() if is_marked(attribute, USER_ONLY))


@pytest.mark.parametrize("keys", USER_ONLY, ids=".".join)
def test_a_workspace_cannot_set_what_is_the_users_to_say(
    write: Write, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    default = leaves(Settings())[keys]
    other = (
        (not default)
        if isinstance(default, bool)
        else default + 1
        if isinstance(default, int | float)
        else "x"
    )
    text = f"{'.'.join(keys)} = {json.dumps(other)}\n"
    laid = write(workspace=text).of(tmp_path)
    assert laid.settings == Settings()
    [warning] = laid.texts()
    assert warning.startswith(f".cairn.toml:1: {'.'.join(keys)}: a workspace's file may not set this")
    variable = "CAIRN_" + "__".join(keys).upper()
    assert str(user_file()) in warning
    assert variable in warning

    allowed: list[dict[str, Any]] = [
        {"user": text},
        {"editor": nested(keys, other)},
        {"environment": {variable: json.dumps(other)}},
    ]
    for place in allowed:
        laid = write(**place).of(tmp_path)
        assert (leaves(laid.settings)[keys], laid.texts()) == (other, [])


def test_what_opens_a_port_or_writes_down_questions_is_the_users_to_say() -> None:
    assert {("log", "query_text"), ("serve", "host"), ("serve", "port")} <= set(USER_ONLY)


def test_the_only_setting_that_names_a_file_is_marked_so() -> None:
    marked = {keys for keys, attribute in attributes().items() if is_marked(attribute, NAMES_A_FILE)}
    texts = {keys for keys, value in leaves(Settings()).items() if type(value) is str}
    assert marked == {("discovery", "render", "tokenizer")}
    assert texts - marked == {("serve", "host")}, "does the new one name a file?"


@pytest.mark.parametrize(
    "name", ["characters", "", "in/tokenizer.json", "{root}/in/tokenizer.json", "in/../in/link.json"]
)
def test_a_workspace_names_a_tokenizer_that_lies_in_it(write: Write, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "tokenizer.json").write_text("{}")
    (tmp_path / "in" / "link.json").symlink_to(tmp_path / "in" / "tokenizer.json")
    name = name.format(root=tmp_path)
    laid = write(workspace=f"discovery.render.tokenizer = {json.dumps(name)}\n").of(tmp_path)
    real = name if name in ("characters", "") else str(tmp_path.resolve() / "in" / "tokenizer.json")
    assert (laid.settings.discovery.render.tokenizer, laid.texts()) == (real, [])


@pytest.mark.parametrize(
    "name",
    [
        "../tokenizer.json", "/etc/passwd", "{outside}/tokenizer.json", "link/tokenizer.json", "~/tokenizer.json",
        "out.json", "missing.json", "circle", "sub", "pipe", "//host/share/tokenizer.json", r"\\host\share\t.json",
        r"\\?\C:\tokenizer.json", "/dev/zero", "a\0b", "x" * 5_000,
    ],
)  # fmt: skip
def test_a_workspace_cannot_point_out_of_itself(write: Write, tmp_path: Path, name: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside, root / "sub"):
        folder.mkdir()
    for folder in (tmp_path, outside):
        (folder / "tokenizer.json").write_text("{}")
    (root / "link").symlink_to(outside, target_is_directory=True)
    (root / "out.json").symlink_to(outside / "tokenizer.json")
    (root / "circle").symlink_to(root / "circle")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe")
    layers = write()
    named = json.dumps(name.format(outside=outside))
    (root / ".cairn.toml").write_text(f"[discovery.render]\ntokenizer = {named}\n")
    laid = layers.of(root)
    assert laid.settings == Settings()
    [warning] = laid.texts()
    assert warning.startswith(".cairn.toml:2: discovery.render.tokenizer: ")
    assert str(user_file()) in warning


# --- whatever somebody writes ---------------------------------------------------------------------------


NAMES = sorted({name for keys in attributes() for name in keys})
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**63, "characters", "features", "json", "//h/s"])
    | st.floats()
    | st.text(max_size=10)
    | st.datetimes()
    | st.just(datetime.time(1))
)
names = st.sampled_from(NAMES) | st.sampled_from(NAMES).map(camel_case) | st.text(max_size=6)
hostile = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def trees(draw: st.DrawFn, cls: Any = Settings) -> dict[str, Any]:
    """Tables whose names are mostly right and whose values are mostly not."""
    values = draw(st.dictionaries(names, hostile, max_size=1))
    default = cls()
    for name in draw(st.sets(st.sampled_from([*attrs.fields_dict(cls)]), max_size=4)):
        part = type(getattr(default, name))
        values[draw(st.sampled_from([name, camel_case(name)]))] = draw(
            trees(part) if attrs.has(part) else hostile
        )
    return values


def is_valid(settings: Any) -> bool:
    """Whether each value has the type of the default and lies within the limits."""
    defaults, values = leaves(Settings()), leaves(settings)
    return set(defaults) == set(values) and all(
        type(values[keys]) is type(defaults[keys]) and limits_of(attribute).problem_with(values[keys]) is None
        for keys, attribute in attributes().items()
    )


@hypothesis_settings(max_examples=300, deadline=None)
@given(trees())
def test_no_value_for_any_key_stops_the_reading_and_what_comes_out_is_valid(values: dict[str, Any]) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert is_valid(settings)
    assert all(text.isprintable() for text in warnings)
    hash(settings)


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.dictionaries(
    st.lists(st.sampled_from([*NAMES, "x", ""]), min_size=1, max_size=4).map(lambda k: "CAIRN_" + "__".join(k)),
    st.text(st.characters(codec=None), max_size=20) | st.sampled_from(["[[[", "{a=1}", "1e999", "-1", "nan", "['a']"]),
    max_size=4,
))  # fmt: skip
def test_no_variable_stops_the_reading(environment: dict[str, str]) -> None:
    assert is_valid(Layers(environment=environment).without_workspace().settings)


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    settings, warnings = overlay(Settings(), {"index": {"exclude": deep, "maxFileBytes": deep}}, "cairn")
    assert settings == Settings()
    assert len(warnings) == 2


# --- what is done with them -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "concerns"),
    [
        ({"retrieval": {"killSwitch": {"p95Ms": 5}}}, False),
        ({"search": {"candidates": 5}}, False),
        ({"serve": {"port": 5}}, False),
        ({"retrieval": {"phase": 2}}, True),
        ({"retrieval": {"enabled": False}}, True),
        ({"index": {"exclude": ["a"]}}, True),
        ({"embedding": {"textTokens": 9}}, True),
    ],
)
def test_only_what_concerns_indexing_has_the_folder_read_anew(values: dict[str, Any], concerns: bool) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert warnings == []
    assert (engine._indexing(settings) != engine._indexing(Settings())) is concerns


def test_config_show_says_what_differs_where_it_is_from_and_what_is_wrong(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(STEADY)
    write(
        user="[index]\nexclude = ['a']\n[retrieval]\nphase = 3\n",
        workspace='[index]\nexclude = ["b"]\n[search.synonyms]\n"\\u001b" = "x"\n[log]\nqueries = false\n',
    )
    monkeypatch.setenv("CAIRN_SEARCH__LEG_DEADLINE_MS", "400")
    result = CliRunner().invoke(cli, ["config", "show", str(tmp_path)])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        f'index.exclude = ["a", "b"]  {user_file()}, .cairn.toml',
        "search.leg_deadline_ms = 400.0  environment CAIRN_SEARCH__LEG_DEADLINE_MS",
        'search.synonyms = { "\\u001b" = "x" }  .cairn.toml',
    ]
    assert lines[3].startswith(".cairn.toml:6: log.queries: a workspace's file may not set this")
    assert len(lines) == 4

    result = CliRunner().invoke(cli, ["config", "show", str(tmp_path), "--all", "--json"])
    answer = json.loads(result.stdout)
    shown = {each["key"]: each for each in answer["settings"]}
    assert set(shown) == {".".join(keys) for keys in attributes()}
    assert shown["retrieval.phase"] == {"key": "retrieval.phase", "value": 3, "origins": [str(user_file())]}
    assert shown["serve.port"] == {"key": "serve.port", "value": 7420, "origins": ["default"]}
    assert len(answer["warnings"]) == 1


def test_config_path_says_where_files_are_looked_for(write: Write, tmp_path: Path) -> None:
    write()
    (tmp_path / ".cairn.toml").unlink()
    result = CliRunner().invoke(cli, ["config", "path", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout == f"{user_file()}\n{tmp_path.resolve() / '.cairn.toml'} (not there)\n"
