"""Params and results of every method: the one schema for LSP, REST, MCP and the command line.

Only shapes and their limits belong here, and no work: the methods themselves are modules of `cairn.engine`.
"""

from cairn.protocol.evidence import *  # noqa: F403
from cairn.protocol.messages import *  # noqa: F403
from cairn.protocol.places import *  # noqa: F403
