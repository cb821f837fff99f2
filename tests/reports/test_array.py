"""Text that waits comes back whole."""

from __future__ import annotations

import gc
import os

from vnicaudit.reports.array import TextSpool


def test_what_went_in_comes_out_in_order_however_characters_fall_on_the_pieces() -> None:
    spool = TextSpool()
    text = "é日🂡a" * 40_000
    spool.write(text)
    spool.write("end")
    pieces = list(spool.drain())
    assert "".join(pieces) == text + "end"
    assert max(map(len, pieces)) <= 1 << 16


def test_a_big_spool_leaves_no_file_open_behind_it_when_it_is_dropped() -> None:
    before = len(os.listdir("/proc/self/fd"))
    spool = TextSpool()
    spool.write("x" * (2 << 20))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del spool
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
