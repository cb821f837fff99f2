"""Passwords and tokens are not printed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.openstack.cloud import PASSWORD, Asked, FakeCloud, Reply, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect
from tests.regressions.cloud.test_reading_is_patient_and_careful import SERVERS, everything
from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack import connect as entrance
from vnicaudit.platforms.openstack.session import CountingSession

__all__ = ["cloud", "nowhere"]


# Keystone says in its error what it was sent, and the password in it was printed.


def test_a_password_that_keystone_repeats_is_masked(cloud: FakeCloud) -> None:
    said = {"error": {"message": f"Invalid input: {PASSWORD} is wrong", "code": 400}}
    answer = reply(400, said, Content_Type="application/json")
    cloud.intercept = lambda asked: answer if asked.method == "POST" else None
    with pytest.raises(TargetError, match=r"Invalid input: \*\*\* is wrong"):
        connect("admin", deadline=30)


@pytest.mark.parametrize(
    "auth",
    [
        f"auth_type: v3oidcaccesstoken\n    auth: {{identity_provider: idp, protocol: openid, "
        f"access_token: {PASSWORD}}}",
        f"auth_type: v3oauth2clientcredential\n    auth: {{oauth2_endpoint: '{{url}}/identity', "
        f"oauth2_client_id: me, oauth2_client_secret: {PASSWORD}}}",
        f"auth_type: v3applicationcredential\n    auth: {{application_credential_id: id1, "
        f"application_credential_secret: {PASSWORD}}}",
    ],
    ids=["access token", "OAuth 2.0", "application credential"],
)
def test_any_secret_that_is_repeated_is_masked(auth: str, cloud: FakeCloud, nowhere: Path) -> None:
    """Whatever kind of login it is of."""
    url = f"auth_url: '{cloud.url}/identity/v3', "
    entry = auth.replace("{url}", cloud.url).replace("auth: {", f"auth: {{{url}")
    (nowhere / "clouds.yaml").write_text(f"clouds:\n  odd:\n    {entry}\n", "utf-8")
    said = {"error": {"message": f"Invalid input: {PASSWORD} is wrong", "code": 400}}
    answer = reply(400, said, Content_Type="application/json")
    cloud.intercept = lambda asked: answer if asked.method == "POST" else None
    with pytest.raises(TargetError, match=r"cannot log in") as failed:
        connect("odd", deadline=30)
    assert PASSWORD not in str(failed.value)
    assert "***" in str(failed.value)


def test_every_option_that_keystoneauth_calls_secret_is_masked() -> None:
    """A kind of login that comes with a later keystoneauth may bring another."""
    from keystoneauth1.loading import get_available_plugin_loaders

    loaders: Iterable[Any] = get_available_plugin_loaders().values()
    options = {one.dest for loader in loaders for one in loader.get_options() if one.secret}
    assert options <= set(entrance.SECRETS)


# What a service says is cut, and a token of this session in the middle of which that was came to
# be printed: only whole ones were masked.


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
