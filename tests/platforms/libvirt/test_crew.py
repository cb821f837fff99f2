"""Threads that may hang, and the one who waits for them."""

import threading
import time

import pytest

from vnicaudit.platforms.libvirt.crew import Crew, Mailbox, Pulse, Silence


def test_silence_ends_the_wait() -> None:
    box: Mailbox[str] = Mailbox(Pulse(0.1))
    with pytest.raises(Silence):
        box.take()


def test_a_beating_pulse_prolongs_it() -> None:
    pulse = Pulse(0.5)
    box: Mailbox[str] = Mailbox(pulse)

    def slow_host() -> None:
        for _ in range(8):
            time.sleep(0.1)
            pulse.beat()
        box.post("late")

    threading.Thread(target=slow_host, daemon=True).start()
    assert box.take() == "late"


def test_a_full_box_lets_its_threads_go_when_nobody_reads() -> None:
    pulse = Pulse(1)
    box: Mailbox[int] = Mailbox(pulse)

    def writer() -> None:
        for number in range(1000):
            box.post(number)

    thread = threading.Thread(target=writer, daemon=True)
    thread.start()
    assert box.take() == 0
    pulse.end()
    thread.join(10)
    assert not thread.is_alive()


def test_a_call_that_fails_fails_for_the_one_who_asks() -> None:
    crew = Crew(1, lambda: None)

    def broken() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        crew.call(broken).result(10)
    assert crew.call(lambda: 7).result(10) == 7
    crew.dismiss()
