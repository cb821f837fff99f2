"""Calls with a deadline: what comes of them, and the threads that make them."""

import os
import threading

import pytest

from vnicaudit.base.deadlines import DaemonCall, TimeUpError


def test_call_is_made_by_a_daemon_thread_of_its_name() -> None:
    thread = DaemonCall("ask", threading.current_thread).result(30)
    assert (thread.daemon, thread.name) == (True, "ask")


def test_result_can_be_awaited_again_after_a_timeout() -> None:
    over = threading.Event()
    stuck = DaemonCall("stuck", lambda: over.wait(60))
    with pytest.raises(TimeUpError):
        stuck.result(0.01)
    over.set()
    assert stuck.result(30)


def test_error_of_the_call_is_raised_by_its_result() -> None:
    with pytest.raises(ZeroDivisionError):
        DaemonCall("second", lambda: 1 // 0).result(30)


def test_calls_at_once_have_a_thread_each() -> None:
    meeting = threading.Barrier(5)
    tasks = [DaemonCall("met", lambda: meeting.wait(30)) for _ in range(5)]
    assert sorted(task.result(30) for task in tasks) == list(range(5))


def test_a_child_process_does_not_wait_for_threads_that_it_has_not() -> None:
    DaemonCall("before", threading.current_thread).result(30)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if DaemonCall("in the child", lambda: 7).result(30) == 7 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
