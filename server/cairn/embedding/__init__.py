"""Text to vectors: which model is installed, how one is installed, and the loaded model itself.

Importing this costs no more than numpy: onnxruntime, tokenizers and onnx are imported by the calls that
need them.
"""

from cairn.embedding.embedder import Embedder, EmbeddingStoppedError, load_embedder
from cairn.embedding.install import install_default, install_folder
from cairn.embedding.model_files import InstalledModel, Pooling, find_model

__all__ = [
    "Embedder",
    "EmbeddingStoppedError",
    "InstalledModel",
    "Pooling",
    "find_model",
    "install_default",
    "install_folder",
    "load_embedder",
]
