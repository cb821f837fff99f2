"""VNIC015 named tags that no definition has: ``<coalesce/rx/frames>``, ``<bandwidth/inbound>``,
``<address/pci>``."""

from pathlib import Path

from tests.regressions.false_negatives.definitions import audited, definition
from tests.rows import rows

MODEL = "<model type='virtio'/>"
PCI = "<address type='pci' bus='{}' slot='{}' function='0' multifunction='{}'/>"


@rows
def test_the_element_is_called_what_it_is(tmp_path: Path, inside: str, named: str) -> None:
    (found,) = [one for one in audited(definition(tmp_path, MODEL + inside))
                if one["rule"] == "VNIC015"]  # fmt: skip
    assert found["message"] == f"libvirt refuses the definition: {named}"
