"""A variable that may hold NICs, beside a NIC that is given: "No problems", and not a word of what
is not known."""

from pathlib import Path

import pytest

from tests.cli.inside import inside

NIC = "-device virtio-net-pci,netdev=n0 -netdev user,id=n0"
XML = (
    "<domain type='kvm'><name>{name}</name><os><type arch='x86_64' machine='pc'>hvm</type></os>"
    "{before}<devices>\n{first}<interface type='network'><source network='default'/>"
    "<model type='virtio'/>{inside}</interface>\n{last}\n</devices></domain>"
)
BESIDES = "which other NICs there are"


def _audit(tmp_path: Path, name: str, text: str) -> tuple[int, str]:
    (tmp_path / name).write_text(text + "\n")
    result = inside("audit", name, cwd=tmp_path)
    return result.returncode, " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "word", ["$EXTRA_NET", "${EXTRA_NET}", "$(net_args)", "`net_args`", '"$@"', '"${ARGS[@]}"']
)
def test_a_word_of_a_command_line_that_the_shell_fills_in(tmp_path: Path, word: str) -> None:
    code, words = _audit(tmp_path, "start.sh", f"qemu-system-x86_64 -nodefaults {NIC} {word}")
    shown = word.strip('"')
    assert f"No rule was judged for 1 domain: needs how the shell expands {shown!r}" in words
    assert BESIDES in words
    assert code == 0
    listed = inside("nics", "start.sh", cwd=tmp_path)
    assert "decides which NICs" in " ".join(listed.stderr.split())


@pytest.mark.parametrize(
    "more",
    ["-drive $DISK", "-drive file=$DISK", "-m $MEMORY", '"$DISK"', '-kernel "$KERNEL" 2>$LOG'],
)
def test_a_word_that_can_be_no_nic_is_no_trouble(tmp_path: Path, more: str) -> None:
    code, words = _audit(tmp_path, "start.sh", f"qemu-system-x86_64 -nodefaults {NIC} {more}")
    assert (code, BESIDES in words) == (0, False)


@pytest.mark.parametrize(
    "placed",
    [
        {"last": "${MORE_NICS}"},
        {"last": "$MORE_NICS"},
        {"first": "@NICS@\n"},
        {"last": "%NICS%"},
        {"last": "<!-- the others -->\n${MORE_NICS}"},
        {"last": "<!-- the others -->\n{{ more_nics }}"},
        {"before": "${DEVICES}"},
    ],
)
def test_a_placeholder_among_the_devices_of_a_definition(
    tmp_path: Path, placed: dict[str, str]
) -> None:
    parts = {"name": "guest", "before": "", "first": "", "inside": "", "last": "", **placed}
    code, words = _audit(tmp_path, "guest.xml", XML.format(**parts))
    assert f"here a template decides {BESIDES}" in words
    assert code == 0


def test_a_placeholder_among_the_elements_of_a_nic(tmp_path: Path) -> None:
    parts = {"name": "guest", "before": "", "first": "", "inside": "${MORE}", "last": ""}
    _code, words = _audit(tmp_path, "guest.xml", XML.format(**parts))
    assert "here a template decides elements of it" in words


@pytest.mark.parametrize("name", ["${NAME}", "guest"])
def test_where_none_is_put_in_nothing_is_said(tmp_path: Path, name: str) -> None:
    parts = {"name": name, "before": "", "first": "", "inside": "", "last": "text of somebody"}
    code, words = _audit(tmp_path, "guest.xml", XML.format(**parts))
    assert (code, BESIDES in words) == (0, False)
