"""Tests that the exported table equals the trained one within the rounding to int8, and can be packaged."""

from __future__ import annotations

import sys
from pathlib import Path

import export
import numpy as np
import pytest

from cairn.embedding.packaged import describe_packaged, load_packaged

_PIECES = ["berth", "tide", "##yard", "ship", "quay"]
_DIMENSION = 16


@pytest.fixture
def trained(tmp_path: Path) -> dict[str, np.ndarray]:
    """Return the output of `train.py`, of random numbers; one piece was never seen and has no vector."""
    random = np.random.default_rng(1)
    arrays = {
        "vectors": random.normal(size=(len(_PIECES), _DIMENSION)).astype(np.float32),
        "text_weights": random.normal(size=len(_PIECES)).astype(np.float32),
        "query_weights": random.normal(size=len(_PIECES)).astype(np.float32),
    }
    arrays["vectors"][4] = 0
    (tmp_path / "model").mkdir()
    np.savez(tmp_path / "model" / "model.npz", **arrays)
    (tmp_path / "model" / "vocabulary.txt").write_bytes("\n".join([*_PIECES, ""]).encode())
    return arrays


@pytest.fixture
def table(tmp_path: Path, trained: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "argv", ["export.py", str(tmp_path / "model"), str(tmp_path / "table")])
    assert export.main() == 0
    return tmp_path / "table"


def test_vectors_and_both_weights_come_back(table: Path, trained: dict[str, np.ndarray]) -> None:
    entries = np.load(table / "vectors.npy")
    largest = np.abs(trained["vectors"]).max(axis=1, keepdims=True)
    for scale, weights in (("scale", "text_weights"), ("query_scale", "query_weights")):
        weight = np.exp(trained[weights])[:, None]
        found = entries[scale][:, None] * entries["vector"].astype(np.float32)
        assert (np.abs(found - weight * trained["vectors"]) <= 0.501 / 127 * largest * weight).all()


def test_the_table_embeds_texts_and_questions_as_training_did(
    table: Path, trained: dict[str, np.ndarray]
) -> None:
    assert describe_packaged(table).dimension == _DIMENSION
    loaded = load_packaged(table)
    for found, weights in (
        (loaded.embed(["tide shipyard"], 8)[0], "text_weights"),
        (loaded.embed_queries(["tide shipyard"])[0], "query_weights"),
    ):
        wanted = (np.exp(trained[weights])[:, None] * trained["vectors"])[[1, 3, 2]].sum(axis=0)
        np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), atol=0.02)


def test_without_both_folders_it_says_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["export.py"])
    assert export.main() == 2
    assert "export.py MODEL DEST" in capsys.readouterr().err
