"""libosinfo's database of this machine, read as libosinfo reads it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.platforms.openstack.cloud import DATA
from vnicaudit.platforms.openstack import guest
from vnicaudit.platforms.openstack.guest import installed

DEVICE = """\
<libosinfo version="0.0.1"><device id="http://pcisig.com/pci/{id}">
<name>{name}</name><name xml:lang="de">anders</name><class>{kind}</class></device></libosinfo>
"""
SYSTEM = """\
<libosinfo version="0.0.1"><os id="{id}">{names}<family>{family}</family>{parents}
<devices>{devices}</devices></os></libosinfo>
"""
VIRTIO = [["1af4/1041", True]]


def write(root: Path, data: dict[str, Any]) -> str:
    """A database in the layout of osinfo-db."""
    (root / "device/pcisig.com").mkdir(parents=True)
    (root / "os/example.org").mkdir(parents=True)
    (root / "VERSION").write_text(f"{data['version']}\n", "utf-8")
    for identity, (name, kind) in data["devices"].items():
        file = root / f"device/pcisig.com/pci-{identity.replace('/', '-')}.d/class.xml"
        file.parent.mkdir()
        file.write_text(DEVICE.format(id=identity, name=name, kind=kind), "utf-8")
    for number, system in enumerate(data["systems"]):
        (root / f"os/example.org/{number:03}.xml").write_text(text_of(system), "utf-8")
    return str(root)


def text_of(system: dict[str, Any]) -> str:
    parents = [f'<derives-from id="{each}"/>' for each in system["derives_from"]]
    parents += [f'<clones id="{each}"/>' for each in system["clones"]]
    supported = {True: "", False: ' supported="false"'}
    devices = [
        f'<device id="http://pcisig.com/pci/{each}"{supported[there]}/>'
        for each, there in system["devices"]
    ]
    names = "".join(f"<short-id>{each}</short-id>" for each in system["short"])
    return SYSTEM.format(
        id=system["id"],
        names=names,
        family=system["family"],
        parents="".join(parents),
        devices="".join(devices),
    )


def one(**changes: Any) -> dict[str, Any]:
    """A system that has e1000e and virtio."""
    devices = [["8086/10d3", True], *VIRTIO]
    blank: dict[str, Any] = {"derives_from": [], "clones": [], "devices": devices}
    return {"id": "http://e.org/a/1", "short": ["a1"], "family": "linux", **blank, **changes}


def database(*systems: dict[str, Any]) -> dict[str, Any]:
    devices = json.loads((DATA / "osinfo.json").read_text("utf-8"))["devices"]
    return {"version": "7", "devices": devices, "systems": list(systems)}


def test_the_answers_are_those_of_libosinfo(tmp_path: Path) -> None:
    data = json.loads((DATA / "osinfo.json").read_text("utf-8"))
    found = installed(write(tmp_path, data))
    assert found is not None
    assert (found.version, found.installed) == ("1", True)
    expected = {name: model for model, names in data["models"].items() for name in names.split()}
    assert len(expected) == 152
    assert found.models == expected


def test_where_libosinfo_is_told_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSINFO_SYSTEM_DIR", write(tmp_path, database(one())))
    found = installed()
    assert found is not None
    assert found.emulated_model("a1") == "e1000e"
    assert found.emulated_model("http://e.org/a/1") == "e1000e"
    assert found.emulated_model("A1") is None


def test_there_is_none(tmp_path: Path) -> None:
    assert installed(str(tmp_path)) is None
    assert installed(str(tmp_path / "nothing")) is None


@pytest.mark.parametrize(
    "damage", ["<libosinfo>", "", "no XML", "<!DOCTYPE a [<!ENTITY b 'c'>]><libosinfo>&b;</libos>"]
)
def test_one_that_is_damaged_is_none(tmp_path: Path, damage: str) -> None:
    folder = write(tmp_path, database(one()))
    (tmp_path / "os/example.org/000.xml").write_text(damage, "utf-8")
    assert installed(folder) is None


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, database(one()))
    monkeypatch.setattr(guest, "_MOST_BYTES", 100)
    assert installed(folder) is None
    monkeypatch.undo()
    monkeypatch.setattr(guest, "_MOST_FILES", 1)
    assert installed(folder) is None


def test_entities_of_other_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("rtl8139", "utf-8")
    folder = write(tmp_path, database(one()))
    file = tmp_path / "device/pcisig.com/pci-8086-10d3.d/class.xml"
    stolen = f'<!DOCTYPE a [<!ENTITY s SYSTEM "file://{tmp_path}/secret">]>'
    text = DEVICE.format(id="8086/10d3", name="&s;", kind="net")
    file.write_text(stolen + text, "utf-8")
    found = installed(folder)
    assert found is None or "rtl8139" not in found.models.values()


def test_systems_that_derive_from_one_another(tmp_path: Path) -> None:
    first = one(derives_from=["http://e.org/b/1"], devices=VIRTIO)
    other = one(id="http://e.org/b/1", short=["b1"], derives_from=["http://e.org/a/1"],
                devices=[["8086/10d3", True]])  # fmt: skip
    found = installed(write(tmp_path, database(first, other)))
    assert found is not None
    assert found.models["a1"] == found.models["b1"] == "e1000e"


def test_more_nics_than_the_order_is_known_of(tmp_path: Path) -> None:
    data = database(one())
    data["devices"] |= {f"1/{number}": (f"nic{number}", "net") for number in range(7)}
    data["systems"][0]["devices"] += [[f"1/{number}", True] for number in range(7)]
    data["systems"].append(one(id="http://e.org/b/1", short=["b1"]))
    found = installed(write(tmp_path, data))
    assert found is not None
    assert set(found.models) == {"b1", "http://e.org/b/1"}


def test_a_nic_that_nova_does_not_know(tmp_path: Path) -> None:
    data = database(one(), one(id="http://e.org/b/1", short=["b1"], family="winnt"))
    data["devices"]["8086/10d3"] = ("tulip", "net")
    assert installed(write(tmp_path, data)) is None
