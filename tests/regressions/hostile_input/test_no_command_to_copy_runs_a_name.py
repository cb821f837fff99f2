"""A definition of Nova's whose UUID was ``$(…)`` made ``vnicaudit plan`` print that into commands
that an administrator copies; names of KubeVirt's objects came out as ``virtctl restart vm;id``."""

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from tests.cli.definitions import E1000
from tests.cli.inside import inside
from tests.rows import rows
from vnicaudit.base.wording import kubernetes_word, path_word, uuid_word, word
from vnicaudit.cli.main import run
from vnicaudit.knowledge.host_settings import HostSetting, SettingKind, command_for
from vnicaudit.knowledge.qeth import flood_and_learn, set_offline
from vnicaudit.remedy.applying.domains.definition_transactions import DefinitionTransaction
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.events import UnitRequest

_NOVA = """\
<domain type='kvm'>
  <name>instance-00000001</name>
  <uuid>{uuid}</uuid>
  <metadata>
    <nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'>
      <nova:name>a</nova:name>
    </nova:instance>
  </metadata>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
  </devices>
</domain>
"""
_KUBEVIRT = """\
<domain type='kvm'>
  <name>{name}</name>
  <metadata><kubevirt xmlns='http://kubevirt.io'><uid>x</uid></kubevirt></metadata>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='ethernet'><target dev='tap0' managed='no'/><model type='e1000'/></interface>
  </devices>
</domain>
"""
EVIL = ("$(touch pwned)", "x; touch pwned", "`touch pwned`", "--all", "a\nb", "'; touch pwned; '")


UUID = "6f1f9a90-6f0c-4f2a-9bb4-2b4bd9b9c001"


def commands(text: str) -> list[str]:
    """The numbered commands of a plan's procedure."""
    return re.findall(
        r"^ +\d+\. ((?:openstack|nova-manage|virtctl|kubectl|vnicaudit) .*)$", text, re.M
    )


def test_a_uuid_that_a_shell_would_run_is_in_no_command(tmp_path: Path) -> None:
    """It looks like a template's placeholder, too: then there is no command at all."""
    (tmp_path / "a.xml").write_text(_NOVA.format(uuid=EVIL[0]))
    result = inside("plan", tmp_path / "a.xml", "--include-unsafe", "--diff")
    assert result.returncode == 0
    assert "pwned" not in "".join(commands(result.stdout))


@pytest.mark.parametrize("uuid", EVIL[1:])
def test_a_uuid_that_is_none_is_a_placeholder(uuid: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(_NOVA.format(uuid=uuid.replace("\n", "&#10;")))
    result = inside("plan", tmp_path / "a.xml", "--include-unsafe", "--diff")
    found = commands(result.stdout)
    assert "openstack server stop UUID" in found
    assert "openstack server start UUID" in found
    assert any(one.startswith("nova-manage image_property set UUID --property ") for one in found)
    assert "pwned" not in "".join(found)


def test_a_uuid_that_is_one_is_shown(tmp_path: Path) -> None:
    uuid = "6f1f9a90-6f0c-4f2a-9bb4-2b4bd9b9c001"
    (tmp_path / "a.xml").write_text(_NOVA.format(uuid=uuid))
    found = commands(inside("plan", tmp_path / "a.xml", "--include-unsafe", "--diff").stdout)
    assert f"openstack server stop {uuid}" in found


@pytest.mark.parametrize("name", EVIL)
def test_a_name_of_kubernetes_that_is_none_is_a_placeholder(name: str, tmp_path: Path) -> None:
    text = _KUBEVIRT.format(name=f"ns_{name}".replace("\n", "&#10;"))
    (tmp_path / "a.xml").write_text(text)
    result = inside("plan", tmp_path / "a.xml", "--include-unsafe", "--diff")
    found = commands(result.stdout)
    assert found, result.stdout + result.stderr
    for one in found:
        assert one.endswith("NAME -n ns")


@pytest.mark.parametrize("name", [*EVIL, "##[group]x"])
def test_a_file_is_one_word_and_no_option(name: str) -> None:
    assert shlex.split(path_word(name)) == [f"./{name}" if name.startswith("-") else name]
    assert shlex.split(word(name)) == [name]
    assert uuid_word(name) == "UUID"
    assert kubernetes_word(name, "NAME") == "NAME"


def test_the_command_that_follows_a_plan_can_be_copied(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(E1000)
    options = ("--include-unsafe", "-o", "$(touch pwned).json")
    result = inside("plan", "a.xml", *options, cwd=tmp_path)
    assert "next: vnicaudit apply '$(touch pwned).json'" in result.stderr


@rows
def test_what_to_edit_by_hand_is_no_option(place: dict[str, str], says: str) -> None:
    unit = UnitRequest(
        "a", "--all", "qemu:///system", (), (), "domain", place.get("uuid"), place.get("file")
    )
    task = DefinitionTransaction("restart", before="", goal="")
    assert task.by_hand(unit).startswith(says)


def test_a_state_folder_in_the_way_back_is_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text(E1000)
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet"]) == 0
    assert run(["apply", "plan.json", "--yes", "--state=-x y"]) == 0
    (found,) = runs("-x y")
    told = capsys.readouterr().err
    assert f"Undo: vnicaudit rollback {found.id} --state './-x y'\n" in told


@pytest.mark.parametrize("name", EVIL)
def test_a_device_of_a_host_that_a_shell_would_run_is_quoted(name: str) -> None:
    of_kinds = (command_for(HostSetting(kind, name, name), name) for kind in get_args(SettingKind))
    of_z = (flood_and_learn(name), set_offline(name, "layer2", 1))
    for command in (*of_kinds, *of_z):
        words = shlex.shlex(command, posix=True, punctuation_chars=True)
        assert "touch" not in list(words), command
