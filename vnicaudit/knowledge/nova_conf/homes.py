"""Programs that write nova.conf from files of their own: the names that they give its options, what
makes them write it again, and the words of a finding for the people who use them."""

from __future__ import annotations

import re

from vnicaudit.model.nova import Name, NovaConfig

OPENSTACK_ANSIBLE = "OpenStack-Ansible"
OPENSTACK_HELM = "OpenStack-Helm"
PUPPET = "Puppet"
TRIPLEO = "TripleO"
RHOSO = "RHOSO"
JUJU = "Juju"
ANSIBLE = "Ansible"
SALT = "Salt"
DEVSTACK = "devstack"
KOLLA = "Kolla Ansible"
SCRIPT = "a script"
STRING = "a string"
"""A nova.conf inside a string of some file: it is unknown which program uses it."""

_REWRITTEN_BY = {
    OPENSTACK_ANSIBLE: "run the playbook os-nova-install.yml",
    OPENSTACK_HELM: "upgrade the release of the nova chart",
    PUPPET: "run Puppet",
    TRIPLEO: "update the overcloud",
    RHOSO: "apply it and, for compute nodes, create an OpenStackDataPlaneDeployment",
    JUJU: "deploy the bundle again or run juju config",
    ANSIBLE: "run the play and restart nova-compute",
    SALT: "apply the state and restart nova-compute",
    DEVSTACK: "run stack.sh again",
    KOLLA: "reconfigure nova (kolla-ansible reconfigure, kayobe overcloud service reconfigure)",
    SCRIPT: "run the script again and restart nova-compute",
}
"""Home -> what has to happen before Nova reads a change."""

_RESTART = "restart nova-compute"
_NAMED = re.compile(r"\[[\w-]{1,80}\] [\w-]{1,80}")


def in_words_of(config: NovaConfig, text: str, field: str | None = None) -> str:
    """A sentence about nova.conf for somebody who edits another file: the options under the names
    that they have there, and what makes its program write nova.conf again. ``field``: the option
    that it is about, by whose name alone it may begin."""
    called = {option.written: option.called for option in config.own if option.called}
    section, _, name = (field or "").partition("#")[0].partition("/")
    if name and text.startswith(f"{name} "):
        text = f"[{section}] {text}" if f"[{section}] {name}" in called else text
    text = _NAMED.sub(lambda match: called.get(match[0], match[0]), text)
    rewrites = _REWRITTEN_BY.get(config.home)
    return text.replace(_RESTART, rewrites) if rewrites else text


def _libvirt(*names: str) -> dict[str, Name]:
    return {name: ("libvirt", name) for name in names}


_LIBVIRT = _libvirt(
    "virt_type", "hw_machine_type", "rx_queue_size", "tx_queue_size", "max_queues",
    "num_pcie_ports", "file_backed_memory", "swtpm_enabled", "images_type",
)  # fmt: skip

PUPPET_CLASSES: dict[str, dict[str, Name]] = {
    "nova::compute::libvirt": {**_LIBVIRT, "compute_driver": ("DEFAULT", "compute_driver")},
    "nova::compute": {
        "reserved_huge_pages": ("DEFAULT", "reserved_huge_pages"),
        "live_migration_wait_for_vif_plug": ("compute", "live_migration_wait_for_vif_plug"),
    },
    "nova::compute::pci": {
        "device_specs": ("pci", "device_spec"),
        "passthrough": ("pci", "device_spec"),
        "report_in_placement": ("pci", "report_in_placement"),
    },
    "nova::network::neutron": {
        "vif_plugging_is_fatal": ("DEFAULT", "vif_plugging_is_fatal"),
        "vif_plugging_timeout": ("DEFAULT", "vif_plugging_timeout"),
        "ovs_bridge": ("neutron", "ovs_bridge"),
    },
    "nova::scheduler::filter": {"pci_in_placement": ("filter_scheduler", "pci_in_placement")},
    "nova::workarounds": {
        "wait_for_vif_plugged_event_during_hard_reboot": (
            "workarounds", "wait_for_vif_plugged_event_during_hard_reboot",
        ),
    },
}  # fmt: skip
"""Class -> parameter -> option. Source: puppet-nova 9e0b09f0 (June 2026), manifests/compute.pp,
compute/libvirt.pp, compute/pci.pp, network/neutron.pp, scheduler/filter.pp and workarounds.pp;
``passthrough`` is the name of ``device_specs`` up to Yoga."""

TRIPLEO_PARAMETERS: dict[str, Name] = {
    "NovaLibvirtRxQueueSize": ("libvirt", "rx_queue_size"),
    "NovaLibvirtTxQueueSize": ("libvirt", "tx_queue_size"),
    "NovaLibvirtMaxQueues": ("libvirt", "max_queues"),
    "NovaLibvirtNumPciePorts": ("libvirt", "num_pcie_ports"),
    "NovaLibvirtFileBackedMemory": ("libvirt", "file_backed_memory"),
    "NovaHWMachineType": ("libvirt", "hw_machine_type"),
    "NovaComputeLibvirtType": ("libvirt", "virt_type"),
    "NovaEnableVTPM": ("libvirt", "swtpm_enabled"),
    "NovaPCIPassthrough": ("pci", "device_spec"),
    "NovaReservedHugePages": ("DEFAULT", "reserved_huge_pages"),
    "NovaLiveMigrationWaitForVIFPlug": ("compute", "live_migration_wait_for_vif_plug"),
    "NovaOVSBridge": ("neutron", "ovs_bridge"),
}
"""Source: tripleo-heat-templates 04f9e4f7 (March 2021),
deployment/nova/nova-compute-container-puppet.yaml, nova-libvirt-container-puppet.yaml and
nova-base-puppet.yaml."""

TRIPLEO_UNSET: dict[str, tuple[str, ...]] = {
    "NovaLibvirtMaxQueues": ("0",),
    "NovaLibvirtFileBackedMemory": ("", "0"),
    "NovaOVSBridge": ("",),
}
"""Parameter -> values with which it sets nothing (same source, ``conditions``)."""

VARIABLES: dict[str, tuple[str, Name]] = {
    "nova_virt_type": (OPENSTACK_ANSIBLE, ("libvirt", "virt_type")),
    "nova_compute_virt_type": (KOLLA, ("libvirt", "virt_type")),
}
"""Variable of a deployment tool -> the tool, and the option. Source: os_nova e06c7bce (June 2026),
templates/nova.conf.j2; kolla-ansible 1a681814 (August 2026), roles/nova-cell/templates/nova.conf.d/
libvirt.conf.j2. With another driver than libvirt they set no option: see OTHER_DRIVERS."""

JUJU_CHARMS = ("nova-compute", "nova-cloud-controller")
JUJU_OPTIONS: dict[str, Name] = {
    "virt-type": ("libvirt", "virt_type"),
    "virtio-net-rx-queue-size": ("libvirt", "rx_queue_size"),
    "virtio-net-tx-queue-size": ("libvirt", "tx_queue_size"),
    "num-pcie-ports": ("libvirt", "num_pcie_ports"),
    "enable-vtpm": ("libvirt", "swtpm_enabled"),
    "pci-passthrough-whitelist": ("pci", "device_spec"),
    "reserved-huge-pages": ("DEFAULT", "reserved_huge_pages"),
}
"""Option of the charm nova-compute -> option. Source: charm-nova-compute 77f2e9e1 (June 2026),
config.yaml and templates/yoga/nova.conf."""

OTHER_DRIVERS = ("ironic", "lxd", "vmware")
"""Values of ``virt-type``, ``nova_virt_type`` and ``nova_compute_virt_type`` that select another
driver than libvirt, not an option of [libvirt]."""
