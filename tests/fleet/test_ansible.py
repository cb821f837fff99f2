"""Ansible's inventories: the output of ``ansible-inventory``, and that program itself."""

import json
import os
import shutil
import sysconfig
from io import BytesIO
from pathlib import Path

import pytest

from tests.not_run import not_run
from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.fleet import ansible
from vnicaudit.fleet.inventory_sources import Sources, read_inventory
from vnicaudit.fleet.own_format import Inventory
from vnicaudit.model.fleet import HostOptions

DATA = Path(__file__).parent / "data" / "ansible"
URIS = {
    "kvm0": "qemu+ssh://root@192.0.2.1/system",
    "kvm01": "qemu+ssh://audit@kvm01:2222/system",
    "kvm02": "qemu+ssh://audit@[2001:db8::2]:2222/system",
    "kvm03": "qemu+ssh://audit@kvm03/system?keyfile=/keys/a%2520b",
    "kvm7": "qemu+tls://kvm7.example/system",
    "here": "qemu:///system",
}


def piped(text: str) -> Inventory:
    """The inventory of a text on standard input."""
    return read_inventory(["-"], Sources(stdin=BytesIO(text.encode())))


def check(found: Inventory, source: str) -> None:
    """Check all hosts of the recorded inventory."""
    assert {host.name: host.uri for host in found.hosts} == URIS
    by_name = {host.name: host for host in found.hosts}
    assert by_name["kvm7"].groups == ("zones", "zone_b")
    assert by_name["kvm7"].options == HostOptions(20.0, True)
    assert [by_name[name].site for name in ("kvm0", "kvm01", "kvm7")] == ["", "ber1", "muc1"]
    assert by_name["kvm01"].source == source
    assert sorted(found.groups) == ["empty", "zone_a", "zone_b", "zones"]
    assert found.uri_sources["kvm7"] == "vnicaudit_uri"
    assert found.uri_sources["kvm0"] == "ansible_host, ansible_user"
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize("version", ["2.16.19", "2.19.14"])
def test_the_output_of_ansible_inventory_is_an_inventory(version: str) -> None:
    path = DATA / f"{version}.json"
    check(piped(path.read_text()), "-")
    check(read_inventory([str(path)], Sources()), str(path))


@rows
def test_a_mistake_is_told_with_its_host(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        piped(text)
    assert str(caught.value).startswith(message)


def test_output_without_parents_of_its_groups_is_an_inventory() -> None:
    found = piped('{"rack": {"hosts": ["kvm1"]}, "_meta": {"hostvars": {}}}')
    assert [(host.name, host.uri, host.groups) for host in found.hosts] == [
        ("kvm1", "qemu+ssh://kvm1/system", ("rack",))
    ]


@pytest.fixture
def _ansible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible of the tests' environment comes first."""
    folder = sysconfig.get_path("scripts")
    if shutil.which("ansible-inventory", path=folder) is None:
        not_run("tests", "ansible-core is not installed")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.usefixtures("_ansible")
def test_ansible_reads_its_ini_with_the_variables_next_to_it() -> None:
    check(read_inventory([f"{DATA}/hosts"], Sources()), f"{DATA}/hosts (by ansible-inventory)")


@pytest.mark.usefixtures("_ansible")
def test_ansible_reads_its_yaml_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("all: {hosts: {kvm1: {ansible_host: 192.0.2.1}}}\n")
    (tmp_path / "b").write_text("[rack]\nkvm2\n")
    found = read_inventory([f"{tmp_path}/a.yaml", str(tmp_path)], Sources())
    assert [(host.name, host.uri, host.groups) for host in found.hosts] == [
        ("kvm1", "qemu+ssh://192.0.2.1/system", ()),
        ("kvm2", "qemu+ssh://kvm2/system", ("rack",)),
    ]


@pytest.mark.usefixtures("_ansible")
def test_nothing_that_an_inventory_names_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    script = tmp_path / "inventory"
    script.write_text(f"#!/bin/sh\ntouch {mark}\necho '{{}}'\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="inventory scripts are not run"):
        read_inventory([str(script)], Sources())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("kvm1\n")
    script.rename(tmp_path / "folder" / "b")
    with pytest.raises(UsageError, match=r"scripts and plug-ins are not run: .* into `-i -`"):
        read_inventory([f"{tmp_path}/folder"], Sources())
    (tmp_path / "plugin.yml").write_text("plugin: ansible.builtin.generator\nhosts: {name: x}\n")
    with pytest.raises(UsageError, match="scripts and plug-ins are not run") as caught:
        read_inventory([f"{tmp_path}/plugin.yml"], Sources())
    assert "\n" not in str(caught.value)
    (tmp_path / "ansible.cfg").write_text("[defaults]\ninventory_plugins = ./plugins\n")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "ini.py").write_text(f"open({str(mark)!r}, 'w')\n")
    template = f"{{{{ lookup('pipe', 'touch {mark}') }}}}"
    (tmp_path / "hosts").write_text(f'[rack]\nkvm1 x="{template}" ansible_host="{template}"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="kvm1: ansible_host: a template, which only Ansible"):
        read_inventory(["hosts"], Sources())
    assert not mark.exists()


def test_without_ansible_the_command_for_elsewhere_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        read_inventory([f"{DATA}/hosts"], Sources())
    assert str(caught.value) == (
        f"{DATA}/hosts: read as an Ansible inventory, but ansible-inventory is not installed: "
        "install ansible-core, or where it is installed, run `ansible-inventory -i "
        f"{DATA}/hosts --list`, and pipe its output into `-i -`"
    )


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("echo no", "ansible-inventory did not print an inventory"),
        ("echo password=s3cret >&2; exit 1", r"ansible-inventory: password=.*scripts and plug-ins"),
        ("echo '{\"_meta\": {}}'; echo why >&2", "ansible-inventory found no host in it: why"),
        # kB: ranges of 3 KB took gigabytes
        (
            "until [ $(ulimit -v) = 2097152 ]; do :; done; echo short >&2; exit 1",
            "inventory: short",
        ),
        ("exec /bin/cat /dev/zero", "its answer is longer than"),
    ],
)
def test_a_program_that_does_not_work_is_told(
    program: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ansible-inventory"
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ansible, "LISTING_MAX", 1 << 20)
    with pytest.raises(UsageError, match=message) as caught:
        read_inventory([f"{DATA}/hosts"], Sources())
    assert "s3cret" not in str(caught.value)


def test_variables_say_how_a_host_is_visited() -> None:
    variables = {"vnicaudit_host_facts": "yes", "vnicaudit_workload": "latency"}
    text = json.dumps({"_meta": {"hostvars": {"kvm1": variables}}, "all": {"hosts": ["kvm1"]}})
    (host,) = piped(text).hosts
    assert host.options == HostOptions(None, None, host_facts=True, workload="latency")
