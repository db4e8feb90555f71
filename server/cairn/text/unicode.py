"""Text that can be stored and embedded: UTF-8 can hold it."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """`text` with pairs of surrogates joined and lone ones as U+FFFD: JSON can hold halves of pairs, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
