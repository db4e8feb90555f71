"""Where the command `cairn` begins; also run by `python -m cairn`."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from cairn.commands import main

    main()


if __name__ == "__main__":
    main()
