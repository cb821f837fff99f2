"""Backends that NICs are connected to, by actual type, and what each of them makes possible.

Sources: libvirt 11.3 ``qemuBuildInterfaceConnect`` and ``qemuDomainValidateActualNetDef``; for the
number of queues also Linux ``drivers/net/tun.c`` and QEMU's ``VIRTIO_QUEUE_MAX``.
"""

from __future__ import annotations

TAP_TYPES = frozenset({"bridge", "ethernet", "direct"})
"""Actual types on a tap or macvtap device: the only ones with vhost-net."""

OWN_PATH = frozenset({"vhostuser", "vdpa"})
"""Actual types whose packets pass neither QEMU nor vhost-net, but another process or a device."""

NOVA_TAPS = frozenset({"bridge", "ethernet"})
"""Types on a tap that Nova writes with the model it keeps for the server (Nova 34.0.0,
``virt/libvirt/vif.py`` ``get_base_config``); on macvtap it is virtio whatever that is."""

KEPT_MODEL = NOVA_TAPS | {"vhostuser"}
"""All types that Nova writes with the model it keeps: vDPA and assigned devices have none."""

SINGLE_QUEUE = frozenset({"user", "server", "client", "mcast", "udp", "internal"})
"""Actual types for which libvirt refuses to start with more than one queue pair."""

MAX_TAP_QUEUES = 256
"""``MAX_TAP_QUEUES`` of Linux; libvirt opens one descriptor per queue pair."""

_OVS_FOLDERS = ("/run/openvswitch/", "/var/run/openvswitch/", "/usr/local/var/run/openvswitch/")
"""Where Open vSwitch keeps its sockets (its ``--prefix`` /usr or /usr/local), and Neutron's
``vhostuser_socket_dir`` by default."""

_MAX_VHOSTUSER_QUEUES = 511
"""A pair is two of QEMU's 1024 virtqueues at most, and one more is the control queue."""


def queue_limit(actual_type: str | None) -> int | None:
    """The most queue pairs with which a NIC that has several starts; None when the backend sets
    no limit that is known.

    None as a type is a network that is not known: it becomes a tap or a macvtap (or a host device,
    which has no ``queues=``), never vhost-user or vDPA (``virDomainActualNetDefParseXML``).
    """
    if actual_type is None or actual_type in TAP_TYPES:
        return MAX_TAP_QUEUES
    return _MAX_VHOSTUSER_QUEUES if actual_type == "vhostuser" else None


def is_ovs_socket(path: str) -> bool:
    """True where a vhost-user socket is Open vSwitch's, by its folder or as Neutron names one:
    ``vhu`` and 11 characters of the port's UUID."""
    name = path.rpartition("/")[2]
    return (len(name) == 14 and name.startswith("vhu")) or path.startswith(_OVS_FOLDERS)
