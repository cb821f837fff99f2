"""A Retry-After that was a date (RFC 9110, 10.2.3) was passed over: a service that asked for a
minute was asked again after half a second."""

import time
from email.utils import formatdate

import pytest
import requests

from vnicaudit.platforms.openstack.session import retry_after


def answer(said: str) -> requests.Response:
    found = requests.Response()
    found.headers["Retry-After"] = said
    return found


def test_a_date_is_so_many_seconds_from_now() -> None:
    wanted = retry_after(answer(formatdate(time.time() + 3600, usegmt=True)))
    assert wanted is not None
    assert 3000 < wanted <= 3600


def test_seconds_are_seconds() -> None:
    assert retry_after(answer("17")) == 17.0


@pytest.mark.parametrize(
    "said",
    ["", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Oct 2099 07:28:00 GMT", "-5", "9" * 400],
)
def test_anything_else_is_nothing(said: str) -> None:
    assert retry_after(answer(said)) is None
