"""Channels: the recipient, the form of messages, and where the secrets are stored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.private_files import why_not_own
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import SEVERITIES, Severity
from vnicaudit.model.notices import NoticeForm
from vnicaudit.text.toml import toml_values

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
    except (UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from None


def _channel(table: dict[str, object], where: str) -> Channel | UsageError:
    try:
        channel = converted(table, Channel)
        _check(channel, where)
    except msgspec.ValidationError as error:
        what, _, key = str(error).partition(" - at `$.")
        key = key.rstrip("`")
        if what.startswith("Invalid enum value ") and key in _CHOICES:
            written = what.removeprefix("Invalid enum value ")
            what = f"expected one of {', '.join(_CHOICES[key])}, not {written}"
        return UsageError(f"{where}: {key}: {what}" if key else f"{where}: {what}")
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
