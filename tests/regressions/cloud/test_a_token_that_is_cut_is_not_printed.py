"""What a service says is cut, and a token of this session in the middle of which that was came to
be printed: only whole ones were masked."""

import pytest

from tests.platforms.openstack.cloud import Asked, FakeCloud, Reply, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.regressions.cloud.test_reading_is_patient_and_careful import SERVERS, everything
from vnicaudit.platforms.openstack.session import CountingSession

__all__ = ["cloud", "nowhere"]

TOKEN = "gAAAAAB" + "Zq9xK7" * 29


@pytest.mark.parametrize("shown", range(16, 181, 41))
def test_a_token_that_is_cut_off_is_not_printed(shown: int) -> None:
    session = CountingSession()
    session._tokens.append(TOKEN)
    text = f"503: token {TOKEN[:shown]}; try again, or {TOKEN}"
    assert session.masked(text) == "503: token ***; try again, or ***"


def test_a_long_message_of_a_service_ends_in_no_token(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = cloud._identity
    cloud.users[TOKEN] = cloud.admin

    def identity(asked: Asked, body: bytes) -> Reply:
        answer = said(asked, body)
        if asked.method == "GET":
            return answer
        return answer._replace(headers=(("X-Subject-Token", TOKEN),))

    def intercept(asked: Asked) -> Reply | None:
        if asked.path != SERVERS:
            return None
        return reply(400, {"badRequest": {"message": f"{'x' * 300} {asked.token}"}})

    monkeypatch.setattr(cloud, "_identity", identity)
    cloud.intercept = intercept
    _servers, (error,) = everything("admin")
    assert "Zq9x" not in error
    assert "x ***; the request does not suit" in error
