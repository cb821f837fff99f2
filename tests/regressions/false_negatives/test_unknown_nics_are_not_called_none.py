"""Command lines whose NICs cannot be known were "0 NICs, no problems": a file of options, a machine
that may have a NIC of its own, words that a shell fills in, a listing that may be cut."""

from pathlib import Path

from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.proc import domain_of, read_proc


def test_a_process_with_a_file_of_options_is_not_judged(tmp_path: Path) -> None:
    folder = tmp_path / "proc" / "42"
    (folder / "fd").mkdir(parents=True)
    words = ("qemu-system-x86_64", "-nodefaults", "-readconfig", "vm.cfg")
    (folder / "cmdline").write_bytes("".join(f"{word}\0" for word in words).encode())
    (folder / "exe").symlink_to("/usr/bin/qemu-system-x86_64")
    (found,) = read_proc(str(tmp_path / "proc"))
    assert isinstance(found, RunningQemu)
    (error,) = domain_of(found, "/proc").unread
    assert error.message == (
        "QEMU command line: -readconfig 'vm.cfg' may hold NICs, which are not judged"
    )
    assert error.file == str(folder / "cmdline")
