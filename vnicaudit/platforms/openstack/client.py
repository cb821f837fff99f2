"""The one place that sends requests to services, with a deadline and a limit on the size of
answers.

After a temporary failure (429, 5xx, a broken connection, no answer in time) a request is repeated:
after the time in Retry-After, or after ever longer pauses, for as long as the deadline of one
answer. A change is never repeated: the caller has to check whether it was made. The session renews
a token that has expired.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from vnicaudit.base.deadlines import TimeUpError, sleep
from vnicaudit.errors import ActionError, NoResponseError, TargetError
from vnicaudit.platforms.openstack.connect import CloudLogin, ServiceEndpoint
from vnicaudit.platforms.openstack.session import (
    AWAY,
    RedirectError,
    TooLargeError,
    bare_url,
    body_of,
    keystone_errors,
    refusal,
    requests,
    retry_after,
    transport,
    transport_errors,
)

_MOST_BYTES = 128 << 20
"""Maximum size of one answer: a page of servers is a few hundred KiB; with 64 KiB of ``user_data``
in each it is 33 MiB."""
_MOST_OF_ERROR = 64 << 10
_JSON = "application/json"
_TRANSPORT_ERRORS = (
    keystone_errors.ClientException,
    requests.RequestException,
    transport_errors.HTTPError,
    OSError,
)
_FINAL_ERRORS = (TooLargeError, RedirectError, keystone_errors.SSLError)
"""Errors after which repeating the request cannot help."""
_REQUEST_IDS = ("x-openstack-request-id", "x-compute-request-id")
_LATE = 2
"""How many timeouts are tolerated: each has taken a whole deadline."""


class _Answer(NamedTuple):
    status: int
    body: bytes
    request: str | None
    pause: float | None
    """Seconds to wait that the service requests."""


class CallError(TargetError):
    """A failed request for reading. ``status`` None: there was no answer."""

    def __init__(self, message: str, *, file: str, status: int | None = None) -> None:
        super().__init__(message, file=file)
        self.status = status


class AnswerError(ActionError):
    """A service refused a request that is part of a change. ``status`` is the status of its
    answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Sends requests to the services of one cloud, for reading."""

    def __init__(self, cloud: CloudLogin) -> None:
        self.cloud = cloud
        self._endpoints: dict[str, ServiceEndpoint] = {}

    def endpoint(self, service: str) -> ServiceEndpoint:
        """The endpoint of a service, looked up once. Raises TargetError. Each service is used by
        only one thread, or was looked up before."""
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
        """The body of the answer. Raises CallError if there is no answer, or none with success,
        after all repetitions."""
        url = f"{self.endpoint(service).url}{path}"
        return self._patiently(
            f"{service}: GET {bare_url(url)}",
            lambda: _exchange(
                self.cloud, "GET", service, url, _MOST_BYTES,
                query=query, microversion=microversion,
            ),
        )  # fmt: skip

    def _patiently(self, what: str, ask: Callable[[], _Answer]) -> bytes:
        late, waited = 0, 0.0
        for asked, pause in enumerate((*self.cloud.session.pauses, None), 1):
            if self.cloud.is_over():
                raise CallError(
                    f"not completely read within {self.cloud.total:g} s; VNICAUDIT_CLOUD_DEADLINE "
                    "allows more",
                    file=self.cloud.target,
                )
            try:
                answer = ask()
            except TimeUpError:
                late += 1
                within = f"within {self.cloud.deadline:g} s"
                reason = f"no complete answer {within}; VNICAUDIT_DEADLINE allows more"
                failed, pause = self._error(what, reason, asked), None if late == _LATE else 0.0
            except _TRANSPORT_ERRORS as error:
                failed = self._error(what, transport(error), asked)
                if isinstance(error, _FINAL_ERRORS):
                    pause = None
            else:
                if answer.status == 200:
                    return answer.body
                reason = refusal(answer.status, answer.body, answer.request)
                failed = self._error(what, reason, asked, answer.status)
                away = pause is not None and answer.status in AWAY
                pause = max(pause or 0.0, answer.pause or 0.0) if away else None
            if pause is None or waited + pause > self.cloud.deadline:
                raise failed
            waited += pause
            sleep(pause)
        raise failed

    def _error(self, what: str, reason: str, asked: int, status: int | None = None) -> CallError:
        times = "" if asked == 1 else f"; tried {asked} times"
        message = self.cloud.session.masked(f"{what}: {reason}{times}")
        return CallError(message, file=self.cloud.target, status=status)


class ChangingClient:
    """Sends requests to the services of one cloud, for reading and changing. Any thread may use
    it."""

    def __init__(self, cloud: CloudLogin) -> None:
        self.cloud = cloud
        self._client = Client(cloud)
        self._lock = threading.Lock()

    def endpoint(self, service: str) -> ServiceEndpoint:
        """The endpoint of a service. Raises NoResponseError if it cannot be found."""
        with self._lock:
            try:
                return self._client.endpoint(service)
            except TargetError as error:
                raise NoResponseError(error.message) from None

    def get(
        self, service: str, path: str, query: Sequence[tuple[str, str]] = (),
        microversion: str | None = None,
    ) -> bytes:  # fmt: skip
        """The body of the answer. Raises AnswerError, and NoResponseError if there is no answer
        after several requests."""
        self.endpoint(service)
        try:
            return self._client.get(service, path, query, microversion)
        except CallError as error:
            if error.status is None or error.status in AWAY:
                raise NoResponseError(error.message) from None
            raise AnswerError(error.message, error.status) from None

    def send(
        self, method: str, service: str, path: str, body: object = None, *,
        microversion: str | None = None, content: str = _JSON,
    ) -> None:  # fmt: skip
        """Request an action; ``body`` is sent as JSON. Raises AnswerError, and NoResponseError if
        there is no answer: the action may still have been done."""
        url = f"{self.endpoint(service).url}{path}"
        what, cloud = f"{service}: {method} {bare_url(url)}", self.cloud
        data = None if body is None else msgspec.json.encode(body)
        try:
            answer = _exchange(
                cloud, method, service, url, 0,
                data=data, content=content, microversion=microversion,
            )  # fmt: skip
        except TimeUpError:
            raise NoResponseError(
                f"{what}: no answer within {cloud.deadline:g} s; it may still take effect"
            ) from None
        except _TRANSPORT_ERRORS as error:
            raise NoResponseError(cloud.session.masked(f"{what}: {transport(error)}")) from None
        if answer.status >= 400:
            reason = refusal(answer.status, answer.body, answer.request)
            raise AnswerError(f"{what}: {cloud.session.masked(reason)}", answer.status)


def part(text: str) -> str:
    """A text quoted as one part of a path, so that it cannot lead elsewhere."""
    return quote(text, safe="")


def _exchange(
    cloud: CloudLogin, method: str, service: str, url: str, most: int, *,
    query: Sequence[tuple[str, str]] = (), data: bytes | None = None, content: str | None = None,
    microversion: str | None = None,
) -> _Answer:  # fmt: skip
    """Send a request once, within the deadline. ``most``: maximum bytes of a successful answer,
    which is read completely; 0: only the beginning of any answer is read. Raises TimeUpError and
    the errors of the transport."""
    headers = {"Accept": _JSON} if content is None else {"Accept": _JSON, "Content-Type": content}

    def work() -> _Answer:
        answer = cloud.session.request(
            url,
            method,
            params=list(query),
            data=data,
            headers=headers,
            microversion=microversion,
            microversion_service_type=service if microversion else None,
            raise_exc=False,
            log=False,
            stream=True,
        )
        with answer:
            whole = bool(most) and answer.status_code == 200
            body = body_of(answer, most if whole else _MOST_OF_ERROR, cut=not whole)
            ids = (answer.headers[key] for key in _REQUEST_IDS if key in answer.headers)
            return _Answer(answer.status_code, body, next(ids, None), retry_after(answer))

    return cloud.within(service, work)
