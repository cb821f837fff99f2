"""What is asked of a cloud in order to change it. Reading goes through ``calls.py`` all the same.

A question is asked again where a service is away for a moment; an order never is: whether it came
through has to be looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import msgspec

from vnicaudit.errors import ActionError, SilentError, TargetError
from vnicaudit.platforms.openstack.calls import TRANSPORT_ERRORS, CallError, Calls
from vnicaudit.platforms.openstack.connect import Cloud, Endpoint
from vnicaudit.platforms.openstack.failures import place, refusal, transport
from vnicaudit.platforms.openstack.session import AWAY
from vnicaudit.platforms.openstack.waiting import TimeUpError

_MOST_BYTES = 1 << 20
JSON = "application/json"


class AnswerError(ActionError):
    """A service said no. ``status`` is what it answered with."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Orders:
    """What is asked of one cloud. Any thread may use it."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._calls = Calls(cloud)
        self._lock = threading.Lock()

    def endpoint(self, service: str) -> Endpoint:
        """Where a service is. Raises SilentError where it is not to be found."""
        with self._lock:
            try:
                return self._calls.endpoint(service)
            except TargetError as error:
                raise SilentError(error.message) from None

    def get(
        self, service: str, path: str, query: Sequence[tuple[str, str]] = (),
        microversion: str | None = None,
    ) -> bytes:  # fmt: skip
        """The body of the answer. Raises AnswerError, and SilentError where there is none though it
        was asked several times."""
        self.endpoint(service)
        try:
            return self._calls.get(service, path, query, microversion)
        except CallError as error:
            if error.status is None or error.status in AWAY:
                raise SilentError(error.message) from None
            raise AnswerError(error.message, error.status) from None

    def send(
        self, method: str, service: str, path: str, body: Any = None, *,
        microversion: str | None = None, content: str = JSON,
    ) -> None:  # fmt: skip
        """Have something done; ``body`` as JSON. Raises AnswerError, and SilentError where there is
        no answer: it may be done all the same."""
        url = f"{self.endpoint(service).url}{path}"
        what = f"{service}: {method} {place(url)}"
        try:
            status, said, request = self.cloud.within(
                service, lambda: self._sent(method, service, url, body, microversion, content)
            )
        except TimeUpError:
            raise SilentError(
                f"{what}: no answer within {self.cloud.deadline:g} s; it may be done all the same"
            ) from None
        except TRANSPORT_ERRORS as error:
            raise SilentError(self.cloud.session.masked(f"{what}: {transport(error)}")) from None
        if status >= 400:
            reason = self.cloud.session.masked(refusal(status, said, request))
            raise AnswerError(f"{what}: {reason}", status)

    def _sent(
        self, method: str, service: str, url: str, body: Any, microversion: str | None,
        content: str,
    ) -> tuple[int, bytes, str | None]:  # fmt: skip
        answer = self.cloud.session.request(
            url,
            method,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Accept": JSON, "Content-Type": content},
            microversion=microversion,
            microversion_service_type=service if microversion else None,
            raise_exc=False,
            log=False,
            stream=True,
        )
        with answer:
            said = next(answer.iter_content(_MOST_BYTES), b"")
            return answer.status_code, said, answer.headers.get("x-openstack-request-id")
