"""Text that has to wait for its place later in the document, kept off the heap."""

from __future__ import annotations

import codecs
import tempfile
import weakref
from collections.abc import Iterator

_IN_MEMORY = 1 << 20
_CHUNK = 1 << 16


class Spool:
    """Append, then drain once. Above 1 MiB it lives in an unnamed temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (outlives this)
        self._finalizer = weakref.finalize(self, self._file.close)

    def write(self, text: str) -> None:
        """Keep some text. Raises OSError when the temporary directory is full."""
        self._file.write(text.encode())

    def drain(self) -> Iterator[str]:
        """Everything kept, in order, in pieces of 64 KiB; closes the spool."""
        self._file.seek(0)
        yield from codecs.iterdecode(iter(lambda: self._file.read(_CHUNK), b""), "utf-8")
        self._finalizer()
