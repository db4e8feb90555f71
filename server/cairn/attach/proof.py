"""Proofs that two processes know the same secret, which itself never travels between them.

Another user's program may listen at the address of a process that has ended. So each side sends a nonce, and
proves itself with an HMAC over its role, both nonces and whatever else the proof must be bound to.
"""

from __future__ import annotations

import hmac
import json
import os

NONCE_LENGTH = 32
PROOF_LENGTH = 64


def fresh_nonce() -> str:
    """Return 128 random bits as 32 hexadecimal digits."""
    return os.urandom(NONCE_LENGTH // 2).hex()


def proof(secret: str, role: str, *bound: str) -> str:
    """Return the HMAC-SHA256 of a role and the texts that it is bound to, as 64 hexadecimal digits."""
    message = json.dumps([role, *bound]).encode()  # JSON keeps adjacent texts apart.
    return hmac.digest(secret.encode(), message, "sha256").hex()


def is_equal(given: str, expected: str) -> bool:
    """Compare a text of another process with the expected one, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
