"""How `cairn open` and a server of the same user prove to each other that they know this machine's token.

Another user's program may listen at an address that the user takes for the server's. So the client first
sends a nonce, and the server answers with a nonce of its own and a proof. The client then sends its proof,
and gets a one-time link. The proofs are bound to the IP address and the port of the connection: a program
that passes the messages on to the server has another address, for which the server makes no proof.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from attrs import define, field

from cairn.attach.proof import NONCE_LENGTH, PROOF_LENGTH, fresh_nonce, is_equal, proof
from cairn.operations.tokens import Token

SCHEME = "cairn"
"""The scheme of the header `Authorization` with a client's proof, in lower case."""
NONCE = "cairn-nonce"
"""The header with the client's nonce."""
_SERVER, _CLIENT = "page server", "page client"
_MOST_USED = 1_000


@define
class Identity:
    """The server's side."""

    _token: Token
    _nonce: str = field(factory=fresh_nonce, init=False)
    _used: OrderedDict[str, None] = field(factory=OrderedDict, init=False)
    """The client's nonces that were used in a proof, since each proof is valid once."""

    def answer(self, address: Sequence[object], nonce: str) -> str:
        """Return the server's nonce and proof for a client that has connected to the address."""
        bound = _bound(address, nonce, self._nonce)
        return self._nonce + proof(self._token.value, _SERVER, *bound)

    def proved_token(self, address: Sequence[object], credentials: str) -> str | None:
        """Return the token if a client's nonce and proof are valid, and this is their first use."""
        nonce, given = credentials[:NONCE_LENGTH], credentials[NONCE_LENGTH:]
        expected = proof(self._token.value, _CLIENT, *_bound(address, nonce, self._nonce))
        if not is_equal(given, expected) or nonce in self._used:
            return None
        self._used[nonce] = None
        if len(self._used) > _MOST_USED:
            self._used.popitem(last=False)
        return self._token.value


def credentials(token: str, address: Sequence[object], nonce: str, answer: str) -> str | None:
    """Return the client's credentials; None if the server's answer to the nonce does not prove the server."""
    if len(answer) != NONCE_LENGTH + PROOF_LENGTH:
        return None
    bound = _bound(address, nonce, answer[:NONCE_LENGTH])
    if not is_equal(answer[NONCE_LENGTH:], proof(token, _SERVER, *bound)):
        return None
    return nonce + proof(token, _CLIENT, *bound)


def _bound(address: Sequence[object], nonce: str, server_nonce: str) -> tuple[str, ...]:
    """Return what a proof is bound to: the IP address, the port and the nonces."""
    return str(address[0]), str(address[1]), nonce, server_nonce
