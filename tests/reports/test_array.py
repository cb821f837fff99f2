"""Text that waits comes back whole."""

import gc
import os
from contextlib import suppress
from pathlib import Path

from vnicaudit.reports.json_parts import TextSpool


def test_what_went_in_comes_out_in_order_however_characters_fall_on_the_pieces() -> None:
    spool = TextSpool()
    text = "é日🂡a" * 40_000
    spool.write(text)
    spool.write("end")
    pieces = list(spool.drain())
    assert "".join(pieces) == text + "end"
    assert max(map(len, pieces)) <= 1 << 16


def _open_files() -> set[str]:
    """What this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the folder itself, and what another thread closes
            found.add(os.readlink(descriptor))
    return found


def test_a_big_spool_leaves_no_file_open_behind_it_when_it_is_dropped() -> None:
    before = _open_files()
    spool = TextSpool()
    spool.write("x" * (2 << 20))
    (opened,) = (one for one in _open_files() - before if one.endswith(" (deleted)"))
    del spool
    gc.collect()
    assert opened not in _open_files()
