"""`python -m cairn`."""

from cairn.cli import main

main()
