"""The guest's name, and its NIC in words."""

import pytest

from vnicaudit.bench.facts.guest_process import guest_nic, nic_words
from vnicaudit.errors import ActionError
from vnicaudit.model.nic import NicConfig

MAC = "52:54:00:00:00:01"
DOMAIN = f"""\
<domain type="kvm">
  <name>web01</name>
  <devices>
    <interface type="network">
      <mac address="{MAC}"/><source network="default"/><model type="rtl8139"/>
    </interface>
    <interface type="network">
      <mac address="52:54:00:00:00:02"/><source network="default"/><model type="virtio"/>
    </interface>
  </devices>
</domain>
"""


class Guest:
    """A domain that runs as ``text`` says."""

    name = "web01"

    def __init__(self, text: str) -> None:
        self._text = text

    def live(self) -> bytes:
        if not self._text:
            raise ActionError("libvirt does not answer")
        return self._text.encode()


@pytest.mark.parametrize(
    ("text", "mac", "expected"),
    [
        (DOMAIN, MAC, "rtl8139"),
        (DOMAIN, "52:54:00:00:00:02", "virtio"),
        (DOMAIN, "52:54:00:00:00:03", None),
        (DOMAIN, None, None),
        ("", MAC, None),
        ("<domain", MAC, None),
    ],
)
def test_what_a_domain_says(text: str, mac: str | None, expected: str | None) -> None:
    found = guest_nic(Guest(text), "qemu:///system", mac)  # type: ignore[arg-type]
    assert found == expected


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (NicConfig(model="e1000"), "e1000"),
        (NicConfig(model="virtio", queues=1), "virtio"),
        (NicConfig(model="virtio", queues=4), "virtio, 4 queues"),
        (NicConfig(type="vdpa", model="virtio", queues=2), "virtio, vdpa, 2 queues"),
        (NicConfig(type="hostdev"), "hostdev"),
    ],
)
def test_a_nic_in_words(config: NicConfig, words: str) -> None:
    assert nic_words(config) == words
