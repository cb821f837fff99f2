"""Which fields of objects of a cluster may be changed, by JSON pointers.

Nothing else reaches a plan, a journal or a report: other fields may hold passwords and keys
(``cloudInitNoCloud``, ``sysprep``, ``accessCredentials``). Fields as in staging/src/kubevirt.io/api
of KubeVirt 1.9.0, and k8s.cni.cncf.io/v1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from vnicaudit.model.cluster import OVN, Attachment

if TYPE_CHECKING:
    from vnicaudit.model.plan import ClusterKind

TEMPLATE = "/spec/template"
"""Begins the fields of a virtual machine that its instance has without it."""


def restart_words(run_strategy: str, virtctl: Callable[[str], str]) -> str:
    """How a virtual machine gets a new instance. ``virtctl``: the command for a verb.

    Source: the handlers of restart, stop and start in pkg/virt-api/rest/lifecycle.go of KubeVirt
    1.9: a restart is refused under Once and Halted; a stop makes Halted of Once, a start Always.
    """
    if run_strategy == "Once":
        again = "set its runStrategy to Once again (KubeVirt refuses to restart it under Once)"
        return f"{virtctl('stop')}, and when it has stopped, {again}"
    return virtctl("start" if run_strategy == "Halted" else "restart")


_INTERFACES = f"{TEMPLATE}/spec/domain/devices/interfaces/[0-9]{{1,4}}"
_FIELDS: dict[ClusterKind, tuple[str, ...]] = {
    "kube-vm": (
        f"{_INTERFACES}/(?:model|pciAddress|acpiIndex)",
        f"{TEMPLATE}/spec/domain/devices/networkInterfaceMultiqueue",
        f"{TEMPLATE}/spec/networks/[0-9]{{1,4}}/multus/networkName",
        "/spec/(?:preference|instancetype)(?:/(?:name|kind|revisionName))?",
    ),
    "kube-preference": (
        "/spec/devices/(?:preferredInterfaceModel|preferredNetworkInterfaceMultiQueue)",
    ),
    "kube-nad": ("/spec/config",),
    "kube-config": ("/spec/configuration/developerConfiguration/useEmulation",),
}
_MAY_CHANGE = {kind: re.compile("|".join(fields)) for kind, fields in _FIELDS.items()}
_IN_LIST = re.compile("(/.+/(?:interfaces|networks))/([0-9]+)/(.+)")


def may_change(kind: ClusterKind, path: str) -> bool:
    """True for a field of such an object that may be changed."""
    return _MAY_CHANGE[kind].fullmatch(path) is not None


def in_list(path: str) -> tuple[str, int, str] | None:
    """The list, the index and the field of a pointer into an entry that has a name; None for
    another pointer."""
    found = _IN_LIST.fullmatch(path)
    return None if found is None else (found[1], int(found[2]), found[3])


# The CNI configuration of a network as it was meant, where that is known.


OLD_TYPES = {"cnv-bridge": "bridge", "cnv-tuning": "tuning"}
"""OpenShift Virtualization's older names of CNI plugins."""


def corrected(network: Attachment) -> Attachment | None:
    """A network with the configuration that was meant; None if that is not known, or cannot be
    written by replacing single words of the text."""
    try:
        data = msgspec.json.decode(network.config)
    except (msgspec.DecodeError, RecursionError):  # also of NaN, which others read
        return None
    if network.fault:
        return None
    text, plugins = network.config, []
    several = data.get("plugins")
    objects = [each for each in ([data] if several is None else several) if isinstance(each, dict)]
    for old, written in zip(network.plugins, objects, strict=True):
        words = {"type": OLD_TYPES.get(old.type or "", old.type)}
        if old.type == OVN and old.settings.get("netAttachDefName"):
            words["netAttachDefName"] = network.path
        for key, new in words.items():
            if written.get(key) not in (None, new):
                text = text.replace(_word(written[key]), _word(new))
                written[key] = new
        settings = {
            key: written[key] if key in words else old.settings[key] for key in old.settings
        }
        plugins.append(replace(old, type=words["type"], settings=settings))
    if text == network.config or msgspec.json.decode(text) != data:
        return None
    return replace(network, config=text, plugins=tuple(plugins))


def _word(value: object) -> str:
    return msgspec.json.encode(value).decode()
