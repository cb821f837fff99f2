"""What ``-set`` and ``-global`` in ``<qemu:commandline>``, and ``<qemu:override>``, give a NIC of
libvirt's: a ring that no QEMU takes was listed as one that does not start, and the audit said "No
problems"; ``-global`` was not looked at, so that a plan that ends in a guest without a start was
called safe. Measured with QEMU 7.2 (``Invalid rx_queue_size (= 300)``, ``Parameter 'mq' expects
'on' or 'off'``, ``there is no device "net0" defined``) and libvirt 9.0."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.regressions.false_negatives.definitions import audited, nics

QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
OSINFO = "http://libosinfo.org/xmlns/libvirt/domain/1.0"
NO_RING = "QEMU accepts only 256 to 1024 and does not start"


def _file(tmp_path: Path, behind: str, *, model: str = "virtio", driver: str = "") -> Path:
    file = tmp_path / "guest.xml"
    file.write_text(
        f"<domain type='kvm' xmlns:q='{QEMU}'><name>guest</name>"
        f"<metadata><o:libosinfo xmlns:o='{OSINFO}'><o:os id='http://debian.org/debian/12'/>"
        "</o:libosinfo></metadata><vcpu>1</vcpu>"
        "<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><devices>"
        f"<interface type='bridge'><source bridge='br0'/><model type='{model}'/>{driver}"
        f"</interface></devices>{behind}</domain>"
    )
    return file


def _arguments(*words: str) -> str:
    given = "".join(f"<q:arg value='{word}'/>" for word in words)
    return f"<q:commandline>{given}</q:commandline>"


def _override(name: str, value: str) -> str:
    kind = "unsigned" if value.isdigit() else "string"
    return (
        "<q:override><q:device alias='net0'><q:frontend>"
        f"<q:property name='{name}' type='{kind}' value='{value}'/>"
        "</q:frontend></q:device></q:override>"
    )


def _set(name: str, value: str) -> str:
    return _arguments("-set", f"device.net0.{name}={value}")


def _global(name: str, value: str, driver: str = "virtio-net-pci") -> str:
    return _arguments("-global", f"{driver}.{name}={value}")


@pytest.mark.parametrize(
    ("field", "size"),
    [("rx_queue_size", "300"), ("tx_queue_size", "2048"), ("rx_queue_size", "1k")],
)
@pytest.mark.parametrize(
    ("given", "by"), [(_override, "<qemu:override>"), (_set, "-set"), (_global, "-global")]
)
def test_a_ring_that_qemu_refuses_is_an_error_and_names_its_source(
    tmp_path: Path, given: object, by: str, size: str, field: str
) -> None:
    assert callable(given)
    file = _file(tmp_path, given(field, size))
    (row,) = nics(file)
    assert not row["starts"]
    found = [one for one in audited(file) if one["rule"] == "VNIC035"]
    assert [(one["severity"], one["message"], one["change"]) for one in found] == [
        ("error", f"{field}={size!r} by {by}: {NO_RING}", None)
    ]
    assert by in found[0]["fix"]
    assert row[field]["reason"].startswith(f"{by}: does not start")
    explained = " ".join(inside("explain", file, "--nic", "0").stdout.split())
    assert f"{by}: does not start" in explained


@pytest.mark.parametrize("driver", ["virtio-net-pci", "virtio-net-pci-base", "virtio-net-device"])
def test_a_default_of_its_class_is_the_size_of_a_ring(tmp_path: Path, driver: str) -> None:
    (row,) = nics(_file(tmp_path, _global("rx_queue_size", "1024", driver)))
    assert row["rx_queue_size"]["effective"] == 1024
    assert row["rx_queue_size"]["reason"] == "set by -global"


@pytest.mark.parametrize("behind", [_global("rx_queue_size", "300"), _global("mq", "maybe")])
def test_a_plan_that_ends_without_a_start_is_not_safe(tmp_path: Path, behind: str) -> None:
    file = _file(tmp_path, behind, model="e1000")
    (found,) = [one for one in audited(file) if one["rule"] == "VNIC002"]
    assert found["change"] is None or not found["change"]["safe"]
    assert "-global" in found["message"]
    plan = json.loads(inside("plan", file, "--to", "virtio", "--output", "-").stdout)
    assert plan["steps"] == []
    assert "-global" in plan["not_planned"][0]["reason"]
