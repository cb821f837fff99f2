"""Functions that workers of a cluster run in tests."""

import os


def process_id(_data: bytes) -> bytes:
    """Of the worker."""
    return str(os.getpid()).encode()


def nonsense(_data: bytes) -> bytes:
    """What is no answer."""
    return b"\xc1"


def fail(_data: bytes) -> bytes:
    """Raise."""
    raise ImportError("no module named vnicaudit")
