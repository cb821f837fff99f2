"""In a folder, a script, a unit or a batch file with a QEMU command was skipped without a word,
unless the command was its first line."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

NICS = "-nodefaults -netdev user,id=a -device rtl8139,netdev=a"
QEMU = f"qemu-system-x86_64 {NICS}"
CONTINUED, BATCH = QEMU.replace(" -", " \\\n  -"), QEMU.replace(" -", " ^\n  -")
XML = "<domain type='kvm'><name>a</name></domain>"


def _audited(folder: Path, *options: str) -> str:
    return " ".join(inside("audit", ".", *options, cwd=folder).stdout.split())


@pytest.mark.parametrize(
    "text",
    [
        f"#!/bin/sh\nset -e\nexec {QEMU}",
        f"#!/bin/sh\n# the guest\nset -e\nexec {CONTINUED}",
        f"cd /srv\n{QEMU}",
        f"DISK=x\n{QEMU}",
        f"if true; then\n  {QEMU}\nfi",
        f"[Unit]\nDescription=a\n\n[Service]\nExecStart=/usr/bin/{QEMU}",
        f"; mine\n[Service]\nExecStart=/usr/bin/{QEMU}",
        f"@echo off\n{BATCH}",
        f'rem the guest\n"C:\\Program Files\\qemu\\qemu-system-x86_64.exe" {NICS}',
        f"@echo off\nC:\\qemu\\qemu-system-x86_64w.exe {NICS}",
        f'@echo off\nset QEMU=C:\\qemu\\qemu-system-x86_64.exe\nstart "" "%QEMU%" {NICS}',
        f"+ exec {QEMU}",
        f"qemu-img create -f qcow2 d.qcow2 10G\n{QEMU}",
        f"QEMU=/usr/bin/qemu-system-x86_64\n{QEMU}",
        f"sudo modprobe kvm\n{QEMU}",
        f"export BIN=/usr/bin/kvm\n{QEMU}",
        f"set QEMU=C:\\qemu\\qemu-system-x86_64.exe\n{QEMU}",
        f"for vm in web db; do\n  {QEMU}\ndone",
    ],
)
def test_a_program_of_a_folder_is_judged_as_by_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "guest").write_text(text + "\n")
    (tmp_path / "other.xml").write_text(XML)
    found = json.loads(inside("audit", ".", "--format", "json", cwd=tmp_path).stdout)
    (alone,) = json.loads(inside("audit", "guest", "--format", "json", cwd=tmp_path).stdout)[
        "findings"
    ]
    (finding,) = found["findings"]
    assert finding["rule"] == "VNIC001"
    assert finding["location"]["line"] == alone["location"]["line"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"#!/bin/sh\nN='{NICS}'\nexec qemu-system-x86_64 $N", "from a variable: not judged"),
        (f"@echo off\nset N={NICS}\nqemu-system-x86_64 %N%", "from a variable: not judged"),
        (f'#!/bin/bash\nA=({NICS})\nqemu-system-x86_64 "${{A[@]}}"', "from a variable: not judged"),
        (f'#!/bin/bash\nset -e\nC=({QEMU})\n"${{C[@]}}"', "in a string or a list may be"),
    ],
)
def test_what_cannot_be_read_of_a_program_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "guest").write_text(text + "\n")
    (tmp_path / "other.xml").write_text(XML)
    assert said in _audited(tmp_path)


def test_files_that_are_passed_over_are_counted(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_text(XML)
    assert "passed over" not in _audited(tmp_path)
    (tmp_path / "notes.txt").write_text("call Ann\n")
    assert "1 file passed over: nothing in it is recognised No" in _audited(tmp_path)
    (tmp_path / "README.md").write_text(f"# Guests\n\nRun it:\n\n```\n{QEMU}\n```\n")
    (tmp_path / "start.py").write_text(f"import os\n# {QEMU}\nos.system('{QEMU}')\n")
    assert (
        "3 files passed over: nothing in them is recognised, but 2 of them name QEMU or NICs: "
        "README.md, start.py"
    ) in _audited(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        f"@john wrote:\n> {QEMU}",
        f"[Troubleshooting]\nOn old hosts use\n {QEMU}",
        f"set up the host first, then run\n\n  {QEMU}",
        f"if you have no KVM, run\n\n  {QEMU}",
    ],
)
def test_prose_of_a_folder_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(text + "\n")
    (tmp_path / "other.xml").write_text(XML)
    assert "but it names QEMU or NICs: notes.txt No problems" in _audited(tmp_path)


def test_a_comment_of_a_script_is_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "start.sh").write_text(f"#!/bin/sh\nset -e\n# {QEMU}\n")
    (tmp_path / "other.xml").write_text(XML)
    assert "No problems in 1 domain, 0 NICs" in _audited(tmp_path)


def test_a_report_of_our_own_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_text(XML)
    for name in ("sarif", "json"):
        inside("audit", "other.xml", "--format", name, "-o", f"v.{name}", cwd=tmp_path)
    said = _audited(tmp_path)
    assert "2 files passed over: nothing in them is recognised No" in said
