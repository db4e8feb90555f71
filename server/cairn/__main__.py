"""The command `cairn`: the command line with the commands of the other fronts. Also run by `python -m cairn`."""

from cairn.cli.main import cli, run
from cairn.lsp.command import lsp
from cairn.mcp.command import mcp
from cairn.serve.command import openapi, serve

for command in (lsp, mcp, serve, openapi):
    cli.add_command(command)


def main() -> None:
    """Run the command line that stands in `sys.argv`."""
    run()


if __name__ == "__main__":
    main()
