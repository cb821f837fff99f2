"""vnicaudit's own format, TOML and YAML: what it comes to, and where its mistakes are."""

from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory_sources import Sources, read_inventory
from vnicaudit.fleet.own_format import Inventory
from vnicaudit.model.fleet import HostOptions, InventoryHost

TOML = """\
[defaults]
uri = "qemu+ssh://root@{name}.example/system"
deadline = 20

[groups.zone_a]
hosts = ["kvm[08:10]"]
site = "ber1"

[groups.rack]
hosts = ["kvm08"]
deadline = 60
agent = true
host-facts = true
workload = "streaming"

[groups.all_of_them]
children = ["zone_a"]
site = "somewhere"

[[hosts]]
name = "kvm10"
uri = "qemu+tls://10.0.0.10/system"
groups = ["rack"]
deadline = 5
"""
RACK = HostOptions(60.0, True, True, "streaming")
KVM10 = HostOptions(5.0, True, True, "streaming")
YAML = """\
defaults: {uri: "qemu+ssh://root@{name}.example/system", deadline: 20}
groups:
  zone_a: {hosts: ["kvm[08:10]"], site: ber1}
  rack: {hosts: [kvm08], deadline: 60, agent: true, host-facts: true, workload: streaming}
  all_of_them:
    children: [zone_a]
    site: somewhere
hosts:
  - name: kvm10
    uri: qemu+tls://10.0.0.10/system
    groups: [rack]
    deadline: 5
"""


def inventory(tmp_path: Path, text: str, name: str = "fleet.toml") -> Inventory:
    """The inventory that a file makes."""
    path = tmp_path / name
    path.write_text(text)
    return read_inventory([str(path)], Sources())


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [("fleet.toml", TOML, (20, 6, 6)), ("fleet.yaml", YAML, (9, 3, 3))],
)
def test_a_file_makes_hosts(
    tmp_path: Path, name: str, text: str, lines: tuple[int, int, int]
) -> None:
    found = inventory(tmp_path, text, name)
    place = f"{tmp_path}/{name}"
    by_host, *by_group = (f"{place}:{line}" for line in lines)
    assert found.hosts == (
        InventoryHost("kvm10", "qemu+tls://10.0.0.10/system", "somewhere",
                      ("zone_a", "rack", "all_of_them"), KVM10, by_host),
        InventoryHost("kvm08", "qemu+ssh://root@kvm08.example/system", "somewhere",
                      ("zone_a", "rack", "all_of_them"), RACK, by_group[0]),
        InventoryHost("kvm09", "qemu+ssh://root@kvm09.example/system", "somewhere",
                      ("zone_a", "all_of_them"), HostOptions(20.0), by_group[1]),
    )  # fmt: skip
    assert found.groups == ("zone_a", "rack", "all_of_them")


@rows
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        inventory(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/fleet.toml:{line}: ")
    assert words in str(caught.value)


@rows
def test_a_secret_is_refused_with_its_line_and_not_repeated(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    with pytest.raises(UsageError) as caught:
        inventory(tmp_path, text, name)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/{name}:{line}: ")
    assert "an inventory holds no secrets" in message
    assert "s3cret" not in message


def test_aliases_that_expand_without_end_are_refused(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
    )
    with pytest.raises(UsageError, match="values, with aliases expanded"):
        inventory(tmp_path, bomb, "f.yaml")
