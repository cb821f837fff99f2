"""The policy for queues and rings where Nova writes the NICs.

Nova has one switch: if it is on, a NIC gets one queue pair per vCPU, up to ``[libvirt] max_queues``
of the compute node (``virt/libvirt/vif.py``, ``get_max_tap_queues``). Ring sizes are options of the
compute node only (nova/conf/libvirt.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Change
from vnicaudit.model.nova_options import as_number
from vnicaudit.model.server import FLAVOR_WORDS, MULTIQUEUE, MULTIQUEUE_VCPUS

_PER_VCPU = "the policy asks for it; Nova gives one queue pair per vCPU ({queues})"
_ONE = "the policy asks for one queue pair"
_TOO_MANY = (
    "no multiqueue: Nova gives one queue pair per vCPU ({queues}), the policy allows {most}; "
    "[libvirt] max_queues in nova.conf of {host} would bound it"
)
_VECTORS = (
    "no multiqueue: with {queues} queue pairs each its NICs would need more than {most} interrupt "
    "vectors"
)
_FLAVORS = "its flavor decides on multiqueue ({spec})"
_EMULATED = "no multiqueue: Nova does not give it to guests with virt_type qemu"
_NO_VCPUS = "no multiqueue: the number of vCPUs is unknown"
_BOUND = "no multiqueue: [libvirt] max_queues of {host} leaves one queue pair"
_RING = (
    "{name} is set on the compute node, not the server: [libvirt] {name} = {size} in nova.conf "
    "of {host}, then a hard reboot"
)
_TX = "tx_queue_size is for vhost-user only: Nova never writes it for a tap"


class ServerTuning(NamedTuple):
    """The changes that the policy makes to a server whose NICs are virtio, and notes on those it
    cannot make."""

    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


def server_tuning(policy: PolicyTable, server: Server) -> ServerTuning:
    """The policy's changes for ``server``, which has all other changes already."""
    if not any(nic.declared.model == "virtio" for nic in server.nics):
        return ServerTuning()
    changes, notes = _multiqueue(policy, server)
    return ServerTuning(changes, (*notes, *_rings(policy, server)))


def _multiqueue(policy: PolicyTable, server: Server) -> ServerTuning:
    if policy.queues == "keep":
        return ServerTuning()
    config = server.config
    flavors = config.flavor_flag(MULTIQUEUE)
    if flavors is not None:
        same = flavors == (policy.queues != 1)
        note = _FLAVORS.format(spec=f"{FLAVOR_WORDS[MULTIQUEUE]}={str(flavors).lower()}")
        return ServerTuning(notes=() if same else (note,))
    is_on, now = config.flag(MULTIQUEUE), config.property(MULTIQUEUE)
    if policy.queues == 1:
        off = Change(MULTIQUEUE, now, "false", safe=True, reason=_ONE)
        return ServerTuning((off,) if is_on else ())
    return ServerTuning() if is_on else _switched_on(policy, server)


def _switched_on(policy: PolicyTable, server: Server) -> ServerTuning:
    vcpus = server.declared.vcpus
    if vcpus is None:
        return ServerTuning(notes=(_NO_VCPUS,))
    if vcpus < MULTIQUEUE_VCPUS:
        return ServerTuning()
    if server.declared.type == "qemu":
        return ServerTuning(notes=(_EMULATED,))
    queues = min(vcpus, as_number(_of_node(server, "max_queues")) or vcpus)
    if queues < 2:
        return ServerTuning(notes=(_BOUND.format(host=_host(server)),))
    most = policy.queues_max if policy.queues == "auto" else int(policy.queues)
    if queues > most:
        note = _TOO_MANY.format(queues=queues, most=most, host=_host(server))
        return ServerTuning(notes=(note,))
    if len(server.nics) * (2 * queues + 2) > policy.vectors_max:
        return ServerTuning(notes=(_VECTORS.format(queues=queues, most=policy.vectors_max),))
    reason = _PER_VCPU.format(queues=queues)
    now = server.config.property(MULTIQUEUE)
    return ServerTuning((Change(MULTIQUEUE, now, "true", safe=True, reason=reason),))


def _rings(policy: PolicyTable, server: Server) -> Iterator[str]:
    so = _of_node(server, "rx_queue_size") == str(policy.rx_queue_size)
    if policy.rx_queue_size != "keep" and not so:
        yield _RING.format(name="rx_queue_size", size=policy.rx_queue_size, host=_host(server))
    if policy.tx_queue_size == "keep":
        return
    if any(nic.declared.actual_type == "vhostuser" for nic in server.nics):
        yield _RING.format(name="tx_queue_size", size=policy.tx_queue_size, host=_host(server))
    else:
        yield _TX


def _of_node(server: Server, option: str) -> str:
    """An option of nova.conf of its compute node; empty if that was not read."""
    node = server.config.node
    return (node.value(option) or "") if node is not None else ""


def _host(server: Server) -> str:
    return server.cloud.host or "its compute node"
