"""Puts a trained static table into the package, as the code model that comes with Cairn.

    .venv/bin/python scripts/package_model.py TABLE

TABLE is a folder with `vectors.npy` and `vocabulary.txt` (`cairn.embedding.packaged` defines their content).
A description with their digest is written beside them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from cairn.embedding.packaged import FOLDER, VECTORS_FILE, VOCABULARY_FILE, describe_packaged


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    for name in (VECTORS_FILE, VOCABULARY_FILE):
        # The file is replaced, not overwritten: a daemon of this checkout may have the old one mapped.
        fresh = shutil.copyfile(Path(sys.argv[1]) / name, FOLDER / f"{name}.new")
        fresh.replace(FOLDER / name)
    model = describe_packaged()
    print(f"{model.id}, {model.dimension} dimensions, is in {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
