"""Settings of a host, worded for the program that sets them there: a file to review, and what makes
its owner apply it.

Sources: the machine config operator takes Ignition 3 (3.2 since OpenShift 4.7), with files as data
URLs; OpenShift's documentation for IBM Z keeps RFS in that way (50-enable-rfs). Node tuning
operator: Tuned CR and docs/performanceprofile/performance_profile.md (annotations for RPS). tuned:
plugins net, cpu, sysctl and sysfs (plugin_net.py at 0f1e4a45). nmstate at 07f46b5e:
rust/src/lib/ifaces/ethtool.rs, which has features and rings, but no channels and no private flags.
os-net-config at 7113d91: schema.yaml, ``mtu``, and ``ethtool_opts`` of interfaces and Linux bonds;
tripleo-heat-templates at 04f9e4f7 has no parameter for them, but ExtraSysctlSettings
(kernel-baremetal-ansible.yaml, where it counts more than the others) and OvsPmdCoreList
(openvswitch-dpdk-baremetal-ansible.yaml). chzdev(8): ``-p`` changes a device's rule alone.
OpenStack-Ansible: ``openstack_user_kernel_options`` of the role openstack_hosts. Juju: option
``sysctl`` of the charm nova-compute (config.yaml at 0c4a2a6a). Kolla Ansible at 1a681814e: role
nova-cell sets the sysctl for all computes, and has no variable for it but ``set_sysctl``;
ovs-dpdkctl.sh of its role ovs-dpdk writes its file only if there is none, and sets the mask after
each restart of the database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from vnicaudit.knowledge.cpu_lists import as_list, from_mask
from vnicaudit.knowledge.host_settings import (
    FILES,
    SHORT,
    HostSetting,
    attribute_of,
    path_of,
    words_to_set,
)
from vnicaudit.knowledge.persistent_forms import OwnFile, for_nodes
from vnicaudit.model.host_facts import HostFacts, SettingOwner
from vnicaudit.model.plan import OwnerFile

Settings = Mapping[HostSetting, str]
Way = Iterator[str | OwnerFile]

_RESTARTS = "Review {}, give it the role of the node's pool, and oc apply -f it: {}"
_MACHINE_CONFIG = """apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-{name}
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  config:
    ignition:
      version: 3.2.0
    storage:
      files:
"""
_FILE = """{lines}      - path: {path}
        mode: 0644
        contents:
          source: data:text/plain;charset=utf-8,{text}
"""
_TUNED = """apiVersion: tuned.openshift.io/v1
kind: Tuned
metadata:
  name: {name}
  namespace: openshift-cluster-node-tuning-operator
spec:
  profile:
  - name: {name}
    data: |
{data}  recommend:
  - machineConfigLabels:
      machineconfiguration.openshift.io/role: worker
    priority: 15
    profile: {name}
"""
_POLICY = """apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata:
  name: {name}
spec:
  nodeSelector:
    node-role.kubernetes.io/worker: ""
  desiredState:
    interfaces:
"""
_NMSTATE_FEATURES = {
    "rx-checksumming": "rx-checksum",
    "scatter-gather": "tx-scatter-gather",
    "tcp-segmentation-offload": "tx-tcp-segmentation",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "generic-receive-offload": "rx-gro",
    "large-receive-offload": "rx-lro",
}
"""Names of ``ethtool -k``, and those of the kernel that nmstate takes. Which one checksums for
sending have depends on the driver."""
_TUNED_KEYS = {"feature": "features", "ring": "ring", "channels": "channels"}
_ELEMENTS = {"bond": "linux_bond", "bridge": "linux_bridge"}
_WITH_ETHTOOL = ("interface", "linux_bond")
_PLAIN_KEYS = {"mtu": "mtu", "queue-length": "txqueuelen"}


def owners_way(owner: SettingOwner, settings: Settings, facts: HostFacts) -> Way:
    """Sentences, each before the file that it names, that give settings of a device, or of the
    host, to their owner; nothing where it has no form for them."""
    way = _WAYS.get(owner.name)
    yield from () if way is None else way(owner, settings, facts)


def _with_file(sentence: str, owner: str, settings: Settings, text: str) -> Way:
    """A file, after the sentence that says where it goes, with its name."""
    suffix = "conf" if owner in ("tuned", "kolla") else "yaml"
    name = f"{owner}-{_name(settings)}.{suffix}"
    yield sentence.format(name)
    yield OwnerFile(name, text)


def _machine_config(_owner: SettingOwner, settings: Settings, _facts: HostFacts) -> Way:
    files = [one for one in for_nodes(settings) if isinstance(one, OwnFile)]
    if files:
        how = _RESTARTS.format("{}", "its nodes are restarted one after the other.")
        text = _MACHINE_CONFIG.format(name=_name(settings)) + "".join(map(_in_ignition, files))
        yield from _with_file(how, "machine-config", settings, text)


def _in_ignition(file: OwnFile) -> str:
    """A file of Ignition's, with its lines as comments: nobody can review the URL."""
    lines = "".join(f"      # {line}\n" for line in file.text.split("\n"))
    return _FILE.format(lines=lines, path=file.path, text=_in_url(f"{file.text}\n"))


def _name(settings: Settings) -> str:
    """The name of an object for settings of one device, or of the host."""
    device = next(iter(settings)).device
    return f"vnicaudit-{re.sub('[^a-z0-9]+', '-', device.lower()) or 'host'}"


def _in_url(text: str) -> str:
    """ASCII text in a URL (RFC 3986)."""
    return "".join(one if one.isalnum() or one in "-._~" else f"%{ord(one):02X}" for one in text)


def _performance_profile(owner: SettingOwner, settings: Settings, _facts: HostFacts) -> Way:
    if owner.sets:
        yield (
            "RPS is the PerformanceProfile's: its annotation performance.openshift.io/enable-rps "
            '("true", or "false" to leave it to you); for adapters also '
            "performance.openshift.io/enable-physical-dev-rps."
        )
        return
    if lines := _profile(owner.evidence.split("/")[-2], settings):
        data = "".join(f"      {line}\n" for line in lines)
        how = _RESTARTS.format("{}", "tuned on its nodes takes it over at once.")
        text = _TUNED.format(data=data, name=_name(settings))
        yield from _with_file(how, "performance-profile", settings, text)


def _tuned(_owner: SettingOwner, settings: Settings, facts: HostFacts) -> Way:
    name = _name(settings)
    if lines := _profile(facts.tuned_profile or "", settings):
        how = (
            f"Copy {{}}, a child profile, to /etc/tuned/{name}/tuned.conf (where there is "
            f"/etc/tuned/profiles: in that), then: tuned-adm profile {name}"
        )
        yield from _with_file(how, "tuned", settings, "\n".join(lines) + "\n")


def _profile(parent: str, settings: Settings) -> list[str]:
    """A profile of tuned that changes only these settings of its parent; empty: none of them."""
    lines = list(_sections(settings))
    return ["[main]", f"include={parent}", *lines] if lines else []


def _sections(settings: Settings) -> Iterator[str]:
    sysctls = [f"{one.name}={value}" for one, value in settings.items() if one.kind == "sysctl"]
    yield from ("[sysctl]", *sysctls) if sysctls else ()
    pairs: dict[str, list[str]] = {}
    for setting, value in settings.items():
        if setting.kind in _TUNED_KEYS:
            name = SHORT.get(setting.name, setting.name)
            pairs.setdefault(_TUNED_KEYS[setting.kind], []).append(f"{name} {value}")
        elif setting.kind in _PLAIN_KEYS:
            pairs[_PLAIN_KEYS[setting.kind]] = [value]
    device = next((one.device for one in settings if one.device), "")
    if pairs:
        yield from (f"[net_{device}]", "type=net", f"devices={device}")
        yield from (f"{key}={' '.join(values)}" for key, values in pairs.items())
    governor = next((value for one, value in settings.items() if one.kind == "governor"), "")
    yield from ("[cpu]", f"governor={governor}") if governor else ()
    files = [
        f"{path_of(one)}={value}"
        for one, value in settings.items()
        if one.kind in FILES and one.kind not in ("sysctl", "governor", "irq")
    ]
    yield from ("[sysfs]", *files) if files else ()


def _nmstate(_owner: SettingOwner, settings: Settings, facts: HostFacts) -> Way:
    device = next(iter(settings)).device
    link = facts.link(device)
    ring = [f"{one.name}: {value}" for one, value in settings.items() if one.kind == "ring"]
    features = [
        f"{_NMSTATE_FEATURES[one.name]}: {'true' if value == 'on' else 'false'}"
        for one, value in settings.items()
        if one.kind == "feature" and one.name in _NMSTATE_FEATURES
    ]
    mtu = [f"mtu: {value}" for one, value in settings.items() if one.kind == "mtu"]
    if link is None or not link.physical or not (ring or features or mtu):
        return
    lines = [f"    - name: {device}", "      type: ethernet", "      state: up"]
    lines += [f"      {line}" for line in mtu]
    if ring or features:
        lines.append("      ethtool:")
    for key, values in (("ring", ring), ("feature", features)):
        lines += [f"        {key}:", *(f"          {line}" for line in values)] if values else []
    how = "Review {}, and kubectl apply -f it (on a host of its own: nmstatectl apply the state)."
    text = _POLICY.format(name=_name(settings)) + "".join(f"{line}\n" for line in lines)
    yield from _with_file(how, "nmstate", settings, text)


def _os_net_config(_owner: SettingOwner, settings: Settings, facts: HostFacts) -> Way:
    """The element itself, as no parameter has these settings."""
    device = next(iter(settings)).device
    link = facts.link(device)
    element = (
        None if link is None else "interface" if link.physical else _ELEMENTS.get(link.kind or "")
    )
    if element is None:
        return
    mtu = [f"    mtu: {value}\n" for one, value in settings.items() if one.kind == "mtu"]
    options = [
        " ".join(words_to_set(HostSetting(one.kind, "${DEVICE}", one.name), value)[1:])
        for one, value in settings.items()
        if one.kind in ("feature", "ring", "channels", "private-flag") and element in _WITH_ETHTOOL
    ]
    if not mtu and not options:
        return
    ethtool = f'    ethtool_opts: "{"; ".join(options)}"\n' if options else ""
    how = (
        "Put what is in {} into the nic-config template of the node's role (NetworkConfigTemplate, "
        "of director's parameters), and deploy."
    )
    text = f"network_config:\n  - type: {element}\n    name: {device}\n{''.join(mtu)}{ethtool}"
    yield from _with_file(how, "os-net-config", settings, text)


def _tripleo(_owner: SettingOwner, settings: Settings, _facts: HostFacts) -> Way:
    lines = [
        f"    {one.name}: {{value: {value}}}\n"
        for one, value in settings.items()
        if one.kind == "sysctl"
    ]
    lines[:0] = ["  ExtraSysctlSettings:\n"] if lines else []
    masks = [from_mask(value) for one, value in settings.items() if one.name == "pmd-cpu-mask"]
    lines += [f'  OvsPmdCoreList: "{as_list(cpus)}"\n' for cpus in masks if cpus]
    if lines:
        how = (
            "Add what is in {} to the parameters of the node's role, with the settings that it has "
            "there already, and deploy."
        )
        yield from _with_file(how, "tripleo", settings, "".join(["parameter_defaults:\n", *lines]))


def _zdev(_owner: SettingOwner, settings: Settings, facts: HostFacts) -> Way:
    link = facts.link(next(iter(settings)).device)
    words = [
        f"{attribute_of(one)}={value}"
        for one, value in settings.items()
        if one.kind in ("qeth", "vnicc")
    ]
    if link is not None and link.qeth is not None and words:
        yield (
            f"chzdev -p {link.qeth.device} {' '.join(words)} sets it from the next boot on; plan "
            "--over-owner sets it now."
        )


def _openstack_ansible(_owner: SettingOwner, settings: Settings, _facts: HostFacts) -> Way:
    found = [(one.name, value) for one, value in settings.items() if one.kind == "sysctl"]
    if found:
        how = (
            "Put what is in {} into /etc/openstack_deploy/user_variables.yml, then run "
            "openstack_hosts_setup."
        )
        lines = (f"  - key: {key}\n    value: {value}\n" for key, value in found)
        text = "openstack_user_kernel_options:\n" + "".join(lines)
        yield from _with_file(how, "openstack-ansible", settings, text)


def _juju(_owner: SettingOwner, settings: Settings, _facts: HostFacts) -> Way:
    found = [f"{one.name}: {value}" for one, value in settings.items() if one.kind == "sysctl"]
    if found:
        how = (
            "Add what is in {} to the option sysctl of the charm, which is one map (juju config "
            "nova-compute sysctl shows what it has)."
        )
        yield from _with_file(how, "juju", settings, f"{{ {', '.join(found)} }}\n")


def _kolla(owner: SettingOwner, settings: Settings, _facts: HostFacts) -> Way:
    masks = [value for one, value in settings.items() if one.name == "pmd-cpu-mask"]
    if masks and "pmd-cpu-mask" in owner.sets:
        how = (
            f"Kolla Ansible sets it from {owner.evidence} when it restarts ovsdpdk_db, and keeps "
            "your values there. Write what is in {} there; plan --over-owner sets it now."
        )
        yield from _with_file(how, "kolla", settings, f"[ovs]\npmd_coremask = {masks[0]}\n")
    if any(one.name in owner.sets and one.kind == "sysctl" for one in settings):
        yield (
            "Kolla Ansible has no variable for it alone: set_sysctl: false in globals.yml leaves "
            "this and all other sysctls of its computes to you."
        )


_WAYS: Mapping[str, Callable[[SettingOwner, Settings, HostFacts], Way]] = {
    "juju": _juju,
    "kolla": _kolla,
    "machine-config": _machine_config,
    "nmstate": _nmstate,
    "openstack-ansible": _openstack_ansible,
    "os-net-config": _os_net_config,
    "performance-profile": _performance_profile,
    "tripleo": _tripleo,
    "tuned": _tuned,
    "zdev": _zdev,
}
"""Owner -> how settings are given to it."""
