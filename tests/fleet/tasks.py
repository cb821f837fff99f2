"""Functions that workers of a cluster run in tests."""

import os

from vnicaudit.fleet.dask import answer_of, encoded
from vnicaudit.model.host import Host


def process_id(_data: bytes) -> bytes:
    """An answer with a host that is named after the worker's process."""
    return encoded(answer_of("worker", [Host(str(os.getpid()))]))


def nonsense(_data: bytes) -> bytes:
    """What is no answer."""
    return b"\xc1"


def fail(_data: bytes) -> bytes:
    """Raise."""
    raise ImportError("no module named vnicaudit")
