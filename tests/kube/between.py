"""A server between the program and the real API server: it may change what is asked, and what is
answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException

from tests.kube.server import Refused, Server
from tests.platforms.kubevirt.live.api_server import Asked, FakeServer, Reply, served

_KINDS = {"PATCH": "application/json-patch+json"}


class Between(FakeServer):
    """``intercept`` may answer before the real one is asked; ``happens``: what that is asked
    instead; ``answered``: what is answered instead, after it has answered. While the real one does
    not answer, a gateway says so."""

    def __init__(self, cluster: Server) -> None:
        super().__init__()
        self._cluster = cluster
        self.happens: Callable[[Asked], Asked] = lambda asked: asked
        self.answered: Callable[[Asked, Reply], Reply] = lambda _asked, reply: reply

    def reply(self, asked: Asked, body: bytes) -> Reply:
        """The answer of the real one."""
        self.asked.append(asked)
        if (other := self.intercept(asked)) is not None:
            return other
        asked = self.happens(asked)
        return self.answered(asked, self._passed_on(asked, body))

    def _passed_on(self, asked: Asked, body: bytes) -> Reply:
        kind = _KINDS.get(asked.method, "application/json")
        told = json.loads(body) if body else None
        try:
            found = self._cluster.ask(
                asked.method, asked.path, told, token=asked.token, kind=kind, **asked.query
            )
        except Refused as error:
            return Reply(error.status, error.body.encode())
        except (OSError, HTTPException):
            return GATEWAY
        return Reply(200, json.dumps(found).encode() if found else b"")


GATEWAY = Reply(502, b"Bad Gateway\n")


@contextmanager
def between(cluster: Server) -> Iterator[Between]:
    """One that runs."""
    with served(Between(cluster)) as server:
        assert isinstance(server, Between)
        yield server
