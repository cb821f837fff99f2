"""Settings as they are read from OpenStack-Helm's values and OpenStack-Ansible's overrides, and as
oslo.config reads the nova.conf that both make of them. The renderers follow openstack-helm's
``to_oslo_conf`` and ansible-config_template's ``return_config_overrides_ini``."""

from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config.iniparser import BaseParser
from ruamel.yaml import YAML

from vnicaudit.model.file_kind import Content
from vnicaudit.model.nova import NovaConfig
from vnicaudit.platforms.nova_homes import NOVA_HOMES

SECTIONS = """
DEFAULT:
  vif_plugging_timeout: 300
  vif_plugging_is_fatal: False
  reserved_huge_pages: ['node:0,size:2048,count:64', "node:1,size:1GB,count:1"]
libvirt:
  rx_queue_size: "1024"
  tx_queue_size: 512  # of vhost-user
  num_pcie_ports:
    28
  hw_machine_type: x86_64=q35
  max_queues: {}
  virt_type: >-
    kvm
pci:
  device_spec: {}
neutron: {physnets: [a, b]}
"""
HELM = SECTIONS.replace("max_queues: {}", "max_queues: null").replace(
    "device_spec: {}", "device_spec: {type: multistring, values: ['{\"a\": 1}', '{\"a\": 2}']}"
)
ANSIBLE = SECTIONS.replace("max_queues: {}", "max_queues: 8").replace(
    "device_spec: {}", "device_spec:\n    ? '{\"a\": 1}'\n    ? '{\"a\": 2}'"
)


class Read(BaseParser):
    """Everything that oslo.config reads."""

    def __init__(self) -> None:
        super().__init__()
        self.section = ""
        self.found: list[tuple[str, str, str]] = []

    def new_section(self, section: str) -> None:
        self.section = section

    def assignment(self, key: str, value: list[str]) -> None:
        self.found.append((self.section, key, "\n".join(value).lower()))


def _values_of_helm(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value["values"]
    elif value is not None:
        yield ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _values_of_ansible(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from sorted(value)
    else:
        yield ",".join(map(str, value)) if isinstance(value, list) else str(value)


@pytest.mark.parametrize(
    ("text", "path", "values"),
    [
        ("conf:\n  nova:" + HELM.replace("\n", "\n    "), ("conf", "nova"), _values_of_helm),
        (
            "nova_nova_conf_overrides:" + ANSIBLE.replace("\n", "\n  "),
            ("nova_nova_conf_overrides",),
            _values_of_ansible,
        ),
    ],
)
def test_what_is_read_is_what_nova_reads(text: str, path: tuple[str, ...], values: Any) -> None:
    sections = YAML(typ="safe").load(text)
    for step in path:
        sections = sections[step]
    lines = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {one}" for name, it in options.items() for one in values(it)]
    nova = Read()
    nova.parse(lines)
    (config,) = NOVA_HOMES.read(Content(text.encode(), "a.yaml", "a.yaml"))
    assert isinstance(config, NovaConfig)
    found = [(one.section, one.name, one.value.lower()) for one in config.options]
    assert found == nova.found
    assert all(one.certain for one in config.options)
