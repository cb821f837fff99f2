"""One delivery: a POST (for Matrix: a PUT) over verified TLS, with a time limit.

Redirects are not followed, so that a message with a secret goes only where it was meant to go. Of
the response, only the status is read. The client is that of the standard library; its one missing
feature, a limit for the whole exchange, takes a few lines here, and libraries that have it are much
larger.
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
from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.errors import VnicauditError
from vnicaudit.fleet.notifying.channels import Address
from vnicaudit.model.notices import NoticeForm

Fate = Literal["delivered", "refused", "not sent", "unknown"]
"""``refused``: answered with an error. ``not sent``: there was no connection, so it was certainly
not received. ``unknown``: no answer, so it may have been received."""

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_MOST_CERTIFICATES = 16 << 20
_LONGEST_WAIT = 60.0


class Delivery(msgspec.Struct, frozen=True):
    """Result of a delivery. ``reason``: contains no secret. ``again``: worth another try. ``wait``:
    seconds until then, if the other side set them."""

    fate: Fate
    reason: str = ""
    again: bool = False
    wait: float = 0.0


def deliver(address: Address, form: NoticeForm, body: bytes) -> Delivery:
    """Send one message. What fails before that, such as a host's name that cannot be looked up, is
    "not sent"."""
    try:
        connection = _connection(address)
        _begin_request(connection, address, form, body)
    except VnicauditError as error:  # the file of certificates
        return Delivery("not sent", str(error))
    except (ValueError, http.client.HTTPException) as error:
        return Delivery("not sent", f"its address or token cannot be sent: {type(error).__name__}")
    call = DaemonCall("deliver", lambda: _exchange(connection, address, form, body))
    try:
        return call.result(address.deadline + 1)
    except TimeUpError:  # for example, a DNS lookup that never ends
        return Delivery("unknown", f"not finished within {address.deadline:.0f} s")


def _connection(address: Address) -> http.client.HTTPConnection:
    host, port = address.url.hostname or "", address.url.port
    if address.url.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=address.deadline)
    context = _tls(address.ca_file)
    return http.client.HTTPSConnection(host, port, timeout=address.deadline, context=context)


def _tls(ca_file: str | None) -> ssl.SSLContext:
    """TLS with these certificates, or those of the system. OpenSSL would wait for the writer of a
    FIFO."""
    if ca_file is None:
        return ssl.create_default_context()
    with as_usage_error(ca_file):
        data = read_regular(ca_file, _MOST_CERTIFICATES)
        return ssl.create_default_context(cadata=data.decode("ascii", "ignore"))


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
        except ValueError as error:  # a name that cannot be looked up
            return Delivery("not sent", f"no connection: {_words(error)}")
        return _answered(connection, form, body)
    finally:
        timer.cancel()
        connection.close()


def _begin_request(
    connection: http.client.HTTPConnection, address: Address, form: NoticeForm, body: bytes
) -> None:
    """Prepare the head of the request; nothing is sent yet. Raises ValueError and HTTPException for
    what a head cannot hold."""
    connection.putrequest(*_request_line(address, form, body))
    for name, value in {**_headers(address), "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)


def _answered(connection: http.client.HTTPConnection, form: NoticeForm, body: bytes) -> Delivery:
    try:
        connection.endheaders(body)
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
    """Method and path of the request. Matrix recognises duplicates by a transaction id: a digest of
    the message."""
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
    """An error without quoted text, since a response may repeat the request."""
    text = error.strerror if isinstance(error, OSError) else None
    return text or type(error).__name__


def _cut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
