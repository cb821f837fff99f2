"""Ansible's inventories, read by this program as Ansible itself reads them."""

import json
import os
import random
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.not_run import not_run
from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.fleet.ansible import AnsibleGroups, ask_ansible, read_ini
from vnicaudit.fleet.inventory_sources import Sources, read_inventory, source_hosts
from vnicaudit.fleet.inventory_tree import read_yaml, yaml_tree
from vnicaudit.fleet.own_format import SourceHosts
from vnicaudit.model.fleet import HostOptions

INI = """\
# ours
kvm0 ansible_host=192.0.2.1 ansible_user=root   # the old one

[zone_a]
kvm[01:02] ansible_port=2222
kvm03 ansible_ssh_private_key_file=/keys/a%20b ansible_password=s3cret

[zone_b]
kvm7 vnicaudit_uri='qemu+tls://{host}/system' ansible_host=kvm7.example
here ansible_connection=local

[zones:children]
zone_a
zone_b

[zones:vars]
vnicaudit_site=ber1
vnicaudit_deadline = 20
[zone_b:vars]
vnicaudit_site=muc1
vnicaudit_agent=true
"""


def uris(found: SourceHosts) -> dict[str, str]:
    """Name -> URI of each host; empty: by the template."""
    return {host.name: host.uri for host in found.hosts}


def test_variables_become_uris_and_options() -> None:
    found = source_hosts(read_ini("hosts", INI))
    assert uris(found) == {
        "kvm0": "qemu+ssh://root@192.0.2.1/system",
        "kvm01": "qemu+ssh://kvm01:2222/system",
        "kvm02": "qemu+ssh://kvm02:2222/system",
        "kvm03": "qemu+ssh://kvm03/system?keyfile=/keys/a%2520b",
        "kvm7": "qemu+tls://kvm7.example/system",
        "here": "qemu:///system",
    }
    by_name = {host.name: host for host in found.hosts}
    assert by_name["kvm7"].groups == ("zones", "zone_b")
    assert by_name["kvm7"].options == HostOptions(20.0, True)
    assert [by_name[name].site for name in ("kvm0", "kvm01", "kvm7")] == ["", "ber1", "muc1"]
    assert by_name["kvm01"].source == "hosts:5"
    assert "s3cret" not in repr(found)


@rows
def test_a_mistake_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        source_hosts(read_ini("hosts", text))
    assert str(caught.value).startswith(message)


@pytest.fixture(scope="module")
def _ansible() -> Iterator[None]:
    """Ansible of the tests' environment comes first."""
    folder = sysconfig.get_path("scripts")
    if shutil.which("ansible-inventory", path=folder) is None:
        not_run("tests", "ansible-core is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield


class Drawn:
    """A random inventory, to be written as INI and as YAML."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.groups = [f"g{number}" for number in range(draw.randint(2, 6))]
        self.children = [
            (parent, child)
            for at, parent in enumerate(self.groups)
            for child in self.groups[at + 1 :]
            if draw.random() < 0.3
        ]
        self.hosts: dict[str, dict[str, dict[str, object]]] = {one: {} for one in self.groups}
        for number in range(draw.randint(1, 6)):
            name = draw.choice((f"kvm{number}", f"n{number}-[08:1{number}]", f"r[a:c]{number}"))
            for group in draw.sample(self.groups, draw.randint(1, 2)):
                self.hosts[group][name] = self._variables(draw)
        self.variables = {one: self._variables(draw) for one in self.groups}
        for group in draw.sample(self.groups, 1):
            self.variables[group]["ansible_group_priority"] = draw.randint(1, 9)

    @staticmethod
    def _variables(draw: random.Random) -> dict[str, object]:
        every: dict[str, object] = {
            "ansible_host": f"192.0.2.{draw.randint(1, 99)}",
            "ansible_user": draw.choice(("root", "admin")),
            "ansible_port": draw.choice((22, 2222)),
            "vnicaudit_site": draw.choice(("ber1", "muc1")),
            "vnicaudit_deadline": draw.randint(1, 60),
        }
        return {name: value for name, value in every.items() if draw.random() < 0.3}

    def ini(self) -> str:
        lines = []
        for group in self.groups:
            lines.append(f"[{group}]")
            for host, variables in self.hosts[group].items():
                lines.append(" ".join((host, *(f"{k}={v}" for k, v in variables.items()))))
            lines.append(f"[{group}:vars]")
            lines += [f"{name} = {value}" for name, value in self.variables[group].items()]
        for parent, child in self.children:
            lines += [f"[{parent}:children]", child]
        return "\n".join(lines) + "\n"

    def yaml(self) -> str:
        table: dict[str, object] = {}
        for group in self.groups:
            below = {child: None for parent, child in self.children if parent == group}
            table[group] = {
                "hosts": self.hosts[group], "vars": self.variables[group], "children": below,
            }  # fmt: skip
        return json.dumps(table)


def facts(groups: AnsibleGroups) -> dict[str, object]:
    """What both have to agree on, host by host, in order."""
    return {
        host.name: (host.uri, host.address, host.site, sorted(host.groups), host.options)
        for host in source_hosts(groups).hosts
    }


@pytest.mark.usefixtures("_ansible")
@pytest.mark.parametrize("form", ["ini", "yaml"])
def test_random_inventories_are_read_as_ansible_reads_them(tmp_path: Path, form: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    drawn = Drawn(seed)
    path = tmp_path / ("hosts" if form == "ini" else "hosts.yaml")
    text = drawn.ini() if form == "ini" else drawn.yaml()
    path.write_text(text)
    ours = read_ini(str(path), text) if form == "ini" else read_yaml(yaml_tree("x", text))
    theirs = ask_ansible(str(path))
    assert facts(ours) == facts(theirs), text
    assert ours.hosts() == theirs.hosts(), text


@pytest.mark.usefixtures("_ansible")
def test_a_program_is_run_by_ansible(tmp_path: Path) -> None:
    program = tmp_path / "inventory"
    program.write_text(
        '#!/bin/sh\necho \'{"rack": {"hosts": ["kvm1"]}, "_meta": {"hostvars": {}}}\'\n'
    )
    program.chmod(0o755)
    found = read_inventory([str(program)], Sources())
    assert [(host.name, host.uri, host.groups) for host in found.hosts] == [
        ("kvm1", "qemu+ssh://kvm1/system", ("rack",))
    ]


def test_without_ansible_what_it_alone_reads_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "hosts").write_text("kvm1\n")
    found = read_inventory([f"{tmp_path}/hosts"], Sources())
    assert found.notes == (
        f"{tmp_path}/hosts: group_vars next to it are not read: Ansible is not installed",
    )
    with pytest.raises(UsageError, match="reading a folder needs Ansible, which is not installed"):
        read_inventory([str(tmp_path)], Sources())
