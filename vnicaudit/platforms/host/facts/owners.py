"""Programs that set a host's settings, each with the file or process that shows it.

Sources: assets of openshift/cluster-node-tuning-operator (tuned profiles
openshift-node-performance-NAME, 99-default-rps-mask.conf, 99-netdev-physical-rps.rules),
machine-config-operator (currentconfig), nmstate.service (/etc/nmstate), os-net-config, Kolla
Ansible at 1a681814e (/etc/kolla/SERVICE; of what is changed here, only its roles nova-cell and
ovs-dpdk set something), the role openstack_hosts of OpenStack-Ansible (/etc/openstack-release),
jujud's units, tuned.conf(5), netplan(5), systemd.network(5), interfaces(5), wicked-ifcfg(5), and
zdev of s390-tools.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.knowledge.host_settings import KEEPING
from vnicaudit.model.host_facts import SettingOwner
from vnicaudit.platforms.host.facts.processes import programs_of
from vnicaudit.platforms.host.readings import Excerpt, HostFact, HostReadings


class _Trace(NamedTuple):
    """Files that show an owner, and the settings that these files set."""

    owner: str
    files: tuple[str, ...]
    sets: tuple[str, ...] = ()
    but: str = ""
    """End of names that show nothing."""


_TRACES = (
    _Trace("performance-profile", ("/etc/sysctl.d/99-default-rps-mask.conf",),
          ("net.core.rps_default_mask",)),
    _Trace("performance-profile", ("/etc/udev/rules.d/99-netdev-physical-rps.rules",), ("rps",)),
    _Trace("performance-profile", ("/etc/tuned/openshift-node-performance-*/tuned.conf",)),
    _Trace("machine-config", ("/etc/machine-config-daemon/currentconfig",)),
    _Trace("nmstate", ("/etc/nmstate/*.yml", "/etc/nmstate/*.yaml", "/etc/nmstate/*.applied")),
    _Trace("os-net-config", ("/etc/os-net-config/config.json", "/etc/os-net-config/config.yaml")),
    _Trace("kolla", ("/etc/kolla/nova-compute/config.json",),
          ("net.bridge.bridge-nf-call-iptables",)),
    _Trace("kolla", ("/etc/kolla/ovsdpdk-db/ovs-dpdkctl.conf",), ("pmd-cpu-mask",)),
    _Trace("juju", ("/etc/systemd/system/jujud-machine-*.service",
                   "/var/lib/juju/agents/machine-*")),
    _Trace("netplan", ("/etc/netplan/*.yaml",), ("links",)),
    _Trace("network-manager", ("/etc/NetworkManager/system-connections/*.nmconnection",),
          ("links",)),
    _Trace("networkd", ("/etc/systemd/network/*.link", "/etc/systemd/network/*.network",
                       "/etc/systemd/network/*.netdev"), ("links",)),
    _Trace("ifcfg", ("/etc/sysconfig/network-scripts/ifcfg-*",), ("links",), "ifcfg-lo"),
    _Trace("wicked", ("/etc/sysconfig/network/ifcfg-*",), ("links",), "ifcfg-lo"),
    _Trace("zdev", ("/etc/udev/rules.d/41-qeth-*.rules",), ("qeth",)),
)  # fmt: skip
_RELEASE = "/etc/openstack-release"
_INTERFACES = ("/etc/network/interfaces", "/etc/network/interfaces.d/*")
_ACTIVE = "/etc/tuned/active_profile"
_PROFILES = (
    "/etc/tuned/{}/tuned.conf",
    "/etc/tuned/profiles/{}/tuned.conf",
    "/usr/lib/tuned/{}/tuned.conf",
    "/usr/lib/tuned/profiles/{}/tuned.conf",
)
"""In the order in which tuned looks for a profile."""
_OF_TUNED = re.compile(
    r"(net\.[\w.]+|(?:kernel\.)?sched[\w.]+|governor|features|ring|channels)[ \t]*="
)
_MOST_PROFILES = 20
_OWN = tuple(f"{folder}/9[09]-vnicaudit-*" for folder in KEEPING)


def _read(readings: HostReadings) -> dict[str, object]:
    owners = [each for trace in _TRACES if (each := _owner_by(readings, trace)) is not None]
    release = readings.text(_RELEASE) or ""
    if re.search(r"^DISTRIB_ID=\"?OSA\b", release, re.M):
        owners.append(SettingOwner(name="openstack-ansible", evidence=_RELEASE))
    for pattern in _INTERFACES:
        for path, text in sorted(readings.texts(pattern).items()):
            if re.search(r"^[ \t]*iface[ \t]+(?!lo\b)\S", text, re.M):
                owners.append(SettingOwner(name="ifupdown", evidence=path, sets=("links",)))
    found: dict[str, object] = {}
    profile = (readings.text(_ACTIVE) or "").strip()
    if profile:
        found["tuned_profile"] = profile
        if "tuned" in (programs_of(readings) or {"tuned"}):
            sets = tuple(sorted(_set_by(readings, profile)))
            owners.append(SettingOwner(name="tuned", evidence=_ACTIVE, sets=sets))
    return found | {"owners": tuple(owners), "own_files": _own_files(readings)}


def _own_files(readings: HostReadings) -> dict[str, dict[str, str]]:
    return {
        folder: {path.rpartition("/")[2]: text for path, text in readings.texts(pattern).items()}
        for folder, pattern in zip(KEEPING, _OWN, strict=True)
        if readings.text(folder) is not None
    }


def _owner_by(readings: HostReadings, trace: _Trace) -> SettingOwner | None:
    paths = (path for pattern in trace.files for path in sorted(readings.texts(pattern)))
    path = next((path for path in paths if not trace.but or not path.endswith(trace.but)), None)
    return SettingOwner(name=trace.owner, evidence=path, sets=trace.sets) if path else None


def _set_by(readings: HostReadings, active: str) -> set[str]:
    """Settings that the active profiles and those that they include name."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = active.split()
    while waiting and len(seen) < _MOST_PROFILES:
        name = waiting.pop()
        if name in seen or "/" in name:
            continue
        seen.add(name)
        texts = (readings.text(path.format(name)) for path in _PROFILES)
        for line in next((text for text in texts if text is not None), "").split("\n"):
            key, is_set, value = line.partition("=")
            match = _OF_TUNED.match(line)
            if match:
                found.add(re.sub("^sched", "kernel.sched", match[1]))
            elif is_set and key.strip() == "include":
                waiting += re.split(r"[,;\s]+", value.strip())
    return found


FACT = HostFact(
    "owners",
    _read,
    files=(_ACTIVE, *_OWN),
    present=(*(pattern for trace in _TRACES for pattern in trace.files), *KEEPING),
    excerpts=(
        Excerpt("^DISTRIB_ID=.*", (_RELEASE,)),
        Excerpt("^[[:space:]]*iface[[:space:]].*", _INTERFACES),
        Excerpt(
            r"^include *=.*|^(net\.|kernel\.sched|sched)[a-zA-Z0-9_.-]* *=.*"
            r"|^(governor|features|ring|channels) *=.*",
            tuple(path.format("*") for path in _PROFILES),
        ),
    ),
    in_container=False,
)
