"""One delivery: a POST (of Matrix: a PUT) over verified TLS, with an end.

Redirects are not followed: a message with a secret goes where it was meant to. What comes back is
read as far as its status. It is the standard library's client: what it lacks (an end to the whole
exchange) is some lines here, and no library that has it does less than this.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import threading
from typing import Literal

import msgspec

from vnicaudit import __version__
from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import UsageError
from vnicaudit.fleet.notifying.channels import Address
from vnicaudit.model.notices import NoticeForm

Fate = Literal["delivered", "refused", "not sent", "unknown"]
"""``refused``: it came back with an error; ``not sent``: there was no connection, so nobody has
it; ``unknown``: the answer did not come, and somebody may have it."""

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 60.0


class Delivery(msgspec.Struct, frozen=True):
    """How a delivery went; ``reason`` has no secret in it. ``again``: worth another try;
    ``wait``: seconds until then, where the other side says so."""

    fate: Fate
    reason: str = ""
    again: bool = False
    wait: float = 0.0


def deliver(address: Address, form: NoticeForm, body: bytes) -> Delivery:
    """Send one message. Raises UsageError where the file of certificates cannot be read."""
    connection = _connection(address)
    call = DaemonCall("deliver", lambda: _exchange(connection, address, form, body))
    try:
        return call.result(address.deadline + 1)
    except TimeUpError:  # a name that is looked up for ever
        return Delivery("unknown", f"not finished within {address.deadline:.0f} s")


def _connection(address: Address) -> http.client.HTTPConnection:
    host, port = address.url.hostname or "", address.url.port
    if address.url.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=address.deadline)
    try:
        context = ssl.create_default_context(cafile=address.ca_file)
    except OSError as error:
        raise UsageError(f"{address.ca_file}: {error.strerror or error}") from None
    return http.client.HTTPSConnection(host, port, timeout=address.deadline, context=context)


def _exchange(
    connection: http.client.HTTPConnection, address: Address, form: NoticeForm, body: bytes
) -> Delivery:
    timer = threading.Timer(address.deadline, _cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            return Delivery("not sent", f"its certificate is not valid: {error.verify_message}")
        except OSError as error:
            return Delivery("not sent", f"no connection: {_words(error)}", again=True)
        return _answered(connection, address, form, body)
    finally:
        timer.cancel()
        connection.close()


def _answered(
    connection: http.client.HTTPConnection, address: Address, form: NoticeForm, body: bytes
) -> Delivery:
    method, path = _request_line(address, form, body)
    try:
        connection.request(method, path, body, _headers(address))
        answer = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        reason = f"no answer: {_words(error)}"
        return Delivery("unknown", reason, again=form in ("matrix", "alertmanager"))
    if 200 <= answer.status < 300:
        return Delivery("delivered")
    if 300 <= answer.status < 400:
        return Delivery("refused", f"HTTP {answer.status}: a redirect, which is not followed")
    wait = _wait(answer.headers.get("Retry-After", ""))
    return Delivery("refused", f"HTTP {answer.status}", answer.status in _AGAIN, wait)


def _request_line(address: Address, form: NoticeForm, body: bytes) -> tuple[str, str]:
    """Matrix tells by an id of the message whether it has it already: a digest of it."""
    path = address.url.path or "/"
    if form == "matrix":
        return "PUT", f"{path}/{hashlib.sha256(body).hexdigest()[:32]}"
    return "POST", f"{path}?{address.url.query}" if address.url.query else path


def _headers(address: Address) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "User-Agent": f"vnicaudit/{__version__}"}
    headers["Connection"] = "close"
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    return headers


def _wait(text: str) -> float:
    return min(float(text), _LONGEST_WAIT) if text.isdecimal() and len(text) < 9 else 0.0


def _words(error: Exception) -> str:
    """An error without what it quotes: an answer may repeat the request."""
    text = error.strerror if isinstance(error, OSError) else None
    return text or type(error).__name__


def _cut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
