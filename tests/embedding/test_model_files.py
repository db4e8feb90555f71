"""The active model is found, or an error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from cairn.embedding.model_files import InstalledModel, activate, find_model, models_dir, write_description

from cairn.errors import ModelError


def complete(name: str, digest: str = "0123456789abcdef") -> InstalledModel:
    """Make a model folder that looks complete without being loaded."""
    folder = models_dir() / name
    folder.mkdir(parents=True)
    (folder / "model.onnx").touch()
    (folder / "tokenizer.json").touch()
    model = InstalledModel(name, folder, dimension=8, query_prefix='say "hi" \\ ü\x7f\n', sha256=digest)
    write_description(model)
    return model


def test_empty_data_folder_has_no_model(data_dir: Path) -> None:
    assert find_model() is None
    assert not data_dir.exists()


def test_model_is_read_as_described(data_dir: Path) -> None:
    model = complete("all-MiniLM-L6-v2")
    assert find_model() == model
    assert model.id == "all-MiniLM-L6-v2@0123456789ab"


def test_active_model_is_found(data_dir: Path) -> None:
    first, second = complete("first"), complete("second")
    activate("first")
    assert find_model() == first
    activate("second")
    assert find_model() == second


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json", "cairn-model.toml"])
def test_missing_file_is_an_error_with_a_remedy(data_dir: Path, missing: str) -> None:
    (complete("all-MiniLM-L6-v2").folder / missing).unlink()
    with pytest.raises(ModelError, match=rf"lacks {missing}.*cairn model install`"):
        find_model()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dimension = ", "cannot be read"),
        ("\x00", "cannot be read"),
        ('dimension = "384"', "dimension: expected a whole number"),
        ('pooling = "max"', "pooling: expected one of auto, mean, cls, none"),
        ("normalise = true", "did you mean normalize"),
        ("dimension = 384", "incomplete"),
    ],
)
def test_invalid_description_raises_a_remedy(data_dir: Path, text: str, problem: str) -> None:
    (complete("mine").folder / "cairn-model.toml").write_text(text, encoding="utf-8")
    activate("mine")
    with pytest.raises(ModelError, match=rf"{problem}(.|\n)*cairn model install FOLDER`"):
        find_model()


def test_missing_active_model_raises(data_dir: Path) -> None:
    complete("all-MiniLM-L6-v2")
    activate("removed")
    with pytest.raises(ModelError, match="removed is not installed"):
        find_model()


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", "a/b", "a\\b", "..", ".install.lock", "C:x"])
def test_name_cannot_lead_out_of_the_models_folder(data_dir: Path, name: str) -> None:
    complete("all-MiniLM-L6-v2")
    activate(name)
    with pytest.raises(ModelError, match="is not a model name"):
        find_model()
