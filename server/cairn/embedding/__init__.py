"""Text to vectors: which model is installed, how one is installed, and the loaded model itself.

Importing this costs no more than numpy: onnxruntime, tokenizers and onnx are imported by the calls that
need them.
"""

from cairn.embedding.embedder import Embedder, load_embedder
from cairn.embedding.install import ensure_static, install_default, install_folder
from cairn.embedding.model_files import InstalledModel, Pooling, find_model
from cairn.embedding.static import StaticTable, find_static

__all__ = [
    "Embedder",
    "InstalledModel",
    "Pooling",
    "StaticTable",
    "ensure_static",
    "find_model",
    "find_static",
    "install_default",
    "install_folder",
    "load_embedder",
]
