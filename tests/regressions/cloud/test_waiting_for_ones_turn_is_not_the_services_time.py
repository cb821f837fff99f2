"""``--max-rps 0.2 --deadline 5`` read nothing: ``cannot log in: no answer within 5 s``, of a
Keystone that answered at once. Requests that had been given up went on to take turns."""

import threading
import time

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect
from vnicaudit.base.deadlines import TimeUpError
from vnicaudit.model.fleet import CloudLimits
from vnicaudit.platforms.openstack.session import AbandonedError, Pace
from vnicaudit.platforms.openstack.waiting import Turns, within

__all__ = ["cloud", "nowhere"]

DEADLINE = 8.0


def test_a_login_waits_for_its_turn(cloud: FakeCloud) -> None:
    """Longer than an answer may take, once."""
    pauses = [1.2 * DEADLINE]

    def sleep(seconds: float) -> None:
        if seconds and pauses:
            time.sleep(pauses.pop())

    limits = CloudLimits(0.001, None)
    found = connect(
        "admin", deadline=DEADLINE, limits=limits, pace=lambda rate: Pace(rate, lambda: 0.0, sleep)
    )
    assert found.roles
    assert not pauses
    assert len(cloud.asked) > 1


def test_only_the_turn_is_waited_for() -> None:
    turns, over = Turns(), threading.Event()
    with pytest.raises(TimeUpError):
        within(0.05, "t", lambda: over.wait(60), turns)
    over.set()
    assert turns.over


def test_what_was_given_up_takes_no_turn(cloud: FakeCloud) -> None:
    found = connect("admin", deadline=30, limits=CloudLimits(1000.0, None))
    cloud.asked.clear()

    def ask() -> None:
        found.session.asking.turns.over = True
        found.session.get(f"{cloud.url}/identity/v3", authenticated=False)

    with pytest.raises(AbandonedError):
        found.within("identity", ask)
    assert cloud.asked == []
