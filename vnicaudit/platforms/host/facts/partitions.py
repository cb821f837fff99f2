"""CPUs that Nova and kubelet keep for guests, pods and the system, from their files on the host.

Sources: nova/conf/compute.py (cpu_dedicated_set, cpu_shared_set; ``^N`` takes N out:
nova.virt.hardware.parse_cpu_spec), Kolla's path is that of its ansible role nova-cell, TripleO's of
its puppet container. KubeletConfiguration v1beta1: reservedSystemCPUs, cpuManagerPolicyOptions;
kubelet's flag --reserved-cpus goes before. strict-cpu-reservation is off unless set (KEP-4540).
"""

from __future__ import annotations

import re

from vnicaudit.knowledge.cpu_lists import from_list
from vnicaudit.model.host_facts import Cpus
from vnicaudit.platforms.host.readings import Excerpt, HostFact, HostReadings

_NOVA = (
    "/etc/kolla/nova-compute/nova.conf",
    "/var/lib/config-data/puppet-generated/nova_libvirt/etc/nova/nova.conf",
    "/var/snap/openstack-hypervisor/common/etc/nova/nova.conf",
    "/etc/nova/nova.conf",
    "/etc/nova/nova-compute.conf",
    "/etc/nova/nova-cpu.conf",
)
"""The files that nova-compute reads together come in its order: the last value is used."""
_KUBELET = (
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/kubelet.conf.d/*.conf",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeadm-flags.env",
    "/etc/default/kubelet",
    "/etc/sysconfig/kubelet",
    "/etc/rancher/*/config.yaml",
)
_SET = re.compile(r"[ \t]*(cpu_(?:dedicated|shared)_set)[ \t]*=(.*)")
_RATIO = re.compile(r"[ \t]*cpu_allocation_ratio[ \t]*=[ \t]*(\d{1,4}(?:\.\d{1,4})?)[ \t]*")
_RESERVED = re.compile(r"reserved(?:SystemCPUs\"?[ \t]*:|-cpus[=: \t])[ \t]*[\"']?([0-9][0-9,-]*)")
_STRICT = re.compile(r"strict-cpu-reservation[\"']?[ \t]*[:=][ \t]*[\"']?(true|false)")


def _read(readings: HostReadings) -> dict[str, object]:
    return _nova(readings) | _kubelet(readings)


def _nova(readings: HostReadings) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in _NOVA:
        section = ""
        for line in (readings.text(path) or "").split("\n"):
            if line.startswith("["):
                section = line.strip()
            match = _SET.match(line) if section == "[compute]" else None
            if match:
                name = "nova_dedicated" if "dedicated" in match[1] else "nova_shared"
                found[name] = from_nova(match[2])
            ratio = _RATIO.fullmatch(line) if section == "[DEFAULT]" else None
            if ratio:
                found["nova_ratio"] = float(ratio[1]) or None
    return found


def from_nova(text: str) -> Cpus | None:
    """CPUs of a set as Nova writes it: ``4-12,^8,15``; None: it is none."""
    parts = [part.strip() for part in text.strip().strip("\"'").split(",")]
    kept = from_list(",".join(part for part in parts if not part.startswith("^")))
    taken = from_list(",".join(part[1:] for part in parts if part.startswith("^")))
    if not kept or taken is None:
        return None
    return tuple(sorted(set(kept) - set(taken)))


def _kubelet(readings: HostReadings) -> dict[str, object]:
    texts = [
        text
        for pattern in _KUBELET
        for _path, text in sorted(readings.texts(pattern).items(), key=lambda item: item[0])
    ]
    reserved = [value for text in texts for value in _RESERVED.findall(text)]
    if not reserved:
        return {}
    strict = [value for text in texts for value in _STRICT.findall(text)]
    return {"kubelet_reserved": from_list(reserved[-1]), "kubelet_strict": strict[-1:] == ["true"]}


FACT = HostFact(
    "partitions",
    _read,
    excerpts=(
        Excerpt(
            r"^\[.*|^[[:space:]]*cpu_(dedicated_set|shared_set|allocation_ratio)[[:space:]]*=.*",
            _NOVA,
        ),
        Excerpt(
            r"(reservedSystemCPUs\"?[[:space:]]*:|reserved-cpus[=:[:space:]])[[:space:]]*[\"']?[0-9,-]+"
            r"|strict-cpu-reservation[\"']?[[:space:]]*[:=][[:space:]]*[\"']?(true|false)",
            _KUBELET,
        ),
    ),
    of_cpus=True,
)
