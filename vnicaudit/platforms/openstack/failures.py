"""Messages for failures of a cloud, with advice on what to do.

They contain no password or token: keystoneauth's own messages have none, and user and query are
removed from URLs.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from vnicaudit.platforms.openstack.binding import keystone_errors

_LONGEST = 400
"""Maximum number of characters of a service's message."""

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


def plain(text: str) -> str:
    """Text of a service on one line: control characters become spaces, long text is cut."""
    words = "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST])
    return " ".join(words.split())
