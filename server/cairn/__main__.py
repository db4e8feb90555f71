"""Where the command `cairn` begins; also run by `python -m cairn`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. A question is answered by an engine that runs, if one does, before anything else is imported."""
    from cairn.attach.commands import answered

    code = answered(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    from cairn.commands import main

    main()


if __name__ == "__main__":
    main()
