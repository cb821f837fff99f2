"""Reading a cloud: one 503 or reset lost all servers behind it, a token that one thread renewed
failed the others, and a redirect took the token, or the password, to another host. A service that
said the token in its error had it printed, and answers of a login were read whole."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import pytest

from tests.fleet.receiver import Receiver, receiving
from tests.platforms.openstack.cloud import Asked, FakeCloud, Reply, recorded_error, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect, read, run
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import CLOUD_SECONDS
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack import session
from vnicaudit.platforms.openstack.connect import Login

__all__ = ["cloud", "nowhere"]

SERVERS = "/compute/v2.1/servers/detail"
TOKENS = "/identity/v3/auth/tokens"


def everything(
    name: str, total: float = CLOUD_SECONDS, login: Login = connect
) -> tuple[int, list[str]]:
    """How many servers were read of a cloud, and what could not be."""
    items = list(read(name, total=total, login=login).items)
    errors = [item.message for item in items if isinstance(item, ReadError)]
    return len([item for item in items if isinstance(item, Domain)]), errors


def once(path: str, answer: Reply) -> Callable[[Asked], Reply | None]:
    """Answers the first request of a path so."""
    left = [answer]

    def intercept(asked: Asked) -> Reply | None:
        return left.pop() if asked.path == path and left else None

    return intercept


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_one_answer_that_fails_loses_no_server(cloud: FakeCloud, status: int) -> None:
    whole = everything("admin")
    cloud.intercept = once(SERVERS, reply(status, {}, Retry_After="0"))
    assert everything("admin") == whole
    assert whole[0] > 0
    assert whole[1] == []


def test_an_answer_that_breaks_off_loses_no_server(cloud: FakeCloud) -> None:
    whole = everything("admin")
    headers = (("Content-Length", "1000"), ("Connection", "close"))
    cloud.intercept = once(SERVERS, Reply(200, b'{"servers": [', headers))
    assert everything("admin") == whole


def test_a_service_that_wants_a_long_pause_is_not_waited_for_beyond_the_deadline(
    cloud: FakeCloud,
) -> None:
    cloud.intercept = once(SERVERS, reply(429, {}, Retry_After="3600"))
    servers, errors = everything("admin")
    assert servers == 0
    assert [error.partition(": 429")[0] for error in errors] == [
        f"compute: GET {cloud.url}{SERVERS}"
    ]


@pytest.mark.parametrize("pause", ["99999999999999999999", "-5", "100000", "soon"])
def test_a_login_is_repeated_whatever_pause_is_asked_for(cloud: FakeCloud, pause: str) -> None:
    whole = everything("admin")
    cloud.intercept = once(TOKENS, reply(503, {}, Retry_After=pause))
    assert everything("admin") == whole


PAGES = 5


class Endless(NamedTuple):
    """The pages that were asked for, and how the cloud is entered."""

    asked: list[str]
    login: Login


@pytest.fixture
def endless(cloud: FakeCloud) -> Endless:
    """A list of servers with a next page behind each, and a clock that stands still until so many
    pages were asked for, and goes on by three seconds then."""
    asked: list[str] = []

    def intercept(came: Asked) -> Reply | None:
        if came.path != SERVERS:
            return None
        asked.append(came.path)
        link = {"rel": "next", "href": f"http://x/?marker={len(asked)}"}
        more = [link] if len(asked) < 2 * PAGES else []  # a test that fails ends, too
        return reply(200, {"servers": [], "servers_links": more})

    def clock() -> float:
        return 53.0 if len(asked) >= PAGES else 50.0

    cloud.intercept = intercept
    return Endless(asked, partial(connect, clock=clock))


TIME_UP = "not completely read within {} s; VNICAUDIT_CLOUD_DEADLINE allows more"


def test_no_list_is_read_for_ever(endless: Endless) -> None:
    _servers, errors = everything("admin", 2.0, endless.login)
    assert set(errors) == {TIME_UP.format(2)}  # more than one: of lists that were late as well
    assert len(endless.asked) == PAGES


def test_a_list_is_read_to_its_end_where_there_is_time(endless: Endless) -> None:
    _servers, errors = everything("admin", 4.0, endless.login)
    assert errors == []
    assert len(endless.asked) == 2 * PAGES


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("words", [("audit", "--level", "never"), ("plan",), ("nics",)])
def test_the_time_that_a_cloud_is_given_is_all_that_it_takes(
    endless: Endless, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], by: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", "200")
    if by == "variable":
        monkeypatch.setenv("VNICAUDIT_CLOUD_DEADLINE", "2.5")
    given = ["VNICAUDIT_CLOUD_DEADLINE=2.5"] if by == "option" else []
    assert run([*words, *given, "openstack:admin"], endless.login) == 4
    said = capsys.readouterr()
    assert TIME_UP.format(2.5) in said.out + said.err
    assert len(endless.asked) == PAGES


def test_a_token_that_another_thread_renewed_fails_nobody(cloud: FakeCloud) -> None:
    """Eight threads are refused the first token at the same moment."""
    found = connect("admin", deadline=30)
    found.endpoint("network")
    together = threading.Barrier(8)

    def intercept(asked: Asked) -> Reply | None:
        if asked.path != "/network/v2.0/ports" or asked.token != "token-of-admin":
            return None
        together.wait(30)
        return recorded_error("bad-token")

    cloud.intercept = intercept
    statuses: list[int] = []

    def ask(name: str) -> None:
        url = f"{cloud.url}/network/v2.0/ports?first={name}"
        answer = found.session.request(url, "GET", raise_exc=False)
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [200] * 8


@pytest.fixture
def elsewhere() -> Iterator[Receiver]:
    """Another host."""
    with receiving() as receiver:
        yield receiver


def test_a_redirect_takes_no_token_elsewhere(cloud: FakeCloud, elsewhere: Receiver) -> None:
    url = f"http://127.0.0.1:{elsewhere.server_port}"
    cloud.intercept = lambda asked: (
        Reply(302, b"", (("Location", f"{url}/x"),)) if asked.path == SERVERS else None
    )
    servers, errors = everything("admin")
    assert (servers, elsewhere.got) == (0, [])
    assert errors == [
        (
            f"compute: GET {cloud.url}{SERVERS}: {cloud.url}{SERVERS} redirects to {url}/x, "
            "which is not followed, as the credentials would be sent there; correct the "
            "address in the catalogue or in clouds.yaml"
        )
    ]


def test_a_redirect_takes_no_password_elsewhere(cloud: FakeCloud, elsewhere: Receiver) -> None:
    cloud.intercept = lambda asked: (
        Reply(307, b"", (("Location", elsewhere.url),)) if asked.method == "POST" else None
    )
    with pytest.raises(TargetError, match=r"redirects to .*, which is not followed"):
        connect("admin", deadline=30)
    assert elsewhere.got == []


def test_a_redirect_on_the_same_host_is_followed(cloud: FakeCloud) -> None:
    whole = everything("admin")
    cloud.intercept = once(SERVERS, Reply(301, b"", (("Location", f"{cloud.url}{SERVERS}"),)))
    assert everything("admin")[0] == whole[0]


def test_a_token_that_a_service_says_is_not_printed(cloud: FakeCloud) -> None:
    def intercept(asked: Asked) -> Reply | None:
        if asked.path != SERVERS:
            return None
        return reply(400, {"badRequest": {"message": f"token {asked.token} is wrong"}})

    cloud.intercept = intercept
    _servers, (error,) = everything("admin")
    assert "token-of-admin" not in error
    assert "token *** is wrong" in error


def test_a_login_is_not_read_whole(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_MOST_BYTES", 1 << 20)
    cloud.intercept = lambda asked: (
        Reply(201, bytes(2 << 20), (("X-Subject-Token", "x"),)) if asked.method == "POST" else None
    )
    with pytest.raises(TargetError, match="its answer is larger than 1 MiB"):
        connect("admin", deadline=30)
