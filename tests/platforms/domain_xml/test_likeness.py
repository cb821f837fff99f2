"""What is said of two texts of one definition."""

from vnicaudit.platforms.domain_xml.definitions import on_way_back, rearranged, unlike

PCI = "<controller type='pci' index='{}' model='pcie-root-port'/>"
USB = "<controller type='usb' index='0' model='{}'/>"
SATA = "<controller type='sata' index='0'/>"


def _of(*controllers: str) -> bytes:
    return f"<domain><name>a</name><devices>{''.join(controllers)}</devices></domain>".encode()


def test_a_usb_controller_of_another_model_is_no_pci_controller_and_no_other_order() -> None:
    old, new = _of(USB.format("piix3-uhci"), SATA), _of(USB.format("qemu-xhci"), SATA)
    assert rearranged(old, new) == ""
    assert len(unlike(old, new)) == 2
    assert on_way_back(old, new).startswith("libvirt changes this definition when")
    assert "PCI" not in on_way_back(old, new)


def test_of_several_new_controllers_those_of_pci_are_counted() -> None:
    old = _of(SATA)
    new = _of(SATA, PCI.format(1), USB.format("qemu-xhci"), PCI.format(2))
    assert rearranged(old, new) == "added 2 PCI controllers"
    assert unlike(old, new) == ("<controller> is new or different",)


def test_what_libvirt_adds_is_new_and_what_it_drops_is_missing() -> None:
    old, new = _of(SATA), _of(SATA, USB.format("qemu-xhci"))
    assert on_way_back(old, new).endswith("<controller> is new or different")
    assert on_way_back(new, old).endswith("<controller> is missing or different")
    assert on_way_back(new, new) == ""


def test_another_order_is_told() -> None:
    old, new = _of(PCI.format(1), SATA), _of(SATA, PCI.format(1), PCI.format(2))
    assert rearranged(old, new) == (
        "added 1 PCI controller and lists the controllers in a different order"
    )
    assert unlike(old, new) == ()
