"""Readiness: what osinfo-db says of an operating system, and what the domain itself shows."""

import json
import re
from pathlib import Path

import pytest

from scripts import generate_readiness
from tests.rows import rows
from vnicaudit.knowledge import readiness
from vnicaudit.knowledge.readiness import readiness_of, readiness_of_release

UBUNTU = "http://ubuntu.com/ubuntu/22.04"
RHEL6 = "http://redhat.com/rhel/6.4"
WINDOWS = "http://microsoft.com/win/2k19"
OLD = "http://fedoraproject.org/fedora/1"
OLD_WINDOWS = "http://microsoft.com/win/98"
VERDICTS = {"ready", "ready-transitional", "needs-driver", "not-supported", "unknown"}


def _of(os_id: str | None, *, nic: bool = False, disk: bool = False, hint: bool = False) -> str:
    return readiness_of(os_id, virtio_nic=nic, virtio_disk=disk, windows_hint=hint)


@rows
def test_by_operating_system_alone(os_id: str | None, verdict: str) -> None:
    assert _of(os_id) == verdict


@rows
def test_by_name_and_number(name: str, number: str, verdict: str | None) -> None:
    assert readiness_of_release(name, number) == verdict


@pytest.mark.parametrize("os_id", [None, UBUNTU, OLD, WINDOWS, "http://ubuntu.com/ubuntu/99.04"])
def test_a_virtio_nic_beside_it_is_proof(os_id: str | None) -> None:
    assert _of(os_id, nic=True) == "ready"


def test_a_virtio_disk_is_proof_of_any_system_but_windows() -> None:
    assert _of(UBUNTU, disk=True) == "ready"
    assert _of("http://ubuntu.com/ubuntu/99.04", disk=True) == "ready"
    assert _of(OLD, disk=True) == "ready"
    assert _of(WINDOWS, disk=True) == "needs-driver"
    assert _of(None, disk=True, hint=True) == "needs-driver"


@pytest.mark.parametrize("os_id", [None, "", "http://libosinfo.org/unknown"])
def test_a_virtio_disk_does_not_tell_the_system(os_id: str | None) -> None:
    assert _of(os_id, disk=True) == "likely-ready"


@rows
def test_windows_does_not_run_everywhere(arch: str | None, verdict: str) -> None:
    found = readiness_of(None, arch, virtio_nic=False, virtio_disk=True, windows_hint=False)
    assert found == verdict


def test_no_evidence_makes_a_legacy_driver_modern() -> None:
    assert _of(RHEL6, nic=True, disk=True) == "ready-transitional"


def test_a_windows_hint_counts_only_where_the_system_is_not_known() -> None:
    assert _of(None, hint=True) == "needs-driver"
    assert _of(UBUNTU, hint=True) == "ready"
    assert _of("http://redhat.com/rhel/4.9", hint=True) == "unknown"
    assert _of(OLD_WINDOWS, hint=True) == "not-supported"


def test_shipped_table() -> None:
    """Every id stands once, has one of the five verdicts, and is an osinfo-db id."""
    shipped = json.loads(generate_readiness.OUTPUT.read_text())
    assert shipped["source"] == "osinfo-db"
    assert shipped["version"].isdigit()
    assert set(shipped["verdicts"]) == VERDICTS
    ids = [
        f"{vendor}{version}"
        for vendors in shipped["verdicts"].values()
        for vendor, versions in vendors.items()
        for version in versions.split(" ")
    ]
    assert sorted(ids) == sorted(set(ids))
    assert all(re.fullmatch(r"http://[a-z0-9.-]+(/[\w.-]+){1,2}", name) for name in ids)


def test_the_table_is_read_only_when_an_id_is_met() -> None:
    readiness._verdicts_by_id.cache_clear()
    _of(None, disk=True)
    assert readiness._verdicts_by_id.cache_info().currsize == 0
    _of(UBUNTU)
    assert readiness._verdicts_by_id.cache_info().currsize == 1


# The generator, on a tree written for this test in osinfo-db's format (20250619).


def _os(name: str, family: str, *inside: str) -> str:
    return (
        f"<libosinfo version='0.0.1'><os id='{name}'><family>{family}</family>{''.join(inside)}"
        "</os></libosinfo>"
    )


def _devices(*ids: str, supported: str = "") -> str:
    flag = f" supported='{supported}'" if supported else ""
    links = "".join(f"<device id='http://pcisig.com/pci/{part}'{flag}/>" for part in ids)
    return f"<devices>{links}</devices>"


def _tree(root: Path, *documents: str) -> Path:
    folder = root / "os/example.org"
    folder.mkdir(parents=True)
    for number, document in enumerate(documents):
        (folder / f"{number}.xml").write_text(document)
    (root / "VERSION").write_text("20250619\n")
    return root


def _verdicts(root: Path, *documents: str) -> dict[str, str]:
    tree = generate_readiness.read_tree(_tree(root, *documents))
    found = generate_readiness.verdicts(tree)
    return {name.rpartition("/")[2]: verdict for name, verdict in found.items()}


def test_virtio_counts_anywhere_in_the_list_and_is_inherited(tmp_path: Path) -> None:
    base = "http://example.org/x/"
    assert _verdicts(
        tmp_path,
        _os(
            f"{base}1",
            "linux",
            "<release-date>2010-01-01</release-date>",
            _devices("8086/100e", "1af4/1000"),
        ),
        _os(f"{base}2", "linux", f"<derives-from id='{base}1'/>", _devices("1af4/1041")),
        _os(f"{base}3", "linux", f"<clones id='{base}2'/>"),
        _os(f"{base}4", "linux", f"<upgrades id='{base}3'/>", _devices("8086/10d3")),
        _os(f"{base}5", "linux", f"<derives-from id='{base}missing'/>"),
        _os(f"{base}6", "linux", _devices("1af4/1041", supported="false")),
    ) == {
        "1": "ready-transitional",
        "2": "ready",
        "3": "ready",
        "4": "unknown",  # libosinfo does not inherit devices by <upgrades>
        "5": "unknown",
        "6": "unknown",
    }


@rows
def test_a_list_without_virtio_1_0_proves_nothing_of_younger_systems(
    tmp_path: Path, family: str, released: str | None, verdict: str
) -> None:
    date = f"<release-date>{released}</release-date>" if released else ""
    system = _os("http://example.org/x/1", family, date, _devices("1af4/1000"))
    assert _verdicts(tmp_path, system) == {"1": verdict}


def test_windows_needs_its_driver_whatever_is_listed(tmp_path: Path) -> None:
    assert _verdicts(
        tmp_path,
        _os("http://microsoft.com/win/2k19", "winnt", _devices("1af4/1000", "1af4/1041")),
        _os("http://microsoft.com/win/98", "win9x", "<eol-date>2006-07-11</eol-date>"),
    ) == {"2k19": "needs-driver", "98": "not-supported"}


def test_not_supported_only_when_a_whole_line_of_releases_ended(tmp_path: Path) -> None:
    base = "http://example.org/x/"
    assert _verdicts(
        tmp_path,
        _os(f"{base}1.0", "linux", "<eol-date>2004-09-20</eol-date>"),
        _os(f"{base}1.5", "linux", "<eol-date>2007-12-31</eol-date>"),
        _os(f"{base}2.0", "linux", "<eol-date>2004-09-20</eol-date>"),
        _os(f"{base}2.5", "linux", "<eol-date>2013-07-31</eol-date>"),
        _os(f"{base}3.0", "linux", "<eol-date>2004-09-20</eol-date>"),
        _os(f"{base}3.5", "linux"),
    ) == {
        "1.0": "not-supported",
        "1.5": "not-supported",
        "2.0": "unknown",
        "2.5": "unknown",
        "3.0": "unknown",
        "3.5": "unknown",
    }


def test_systems_that_derive_from_each_other(tmp_path: Path) -> None:
    base = "http://example.org/x/"
    assert _verdicts(
        tmp_path,
        _os(f"{base}1", "linux", f"<derives-from id='{base}2'/>"),
        _os(f"{base}2", "linux", f"<derives-from id='{base}1'/>", _devices("1af4/1041")),
    ) == {"1": "ready", "2": "ready"}


def test_written_file(tmp_path: Path) -> None:
    tree = _tree(
        tmp_path / "osinfo",
        _os("http://example.org/x/10", "linux", _devices("1af4/1041")),
        _os("http://example.org/x/9", "linux", _devices("1af4/1041")),
        _os("http://microsoft.com/win/11", "winnt"),
    )
    output = tmp_path / "readiness.json"
    generate_readiness.main(tree, output)
    assert json.loads(output.read_text()) == {
        "source": "osinfo-db",
        "version": "20250619",
        "verdicts": {
            "needs-driver": {"http://microsoft.com/win/": "11"},
            "ready": {"http://example.org/x/": "10 9"},
        },
    }
