"""What libvirt 9.0 refuses to define was called clean: ``<driver name='foo'/>``, ``iommu='maybe'``,
a multicast MAC, ``<mtu>`` on ``type='user'``. Of ``' virtio '`` it was said that it is defined and
does not start: it is not defined either.
Then any value in capitals was taken for a placeholder: ``iommu='MAYBE'`` was clean.
"""

from pathlib import Path

from tests.regressions.false_negatives.definitions import audited, definition


def test_blanks_around_a_model_are_not_said_to_be_defined(tmp_path: Path) -> None:
    found = audited(definition(tmp_path, "<model type=' virtio '/>"))
    assert [one["rule"] for one in found] == ["VNIC015"]
    assert "is defined but" not in found[0]["message"]
    assert found[0]["change"]["new"] == "virtio"


def test_what_is_not_read_on_e1000_is_not_made_virtio_s(tmp_path: Path) -> None:
    """As virtio libvirt would read it, and refuse the whole domain."""
    inside = "<model type='e1000'/><driver name='foo'/>"
    file = definition(tmp_path, inside)
    before = file.read_text()
    audited(file, more=("--fix", "--select", "VNIC002"), code=5)
    assert file.read_text() == before
