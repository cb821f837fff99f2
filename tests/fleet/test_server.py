import socket
import threading
import urllib.request

import pytest

from tests.fleet.served import ROUTES, asked, connected, everything, served, status
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.fleet.serving import (
    HTML,
    Limits,
    ListenAddress,
    RouteContent,
    host_names,
    listen_address,
)

GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_page_and_metrics_are_served_and_nothing_else() -> None:
    with served() as server:
        with urllib.request.urlopen(f"{server.address.url}/metrics?x=1") as answer:
            assert answer.read() == b"up 1\n"
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4"
        for path in (
            b"/nothing",
            b"/../etc/passwd",
            b"/metrics/",
            b"http://localhost/x",
            b"http://localhost/",
            b"/%2e%2e/metrics",
            b"/metrics;x",
            b"/metrics%00",
            b"/./metrics",
            b"*",
        ):
            assert (
                status(asked(server, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)) == 404
            )


@pytest.mark.parametrize("path", [b"/", b"/metrics", b"/none"])
def test_every_answer_has_strict_headers_and_no_version(path: bytes) -> None:
    with served() as server:
        head = asked(server, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path).split(
            b"\r\n\r\n"
        )[0]
    assert b"X-Content-Type-Options: nosniff" in head
    assert b"frame-ancestors 'none'" in head
    assert b"Cache-Control: no-store" in head
    assert b"Referrer-Policy: no-referrer" in head
    assert b"Cross-Origin-Resource-Policy: same-origin" in head
    assert (b"default-src 'none'" in head) == (path != b"/")
    assert b"Server: vnicaudit\r\n" in head
    assert b"Access-Control" not in head
    assert b"python" not in head.lower()


@pytest.mark.parametrize(
    "method", [b"POST", b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"TRACE", b"BREW"]
)
def test_no_method_but_get_and_head_does_anything(method: bytes) -> None:
    with served() as server:
        answer = asked(server, method + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert status(answer) == 405
    assert b"Allow: GET, HEAD\r\n" in answer


def test_head_has_the_headers_alone() -> None:
    with served() as server:
        answer = asked(server, GET.replace(b"GET", b"HEAD"))
    assert answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: 5\r\n" in answer


@pytest.mark.parametrize(
    ("host", "code"),
    [
        (b"localhost", 200), (b"localhost:9", 200), (b"127.0.0.1:9817", 200), (b"[::1]:9817", 200),
        (b"192.0.2.7", 200), (b"vnic.example.org", 200), (b"VNIC.example.org.", 200),
        (b"evil.example.org", 421), (b"localhost.evil.example", 421), (b"vnic.example.org@x", 421),
        (b"", 421), (b"127.0.0.1.example.org", 421), (b"[::1", 421), (b"localhost:x", 421),
        (b"loc alhost", 421), (b"localhost\r\nHost: evil.example", 400),
        (b"localhost\r\n evil.example", 421), (b"0x7f000001", 421), (b"127.1", 421),
        (b"localhost\x00", 421), (b"localhost, evil.example", 421), (b"*", 421),
    ],
)  # fmt: skip
def test_a_name_that_somebody_gave_our_address_is_refused(host: bytes, code: int) -> None:
    with served(names=("vnic.example.org",)) as server:
        assert status(asked(server, b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")) == code


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde", 413),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 500 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"b" * 70000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a b c\r\n\r\n", 400),
    ],
)
def test_what_is_no_small_request_is_refused(request_: bytes, code: int) -> None:
    with served() as server:
        assert status(asked(server, request_)) == code
        assert status(asked(server, GET)) == 200


def _read(connection: socket.socket, ended: threading.Event) -> None:
    everything(connection)
    ended.set()


def test_one_who_says_nothing_is_cut_off_and_so_is_one_who_says_little() -> None:
    with served(limits=Limits(idle=3, whole=6)) as server:
        with connected(server) as silent:
            assert everything(silent) == b""
        with connected(server) as slow:
            ended = threading.Event()
            reader = threading.Thread(target=_read, args=(slow, ended))
            reader.start()
            while not ended.wait(0.1):
                try:
                    slow.sendall(b"G")
                except OSError:
                    break
            reader.join(120)
            assert ended.is_set()
        assert status(asked(server, GET)) == 200


def test_too_many_at_once_are_told_so_and_the_next_is_served() -> None:
    with served(limits=Limits(requests=2, idle=60)) as server:
        with connected(server) as one, connected(server) as other:
            for each in (one, other):
                each.sendall(GET[:-2])
            answer = asked(server, b"")
            assert status(answer) == 503
            assert b"Retry-After: 5" in answer
            for each in (one, other):
                each.sendall(GET[-2:])
                assert status(everything(each)) == 200
        assert status(asked(server, GET)) == 200


def test_a_reader_who_takes_nothing_holds_nobody_up() -> None:
    big = RouteContent(HTML, b"x" * (64 << 20))
    limits = Limits(requests=1, idle=3, whole=6)
    with (
        served({**ROUTES, "/": lambda: big}, limits) as server,
        connected(server) as slow,
    ):
        slow.sendall(GET.replace(b"/metrics", b"/"))
        assert slow.recv(100)
        while (answer := status(asked(server, GET))) != 200:
            assert answer == 503


def test_a_history_that_fails_is_a_503_without_its_reasons() -> None:
    def fails() -> RouteContent:
        raise TargetError("postgresql://audit:secret@db/history: no route")

    told: list[str] = []
    with served({**ROUTES, "/metrics": fails}, errors=told) as server:
        answer = asked(server, GET)
        assert status(answer) == 503
        assert b"secret" not in answer
        assert status(asked(server, GET.replace(b"/metrics", b"/"))) == 200
    assert told == ["postgresql://audit:secret@db/history: no route"]


def test_a_mistake_of_ours_is_a_500_and_is_logged() -> None:
    def fails() -> RouteContent:
        raise KeyError("")

    told: list[str] = []
    with served({**ROUTES, "/metrics": fails}, errors=told) as server:
        assert status(asked(server, GET)) == 500
        assert status(asked(server, GET.replace(b"/metrics", b"/"))) == 200
    assert told == ["internal error: KeyError: ''"]


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:9817", "127.0.0.1", 9817), ("[::1]:0", "::1", 0), ("localhost:1", "127.0.0.1", 1),
     ("127.8.0.9:1", "127.8.0.9", 1)],
)  # fmt: skip
def test_loopback_may_be_listened_on(text: str, host: str, port: int) -> None:
    assert listen_address(text, public=False) == ListenAddress(host, port)


@pytest.mark.parametrize(
    "text", ["0.0.0.0:1", "[::]:1", "192.0.2.7:1", "[2001:db8::1]:1", "[::ffff:192.0.2.7]:1"]
)
def test_an_address_of_others_needs_an_option(text: str) -> None:
    with pytest.raises(UsageError, match="--public"):
        listen_address(text, public=False)
    assert not listen_address(text, public=True).is_loopback


@pytest.mark.parametrize(
    "text", ["", "9817", ":9817", "kvm7:9817", "127.0.0.1", "127.0.0.1:99999", "::1:1", "[::1]"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        listen_address(text, public=True)


@pytest.mark.parametrize("name", ["http://a", "a:1", "a b", "", "a/b"])
def test_a_name_of_a_host_is_without_scheme_and_port(name: str) -> None:
    with pytest.raises(UsageError):
        host_names((name,))
