"""A session of keystoneauth that counts its requests, and does not trust the servers.

keystoneauth (5.18) follows a redirect to any host, sending the token or the password with it, and
reads answers to a login and to discovery completely, however large they are. It requests those
once, and continues without an answer: if a service is away for a moment, Nova would seem to have no
microversions. So this session has it repeat such requests, and records those that fail in the end.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timezone
from email.utils import parsedate_to_datetime
from itertools import takewhile
from math import ceil
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec

from vnicaudit.base.wording import plain
from vnicaudit.errors import MissingExtraError

# The one place that imports openstacksdk, keystoneauth and requests, and says what to install if
# they are missing.


try:
    import keystoneauth1.exceptions as keystone_errors
    import requests
    import urllib3.exceptions as transport_errors
    import yaml
    from keystoneauth1.access.access import AccessInfo
    from keystoneauth1.identity.base import BaseIdentityPlugin
    from keystoneauth1.plugin import AUTH_INTERFACE
    from keystoneauth1.session import Session
    from openstack.config import OpenStackConfig, loader
    from openstack.config.cloud_region import CloudRegion
    from openstack.exceptions import SDKException
except ImportError as error:
    raise MissingExtraError("reading an OpenStack cloud", "openstack") from error

for _name in ("keystoneauth", "keystoneauth1", "openstack"):
    # everything they log is raised as well; without a handler Python prints warnings
    logging.getLogger(_name).addHandler(logging.NullHandler())

__all__ = [
    "AUTH_INTERFACE",
    "AccessInfo",
    "BaseIdentityPlugin",
    "CloudRegion",
    "OpenStackConfig",
    "SDKException",
    "Session",
    "keystone_errors",
    "loader",
    "requests",
    "transport_errors",
    "yaml",
]


# Messages for failures of a cloud, with advice on what to do.
#
# They contain no password or token: keystoneauth's own messages have none, and user and query are
# removed from URLs.


_ADVICE = {
    400: "the request does not suit this release of the service",
    401: "the token was refused: log in again, or check that the service trusts this Keystone",
    403: "this user has no permission; a reader of the project, or an admin, has",
    404: "nothing is at that address: check the endpoint in the catalogue",
    429: "the service is limiting requests: try again later",
    502: "the proxy cannot reach the service: is it running?",
    503: "the service is not available: try again later",
    504: "the service did not answer its proxy in time: try again, or raise its timeout",
}
_SERVER_FAULT = "the service's log has the reason, under the request id"

_TRANSPORT = (
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted: name the CA's file with "
     "cacert: in clouds.yaml, or with OS_CACERT"),
    ("TLS CA certificate",
     "cacert: in clouds.yaml, or OS_CACERT, names a file that does not exist"),
    ("WRONG_VERSION_NUMBER",
     "the server does not speak TLS: should it be http:// instead of https://?"),
    ("Connection refused", (
        "nothing is listening there: is the service running, is the port right?"
    )),
    ("Name or service not known", "check the host name"),
    ("Temporary failure in name resolution", "check the host name and the resolver"),
    ("No address associated", "check the host name"),
    ("No route to host", "that network cannot be reached from here"),
    ("timed out", "there was no answer in time"),
)  # fmt: skip
"""Part of a message of the transport -> its meaning. The first match is used."""
_USER = re.compile(r"//[^/@\s]*@")


def transport(error: BaseException) -> str:
    """A short reason why there was no answer, with advice if there is any."""
    text = str(error)
    for needle, advice in _TRANSPORT:
        if needle in text:
            return advice
    return plain(_USER.sub("//", text)) or type(error).__name__


def refusal(status: int, body: bytes, request_id: str | None) -> str:
    """``503 (request req-…): the service's message; advice``."""
    request = f" (request {plain(request_id)})" if request_id else ""
    said = _error_message(body)
    advice = _ADVICE.get(status, _SERVER_FAULT if status >= 500 else "")
    return f"{status}{request}" + "".join(
        mark + part for mark, part in ((": ", said), ("; ", advice)) if part
    )


def _error_message(body: bytes) -> str:
    """The message in an error's body: ``{"forbidden": {"message": …}}`` (Nova, Keystone),
    ``{"NeutronError": {"message": …}}``, ``{"message": …}`` (Glance); empty for a page in HTML."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ""
    if not isinstance(found, dict):
        return ""
    inner = [value.get("message") for value in found.values() if isinstance(value, dict)]
    text = next((text for text in (*inner, found.get("message")) if isinstance(text, str)), "")
    return plain(text)


def login(error: Exception) -> str:
    """The reason why logging in to a cloud failed."""
    if isinstance(error, keystone_errors.Unauthorized):
        return (
            "Keystone refuses this user: check user, password (or application credential), project "
            "and their domains"
        )
    if isinstance(error, keystone_errors.EndpointNotFound):
        return f"{plain(str(error))}: check region_name, interface and the catalogue"
    if isinstance(error, keystone_errors.HttpError):
        return f"{error.http_status}: {plain(error.message or '')}".rstrip(": ")
    return transport(error)


def configured(error: Exception) -> str:
    """The message for an error in the configuration of a cloud."""
    if isinstance(error, keystone_errors.MissingRequiredOptions):
        names = ", ".join(sorted(option.dest for option in error.options))
        return f"the configuration lacks {names}"
    if isinstance(error, keystone_errors.NoMatchingPlugin):
        return (
            f"auth_type {plain(error.name)!r} is not known to the keystoneauth installed here: "
            "correct auth_type in clouds.yaml (or OS_AUTH_TYPE; password and "
            "v3applicationcredential are usual), or install the package that provides it"
        )
    return plain(_USER.sub("//", str(error))) or type(error).__name__


def bare_url(url: str) -> str:
    """A URL without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return plain(f"{parts.scheme}://{host}{parts.path}")


_MOST_BYTES = 8 << 20
"""Maximum size of an answer that is read completely: a login returns the catalogue, some dozen
KiB."""
_CHUNK = 64 << 10
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 305, 307, 308)
_TOKENS = 8
"""Number of this session's tokens that are remembered: it gets a new one about once an hour."""
_TOKEN = "X-Auth-Token"  # noqa: S105 - the name of a header
_LEAST_OF_TOKEN = 16
"""Minimum number of characters: a shorter beginning of a token, at the end of a cut text, is
harmless."""
AWAY = (429, 500, 502, 503, 504)
"""Answers of a service (or its proxy) that is overloaded or being restarted."""
PAUSES = (0.5, 2.0, 5.0)
"""Seconds before a request is repeated, if the service does not say how long."""
_LONGEST_PAUSE = 30
"""Seconds before a login or a discovery is repeated, at most."""
_PORTS = {"http": 80, "https": 443}
_NOT_OF_ITS_FORM = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


class RedirectError(keystone_errors.ConnectFailure):
    """A redirect to another place, which is not followed."""


class TooLargeError(keystone_errors.ConnectFailure):
    """An answer that is larger than any valid one."""


class OddError(keystone_errors.ConnectFailure):
    """An answer with which openstacksdk, keystoneauth or requests fails."""


@contextmanager
def understood(service: str) -> Iterator[None]:
    """Raises OddError in place of Python's errors for a login or a list of versions that is JSON
    with a wrong structure (keystoneauth 5.18 assumes the right one), and for a redirect to an
    invalid address. This can happen at any time, since tokens are renewed and services looked up
    later, too."""
    try:
        yield
        return
    except (requests.RequestException, OSError):  # some of them are also ValueErrors
        raise
    except _NOT_OF_ITS_FORM as error:  # not its text: it may quote the answer
        kind = type(error).__name__
    raise OddError(f"{service}: an answer has an unexpected form ({kind})")


class _Request(NamedTuple):
    """A request with keystoneauth's parameters: ``args`` and ``options`` are passed on."""

    url: str
    method: str
    args: tuple[object, ...]
    options: dict[str, object]


class CountingSession(Session):
    """A session that counts requests by the service that its thread uses, otherwise as
    ``identity``. Any thread may use it."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        begin: Callable[..., None] = super().__init__
        begin(*args, **kwargs)
        self.calls: Counter[str] = Counter()
        self.asking = threading.local()
        self.pauses: tuple[float, ...] = PAUSES
        self._count = threading.Lock()
        self._tokens: deque[str] = deque(maxlen=_TOKENS)
        self.secrets: tuple[str, ...] = ()
        """The secrets used for logging in."""

    def masked(self, text: str) -> str:
        """The text without this session's tokens and login secrets: a service may repeat them in an
        error, and the text may be cut in the middle of one."""
        for token in (*self.secrets, *self._tokens):
            text = _masked_token(text, token)
        return text

    def get_auth_headers(self, *args: object, **kwargs: object) -> dict[str, str] | None:
        """The headers of keystoneauth; their token is remembered. A login with a wrong structure is
        dropped, because keystoneauth would fail with it for ever."""
        try:
            headers_of: Callable[..., dict[str, str] | None] = super().get_auth_headers
            headers = headers_of(*args, **kwargs)
        except _NOT_OF_ITS_FORM:
            self.invalidate()
            raise
        token = (headers or {}).get(_TOKEN)
        self.asking.token = token
        if token and token not in self._tokens:
            self._tokens.append(token)
        return headers

    def request(self, url: str, method: str, *args: object, **kwargs: object) -> requests.Response:
        """Send a request like keystoneauth, except that a redirect to another place is refused, an
        answer that is read completely is limited, and a token that another thread has just renewed
        is used.

        Raises keystoneauth's ConnectFailure for the first two.
        """
        raising, whole = kwargs.pop("raise_exc", True), not kwargs.get("stream")
        kwargs.update(raise_exc=False, redirect=False, stream=True)
        if not whole:
            answer = self._renewed(_Request(url, method, args, kwargs))
        else:
            # its log would read the answer
            kwargs.update(self._repeated(), log=False)
            try:
                answer = self._renewed(_Request(url, method, args, kwargs))
                _take_in(answer)
            except keystone_errors.ConnectionError as error:
                self.asking.away = transport(error)
                raise
            if answer.status_code in AWAY:
                self.asking.away = f"{bare_url(url)} answers {answer.status_code}"
            elif answer.status_code < 400:
                self.asking.away = ""
        if raising and answer.status_code >= 400:
            raise keystone_errors.from_response(answer, method, url)
        return answer

    def _repeated(self) -> dict[str, object]:
        """Options with which keystoneauth repeats a login or a discovery, always after the second
        of the pauses."""
        times, pause = len(self.pauses), next(iter(self.pauses[1:] or self.pauses), None)
        return {
            "connect_retries": times,
            "connect_retry_delay": pause,
            "status_code_retries": times,
            "status_code_retry_delay": pause,
            "retriable_status_codes": AWAY,
            "hooks": {"response": _limit_pause},
        }

    def _renewed(self, request: _Request) -> requests.Response:
        answer = self._followed(request)
        if answer.status_code == 401 and self._was_renewed(request.options):
            answer.close()
            answer = self._followed(request)
        return answer

    def _followed(self, request: _Request) -> requests.Response:
        url = request.url
        send: Callable[..., requests.Response] = super().request
        for _ in range(_MOST_REDIRECTS + 1):
            self._counted(url)
            answer = send(url, request.method, *request.args, **request.options)
            if answer.status_code not in _REDIRECTS or "location" not in answer.headers:
                return answer
            asked, url = answer.url, urljoin(answer.url, answer.headers["location"])
            answer.close()
            if not _is_same_place(asked, url):
                raise RedirectError(
                    f"{bare_url(asked)} redirects to {bare_url(url)}, which is not followed, as "
                    "the credentials would be sent there; correct the address in the catalogue "
                    "or in clouds.yaml"
                )
        raise RedirectError(f"{bare_url(url)} redirects too many times")

    def _counted(self, url: str) -> None:
        login = url.endswith("/auth/tokens")
        service = "identity" if login else getattr(self.asking, "service", "identity")
        with self._count:
            self.calls[service] += 1

    def _was_renewed(self, options: dict[str, object]) -> bool:
        """True if there is now another token than the refused one. keystoneauth gives up if another
        thread was about to get one (``BaseIdentityPlugin.invalidate``)."""
        if options.get("authenticated") is False or self.auth is None:
            return False
        used = getattr(self.asking, "token", None)
        headers = self.get_auth_headers(options.get("auth"))
        return (headers or {}).get(_TOKEN) != used


def _masked_token(text: str, token: str) -> str:
    """The text with ``***`` for the token, and for the rest of one that was cut."""
    text = text.replace(token, "***")
    begin = token[:_LEAST_OF_TOKEN]
    at = text.find(begin) if len(token) > _LEAST_OF_TOKEN else -1
    while at >= 0:
        same = (one == other for one, other in zip(text[at:], token, strict=False))
        end = at + sum(1 for _ in takewhile(bool, same))
        text = f"{text[:at]}***{text[end:]}"
        at = text.find(begin)
    return text


def _limit_pause(answer: requests.Response, **_options: object) -> None:
    """Leave of Retry-After only whole seconds up to a limit: keystoneauth would keep any pause."""
    pause = retry_after(answer)
    answer.headers.pop("Retry-After", None)
    if pause is not None and pause <= _LONGEST_PAUSE:
        answer.headers["Retry-After"] = str(ceil(pause))


def retry_after(answer: requests.Response) -> float | None:
    """The seconds to wait according to the Retry-After header, which holds seconds or a date (RFC
    9110, 10.2.3; in GMT, 5.6.7); None if it holds neither, or a date in the past."""
    said = answer.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit() and len(said) < 6:
        return float(said)
    try:
        moment = parsedate_to_datetime(said).replace(tzinfo=timezone.utc)
        seconds = moment.timestamp() - time.time()
    except (ValueError, OverflowError, TypeError):
        return None
    return seconds if seconds > 0 else None


def _is_same_place(asked: str, to: str) -> bool:
    """True if an address has the same host, port and scheme as the requested one, or leads to TLS
    on the same host."""
    before, after = urlsplit(asked), urlsplit(to)
    try:
        ports = [each.port or _PORTS.get(each.scheme, 0) for each in (before, after)]
    except ValueError:
        return False
    if before.hostname != after.hostname:
        return False
    if before.scheme == after.scheme:
        return ports[0] == ports[1]
    return (before.scheme, after.scheme) == ("http", "https")


def body_of(answer: requests.Response, most: int, *, cut: bool = False) -> bytes:
    """The body of an answer; ``cut``: its beginning, if it is larger than ``most`` bytes, which is
    a TooLargeError otherwise."""
    taken = bytearray()
    for chunk in answer.iter_content(_CHUNK):
        taken += chunk
        if len(taken) > most and not cut:
            raise TooLargeError(f"its answer is larger than {most >> 20} MiB")
        if len(taken) > most:
            break
    return bytes(taken)


def _take_in(answer: requests.Response) -> None:
    """Read an answer completely. Raises ConnectFailure if it is larger than any valid one."""
    try:
        content = body_of(answer, _MOST_BYTES)
    except requests.RequestException as error:
        raise keystone_errors.ConnectFailure(plain(str(error))) from None
    finally:
        answer.close()
    answer._content = content  # requests keeps the content that it has read there
