"""The entry point of the command `cairn` and of `python -m cairn`."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line.

    Commands that a running engine can answer, and `cairn mcp`, run before anything large is imported.
    """
    try:
        _run()
    except KeyboardInterrupt:  # during an import; later, commands report it themselves
        sys.exit(130)


def _run() -> None:
    from cairn.attach.answered_commands import answered
    from cairn.startup.streams import guard_streams

    guard_streams()

    command, *arguments = sys.argv[1:] or [""]
    code = answered(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    if command == "mcp" and all(map(os.path.isdir, arguments)) and importlib.util.find_spec("mcp"):
        from cairn.serve.mcp_relay import serve_agent

        serve_agent([Path(folder).absolute() for folder in arguments])
    from cairn.commands import main

    main()


if __name__ == "__main__":
    main()
