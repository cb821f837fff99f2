"""``vnicaudit doctor``: real sockets, real permissions, extras as setup.cfg has them."""

import configparser
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.not_run import not_run
from tests.platforms.kubevirt.live.api_server import FakeServer, kubeconfig, served
from tests.rows import rows
from vnicaudit.cli.doctor import (
    EXTRAS,
    check_clouds,
    check_libvirt,
    check_qemu,
    check_state,
    check_vhost_net,
    is_complete,
    is_installed,
)
from vnicaudit.cli.wiring.adapters import AuditMachine, this_machine

ROOT = Path(__file__).parents[3]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, as far as files go; of another user the test goes on as it is."""
    user = os.geteuid()
    if user == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if user == 0:
            os.setresuid(0, 0, 0)


def opened_to_all(folder: Path) -> None:
    """A folder that anybody can get to."""
    for one in (folder, *folder.parents):
        if not one.stat().st_mode & 0o001:
            one.chmod(0o755)


def test_extras_are_those_of_the_package() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert set(EXTRAS) == set(setup["options.extras_require"]) - {"all"}


def test_the_rights_in_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(FakeServer()) as server:
        server.lists["kubevirt.io/v1/virtualmachines"] = []
        server.forbidden = {"nodes"}
        file = kubeconfig(tmp_path / "config", server.url)
        monkeypatch.setenv("KUBECONFIG", str(file))
        result = inside("doctor", "kube:prod", "--format", "json", cwd=tmp_path)
        unknown = inside("doctor", "kube:lab", cwd=tmp_path)
        monkeypatch.setenv("VNICAUDIT_DEADLINE", "soon")
        assert inside("doctor", "kube:prod", cwd=tmp_path).returncode == 2
    assert result.returncode == 4
    able, unable = json.loads(result.stdout)["checks"]
    assert able["message"].startswith("Kubernetes v1.36.3, may list: kubevirts.kubevirt.io, ")
    assert unable == {
        "name": "kube:prod",
        "result": "problem",
        "message": "no right to list nodes",
        "not_judged": "rules that need it",
        "remedy": "grant docs/how-to/clusters/clusterrole.yaml; check it: kubectl --context prod "
        "auth can-i list nodes",
    }
    assert unknown.returncode == 4
    assert "no context 'lab'" in unknown.stdout
    assert inside("doctor", "a.xml", cwd=tmp_path).returncode == 2


def test_no_libvirt(tmp_path: Path) -> None:
    assert check_libvirt(tmp_path).result == "absent"


def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("libvirt")
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    opened_to_all(tmp_path)
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind("libvirt-sock-ro")
        Path("libvirt-sock-ro").chmod(0o777)
        assert check_libvirt(tmp_path).result == "ok"
        Path("libvirt-sock-ro").chmod(0o700 if os.geteuid() == 0 else 0o000)
        with as_nobody():
            denied = check_libvirt(tmp_path)
    assert denied.result == "problem"
    assert "permission denied" in denied.message
    assert "libvirt" in denied.remedy


@pytest.mark.parametrize(
    ("machine", "qemu", "vhost"),
    [
        (AuditMachine(True, 0, 0, hidden=False), "absent", "ok"),
        (AuditMachine(True, 2, 0, hidden=False), "ok", "ok"),
        (AuditMachine(None, 2, 1, hidden=False), "problem", "problem"),
        (AuditMachine(None, 0, 0, hidden=False), "absent", "absent"),
        (AuditMachine(False, 0, 0, hidden=True), "problem", "absent"),
        (AuditMachine(False, 1, 0, hidden=False), "ok", "absent"),
    ],
)
def test_qemu_and_vhost_net(machine: AuditMachine, qemu: str, vhost: str) -> None:
    checks = (check_qemu(machine), check_vhost_net(machine))
    assert tuple(check.result for check in checks) == (qemu, vhost)
    assert is_complete(checks) == ("problem" not in (qemu, vhost))


def test_processes_of_a_machine(tmp_path: Path) -> None:
    """A tree like /proc, with two QEMUs, one of which shows no descriptors."""
    for pid in ("1", "7", "8"):
        (tmp_path / "proc" / pid).mkdir(parents=True)
    for pid in ("7", "8"):
        words = b"/usr/bin/qemu-system-x86_64\0-name\0a\0"
        (tmp_path / "proc" / pid / "cmdline").write_bytes(words)
        (tmp_path / "proc" / pid / "fd").mkdir()
        (tmp_path / "proc" / pid / "fd" / "0").symlink_to("/dev/null")
    (tmp_path / "proc/8/fd").chmod(0o700 if os.geteuid() == 0 else 0o000)
    opened_to_all(tmp_path)
    with as_nobody():
        found = this_machine(str(tmp_path))
    assert (found.qemus, found.closed, found.hidden) == (2, 1, False)


def test_a_process_that_ended_since_has_no_closed_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes when its arguments and its descriptors have been read."""
    process, real = tmp_path / "proc/7", os.listdir
    (process / "fd").mkdir(parents=True)
    (process / "fd/0").symlink_to("/dev/null")
    (process / "cmdline").write_bytes(b"/usr/bin/qemu-system-x86_64\0-name\0a\0")

    def last_look(path: str) -> list[str]:
        names = real(path)
        if path == str(process / "fd"):
            shutil.rmtree(process)
        return names

    monkeypatch.setattr(os, "listdir", last_look)
    found = this_machine(str(tmp_path))
    assert (found.qemus, found.closed) == (1, 0)


@pytest.fixture
def no_clouds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a home without a clouds.yaml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "OS_CLIENT_CONFIG_FILE", "OS_AUTH_URL"):
        monkeypatch.delenv(name, raising=False)
    if is_installed("openstack"):
        from openstack.config import loader  # it looked where it is when it was loaded

        monkeypatch.setattr(loader, "CONFIG_FILES", ["clouds.yaml"])
        monkeypatch.setattr(loader, "SECURE_FILES", [])


@rows
@pytest.mark.usefixtures("no_clouds")
def test_a_clouds_file_that_an_audit_cannot_use(tmp_path: Path, text: str, reason: str) -> None:
    if not is_installed("openstack"):
        not_run("doctor", "openstacksdk is not installed (pip install openstacksdk)")
    (tmp_path / "clouds.yaml").write_text(text)
    check = check_clouds()
    assert check.result == "problem"
    assert reason in check.message
    done = inside("doctor", "--format", "json", "--state", tmp_path / "state")
    assert (done.returncode, json.loads(done.stdout)["complete"]) == (4, False)
    audit = inside("audit", "openstack:prod")
    assert audit.returncode != 0
    assert "cluods" in text or reason in " ".join(f"{audit.stdout} {audit.stderr}".split())


@pytest.mark.usefixtures("no_clouds")
def test_clouds(tmp_path: Path) -> None:
    assert check_clouds().result == "absent"
    (tmp_path / "clouds.yaml").write_text("clouds: {a: {}, b: {}}\n")
    assert "openstack:a, openstack:b" in check_clouds().message


def test_the_state_folder(tmp_path: Path) -> None:
    assert check_state(str(tmp_path / "a/b")).result == "ok"
    assert list(tmp_path.iterdir()) == []
    closed = tmp_path / "closed"
    closed.mkdir(0o500 if os.geteuid() else 0o700)
    with as_nobody():
        assert check_state(str(closed / "state")).result == "absent"


def test_text_and_json_are_of_the_same_checks(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    done = inside("doctor", "--format", "json", "--state", state)
    report = json.loads(done.stdout)
    assert report["schema"] == "vnicaudit.doctor/1"
    problems = [one["name"] for one in report["checks"] if one["result"] == "problem"]
    assert (done.returncode, report["complete"]) == ((4, False) if problems else (0, True))
    text = inside("doctor", "--state", state).stdout
    assert all(f" {one['name']}" in text for one in report["checks"])
    quiet = inside("doctor", "--state", state, "-q").stdout
    assert quiet.count("problem ") >= len(problems)
    assert quiet == "" or problems
