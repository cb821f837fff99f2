"""Guests that do not come back, and guests that do not go: nothing is lost with either."""

import pytest

from tests.rig.unwilling_guests import Cases

pytestmark = pytest.mark.rig


def test_a_guest_that_does_not_come_back_from_a_restart_is_rolled_back(unwilling: Cases) -> None:
    unwilling["does_not_come_back"].result()


def test_a_guest_that_does_not_take_the_new_device_gets_the_old_one(unwilling: Cases) -> None:
    unwilling["does_not_take_the_new_device"].result()


def test_a_guest_that_does_not_shut_down(unwilling: Cases) -> None:
    unwilling["does_not_shut_down"].result()
