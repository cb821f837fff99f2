"""How clients fail: by themselves, or because nothing got through."""

from __future__ import annotations

import pytest

from vnicaudit.bench.engines._programs.listening import client_error, require_success
from vnicaudit.errors import MeasureError, SilenceError
from vnicaudit.model.measurement import Ran


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        ("cannot connect: timed out", True),
        ("cannot connect: [Errno 111] Connection refused", True),
        ("cannot connect: [Errno 113] No route to host", True),
        ("nothing came or went for 10 s", True),
        ("are you sure there is a netserver listening on 192.0.2.1 at port 12865?", True),
        ("a connection was lost", False),
        ("send_omni: broken", False),
        ("the server speaks another language", False),
    ],
)
def test_what_a_client_says(said: str, silent: bool) -> None:
    assert isinstance(client_error(said), SilenceError) is silent


def test_a_client_that_does_not_end_waits_for_an_answer() -> None:
    with pytest.raises(SilenceError, match="netperf did not end in time"):
        require_success(Ran(("netperf",), None))
    with pytest.raises(MeasureError, match="netperf failed: exit 1") as raised:
        require_success(Ran(("netperf",), 1))
    assert not isinstance(raised.value, SilenceError)
