"""Serves semble's own MCP server over stdio, with Cairn's static table as its model, since its weights are
not in its package.

    PYTHON benchmarks/agents/semble_server.py code docs config

PYTHON needs semble 0.7.0 with its extra `mcp`, attrs, cattrs and platformdirs.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


def main(content: list[str]) -> None:
    import semble.mcp
    from answers.semble_chunks import TableModel
    from semble.index import index as made_by
    from semble.types import ContentType

    model = TableModel()
    for module in (semble.mcp, made_by):
        module.load_model = lambda *_: (model, "cairn")
    asyncio.run(semble.mcp.serve([ContentType(each) for each in content]))


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:1] = [str(root / "server"), str(root / "benchmarks")]
    main(sys.argv[1:])
