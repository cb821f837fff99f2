"""Two remote hosts were visited by two threads; both were first to need libvirt's event loop, and
each started one. ``functools.cache`` lets two threads work the same out at once.
"""

import threading
import time

import pytest

libvirt = pytest.importorskip("libvirt")

from vnicaudit.platforms.libvirt import connection  # noqa: E402 - where libvirt is
from vnicaudit.text.targets import parse  # noqa: E402


def test_six_threads_start_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    registered, loops, gate = [], [], threading.Barrier(6)

    def register() -> None:
        registered.append(threading.current_thread().name)
        time.sleep(0.05)  # the others are here by then, or wait outside

    monkeypatch.setattr(libvirt, "virEventRegisterDefaultImpl", register)
    monkeypatch.setattr(connection, "_run_events", lambda: loops.append(1))
    connection._start_event_loop.cache_clear()

    def visit() -> None:
        gate.wait()
        connection.prepare(parse("qemu+ssh://host/system"))

    threads = [threading.Thread(target=visit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection._start_event_loop.cache_clear()
    assert (len(registered), len(loops)) == (1, 1)
