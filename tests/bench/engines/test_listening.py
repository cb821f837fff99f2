"""Clients fail by themselves, or because nothing got through."""

import pytest

from vnicaudit.bench.engines._rr_command import client_error
from vnicaudit.errors import NoTrafficError


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        ("cannot connect: timed out", True),
        ("cannot connect: [Errno 111] Connection refused", True),
        ("cannot connect: [Errno 113] No route to host", True),
        ("nothing came or went for 10 s", True),
        ("a connection was lost", False),
        ("send_omni: broken", False),
        ("the server speaks another language", False),
    ],
)
def test_what_a_client_says(said: str, silent: bool) -> None:
    assert isinstance(client_error(said), NoTrafficError) is silent
