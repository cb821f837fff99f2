"""``ps`` showed every user the token by which the generator's server lets its client in, at both
ends and for the whole run."""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.bench.engines import rr
from vnicaudit.bench.engines._rr import places
from vnicaudit.model.measurement import Workload


class Watcher:
    """Reads all command lines of this machine, over and over."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(path.read_bytes())
                except OSError:
                    continue
            self._over.wait(0.005)


@pytest.fixture
def ends() -> Iterator[Ends]:
    target, peer = open_endpoint("local"), open_endpoint("local")
    yield Ends(target, peer, "127.0.0.1", seed=5)
    target.close()
    peer.close()


def test_no_command_line_holds_the_token_of_a_run(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    real: Callable[[int], str] = secrets.token_hex

    def token_hex(size: int) -> str:
        drawn.append(real(size))
        return drawn[-1]

    monkeypatch.setattr(secrets, "token_hex", token_hex)
    with Watcher() as watcher:
        found = rr.measure(
            Workload(id="w", engine="rr", pattern="rr1c-1x1", direction="both", seconds=1.0), ends
        )
    assert found.error == ""
    (token,) = [word for word in drawn if len(word) == 32]
    assert all(any(role in line.split(b"\0") for line in watcher.seen) for role in _ROLES)
    for secret in _shapes(token):
        assert not [line for line in watcher.seen if secret in line]
    for endpoint in (ends.target, ends.peer):
        key = places.place(endpoint).key
        file = Path(places.place(endpoint).key_file)
        assert file.read_bytes() == key
        assert file.stat().st_mode & 0o777 == 0o600
        for secret in _shapes(key.hex()):
            assert not [line for line in watcher.seen if secret in line]
    assert token not in repr([ran.command for ran in found.raw])


_ROLES = (b"server", b"client")


def _shapes(secret: str) -> tuple[bytes, ...]:
    data = bytes.fromhex(secret)
    return (
        secret.encode(), base64.b64encode(data).rstrip(b"=")[:-1],
        base64.b64encode(secret.encode()).rstrip(b"=")[:-1],
    )  # fmt: skip


def test_the_folder_of_the_key_is_its_users_alone(ends: Ends) -> None:
    for endpoint in (ends.target, ends.peer):
        assert isinstance(endpoint, EndpointSession)
        assert Path(endpoint.folder).stat().st_mode & 0o777 == 0o700
        assert places.place(endpoint).key_file.startswith(f"{endpoint.folder}/")
    assert places.place(ends.target).key != places.place(ends.peer).key
