"""The one place that asks a service: GET, with a deadline and a bound on what is taken in.

What a service does not give for a moment (429, 5xx, a connection that breaks, no answer in time) is
asked for again: after what its Retry-After says, or ever longer pauses, for as long as the deadline
of one answer. A token that has run out is renewed by the session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.binding import keystone_errors, requests, transport_errors
from vnicaudit.platforms.openstack.connect import Cloud, Endpoint
from vnicaudit.platforms.openstack.failures import place, plain, refusal, transport
from vnicaudit.platforms.openstack.session import AWAY, RedirectError, retry_after
from vnicaudit.platforms.openstack.waiting import TimeUpError

_MOST_BYTES = 128 << 20
"""Of one answer: a page of servers is a few hundred KiB, with 64 KiB of ``user_data`` in each 33
MiB."""
_MOST_OF_ERROR = 64 << 10
_CHUNK = 64 << 10
TRANSPORT_ERRORS = (
    keystone_errors.ClientException,
    requests.RequestException,
    transport_errors.HTTPError,
    OSError,
)
_REQUEST_IDS = ("x-openstack-request-id", "x-compute-request-id")
_PAUSES = (0.5, 2.0, 5.0)
"""Before it is asked again, where the service does not say how long."""
_LATE = 2
"""How often there may be no answer in time: each has cost a whole deadline."""


class _Answer(NamedTuple):
    status: int
    body: bytes
    request: str | None
    pause: float | None
    """Seconds to wait that the service asks for."""


class CallError(TargetError):
    """A service did not give what it was asked for. ``status`` None: there was no answer."""

    def __init__(self, message: str, *, file: str, status: int | None = None) -> None:
        super().__init__(message, file=file)
        self.status = status


class Calls:
    """What is asked of one cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._endpoints: dict[str, Endpoint] = {}

    def endpoint(self, service: str) -> Endpoint:
        """Where a service is; looked for once. Raises TargetError. A service is asked by one
        thread alone, or was looked for before."""
        if service not in self._endpoints:
            self._endpoints[service] = self.cloud.endpoint(service)
        return self._endpoints[service]

    def get(
        self,
        service: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        microversion: str | None = None,
    ) -> bytes:
        """The body of the answer. Raises CallError: no answer, or not one of success, however often
        it was asked for."""
        url = f"{self.endpoint(service).url}{path}"
        return self._patiently(
            f"{service}: GET {place(url)}",
            lambda: self.cloud.within(
                service, lambda: self._fetch(service, url, query, microversion)
            ),
        )

    def _patiently(self, what: str, ask: Callable[[], _Answer]) -> bytes:
        late, waited = 0, 0.0
        for asked, pause in enumerate((*_PAUSES, None), 1):
            self._check_time()
            try:
                answer = ask()
            except TimeUpError:
                late += 1
                reason = (
                    f"no whole answer within {self.cloud.deadline:g} s; --deadline gives it more"
                )
                failed, pause = self._error(what, reason, asked), None if late == _LATE else 0.0
            except TRANSPORT_ERRORS as error:
                failed = self._error(what, transport(error), asked)
                pause = pause if _may_pass(error) else None
            else:
                if answer.status == 200:
                    return answer.body
                reason = refusal(answer.status, answer.body, answer.request)
                failed = self._error(what, reason, asked, answer.status)
                pause = _longer(pause, answer.pause) if answer.status in AWAY else None
            if pause is None or waited + pause > self.cloud.deadline:
                raise failed
            waited += pause
            time.sleep(pause)
        raise failed

    def _check_time(self) -> None:
        """Raises CallError where this cloud has had all the time there is for it."""
        if self.cloud.is_over():
            total = self.cloud.limits.total
            raise CallError(
                f"not read to its end within {total:g} s; --cloud-deadline gives it more",
                file=self.cloud.target,
            )

    def _error(self, what: str, reason: str, asked: int, status: int | None = None) -> CallError:
        times = "" if asked == 1 else f"; asked {asked} times"
        message = self.cloud.session.masked(f"{what}: {reason}{times}")
        return CallError(message, file=self.cloud.target, status=status)

    def _fetch(
        self, service: str, url: str, query: Sequence[tuple[str, str]], microversion: str | None
    ) -> _Answer:
        answer = self.cloud.session.request(
            url,
            "GET",
            params=list(query),
            headers={"Accept": "application/json"},
            microversion=microversion,
            microversion_service_type=service if microversion else None,
            raise_exc=False,
            log=False,
            stream=True,
        )
        with answer:
            most = _MOST_BYTES if answer.status_code == 200 else _MOST_OF_ERROR
            body = _body(answer, most)
            request = next(
                (answer.headers[key] for key in _REQUEST_IDS if key in answer.headers), None
            )
            return _Answer(answer.status_code, body, request, retry_after(answer))


def _may_pass(error: Exception) -> bool:
    """Whether asking again can help: not where the answer is larger than any can be, nor where it
    redirects to another host."""
    return not isinstance(error, (TooLargeError, RedirectError, keystone_errors.SSLError))


def _longer(pause: float | None, wanted: float | None) -> float | None:
    return pause if pause is None or wanted is None else max(pause, wanted)


class TooLargeError(OSError):
    """An answer that is larger than any can be."""


def _body(answer: requests.Response, most: int) -> bytes:
    """All of it. Raises TooLargeError where a good answer is larger than any can be; of an error
    only the beginning is taken."""
    taken = bytearray()
    for chunk in answer.iter_content(_CHUNK):
        taken += chunk
        if len(taken) > most:
            if answer.status_code == 200:
                raise TooLargeError(f"its answer is larger than {plain(str(most >> 20))} MiB")
            break
    return bytes(taken)
