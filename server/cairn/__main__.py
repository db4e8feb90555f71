"""`python -m cairn`."""

from cairn.cli.main import main

main()
