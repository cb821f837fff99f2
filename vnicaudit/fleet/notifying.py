"""Notifications of new findings: once per finding, channel and day; secrets are given by
reference.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, get_args
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from vnicaudit import __version__
from vnicaudit.base.deadlines import Clock, DaemonCall, TimeUpError
from vnicaudit.base.files import why_not_own
from vnicaudit.base.opening import as_usage_error, open_regular, read_regular
from vnicaudit.base.wording import mistake
from vnicaudit.errors import HistoryError, UsageError, VnicauditError
from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import SEVERITIES, NoticeForm, NoticeMessage, Severity
from vnicaudit.model.history import FindingRecord
from vnicaudit.text.beginning import toml_values

# Channels: the recipient, the form of messages, and where the secrets are stored.


_MAX_BYTES = 65_536
_CHOICES = {"form": get_args(NoticeForm), "severity": SEVERITIES}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class Channel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One channel of a channels file. ``url``: ``env:NAME`` or ``file:PATH`` if the address is a
    secret itself; for Matrix and Alertmanager it may also be the plain address. ``token``: a
    reference too. ``severity``: the lowest severity to notify of. ``deadline``: seconds for one
    delivery."""

    form: NoticeForm
    url: str
    token: str = ""
    room: str = ""
    """For Matrix: ``!id:server``."""
    severity: Severity = "medium"
    ca_file: str | None = None
    """Certificates for verifying the server, instead of the system's."""
    deadline: float = 15.0


class Address(msgspec.Struct, frozen=True):
    """The destination of messages, with its secrets. It must never be printed, so its repr is
    hidden."""

    url: SplitResult
    token: str
    ca_file: str | None
    deadline: float

    def __repr__(self) -> str:
        return "Address(…)"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    channels: dict[str, dict[str, object]]


def load_channels(path: str) -> dict[str, Channel | UsageError]:
    """The channels of a file, by name; the error for an invalid one, or one with a secret in it.
    Raises UsageError for a file that others can write, or that is not a channels file."""
    with as_usage_error(path), open_regular(path, null=False) as file:
        data = file.read(_MAX_BYTES + 1)
        reason = why_not_own(os.fstat(file.fileno()))
    if reason is not None:
        raise UsageError(
            f"{path} {reason}: it says where findings are sent, so only you may change it"
        )
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_BYTES >> 10} KiB")
    tables = _decoded(data, path).channels
    return {name: _channel(each, f"{path}: channel {name!r}") for name, each in tables.items()}


def address_of(name: str, channel: Channel) -> Address:
    """The channel's address, with its secrets read. Raises UsageError for a missing or invalid
    secret, without quoting it."""
    text = resolved(channel.url, f"channel {name!r}: url")
    url = _split(text, name)
    token = resolved(channel.token, f"channel {name!r}: token") if channel.token else ""
    if not (token.isascii() and token.isprintable()):
        raise UsageError(
            f"channel {name!r}: its token has more than one line, or characters other than "
            "printable ASCII"
        )
    secret = channel.form != "alertmanager" or bool(token)
    if url.scheme == "http" and secret and url.hostname not in _LOCAL:
        raise UsageError(f"channel {name!r}: https is needed: its address or token is a secret")
    path = url.path.rstrip("/")
    if channel.form == "alertmanager" and not path.endswith("/api/v2/alerts"):
        url = url._replace(path=f"{path}/api/v2/alerts")
    elif channel.form == "matrix":
        room = quote(channel.room, safe="")
        url = url._replace(path=f"{path}/_matrix/client/v3/rooms/{room}/send/m.room.message")
    return Address(url, token, channel.ca_file, channel.deadline)


def resolved(reference: str, where: str) -> str:
    """The text of a reference: an environment variable, or the only line of a file; any other text
    is itself. Raises UsageError if it cannot be read."""
    kind, _, place = reference.partition(":")
    if kind == "env":
        value = os.environ.get(place, "").strip()
        if not value:
            raise UsageError(f"{where}: the environment variable {place} is not set")
        return value
    if kind != "file":
        return reference
    with as_usage_error(place), open_regular(Path(place), null=False) as file:
        text = file.read(_MAX_BYTES).decode("utf-8", "replace").strip()
    if not text:
        raise UsageError(f"{where}: {place} is empty")
    if len(text.splitlines()) > 1:
        raise UsageError(f"{where}: {place} has more than one line")
    return text


def _decoded(data: bytes, path: str) -> _File:
    try:
        return converted(toml_values(path, data.decode()), _File)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    except msgspec.ValidationError as error:
        text = mistake(error, ["channels"])[1]
        raise UsageError(f"{path}: {text}; write each channel as [channels.NAME]") from None


def _channel(table: dict[str, object], where: str) -> Channel | UsageError:
    try:
        channel = converted(table, Channel)
        _check(channel, where)
    except msgspec.ValidationError as error:
        key, text = mistake(error, [field.name for field in msgspec.structs.fields(Channel)])
        if key in _CHOICES and isinstance(table.get(key), str):
            text = f"{key}: expected one of {', '.join(_CHOICES[key])}, not {table[key]!r}"
        return UsageError(f"{where}: {text}")
    except UsageError as error:
        return error
    return channel


def _check(channel: Channel, where: str) -> None:
    reference = channel.url.startswith(("env:", "file:"))
    plain = channel.form in ("alertmanager", "matrix")
    if not reference and not (plain and "@" not in channel.url and "?" not in channel.url):
        raise UsageError(
            f"{where}: url: a secret does not belong in this file; write 'env:NAME' for an "
            "environment variable or 'file:PATH' for a file that has it"
        )
    if channel.token and not channel.token.startswith(("env:", "file:")):
        raise UsageError(
            f"{where}: for token, write 'env:NAME' or 'file:PATH', not the token itself"
        )
    if channel.form == "matrix" and not (channel.room.startswith("!") and channel.token):
        raise UsageError(f"{where}: Matrix needs a room ('!id:server') and a token")
    if not 1 <= channel.deadline <= 120:
        raise UsageError(f"{where}: deadline: from 1 to 120 seconds")


def _split(text: str, name: str) -> SplitResult:
    host = ""
    try:
        url = urlsplit(text)
        port, host = url.port, url.hostname or ""
        host.encode("idna")  # as it is looked up: no label is empty or too long
    except ValueError:
        url, port = urlsplit(""), None
    clean = text.isascii() and text.isprintable() and " " not in text
    if url.scheme not in ("https", "http") or not url.hostname or port == 0 or not clean:
        if clean and ".." in host:
            raise UsageError(f"channel {name!r}: the host of its url has an empty label ('..')")
        raise UsageError(f"channel {name!r}: its url is not an https address")
    if url.username is not None or url.password is not None:
        raise UsageError(f"channel {name!r}: a name and password in the url: use token")
    return url


# One delivery: a POST (for Matrix: a PUT) over verified TLS, with a time limit.
#
# Redirects are not followed, so that a message with a secret goes only where it was meant to go. Of
# the response, only the status is read. The client is that of the standard library; its one missing
# feature, a limit for the whole exchange, takes a few lines here, and libraries that have it are
# much larger.


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


# Notify channels of new findings: claim, send, retry, and report the result.
#
# Findings are claimed before the message is sent. A claim is withdrawn if the message was certainly
# not received; it stays if that is unknown, so that a finding is sent at most once a day. Whatever
# goes wrong with one channel, the others are notified.


TRIES = 4
FIRST_WAIT = 1.0
"""Seconds before the second try; the wait before each further try is four times as long."""

Messages = Callable[[NoticeForm, Sequence[FindingRecord], str], Iterator[NoticeMessage]]
"""Makes messages: :func:`vnicaudit.reports.notices.messages_of`."""
Send = Callable[[Address, NoticeForm, bytes], Delivery]


class NotifiedStore(Protocol):
    """Stores claims, for all processes that share it."""

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """Claim those of the fingerprints that are not yet claimed for that channel and day
        (``2026-11-26``), and return them. They are on disk when this returns."""

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """Withdraw claims: the message was certainly not received."""


class ChannelOutcome(msgspec.Struct, frozen=True):
    """Result of notifying one channel: counts of findings, and the reason of the first message that
    was not delivered. ``known``: already sent on that day."""

    channel: str
    delivered: int = 0
    known: int = 0
    failed: int = 0
    unknown: int = 0
    reason: str = ""

    @property
    def is_well(self) -> bool:
        """True if all were delivered now or had been sent before."""
        return not (self.failed or self.unknown)


class Notifier:
    """Notifies channels of the findings of one audit."""

    def __init__(
        self, store: NotifiedStore, messages: Messages, clock: Clock, send: Send = deliver
    ) -> None:
        self._store = store
        self._messages = messages
        self._clock = clock
        self._send = send

    def tell(
        self,
        channels: Mapping[str, tuple[Channel, Address]],
        findings: Sequence[FindingRecord],
        audit: str,
        day: str,
    ) -> tuple[ChannelOutcome, ...]:
        """Notify each channel of findings it was not notified of on that ``day`` (``2026-11-26``,
        UTC)."""
        return tuple(
            self._channel(name, *channel, findings, audit, day)
            for name, channel in channels.items()
        )

    def _channel(
        self,
        name: str,
        channel: Channel,
        address: Address,
        findings: Sequence[FindingRecord],
        audit: str,
        day: str,
    ) -> ChannelOutcome:
        wanted = tuple(_severe(findings, channel))
        marks = {one.fingerprint for one in wanted}
        fresh = self._store.claim(name, day, marks)
        told = [one for one in wanted if one.fingerprint in fresh]
        counts: Counter[Fate] = Counter()
        reason = ""
        waiting, sending = set(fresh), frozenset[str]()
        try:
            for message in self._messages(channel.form, told, audit):
                sending = frozenset(message.findings)
                waiting -= sending
                delivery = self._delivered(address, channel.form, message.body)
                counts[delivery.fate] += len(sending)
                reason = reason or delivery.reason
                if delivery.fate in ("refused", "not sent"):
                    self._store.release(name, day, sending)
                sending = frozenset()
        except HistoryError:
            raise
        except Exception as error:  # an edge: costs only this channel
            counts["unknown"] += len(sending)
            counts["not sent"] += len(waiting)
            reason = reason or _failure_words(error)
        finally:  # also if the program is interrupted
            if waiting:
                self._store.release(name, day, waiting)
        failed = counts["refused"] + counts["not sent"]
        known = len(wanted) - len(told)
        return ChannelOutcome(name, counts["delivered"], known, failed, counts["unknown"], reason)

    def _delivered(self, address: Address, form: NoticeForm, body: bytes) -> Delivery:
        """Try several times; returns the last result. After a try without an answer, the result is
        "unknown" unless a later one is delivered. A retry may at worst create a duplicate, if the
        other side does not recognise it."""
        wait, doubt = FIRST_WAIT, False
        delivery = self._send(address, form, body)
        for _ in range(TRIES - 1):
            if not delivery.again:
                break
            doubt = doubt or delivery.fate == "unknown"
            self._clock.sleep(max(wait, delivery.wait) * random.uniform(1, 1.25))  # noqa: S311
            wait *= 4
            delivery = self._send(address, form, body)
        if doubt and delivery.fate in ("refused", "not sent"):
            return Delivery("unknown", delivery.reason)
        return delivery


def _failure_words(error: Exception) -> str:
    """An error without quoted text, which may contain the token."""
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error: {type(error).__name__}"


def _severe(findings: Iterable[FindingRecord], channel: Channel) -> Iterator[FindingRecord]:
    """Findings that are severe enough for a channel, without duplicates."""
    seen: set[str] = set()
    lowest = SEVERITIES.index(channel.severity)
    for one in findings:
        mark = one.fingerprint
        if SEVERITIES.index(one.severity) >= lowest and mark not in seen:
            seen.add(mark)
            yield one
