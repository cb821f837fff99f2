"""One request, and everything that can be wrong with what comes back."""

import gzip
import threading

import pytest

from tests.platforms.openstack.cloud import (
    PASSWORD,
    Asked,
    FakeCloud,
    Reply,
    recorded_error,
    reply,
    silent_until,
)
from tests.platforms.openstack.entering import connect
from vnicaudit.platforms.openstack import client as asking
from vnicaudit.platforms.openstack.client import CallError, Client

PATH = "/ports"


@pytest.fixture
def client(cloud: FakeCloud) -> Client:
    found = Client(connect("admin", deadline=30))
    found.endpoint("network")
    assert cloud.asked
    return found


def answered(cloud: FakeCloud, answer: Reply) -> None:
    cloud.intercept = lambda asked: answer if asked.path.endswith(PATH) else None


def failure(client: Client) -> CallError:
    with pytest.raises(CallError) as caught:
        client.get("network", PATH, [("limit", "1")])
    assert caught.value.file == "openstack:admin"
    for secret in (PASSWORD, "token-of-admin", "limit"):
        assert secret not in str(caught.value)
    return caught.value


def reason(cloud: FakeCloud, client: Client) -> str:
    message = failure(client).message
    begin = f"network: GET {cloud.url}/network/v2.0/ports: "
    assert message.startswith(begin)
    return message.removeprefix(begin)


def test_a_good_answer(cloud: FakeCloud, client: Client) -> None:
    answered(cloud, Reply(200, b'{"ports": []}'))
    assert client.get("network", PATH, [("fields", "id"), ("fields", "name")]) == b'{"ports": []}'
    asked = cloud.asked[-1]
    assert (asked.method, asked.token, asked.microversion) == ("GET", "token-of-admin", None)


def test_a_microversion_is_sent(cloud: FakeCloud, client: Client) -> None:
    client.endpoint("compute")
    client.get("compute", "/servers/detail", [], "2.98")
    assert cloud.asked[-1].microversion == "2.98"


def test_an_answer_that_is_compressed(cloud: FakeCloud, client: Client) -> None:
    packed = gzip.compress(b'{"ports": []}')
    answered(cloud, Reply(200, packed, (("Content-Encoding", "gzip"),)))
    assert client.get("network", PATH) == b'{"ports": []}'


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            recorded_error("port-gone"),
            "404 (request req-b3acc063-c1eb-4d18-a8d5-dc23a6fa15cf): Port "
            "11111111-1111-1111-1111-111111111111 could not be found.; nothing is at that address: "
            "check the endpoint in the catalogue",
        ),
        (
            recorded_error("bad-visibility"),
            "400 (request req-44c31686-1f2e-4e98-85db-d63ee0e6136d); the request does not suit "
            "this release of the service",
        ),
        (
            reply(500, {"computeFault": {"message": "Unexpected API Error."}}),
            "500: Unexpected API Error.; the service's log has the reason, under the request "
            "id; tried 4 times",
        ),
        (Reply(504, b"<html>\x1b[2J</html>"), "504; the service did not answer its proxy in time: "
         "try again, or raise its timeout; tried 4 times"),
        (reply(418, {"message": "I am\x1b[31m a\nteapot"}), "418: I am [31m a teapot"),
        (reply(418, ["not", "a", "map"]), "418"),
        (reply(418, {"message": 7, "error": {"message": None}}), "418"),
        (Reply(418, b"[" * 100_000), "418"),
        (Reply(204, b""), "204"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_of_success(
    cloud: FakeCloud, client: Client, answer: Reply, words: str
) -> None:
    answered(cloud, answer)
    assert reason(cloud, client) == words


def test_its_status_is_told(cloud: FakeCloud, client: Client) -> None:
    answered(cloud, recorded_error("hypervisors-forbidden"))
    assert failure(client).status == 403


def test_a_token_that_has_run_out_is_renewed_once(cloud: FakeCloud, client: Client) -> None:
    seen: list[Asked] = []

    def intercept(asked: Asked) -> Reply | None:
        if asked.path.endswith(PATH):
            seen.append(asked)
            return recorded_error("bad-token") if len(seen) == 1 else Reply(200, b"{}")
        return None

    cloud.intercept = intercept
    assert client.get("network", PATH) == b"{}"
    assert len(seen) == 2
    assert client.cloud.session.calls["identity"] == 3  # Keystone's version, a token, a token


def test_an_answer_that_is_too_large(
    cloud: FakeCloud, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_MOST_BYTES", 1 << 20)
    answered(cloud, Reply(200, bytes(2 << 20)))
    assert reason(cloud, client) == "its answer is larger than 1 MiB"
    packed = gzip.compress(bytes(2 << 20))
    answered(cloud, Reply(200, packed, (("Content-Encoding", "gzip"),)))
    assert reason(cloud, client) == "its answer is larger than 1 MiB"


def test_an_error_that_is_too_large(cloud: FakeCloud, client: Client) -> None:
    answered(cloud, Reply(500, b'{"message": "' + bytes(1 << 20)))
    assert reason(cloud, client).startswith("500; the service's log")


def test_an_answer_that_breaks_off(cloud: FakeCloud, client: Client) -> None:
    headers = (("Content-Length", "1000"), ("Connection", "close"))
    answered(cloud, Reply(200, b'{"ports": [', headers))
    assert "IncompleteRead(11 bytes read, 989 more expected)" in reason(cloud, client)


def test_an_answer_that_is_not_what_it_says(cloud: FakeCloud, client: Client) -> None:
    answered(cloud, Reply(200, b"not gzip", (("Content-Encoding", "gzip"),)))
    assert "failed to decode it" in reason(cloud, client)


def test_an_answer_that_never_comes(cloud: FakeCloud) -> None:
    over = threading.Event()
    client = Client(connect("admin", deadline=30))
    client.endpoint("network")
    client.cloud = client.cloud._replace(deadline=0.5)
    cloud.intercept = silent_until(over)
    try:
        words = "no complete answer within 0.5 s; VNICAUDIT_DEADLINE allows more; tried 2 times"
        assert reason(cloud, client) == words
        assert failure(client).status is None
    finally:
        over.set()


@pytest.mark.usefixtures("cloud")
def test_a_service_that_is_gone(client: Client) -> None:
    gone = client.endpoint("network")._replace(url="http://user:secret@127.0.0.1:9/v2.0")
    client._endpoints["network"] = gone
    assert failure(client).message == (
        "network: GET http://127.0.0.1:9/v2.0/ports: nothing is listening there: is the "
        "service running, is the port right?; tried 4 times"
    )
