"""A script with several QEMU commands was half read: what stood behind ``&&``, ``;``, ``then`` or
``do``, what a variable named the program of, and what stood behind a redirection in the middle of
a command were dropped without a word, and the file was called clean."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

GOOD = "qemu-system-x86_64 -nodefaults -device virtio-net-pci,netdev=n0 -netdev user,id=n0"
ARGUMENTS = "-nodefaults -device rtl8139,netdev=n0 -netdev user,id=n0"
BAD = f"qemu-system-x86_64 {ARGUMENTS}"

TOLD = "may be a QEMU command: not judged"


def _nics(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    (tmp_path / "start.sh").write_text(text + "\n")
    result = inside("nics", "start.sh", "--format", "json", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)["nics"]
    return [(one["model"]["effective"], one["location"]["line"]) for one in found]


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD} && {BAD}",
        f"{GOOD}; {BAD}",
        f"{GOOD};{BAD}",
        f"{GOOD} & {BAD} &",
        f"{GOOD} || {BAD}",
        f"{GOOD}\ncd /vm && {BAD}",
        f"{GOOD} &\nmodprobe vhost_net && {BAD}",
        f'{GOOD}\n[ -n "$A;B" ] && {BAD}',
        f"{GOOD}\nif true; then {BAD}; fi",
        f"{GOOD}\nif ! {BAD}; then exit; fi",
        f"{GOOD}\nfor i in 1 2; do {BAD}; done",
        f"{GOOD}\nwhile sleep 1; do sudo {BAD}; done",
        f"{GOOD}\n( cd /vm; {BAD} )",
        f"{GOOD}\nstart() {{ {BAD}; }}",
        f"{GOOD}\nyes | {BAD}",
        f"{GOOD}\ncase $1 in a) {BAD} ;; esac",
        f"{GOOD}\nip netns exec x {BAD}",
        f"{GOOD}\nscreen -dmS vm {BAD}",
        f"{GOOD}\ncd /vm && \\\n  {BAD}",
        f"{GOOD}\nfunction go {{ {BAD}; }}",
        f"{GOOD}\nfunction go() {{ {BAD}; }}",
        f"{GOOD}\nsaid=$({BAD})",
        f"{GOOD}\nsaid=$(sudo {BAD})",
        f"{GOOD}\ncatchsegv {BAD}",
        f"{GOOD}\nfirejail --net=none {BAD}",
        f"{GOOD}\n$BUILD/{BAD}",
        f'{GOOD}\n"$BUILD/qemu-system-x86_64" {ARGUMENTS}',
        f'{GOOD}\n"$BUILD"/{BAD}',
        f"{GOOD}\nsudo ${{BUILD}}/bin/{BAD}",
        f"{GOOD}\nExecStart=/usr/bin/{BAD}",
        f"{GOOD}\nExecStart=-/usr/bin/{BAD}",
        f"{GOOD}\nExecStart = /usr/bin/{BAD}",
        f"{GOOD}\nExecStart=/usr/bin/env A=b {BAD}",
    ],
)
def test_both_are_judged(tmp_path: Path, text: str) -> None:
    line = text[: text.index("rtl8139")].count("\n") + 1
    assert _nics(tmp_path, text) == [("virtio", 1), ("rtl8139", line)]


def test_a_unit_of_systemd_goes_on_behind_a_remark(tmp_path: Path) -> None:
    arguments = ARGUMENTS.replace(" -device", " \\\n# the old one\n  -device")
    text = f"[Service]\nExecStart=/usr/bin/qemu-system-x86_64 {arguments}\nRestart=always"
    assert _nics(tmp_path, text) == [("rtl8139", 4)]


def test_a_specifier_of_systemd_is_no_broken_address(tmp_path: Path) -> None:
    mac = "netdev=n0,mac=52:54:00:00:00:%i"
    text = f"[Service]\nExecStart=/usr/bin/{BAD.replace('netdev=n0', mac)}"
    assert _nics(tmp_path, text) == [("rtl8139", 2)]


def test_lines_of_a_batch_file_are_continued(tmp_path: Path) -> None:
    text = "qemu-system-x86_64.exe " + ARGUMENTS.replace(" -device", " ^\r\n  -device") + "\r"
    assert _nics(tmp_path, text) == [("rtl8139", 2)]


@pytest.mark.parametrize("written", ["$QEMU", '"$QEMU"', "${QEMU_BIN}", '"${KVM}"', "exec $qemu"])
def test_a_variable_that_names_the_program(tmp_path: Path, written: str) -> None:
    assert _nics(tmp_path, f"{GOOD} &\n{written} {ARGUMENTS} &") == [("virtio", 1), ("rtl8139", 2)]


def test_a_program_in_quotes(tmp_path: Path) -> None:
    text = f'{GOOD} &\n"/usr/bin/qemu-system-x86_64" {ARGUMENTS}'
    assert _nics(tmp_path, text) == [("virtio", 1), ("rtl8139", 2)]


@pytest.mark.parametrize(
    "redirection", ["2>/tmp/err", "2> /tmp/err", ">/dev/null 2>&1", "&>log", ">>log", "2>&-", ">|x"]
)
def test_a_redirection_ends_no_command(tmp_path: Path, redirection: str) -> None:
    text = f"{GOOD} {redirection} -device rtl8139,netdev=n1 -netdev user,id=n1"
    assert _nics(tmp_path, text) == [("virtio", 1), ("rtl8139", 1)]


@pytest.mark.parametrize(
    "second",
    [
        f'bash -c "cd /vm && {BAD}"',
        f"ssh host '{BAD}'",
        f'CMD="{BAD}"',
        f"CMD=({BAD})",
        f"su - vm -c '{BAD}'",
    ],
)
def test_what_is_not_judged_says_so(tmp_path: Path, second: str) -> None:
    _is_said(tmp_path, second, TOLD)


@pytest.mark.parametrize(
    "second",
    [
        'qemu-system-x86_64 "${args[@]}"',
        "sudo qemu-system-x86_64 $ARGS",
        'exec qemu-system-x86_64 "$@"',
        "cd /vm && qemu-system-x86_64 ${OPTIONS} &",
    ],
)
def test_arguments_that_a_variable_holds_are_said(tmp_path: Path, second: str) -> None:
    _is_said(tmp_path, second, "gets its arguments from a variable: not judged")


def _is_said(tmp_path: Path, second: str, words: str) -> None:
    (tmp_path / "start.sh").write_text(f"{GOOD} &\n{second}\n")
    result = inside("audit", "start.sh", cwd=tmp_path)
    assert result.returncode == 0
    said = " ".join(result.stdout.split())
    assert "start.sh:2" in said
    assert words in said
    assert "1 NIC" in said


@pytest.mark.parametrize(
    "second",
    [
        f"# cd /vm && {BAD}",
        "echo 'use qemu-system-x86_64 -nic user to test'",
        "pkill -f qemu-system-x86_64",
        "pgrep -f 'qemu-system-x86_64 -name vm' && exit 1",
        "ps aux | grep qemu-system-x86_64 -c",
        "command -v qemu-system-x86_64 || exit 1",
        'QEMU="qemu-system-x86_64"',
        "$EDITOR -name x",
        "qemu-system-x86_64 --version | grep $VERSION",
        "qemu-system-x86_64 -device $MODEL,help",
        "qemu-system-x86_64 -device help # $MODEL",
        "qemu-img create -f raw x 1G && sync",
    ],
)
def test_what_is_no_command_of_qemu_is_no_trouble(tmp_path: Path, second: str) -> None:
    (tmp_path / "start.sh").write_text(f"{GOOD} &\n{second}\n")
    result = inside("audit", "start.sh", cwd=tmp_path)
    assert (result.returncode, TOLD in result.stdout) == (0, False), result.stdout
