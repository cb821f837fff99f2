"""``/proc``, made of files and links as the kernel shows them."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from vnicaudit.model.nic import RunningQemu
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.qemu.proc import read_proc, vhost_descriptors

VHOST = "/usr/bin/qemu-system-x86_64 -name guest=a -nodefaults -accel kvm "
ONE_TAP = VHOST + "-netdev tap,fds=9:10,vhost=on,id=n -device virtio-net-pci,netdev=n,mq=on"
PLAIN_TAP = VHOST + "-netdev tap,fd=9,id=n -device virtio-net-pci,netdev=n"
PASSED = VHOST + "-netdev tap,fd=9,vhost=on,vhostfd=11,id=n -device virtio-net-pci,netdev=n"


def _process(
    root: Path,
    pid: int,
    line: str,
    *,
    links: tuple[str, ...] = (),
    exe: str | None = "/usr/bin/qemu-system-x86_64",
) -> None:
    folder = root / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "cmdline").write_text("".join(f"{word}\0" for word in line.split()))
    for number, link in enumerate(links):
        (folder / "fd" / str(number)).symlink_to(link)
    if exe is not None:
        (folder / "exe").symlink_to(exe)


def _one(root: Path) -> RunningQemu:
    (found,) = read_proc(str(root), target="host")
    assert isinstance(found, RunningQemu)
    return found


def test_descriptors_confirm_the_arguments(tmp_path: Path) -> None:
    _process(
        tmp_path, 700, ONE_TAP,
        links=("/dev/null", "/dev/net/tun", "/dev/vhost-net", "/dev/vhost-net", "socket:[1]"),
    )  # fmt: skip
    qemu = _one(tmp_path)
    assert (qemu.pid, qemu.name) == (700, "a")
    (nic,) = qemu.nics
    assert (nic.vhost, nic.evidence, nic.queues) == (True, "open descriptors", 2)
    assert (qemu.location.target, qemu.location.file) == ("host", f"{tmp_path}/700/cmdline")


def test_a_process_whose_last_argument_has_no_value_is_whole(tmp_path: Path) -> None:
    _process(tmp_path, 700, f"{PLAIN_TAP},romfile=")
    (nic,) = _one(tmp_path).nics
    assert nic.model == "virtio"


def test_a_process_of_which_the_kernel_showed_one_page_is_cut_off(tmp_path: Path) -> None:
    _process(tmp_path, 700, f"{PLAIN_TAP},romfile=")
    line = tmp_path / "700/cmdline"
    line.write_text(line.read_text().rstrip("\0"))
    (found,) = read_proc(str(tmp_path), target="host")
    assert isinstance(found, ReadError)


def test_no_descriptor_beats_vhost_on(tmp_path: Path) -> None:
    """Bare QEMU 7.2 says ``vhost=on``, warns and goes on without."""
    _process(tmp_path, 700, ONE_TAP, links=("/dev/net/tun", "/dev/vhost-vdpa-0"))
    (nic,) = _one(tmp_path).nics
    assert (nic.vhost, nic.evidence) == (False, "open descriptors")


def test_no_descriptor_confirms_that_there_is_none(tmp_path: Path) -> None:
    _process(tmp_path, 700, PLAIN_TAP, links=("/dev/net/tun", "/dev/vhost-vsock"))
    (nic,) = _one(tmp_path).nics
    assert (nic.vhost, nic.evidence) == (False, "open descriptors")


def test_a_number_that_fits_nothing_decides_nothing(tmp_path: Path) -> None:
    """A NIC with vhost was plugged in later: which one the descriptors belong to is not known."""
    _process(tmp_path, 700, PLAIN_TAP, links=("/dev/vhost-net",))
    (nic,) = _one(tmp_path).nics
    assert (nic.vhost, nic.evidence) == (False, "command line")


def test_a_passed_descriptor_under_another_name(tmp_path: Path) -> None:
    """``<backend vhost='/dev/own-vhost'/>``: libvirt opened it, so it is open."""
    _process(tmp_path, 700, PASSED, links=("/dev/own-vhost",))
    (nic,) = _one(tmp_path).nics
    assert (nic.vhost, nic.evidence) == (True, "command line")


def test_an_emulated_nic_is_left_as_it_is(tmp_path: Path) -> None:
    line = VHOST + "-netdev tap,id=n -device e1000,netdev=n"
    _process(tmp_path, 700, line)
    (nic,) = _one(tmp_path).nics
    assert (nic.vhost, nic.evidence) == (False, "command line")


def test_descriptors_that_may_not_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _process(tmp_path, 700, ONE_TAP)
    real = os.scandir

    def denied(path: str) -> object:
        if path.endswith("/fd"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", denied)
    (nic,) = _one(tmp_path).nics
    assert (nic.vhost, nic.evidence) == (True, "command line")


@pytest.mark.parametrize("gone", ["cmdline", "fd"])
def test_a_process_that_ends_meanwhile(tmp_path: Path, gone: str) -> None:
    _process(tmp_path, 700, ONE_TAP)
    _process(tmp_path, 701, PLAIN_TAP)
    if gone == "cmdline":
        (tmp_path / "700" / "cmdline").unlink()
    else:
        (tmp_path / "700" / gone).rename(tmp_path / "700" / "elsewhere")
    assert _one(tmp_path).pid == 701


def test_descriptors_of_a_process_that_ends_say_nothing() -> None:
    """The kernel has closed all of them, and keeps the process until somebody asks how it ended."""
    with subprocess.Popen(["true"]) as ended:
        state = Path(f"/proc/{ended.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        assert vhost_descriptors(f"/proc/{ended.pid}/fd") is None
    with pytest.raises(FileNotFoundError):
        vhost_descriptors(f"/proc/{ended.pid}/fd")


def test_what_is_not_qemu(tmp_path: Path) -> None:
    _process(tmp_path, 1, "/sbin/init splash", exe="/sbin/init")
    _process(tmp_path, 2, "/usr/bin/qemu-img convert -m 1", exe="/usr/bin/qemu-img")
    _process(tmp_path, 3, "kvm -m 512", exe="/usr/bin/bash")
    _process(tmp_path, 4, "grep qemu-kvm -m 5", exe="/bin/grep")
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "cmdline").write_text("")
    (tmp_path / "self").mkdir()
    assert list(read_proc(str(tmp_path))) == []


@pytest.mark.parametrize(
    ("exe", "arch"),
    [("/usr/bin/qemu-system-x86_64 (deleted)", "x86_64"), ("/usr/libexec/qemu-kvm", None),
     (None, None)],
)  # fmt: skip
def test_the_program_behind_a_link(tmp_path: Path, exe: str | None, arch: str | None) -> None:
    _process(tmp_path, 700, "/usr/bin/kvm -nodefaults -m 512", exe=exe)
    assert _one(tmp_path).arch == arch


def test_arguments_that_do_not_fit_together_are_an_error_and_cost_no_other_process(
    tmp_path: Path,
) -> None:
    _process(tmp_path, 700, VHOST + "-readconfig f -device virtio-net-pci,netdev=in-the-file")
    _process(tmp_path, 701, PLAIN_TAP)
    error, qemu = read_proc(str(tmp_path))
    assert error == ReadError(
        "QEMU command line not understood: "
        "-device virtio-net-pci uses netdev 'in-the-file', which does not exist",
        f"{tmp_path}/700/cmdline",
    )
    assert isinstance(qemu, RunningQemu)
    assert qemu.pid == 701


def test_one_process_of_many(tmp_path: Path) -> None:
    _process(tmp_path, 700, VHOST + "-device virtio-net-pci,netdev=gone")
    _process(tmp_path, 701, PLAIN_TAP)
    (qemu,) = read_proc(str(tmp_path), only=701)
    assert isinstance(qemu, RunningQemu)
    assert qemu.pid == 701
    assert list(read_proc(str(tmp_path), only=702)) == []
