"""The one place that asks a service: GET, with a deadline and a bound on what is taken in.

Nothing is retried but what keystoneauth does by itself: a token that has run out is renewed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.binding import keystone_errors, requests, transport_errors
from vnicaudit.platforms.openstack.connect import Cloud, Endpoint
from vnicaudit.platforms.openstack.failures import place, plain, refusal, transport
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
        """The body of the answer. Raises CallError: no answer, or not one of success."""
        url = f"{self.endpoint(service).url}{path}"
        what = f"{service}: GET {place(url)}"
        try:
            status, body, request = self.cloud.within(
                service, lambda: self._fetch(service, url, query, microversion)
            )
        except TimeUpError:
            reason = f"no whole answer within {self.cloud.deadline:g} s; --deadline gives it more"
            raise self._error(f"{what}: {reason}") from None
        except TRANSPORT_ERRORS as error:
            raise self._error(f"{what}: {transport(error)}") from None
        if status != 200:
            raise self._error(f"{what}: {refusal(status, body, request)}", status)
        return body

    def _error(self, message: str, status: int | None = None) -> CallError:
        return CallError(message, file=self.cloud.target, status=status)

    def _fetch(
        self, service: str, url: str, query: Sequence[tuple[str, str]], microversion: str | None
    ) -> tuple[int, bytes, str | None]:
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
            return answer.status_code, body, request


def _body(answer: requests.Response, most: int) -> bytes:
    """All of it. Raises OSError where a good answer is larger than any can be; of an error only
    the beginning is taken."""
    taken = bytearray()
    for chunk in answer.iter_content(_CHUNK):
        taken += chunk
        if len(taken) > most:
            if answer.status_code == 200:
                raise OSError(f"its answer is larger than {plain(str(most >> 20))} MiB")
            break
    return bytes(taken)
