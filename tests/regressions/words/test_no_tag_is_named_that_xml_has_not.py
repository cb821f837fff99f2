"""VNIC015 named tags that no definition has: ``<coalesce/rx/frames>``, ``<bandwidth/inbound>``,
``<address/pci>``."""

from pathlib import Path

import pytest

from tests.regressions.said_clean.definitions import audited, definition

MODEL = "<model type='virtio'/>"
PCI = "<address type='pci' bus='{}' slot='{}' function='0' multifunction='{}'/>"


@pytest.mark.parametrize(
    ("inside", "named"),
    [
        (
            "<coalesce><rx><frames max='many'/></rx></coalesce>",
            "<frames> (in <coalesce>) max='many' is not a number",
        ),
        (
            "<bandwidth><inbound average='fast'/></bandwidth>",
            "<inbound> (in <bandwidth>) average='fast' is not a number",
        ),
        ("<vlan><tag id='4096'/></vlan>", "<tag> (in <vlan>) id='4096' is not between 0 and 4095"),
        ("<driver><host csum='ON'/></driver>", "<host> (in <driver>) csum='ON' is not on or off"),
        (PCI.format("0x100", "1", "on"), "<address> bus='0x100' is not between 0 and 255"),
        (PCI.format("0", "0x20", "on"), "<address> slot='0x20' is not between 0 and 31"),
        (PCI.format("0", "2", "maybe"), "<address> multifunction='maybe' is not on or off"),
    ],
)
def test_the_element_is_called_what_it_is(tmp_path: Path, inside: str, named: str) -> None:
    (found,) = [one for one in audited(definition(tmp_path, MODEL + inside))
                if one["rule"] == "VNIC015"]  # fmt: skip
    assert found["message"] == f"libvirt refuses the definition: {named}"
