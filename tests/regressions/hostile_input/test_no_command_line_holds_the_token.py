"""``ps`` showed every user the token by which the generator's server lets its client in, at both
ends and for the whole run."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import open_endpoint
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.bench.engines import rr
from vnicaudit.bench.engines._rr_command import program_at
from vnicaudit.model.measurement import Ran, Workload


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
            for path in (process / "cmdline" for process in Path("/proc").glob("[0-9]*")):
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


def test_no_command_line_holds_the_token_of_a_run(ends: Ends) -> None:
    told: list[str] = []
    given: list[str] = []
    run = EndpointSession.run

    def listening(self: EndpointSession, argv: Sequence[str], **more: Any) -> Ran:
        given.extend(argv)
        ran = run(self, argv, **more)
        told.extend(re.findall(r"\b[0-9a-f]{32}\b", ran.stdout))
        return ran

    with pytest.MonkeyPatch.context() as patch, Watcher() as watcher:
        patch.setattr(EndpointSession, "run", listening)
        found = rr.measure(
            Workload(id="w", engine="rr", pattern="rr1c-1x1", direction="both", seconds=1.0), ends
        )
    assert found.error == ""
    token, key = told
    assert token != key
    # "key" ends at once: whoever watches may not see it
    assert {"key", "client"} <= set(given)
    assert any(b"client" in line.split(b"\0") for line in watcher.seen)
    for secret in (*_shapes(token), *_shapes(key)):
        assert not [line for line in (*watcher.seen, *map(str.encode, given)) if secret in line]
    assert token not in repr([ran.command for ran in found.raw])


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
        assert program_at(endpoint).startswith(f"{endpoint.folder}/")
