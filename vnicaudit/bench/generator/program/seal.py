"""Tokens on a command line, which everybody on the machine can read.

Each end has a key of its own, in a file that only its user can read; the program that makes the
command lines knows it. A command line has a number used once, and the token masked with the key's
HMAC-SHA-256 of that number: without the key it reveals nothing.
"""

import hashlib
import hmac
import os

from .task import TOKEN, Failure

SALT = 16
"""Bytes of the number used once."""
KEY = 32
"""Bytes of a key."""


def make_key(path: str) -> str:
    """Store a new key at a path where no file exists yet; returns the line that reports it."""
    key = os.urandom(KEY)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
    except OSError as error:
        raise Failure(f"a key cannot be kept: {error}") from error
    return key.hex() + "\n"


def token_in(path: str, text: str) -> str:
    """The token sealed in a text, by the key stored at a path."""
    try:
        data = bytes.fromhex(text)
        with open(path, "rb") as file:
            key = file.read(KEY)
    except (OSError, ValueError) as error:
        raise Failure("there is no key, or nothing that is sealed") from error
    if len(data) != SALT + TOKEN // 2 or len(key) != KEY:
        raise Failure("there is no key, or nothing that is sealed")
    return masked(key, data[:SALT], data[SALT:]).hex()


def sealed_token(key: bytes, token: str) -> str:
    """A token in a form for a command line; a different text each time."""
    salt = os.urandom(SALT)
    return (salt + masked(key, salt, bytes.fromhex(token))).hex()


def masked(key: bytes, salt: bytes, data: bytes) -> bytes:
    """The bytes of a token, masked or unmasked."""
    pad = hmac.new(key, salt, hashlib.sha256).digest()
    return bytes(one ^ pad[at] for at, one in enumerate(data))
