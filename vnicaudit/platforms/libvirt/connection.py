"""Read-only connections to libvirt, and libvirt's errors with advice on what to do."""

from __future__ import annotations

import re
import threading
from functools import cache
from pathlib import Path

from vnicaudit.errors import TargetError
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.failures import failure_of
from vnicaudit.text.libvirt_uri import Uri
from vnicaudit.text.secrets import masked_message

_KEEPALIVE = (5, 3)
"""Seconds between keepalive messages to a silent peer, and how many may stay unanswered."""
_MESSAGE_MAX = 400
_starting = threading.Lock()

_ADVICE = (
    ("Host key verification failed", "connect once by hand (ssh HOST) and check the key"),
    ("Permission denied (", "ssh must log in without a password; use a key (keyfile= or an agent)"),
    ("Permission denied, please try", "ssh must log in without a password; use a key"),
    ("command not found", "libvirt's client tools or a netcat are missing on that host"),
    ("Permission denied", "run as root or as a member of the group libvirt"),
    ("No such file or directory", "is libvirt's daemon running there? (systemctl start libvirtd "
     "or virtqemud)"),
    ("Connection refused", "nothing is listening there: is the daemon running, is the port right?"),
    ("resolve", "check the host name"),
    ("Name or service not known", "check the host name"),
    ("authentication", (
        "the daemon requires authentication; this program never asks for a password"
    )),
    ("No connection driver", "this libvirt was built without that driver"),
    ("no connection driver", "this libvirt was built without that driver"),
)  # fmt: skip
"""Part of libvirt's message -> advice to the user. The first match is used."""
_TLS = ("certificate", "qemu+tls needs certificates on both sides (libvirt.org/kbase/tlscerts)")


_NEW_HOST_KEY = re.compile(
    r"Warning: Permanently added [^\n]{0,300}? to the list of known hosts\.\s*"
)
"""Said by ssh at the first connection, before the reason why it failed."""


def open_read_only(uri: Uri) -> libvirt.virConnect:
    """A read-only connection; nothing is ever asked on the terminal.

    Blocks as long as libvirt does. Raises TargetError with what failed and what to do.
    """
    refuse(uri)
    be_silent()
    if uri.remote:
        start_event_loop()
    try:
        connection = libvirt.openReadOnly(uri.dial)
        if uri.remote:
            connection.setKeepAlive(*_KEEPALIVE)
    except libvirt.libvirtError as error:
        text = f"cannot connect: {explain(error)}"
        raise TargetError(text, file=uri.text, failure=failure_of(error)) from None
    return connection


def explain(error: libvirt.libvirtError) -> str:
    """libvirt's message on one line, printable, with advice if there is any."""
    said = error.get_error_message() or str(error)
    if error.get_error_code() == libvirt.VIR_ERR_XML_DETAIL:
        said = said.partition("\n")[0]  # the next line quotes the file: test:///etc/shadow
    text = masked_message(plain(_NEW_HOST_KEY.sub("", said)))
    for needle, advice in (_TLS, *_ADVICE):
        if needle in text:
            return f"{text} ({advice})"
    return text


def plain(text: str) -> str:
    """Text from a host on one line: control characters become spaces, long text is cut."""
    words = "".join(letter if letter.isprintable() else " " for letter in text[:_MESSAGE_MAX])
    return " ".join(words.split())


@cache
def be_silent() -> None:
    """Keep libvirt from printing every error on standard error."""
    libvirt.registerErrorHandler(_silent, None)


def _silent(_context: object, _error: tuple[object, ...]) -> None:
    """Do not print errors: they are raised as exceptions as well, and the caller reports them."""


def refuse(uri: Uri) -> None:
    """Refuse URIs that libvirt should not try: an embedded driver (it would run inside this program
    and write), and a missing file (libxml2 would print its own warning). Raises TargetError."""
    if uri.path == "/embed":
        raise TargetError(
            "an embedded QEMU driver is not a running libvirt; use qemu:///system",
            file=uri.text,
            failure="refused",
        )
    own_file = uri.driver == "test" and not uri.remote and uri.path != "/default"
    if own_file and not Path(uri.path).is_file():
        text = f"there is no file {uri.path or '/'}"
        raise TargetError(text, file=uri.text, failure="refused")


def start_event_loop() -> None:
    """Run libvirt's event loop in a separate thread: without it there is no keepalive, and a dead
    peer would block a thread for ever. Not for local sockets: they show when the daemon is gone,
    and the loop makes each call a fifth more expensive (libvirt 9.0). All hosts, which are visited
    in parallel, share one loop."""
    with _starting:
        _start_event_loop()


@cache
def _start_event_loop() -> None:
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_run_events, name="libvirt events", daemon=True).start()


def _run_events() -> None:
    while True:
        libvirt.virEventRunDefaultImpl()
