"""``i82557a`` was in no list of ours: a guest that starts with it was said not to."""

import pytest

from vnicaudit.knowledge.models import PCI, QEMU_MODELS, bus_of

EEPRO100 = (
    "i82550", "i82551", "i82557a", "i82557b", "i82557c", "i82558a", "i82558b",
    "i82559a", "i82559b", "i82559c", "i82559er", "i82562", "i82801",
)  # fmt: skip
"""``-device help`` of QEMU 7.2."""


@pytest.mark.parametrize("model", EEPRO100)
def test_it_is_a_nic_on_pci(model: str) -> None:
    assert model in QEMU_MODELS
    assert bus_of(model) == PCI
