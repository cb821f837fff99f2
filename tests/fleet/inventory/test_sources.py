"""Sources of inventories, and several of them together."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.records import SourceHost, SourceHosts
from vnicaudit.fleet.inventory.sources import Sources, read_inventory
from vnicaudit.model.fleet import InventoryHost

URIS = """\
# the old ones
qemu+ssh://root@kvm1/system

qemu+tls://kvm2.example/system   # with certificates
test+tcp://127.0.0.1:1/a
test+tcp://127.0.0.1:2/a
test:///default
"""


@pytest.fixture(autouse=True)
def _no_ansible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine has."""
    monkeypatch.setenv("PATH", str(tmp_path))


def uris(*names: str | Path, sources: Sources = Sources()) -> dict[str, str]:  # noqa: B008
    """Name -> URI of the hosts."""
    found = read_inventory(map(str, names), sources)
    return {host.name: host.uri for host in found.hosts}


def test_a_file_of_uris(tmp_path: Path) -> None:
    (tmp_path / "uris").write_text(URIS)
    assert uris(tmp_path / "uris") == {
        "kvm1": "qemu+ssh://root@kvm1/system",
        "kvm2.example": "qemu+tls://kvm2.example/system",
        "test+tcp://127.0.0.1:1/a": "test+tcp://127.0.0.1:1/a",
        "test+tcp://127.0.0.1:2/a": "test+tcp://127.0.0.1:2/a",
        "test:///default": "test:///default",
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (URIS, 5),
        ("kvm1\n[rack]\nkvm[2:4]\n", 4),
        ("all:\n  hosts:\n    kvm1:\n    kvm2:\n", 2),
        ("hosts:\n- kvm1\n- name: kvm2\n", 2),
        ('[[hosts]]\nname = "kvm1"\n', 1),
        ('{"rack": {"hosts": {"kvm1": null}}}', 1),
    ],
)
def test_standard_input_is_told_by_what_it_says(text: str, names: int) -> None:
    assert len(uris("-", sources=Sources(stdin=BytesIO(text.encode())))) == names


def test_names_and_uris_on_the_command_line() -> None:
    assert uris("kvm[1:2],web1", "qemu:///system") == {
        "kvm1": "qemu+ssh://kvm1/system",
        "kvm2": "qemu+ssh://kvm2/system",
        "web1": "qemu+ssh://web1/system",
        "qemu:///system": "qemu:///system",
    }


def test_a_template_makes_the_uris_of_those_without_one(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(
        "a\nb ansible_user=root ansible_host=192.0.2.1\nc vnicaudit_uri=qemu+tls://c/system\n"
    )
    assert uris(tmp_path / "hosts", sources=Sources(template="qemu+tls://{host}/system")) == {
        "a": "qemu+tls://a/system",
        "b": "qemu+tls://192.0.2.1/system",
        "c": "qemu+tls://c/system",
    }


def test_several_sources_make_one_inventory(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[groups.rack]\nsite = "ber1"\nhosts = ["kvm1"]\n')
    (tmp_path / "b").write_text("[prod]\nkvm1\nkvm2\n")
    cloud = SourceHosts((SourceHost("kvm3", "openstack:x", address="192.0.2.3", site="az1"),))
    found = read_inventory(
        [f"{tmp_path}/a.toml", f"{tmp_path}/b", "openstack:x"], Sources(cloud=lambda _name: cloud)
    )
    assert found.hosts == (
        InventoryHost("kvm1", "qemu+ssh://kvm1/system", "ber1", ("rack", "prod"),
                      source=f"{tmp_path}/a.toml:3"),
        InventoryHost("kvm2", "qemu+ssh://kvm2/system", "", ("prod",), source=f"{tmp_path}/b:3"),
        InventoryHost("kvm3", "qemu+ssh://192.0.2.3/system", "az1", source="openstack:x"),
    )  # fmt: skip
    assert found.notes == (
        f"kvm1 ({tmp_path}/b:2) is already named in {tmp_path}/a.toml:3: read once",
    )


def test_one_uri_under_two_names_is_read_once() -> None:
    found = read_inventory(["qemu+ssh://kvm1/system", "kvm1,"], Sources())
    assert [host.name for host in found.hosts] == ["kvm1"]


def test_one_name_with_two_uris_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="kvm1 has two URIs: qemu\\+ssh://kvm1/system "):
        read_inventory(["qemu+ssh://kvm1/system", "qemu+tls://kvm1/system"], Sources())


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("none", None, "No such file"),
        ("latin", b"kvm\xe41\n", "latin:1: not UTF-8"),
        ("empty", b"# nothing\n", "the inventory names no host"),
        ("big.yaml", b"a: 1\n" + b"#" * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_what_is_no_inventory(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=message):
        read_inventory([f"{tmp_path}/{name}"], Sources())
