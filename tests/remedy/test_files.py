"""Many files, fixed one after the other: what one decides for another."""

from pathlib import Path

import pytest

from tests.remedy.works import work
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.remedy.in_place import FileFixed, files_with_changes, fix_files

_PREFERENCE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata:
  name: web
  labels: {instancetype.kubevirt.io/os-type: linux}
spec:
  devices:
    preferredInterfaceModel: e1000
"""
_MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm1}
spec:
  preference: {name: web}
  template:
    spec:%s
      domain:
        devices:
          interfaces:
          - {name: first, masquerade: {}}
          - {name: second, bridge: {}, model: rtl8139}
      networks: [{name: first, pod: {}}, {name: second, multus: {networkName: x}}]
"""
_ORDERS = pytest.mark.parametrize("names", [("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")])


def _fix(folder: Path, *, write: bool = True) -> list[FileFixed]:
    judge = work()
    paths = files_with_changes(AuditRun(judge, RunOptions()).items([str(folder)]), judge)
    return list(fix_files(paths, judge, every_platform().writer, include_unsafe=False, write=write))


def _left(folder: Path) -> list[str]:
    judge = work()
    return list(files_with_changes(AuditRun(judge, RunOptions()).items([str(folder)]), judge))


@_ORDERS
@pytest.mark.parametrize("more", ["", "\n      architecture: s390x"])
def test_a_preference_in_another_file(names: tuple[str, str], more: str, tmp_path: Path) -> None:
    """It is fixed, and the VM that takes its model from it needs no model of its own."""
    preference, machine = (tmp_path / name for name in names)
    preference.write_text(_PREFERENCE)
    machine.write_text(_MACHINE % more)
    shown = _fix(tmp_path, write=False)
    fixed = _fix(tmp_path)
    assert [(one.path, one.changes, one.refused) for one in fixed] == [
        (str(preference), 1, ()),
        (str(machine), 1, ()),
    ]
    assert preference.read_text() == _PREFERENCE.replace("e1000", "virtio")
    assert machine.read_text() == (_MACHINE % more).replace("rtl8139", "virtio")
    assert _left(tmp_path) == []
    if not more:  # on s390x the VM does not start, and says so itself
        assert shown == fixed


def test_a_preference_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "vm.yaml"
    path.write_text(f"{_MACHINE % ''}---\n{_PREFERENCE}")
    (one,) = _fix(tmp_path)
    assert (one.changes, one.refused) == (2, ())
    wanted = f"{_MACHINE % ''}---\n{_PREFERENCE}"
    assert path.read_text() == wanted.replace("rtl8139", "virtio").replace("e1000", "virtio")
    assert _left(tmp_path) == []


def test_a_preference_that_is_not_among_the_files(tmp_path: Path) -> None:
    (tmp_path / "preference.yaml").write_text(_PREFERENCE)
    machine = tmp_path / "vm.yaml"
    machine.write_text(_MACHINE % "")
    judge = work()
    paths = files_with_changes(AuditRun(judge, RunOptions()).items([str(machine)]), judge)
    (one,) = fix_files(paths, judge, every_platform().writer, include_unsafe=False, write=True)
    assert (one.changes, one.refused) == (2, ())
    assert "{name: first, model: virtio, masquerade: {}}" in machine.read_text()
    assert (tmp_path / "preference.yaml").read_text() == _PREFERENCE
