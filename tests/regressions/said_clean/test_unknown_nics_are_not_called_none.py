"""Command lines whose NICs cannot be known were "0 NICs, no problems": a file of options, a machine
that may have a NIC of its own, words that a shell fills in, a listing that may be cut."""

from pathlib import Path

import pytest

from tests.cli.inside import inside
from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.qemu.domain import domain_of
from vnicaudit.platforms.qemu.proc import read_proc


def _audit(tmp_path: Path, text: str) -> tuple[int, str, str]:
    (tmp_path / "start").write_text(text + "\n")
    result = inside("audit", "start", cwd=tmp_path)
    return result.returncode, result.stdout, " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "qemu-system-x86_64 -nodefaults -readconfig vm.cfg",
            "-readconfig 'vm.cfg' may hold NICs, which are not judged",
        ),
        (
            "qemu-system-aarch64 -M raspi3b -kernel k",
            "no NIC is given, and 'raspi3b' may have one of its own",
        ),
        (
            "qemu-system-arm -M ast2600-evb -nodefaults -kernel k",
            "no NIC is given, and 'ast2600-evb' may have one of its own",
        ),
        (
            "kvm -m 512 -drive file=d",
            "and the machine, which depends on the host, may have one of its own",
        ),
        (
            "qemu-system-x86_64 -nodefaults -m 512 $NICS",
            "no NIC is given, and '$NICS' may hold some: not judged",
        ),
        (
            'qemu-system-x86_64 -nodefaults -m 512 "${ARGS[@]}"',
            "no NIC is given, and '${ARGS[@]}' may hold some: not judged",
        ),
        (
            "qemu-system-x86_64 -m $MEMORY -drive file=d",
            "no NIC is given, so QEMU adds e1000; but these may not be all its arguments: "
            "not judged",
        ),
        (
            "PID CMD\n7 qemu-system-x86_64 -m 512 -drive file=d",
            "no NIC is given, so QEMU adds e1000; but these may not be all its arguments: "
            "not judged",
        ),
    ],
)
def test_it_is_not_judged_and_says_so(tmp_path: Path, text: str, says: str) -> None:
    code, _printed, words = _audit(tmp_path, text)
    assert code == 4
    assert says in words
    assert "1 of 1 target could not be read in full" in words


def test_the_nics_beside_a_file_of_options_are_judged(tmp_path: Path) -> None:
    code, _printed, words = _audit(
        tmp_path, "qemu-system-x86_64 -nodefaults -device rtl8139 -readconfig more.cfg"
    )
    assert code == 4
    assert "VNIC001" in words
    assert "-readconfig 'more.cfg' may hold NICs" in words


@pytest.mark.parametrize(
    "text",
    [
        "qemu-system-x86_64 -nodefaults -m 512 -drive file=$DISK",
        "qemu-system-x86_64 -nic none -m $MEMORY",
        "qemu-system-x86_64 -M microvm -kernel $KERNEL",
        "qemu-system-x86_64 -nodefaults -nic user,model=virtio $MORE",
        "qemu-system-riscv64 -M virt -kernel k",
        "PID CMD\n7 qemu-system-x86_64 -nodefaults -m 512",
    ],
)
def test_where_it_is_known_nothing_is_held_back(tmp_path: Path, text: str) -> None:
    _code, _printed, words = _audit(tmp_path, text)
    assert "not judged:" not in words
    assert "may hold" not in words
    assert "Could not be read" not in words


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


def test_a_domain_that_no_rule_judges_is_not_called_free_of_problems(tmp_path: Path) -> None:
    (tmp_path / "xen.xml").write_text(
        "<domain type='xen'><name>x</name><os><type>hvm</type></os><devices>"
        "<interface type='bridge'><source bridge='b'/><model type='rtl8139'/></interface>"
        "</devices></domain>"
    )
    for form in ("text", "markdown", "github"):
        result = inside("audit", "xen.xml", "--format", form, cwd=tmp_path)
        assert "; no rule was judged for 1 domain" in " ".join(result.stdout.split()), form
