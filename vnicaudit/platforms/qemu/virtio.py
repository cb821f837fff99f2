"""Read the properties of a virtio NIC on ``-device`` in libvirt's terms.

``qemuBuildNicDevProps`` in libvirt 11.3 src/qemu/qemu_command.c has the words of both.
"""

from __future__ import annotations

from vnicaudit.model.nic import RunningNic
from vnicaudit.platforms.qemu.backends import Backend
from vnicaudit.platforms.qemu.options import Options, number, truth

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
        queues=_pairs(backend, mq=mq),
        rx_queue_size=_ring(given, "rx_queue_size"),
        tx_queue_size=_ring(given, "tx_queue_size"),
        mq=mq,
        backend_queues=backend.queues,
        packed=truth(given.get("packed")) or False,
        mtu=number(given.get("host_mtu")) or None,
        txmode=_TXMODES.get(given.get("tx", "")),
        ioeventfd=_switch(given, "ioeventfd"),
        event_idx=_switch(given, "event_idx"),
        host_off=_off(given, _HOST),
        guest_off=_off(given, _GUEST),
        source_mode=socket.mode if socket else None,
        ovs_socket=socket is not None and socket.ovs,
        reconnect=socket.reconnect if socket else None,
        evidence="command line",
    )


def _pairs(backend: Backend, *, mq: bool) -> int | None:
    """Queue pairs that the guest can use: those of the backend, if the device offers multiqueue. A
    vDPA device without ``queues=`` has its own number (QEMU 10.0 net/vhost-vdpa.c)."""
    return backend.queues if mq else 1


def _ring(given: Options, name: str) -> int | None:
    return number(given[name]) if name in given else VIRTIO_RING


def _switch(given: Options, name: str) -> str | None:
    on = truth(given.get(name))
    return None if on is None else "on" if on else "off"


def _off(given: Options, words: dict[str, str]) -> tuple[str, ...]:
    return tuple(word for name, word in words.items() if truth(given.get(name)) is False)
