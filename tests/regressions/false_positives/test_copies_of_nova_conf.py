"""Copies of nova.conf that packages, editors and operators put aside were judged as if Nova read
them: each gave the errors of a file that is not in use."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside as vnicaudit

BAD = "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n[libvirt]\nmax_queues = 0\n"
GOOD = BAD.replace("0", "8")
COPIES = (
    "nova.conf.bak", "nova.conf.orig", "nova.conf.rpmsave", "nova.conf.rpmnew",
    "nova.conf.dpkg-old", "nova.conf.dpkg-dist", "nova.conf.ucf-dist", "nova.conf.ucf-old",
    "nova.conf~", "nova.conf.bak1", "nova.conf.20260101", "nova.conf-20260101.bak",
    "nova.conf.4711.2026-11-22@10:00:00~", ".nova.conf.swp", ".nova.conf",
    "nova.conf.d/x.conf.bak", "nova.conf.d/.hidden.conf", "nova.conf.d/x.cfg",
    "nova.conf.new", "nova.conf.dist", "nova.conf.default", "nova.conf.sample", "nova.conf.example",
    "Copy of nova.conf", "nova.conf (copy)", "nova (copy).conf", "nova (another copy).conf",
    "nova.conf (1)", "nova (2).conf", "nova copy.conf", "nova - Copy.conf", "nova - Copy (2).conf",
)  # fmt: skip


def flat(text: str) -> str:
    """The text without its line breaks: paths are long."""
    return " ".join(text.split())


def etc(folder: Path, *copies: str) -> Path:
    """A folder with a good nova.conf, and copies that are not."""
    (folder / "nova.conf.d").mkdir()
    (folder / "nova.conf").write_text(GOOD)
    for name in copies:
        (folder / name).write_text(BAD)
    return folder


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_that_is_named_gets_no_errors_and_is_told(tmp_path: Path, name: str) -> None:
    copy = etc(tmp_path, name) / name
    done = vnicaudit("audit", copy)
    assert done.returncode == 4
    said = (
        "a copy of a configuration file, which Nova does not read under this name: not judged "
        "(to judge it, "
    )
    assert f"{said}name it with --nova-config)" in flat(done.stdout)
    assert "VNIC" not in done.stdout
    passed = vnicaudit("audit", "--skip-unrecognised", copy)
    assert passed.returncode == 0
    assert "a copy of a configuration file, which Nova does not read" in flat(passed.stdout)


def test_a_copy_is_judged_where_it_is_given_to_nova(tmp_path: Path) -> None:
    copy = etc(tmp_path, "nova.conf.bak") / "nova.conf.bak"
    done = vnicaudit("audit", "--nova-config", copy, "--format", "json")
    assert [f["rule"] for f in json.loads(done.stdout)["findings"]] == ["VNIC073"]


def test_a_copy_that_is_given_to_nova_is_not_called_unjudged(tmp_path: Path) -> None:
    folder = etc(tmp_path, "nova.conf.bak", "nova.conf.orig")
    given = ("--nova-config", folder / "nova.conf.bak", "--format", "json")
    report = json.loads(vnicaudit("audit", folder, *given).stdout)
    assert [f["rule"] for f in report["findings"]] == ["VNIC073"]
    (note,) = (note for target in report["targets"] for note in target["notes"])
    assert note.startswith("a copy of a configuration file, which Nova does not read by this name")
    assert "nova.conf.orig" in note
    done = vnicaudit("audit", folder / "nova.conf.bak", *given)
    assert done.returncode == 1
    assert all(not target["errors"] for target in json.loads(done.stdout)["targets"])


def test_a_fix_leaves_a_copy_as_it_is(tmp_path: Path) -> None:
    copy = etc(tmp_path, "nova.conf.bak") / "nova.conf.bak"
    assert vnicaudit("audit", "--fix", "--include-unsafe", tmp_path).returncode == 0
    assert copy.read_text() == BAD


NO_COPIES = (
    "nova.conf", "nova.conf.d/x.conf", "nova.conf.j2", "my.cfg", "nova.conf-prod", "nova-cpu.conf",
    "nova.conf.d/nova (copy).conf", "nova.conf.d/Copy of nova.conf", "nova.conf.sample.j2",
)  # fmt: skip


@pytest.mark.parametrize("name", NO_COPIES)
def test_what_is_no_copy_is_judged(tmp_path: Path, name: str) -> None:
    file = etc(tmp_path) / name
    file.write_text(BAD)
    done = vnicaudit("audit", file, "--format", "json")
    assert [f["rule"] for f in json.loads(done.stdout)["findings"]] == ["VNIC073"]
