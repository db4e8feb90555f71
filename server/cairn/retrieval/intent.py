"""Whether a question is for those who use a project rather than for those who read its code (R3.10).

Code and documents that use the same words compete for every place. Left alone, documents crowd code out (S5), and held back
always, "how do I install it" is answered by a source file. So documents are held back unless the wording asks for them.
"""

from __future__ import annotations

import re
from functools import lru_cache

_OVERVIEW = re.compile(
    r"""^(?:what|who)(?:\ is|\ are|'s)\ (?:an?\ |the\ )?[\w.\- ]{1,30}(?:\?|$|\ and\b) | ^o\ que\ [eé]\ |
        \binstall(?:ing|ation)\b | ^install\b | \bto\ install\b | \b[iwey]+\ install\b | \binstalar\b |
        \bget(?:ting)?\ started\b | \bquick\ ?starts?\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""What a project is, and how to begin with it: what a README tells."""

_FOR_USERS = re.compile(
    r"""^how\ (?:do|can|should|would|could)\ (?:i|we|you|one)\b | ^how\ to\b | ^when\ (?:to|should)\b |
        ^(?:should|can|may|must|could)\ (?:i|we|you|one|an?|the)\b |
        ^why\b | \bdifference\ between\b | \bwhen\ to\ use\b | ^what\ .*\bfor\b | ^what\ does\b |
        ^como\ (?:eu\ )?(?:posso|fa[cç]o|uso|usar)\b | \bdiferen[cç]a\ entre\b |
        \btutorials?\b | \bchange\ ?logs?\b | \brelease\ notes?\b | \bwhat'?s\ new\b | \bfaq\b | \breadme\b | \bguides?\b |
        \bupgrading\b | \bupgrade\ (?:from|to)\b | \bmigrat(?:e|es|ing|ion)\ (?:from|to)\b | \bbreaking\ changes?\b |
        \b(?:backwards?|not)[- ](?:in)?compatible\b | \bdeprecated\b | \bwhat\ (?:happened|changed)\b |
        \bin\ (?:version\ )?v?\d+\.\d+ | \bcontribut(?:e|ing)\b | \breport(?:ing)?\ (?:a\ )?bugs?\b | \bpull\ requests?\b""",
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=1_000)
def asks_for_overview(text: str) -> bool:
    """Whether the question is what a project is, or how to begin with it."""
    return bool(_OVERVIEW.search(text.strip()))


@lru_cache(maxsize=1_000)
def asks_as_user(text: str) -> bool:
    """Whether documents answer the question rather than code."""
    return asks_for_overview(text) or bool(_FOR_USERS.search(text.strip()))
