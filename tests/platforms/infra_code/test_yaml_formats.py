"""Ansible and Heat."""

from contextlib import suppress

import pytest

from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.platforms.infra_code import looks_like, read

PLAYBOOK = """\
---
- hosts: localhost
  tasks:
    - name: an image
      openstack.cloud.image:
        name: jammy
        properties:
          os_distro: ubuntu22.04
    - block:
        - os_image:
            name: "{{ item.name }}"
            disk_format: raw
            properties:
              hw_vif_model: "{{ item.model }}"
          loop: "{{ images }}"
        - openstack.cloud.compute_flavor:
            name: tiny
            vcpus: 1
            extra_specs:
              "hw:vif_multiqueue_enabled": true
        - os_image:
            name: gone
            state: absent
            properties: {hw_vif_model: e1000}
    - shell: |
        set -e
        openstack image set --property hw_vif_model=rtl8139 \\
          --property os_type=linux old
    - ansible.builtin.command: >-
        openstack --os-cloud {{ cloud }} image set
        --property hw_vif_model={{ model }} --property os_distro=debian12
        folded
    - command:
        argv: [glance, image-update, --property, hw_vif_model=pcnet, listed]
"""

TEMPLATE = """\
heat_template_version: 2018-08-31
resources:
  image:
    type: OS::Glance::WebImage
    properties:
      name: cirros
      disk_format: qcow2
      os_distro: debian12
      extra_properties:
        hw_vif_model: {get_param: model}
        hw_vif_multiqueue_enabled: false
  flavor:
    type: OS::Nova::Flavor
    properties:
      vcpus: 4
      extra_specs: {"hw:vif_multiqueue_enabled": "true"}
  server:
    type: OS::Nova::Server
    properties:
      image: {get_resource: image}
      flavor: {get_resource: flavor}
"""


def _read(text: str, file: str = "f") -> list[Image | Flavor]:
    found = read(text.encode(), target="t", file=file)
    return [one for one in found if isinstance(one, Image | Flavor)]


def _said(found: list[Image | Flavor]) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    return [
        (one.name, [(each.name, str(each.location), each.certain) for each in one.properties])
        for one in found
    ]


def test_ansible() -> None:
    found = _read(PLAYBOOK, "p.yml")
    assert _said(found) == [
        ("jammy", [("os_distro", "p.yml:8:11", True)]),
        ("{{ item.name }}", [("hw_vif_model", "p.yml:14:15", False)]),
        ("tiny", [("hw:vif_multiqueue_enabled", "p.yml:20:15", True)]),
        ("old", [("hw_vif_model", "p.yml:27:40", True), ("os_type", "p.yml:28:22", True)]),
        ("folded", [("hw_vif_model", "p.yml:31:20", False), ("os_distro", "p.yml:31:56", True)]),
        ("listed", [("hw_vif_model", "p.yml:34:50", True)]),
    ]


def test_defaults_of_ansible_modules() -> None:
    jammy, item, tiny, *_rest = _read(PLAYBOOK)
    assert isinstance(jammy, Image)
    assert isinstance(item, Image)
    assert isinstance(tiny, Flavor)
    assert (jammy.disk_format, jammy.complete) == ("qcow2", True)
    assert item.disk_format == "raw"
    assert tiny.vcpus == 1


def test_heat() -> None:
    image, flavor = _read(TEMPLATE, "h.yaml")
    assert _said([image]) == [
        (
            "cirros",
            [
                ("hw_vif_model", "h.yaml:10:9", False),
                ("hw_vif_multiqueue_enabled", "h.yaml:11:9", True),
                ("os_distro", "h.yaml:8:7", True),
            ],
        )
    ]
    assert isinstance(flavor, Flavor)
    assert (flavor.vcpus, [each.name for each in flavor.images]) == (4, ["cirros"])


@pytest.mark.parametrize(
    "text",
    [
        PLAYBOOK.replace("vcpus: 1", f"vcpus: {'1' * 5000}"),
        TEMPLATE.replace("vcpus: 4", f"vcpus: {'4' * 5000}"),
    ],
)
def test_a_number_that_is_none(text: str) -> None:
    found = [one for one in _read(text) if isinstance(one, Flavor)]
    assert [flavor.vcpus for flavor in found] == [None]


@pytest.mark.parametrize("text", [PLAYBOOK, TEMPLATE])
def test_each_format_is_recognised(text: str) -> None:
    assert looks_like(text.encode())
    assert _read(text)


@rows
def test_nothing_else_is(text: str) -> None:
    assert not looks_like(text.encode())


@pytest.mark.parametrize("text", [PLAYBOOK, TEMPLATE])
def test_truncation_is_read_or_refused(text: str) -> None:
    for length in range(0, len(text), 23):
        with suppress(TargetError):
            assert len(_read(text[:length])) <= 7


def test_yaml_that_is_none_is_an_error() -> None:
    broken = PLAYBOOK.replace("    - block:", "   - block: [")
    with pytest.raises(TargetError, match=r"not YAML|no YAML"):
        _read(broken)
