"""Calls with a deadline: what comes of them, and the threads that make them."""

import os
import threading

import pytest

from vnicaudit.base.deadlines import DaemonCall, TimeUpError


def _thread() -> threading.Thread:
    return threading.current_thread()


def test_one_call_after_another_is_made_by_one_thread() -> None:
    threads = {DaemonCall(f"call {number}", _thread).result(30) for number in range(20)}
    assert len(threads) == 1
    (thread,) = threads
    assert thread.daemon
    assert thread.name == "call 19"


def test_a_thread_that_is_stuck_is_given_nothing_else() -> None:
    over = threading.Event()
    stuck = DaemonCall("stuck", lambda: (over.wait(60), _thread())[1])
    with pytest.raises(TimeUpError):
        stuck.result(0.01)
    others = {DaemonCall("other", _thread).result(30) for _ in range(5)}
    over.set()
    assert stuck.result(30) not in others


def test_one_whose_call_raised_makes_the_next() -> None:
    first = DaemonCall("first", _thread).result(30)
    with pytest.raises(ZeroDivisionError):
        DaemonCall("second", lambda: 1 // 0).result(30)
    assert DaemonCall("third", _thread).result(30) is first


def test_calls_at_once_have_a_thread_each() -> None:
    meeting = threading.Barrier(5)
    tasks = [DaemonCall("met", lambda: meeting.wait(30)) for _ in range(5)]
    assert sorted(task.result(30) for task in tasks) == list(range(5))


def test_a_child_process_does_not_wait_for_threads_that_it_has_not() -> None:
    DaemonCall("before", _thread).result(30)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if DaemonCall("in the child", lambda: 7).result(30) == 7 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
