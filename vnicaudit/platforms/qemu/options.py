"""Parse the value of one QEMU option, ``tap,id=n0,vhost=on`` or ``{"type": "tap", …}``, into a
mapping.

Source: QEMU 7.2 ``util/keyval.c``, ``util/qemu-option.c`` and qemu(1): a comma in a value is
doubled, the first word may omit its key, the last of several equal keys wins, a bare key is *on*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from vnicaudit.knowledge.backends import is_ovs_socket
from vnicaudit.model.nic import NicConfig, RunningNic


def words_of(text: str) -> frozenset[str]:
    """The words of a text, for tables of names."""
    return frozenset(text.split())


Options = dict[str, str]
"""Flat: nested JSON is keyed ``addr.type``, as ``k=v`` syntax writes it."""

MAX_LENGTH = 1 << 20
"""Longer values are not parsed; QEMU's own are a few kilobytes."""

_MAX_KEYS = 4096
_MAX_NUMBER = 1 << 32
_NUMBER = re.compile(
    r"[ \t\n\r\f\v]{0,8}\+?(?:0[xX](?P<hex>[0-9a-fA-F]{1,16})|(?P<plain>[0-9]{1,22}))"
)
_STRING = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|\'(?P<single>(?:[^\'\\]|\\.)*)(?:\'|\\?\Z)', re.DOTALL
)
"""A string that is not closed extends to the end, so that nothing is scanned twice."""
_ITEM = re.compile(r"((?:[^,]|,,)*)(?:,|\Z)")
_TRUE = frozenset({"on", "yes", "true", "y"})
_FALSE = frozenset({"off", "no", "false", "n"})


class BrokenOption(ValueError):
    """JSON that is truncated or invalid: the command line is incomplete here."""


def options(text: str, first: str = "") -> Options:
    """The value as a mapping. ``first`` is the key that the first word may omit.

    Raises BrokenOption for invalid JSON; ``k=v`` text always has a result.
    """
    if len(text) > MAX_LENGTH:
        raise BrokenOption("an option's value of more than a mebibyte")
    if text.lstrip()[:1] == "{":
        return _from_json(text)
    return _from_pairs(text, first)


def lenient(text: str | None, first: str = "") -> Options:
    """Like :func:`options`, but empty if the value is missing or broken: for options that do not
    matter, or whose faults are reported elsewhere."""
    try:
        return options(text, first) if text else {}
    except BrokenOption:
        return {}


def truth(text: str | None) -> bool | None:
    """``on``, ``yes``, ``true`` -> True; ``off`` and the like -> False; None for anything else,
    including ``ON`` (``qapi_bool_parse``)."""
    word = text or ""
    return True if word in _TRUE else False if word in _FALSE else None


def number(text: str | None) -> int | None:
    """A number below 2**32 as C reads it (``strtoull``): ``010`` is eight; None for anything
    else."""
    match = _NUMBER.fullmatch(text or "")
    if match is None:
        return None
    digits, base = match["hex"] or match["plain"], 16 if match["hex"] else 10
    if base == 10 and digits[0] == "0":
        base = 8
    try:
        value = int(digits, base)
    except ValueError:
        return None
    return value if value < _MAX_NUMBER else None


def json_of(text: str) -> object:
    """JSON as QEMU reads it: a string may be in single quotes, and no key may occur twice.

    Raises ValueError or RecursionError for anything else.
    """
    if "'" in text:
        text = _STRING.sub(_in_double_quotes, text)
    return json.loads(text, object_pairs_hook=_without_repeats)


def wrong_types(
    text: str, switches: Container[str], numbers: Container[str], words: Container[str] = ()
) -> Iterator[tuple[str, str, str]]:
    """Values of JSON with another type than QEMU requires: name, required type, and the value as
    JSON. Empty for a text that is not a JSON object."""
    try:
        given = json_of(text)
    except (ValueError, RecursionError):
        return
    for name, value in given.items() if isinstance(given, dict) else ():
        if name in switches and not isinstance(value, bool):
            yield name, "true or false", json.dumps(value)
        elif name in numbers and (isinstance(value, bool) or not isinstance(value, int)):
            yield name, "a number", json.dumps(value)
        elif name in words and value is not None and not isinstance(value, str):
            yield name, "text", json.dumps(value)


def _in_double_quotes(match: re.Match[str]) -> str:
    inside = match["single"]
    if inside is None:
        return match.group()
    return '"' + inside.replace("\\'", "'").replace('"', '\\"') + '"'


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key appears twice")
    return found


def _from_pairs(text: str, first: str) -> Options:
    found: Options = {}
    items = [match[1].replace(",,", ",") for match in _ITEM.finditer(text)][:_MAX_KEYS]
    for position, item in enumerate(items):
        key, equals, value = item.partition("=")
        if equals:
            found[key] = value
        elif position == 0 and first:
            found[first] = item
        elif item:
            found[item] = "on"
            if item.startswith("no") and len(item) > 2:
                found[item[2:]] = "off"  # nowait, noserver: qemu-option.c, deprecated since 6.0
        if len(found) >= _MAX_KEYS:
            break
    return found


def _from_json(text: str) -> Options:
    try:
        data = json_of(text)
    except (ValueError, RecursionError):
        raise BrokenOption("JSON that is cut off or malformed") from None
    if not isinstance(data, dict):
        raise BrokenOption("JSON that is not an object")
    found: Options = {}
    _flatten(data, "", found)
    addr = data.get("addr")
    if type(addr) is int:  # slot and function in one number; negative: any
        found["addr"] = f"{addr >> 3:x}.{addr & 7}"
        if addr < 0:
            del found["addr"]
    return found


def _flatten(data: object, prefix: str, found: Options) -> None:
    """Add nested values to ``found``. Depth is limited by the parser, breadth by _MAX_KEYS."""
    pending: list[tuple[str, object]] = [(prefix, data)]
    while pending and len(found) < _MAX_KEYS:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending.extend((f"{name}.{key}" if name else key, part) for key, part in value.items())
        elif isinstance(value, list):
            pending.extend((f"{name}.{place}", part) for place, part in enumerate(value))
        elif value is not None:
            switch = "on" if value else "off"
            found[name] = switch if isinstance(value, bool) else str(value)


# The backends that carry packets: ``-netdev``, and the backend half of ``-nic`` and ``-net``.


VHOST_OF_ITS_OWN = ("vhost-user", "vhost-vdpa")
"""Backends with a data path of their own, for which vhost-net does not matter."""


class Socket(NamedTuple):
    """The socket of a vhost-user backend, in libvirt's terms: ``mode`` client or server,
    ``reconnect`` yes or no."""

    mode: str
    ovs: bool
    reconnect: str


class Backend(NamedTuple):
    """``kind`` is QEMU's word: tap, bridge, user, vhost-user…; None if it is unknown.

    ``vhost`` tells whether vhost-net carries the packets, None if that does not apply. ``queues``
    counts queue pairs, None if only the device knows. ``socket`` is known only for vhost-user.
    """

    kind: str | None
    vhost: bool | None = None
    queues: int | None = 1
    socket: Socket | None = None


def sockets(chardevs: Iterable[Options]) -> dict[str, Socket]:
    """The Unix sockets among the chardevs, by id. ``reconnect-ms=`` exists since QEMU 9.2; 0 is
    off, as in ``reconnect=``."""
    return {
        chardev["id"]: Socket(
            "server" if truth(chardev.get("server")) else "client",
            is_ovs_socket(chardev["path"]),
            "yes" if number(chardev.get("reconnect-ms", chardev.get("reconnect"))) else "no",
        )
        for chardev in chardevs
        if chardev.get("backend") == "socket" and "id" in chardev and "path" in chardev
    }


def backend_of(given: Options, sockets: dict[str, Socket]) -> Backend:
    """The backend that the options describe."""
    kind = given.get("type") or "user"
    if kind in VHOST_OF_ITS_OWN:
        default = None if kind == "vhost-vdpa" else 1
        queues = number(given.get("queues")) or default
        return Backend(kind, None, queues, sockets.get(given.get("chardev", "")))
    if kind == "af-xdp":  # one client per queue: net_init_af_xdp in net/af-xdp.c, QEMU 8.2
        return Backend(kind, False, number(given.get("queues")) or 1)
    if kind not in ("tap", "bridge"):
        return Backend(kind, False)
    descriptors = given.get("fds") or given.get("vhostfds")  # one for each queue pair: fds=28:30
    queues = number(given.get("queues")) or 1
    return Backend(kind, _vhost(given), descriptors.count(":") + 1 if descriptors else queues)


def _vhost(given: Options) -> bool:
    """True for ``vhost=on``, or if implied: QEMU switches vhost on for ``vhostfd=`` and
    ``vhostforce=on`` (net_init_tap_one in net/tap.c), unless ``vhost=off`` is explicit."""
    explicit = truth(given.get("vhost"))
    if explicit is not None:
        return explicit
    passed = "vhostfd" in given or "vhostfds" in given
    return passed or truth(given.get("vhostforce")) is True


# Read the properties of a virtio NIC on ``-device`` in libvirt's terms.
#
# ``qemuBuildNicDevProps`` in libvirt 11.3 src/qemu/qemu_command.c has the words of both.


VIRTIO_RING = 256
"""VIRTIO_NET_RX_QUEUE_DEFAULT_SIZE and its TX twin in QEMU's hw/net/virtio-net.c."""

_TXMODES = {"timer": "timer", "bh": "iothread"}
_HOST = {
    "csum": "csum",
    "gso": "gso",
    "host_tso4": "tso4",
    "host_tso6": "tso6",
    "host_ecn": "ecn",
    "host_ufo": "ufo",
    "mrg_rxbuf": "mrg_rxbuf",
}
_GUEST = {
    "guest_csum": "csum",
    "guest_tso4": "tso4",
    "guest_tso6": "tso6",
    "guest_ecn": "ecn",
    "guest_ufo": "ufo",
}
"""QEMU's property -> the attribute of ``<driver><host>`` and ``<guest>``."""


def virtio_nic(
    driver: str, model: str, given: Options, backend: Backend, *, mac: str | None
) -> RunningNic:
    """A virtio NIC on its backend."""
    mq = truth(given.get("mq")) or False
    socket = backend.socket
    return RunningNic(
        driver,
        model,
        backend.kind,
        mac=mac,
        id=given.get("id"),
        vhost=backend.vhost,
        # a vDPA device without queues= has its own number (QEMU 10.0 net/vhost-vdpa.c)
        queues=backend.queues if mq else 1,
        rx_queue_size=_ring(given, "rx_queue_size"),
        tx_queue_size=_ring(given, "tx_queue_size"),
        mq=mq,
        backend_queues=backend.queues,
        mtu=number(given.get("host_mtu")) or None,
        settings=NicConfig(
            packed="on" if truth(given.get("packed")) else None,
            txmode=_TXMODES.get(given.get("tx", "")),
            ioeventfd=_switch(given, "ioeventfd"),
            event_idx=_switch(given, "event_idx"),
            host_off=_off(given, _HOST),
            guest_off=_off(given, _GUEST),
            source_mode=socket.mode if socket else None,
            ovs_socket=socket is not None and socket.ovs,
            reconnect=socket.reconnect if socket else None,
        ),
    )


def _ring(given: Options, name: str) -> int | None:
    return number(given[name]) if name in given else VIRTIO_RING


def _switch(given: Options, name: str) -> str | None:
    on = truth(given.get(name))
    return None if on is None else "on" if on else "off"


def _off(given: Options, words: dict[str, str]) -> tuple[str, ...]:
    return tuple(word for name, word in words.items() if truth(given.get(name)) is False)
