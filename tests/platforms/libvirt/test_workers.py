"""Threads that may hang, and the one who waits for them."""

import threading
import time

import pytest

from vnicaudit.platforms.libvirt.workers import HostSilentError, Mailbox, Pulse, WorkerThreads


def test_silence_ends_the_wait() -> None:
    box: Mailbox[str] = Mailbox(Pulse(0.1))
    with pytest.raises(HostSilentError):
        box.take()


def test_a_beating_pulse_prolongs_it() -> None:
    """By a clock of its own: a machine that stalls is no silent host."""
    now = [0.0]
    pulse = Pulse(0.1, lambda: now[0])
    box: Mailbox[str] = Mailbox(pulse)

    def slow_host() -> None:
        for _ in range(8):
            time.sleep(0.02)  # so that there is something to wait for
            now[0] += 0.08
            pulse.beat()
        box.post("late")

    threading.Thread(target=slow_host, daemon=True).start()
    assert box.take() == "late"


def test_a_full_box_lets_its_threads_go_when_nobody_reads() -> None:
    pulse = Pulse(60)
    box: Mailbox[int] = Mailbox(pulse)

    def writer() -> None:
        for number in range(1000):
            box.post(number)

    thread = threading.Thread(target=writer, daemon=True)
    thread.start()
    assert box.take() == 0
    pulse.end()
    thread.join(60)
    assert not thread.is_alive()


def test_a_call_that_fails_fails_for_the_one_who_asks() -> None:
    threads = WorkerThreads(1, lambda: None)

    def broken() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        threads.call(broken).result(60)
    assert threads.call(lambda: 7).result(60) == 7
    threads.dismiss()
