"""Data files of this program, which are installed beside its modules."""

from __future__ import annotations

import os


def read_beside(module: str, name: str) -> bytes:
    """The content of a file beside a module, which is given by its ``__file__``. ``pkgutil`` does
    the same, and takes longer to load than a file to lint."""
    with open(os.path.join(os.path.dirname(module), name), "rb") as stream:
        return stream.read()
