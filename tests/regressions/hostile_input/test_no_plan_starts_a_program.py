"""A plan whose step had ``qemu+ext:///system?command=…`` as its target ran that command at ``apply
--dry-run``, which is what one uses to look at a plan that one does not trust yet."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside
from tests.rows import rows_of_tuples
from vnicaudit.errors import RefusedError
from vnicaudit.remedy.replacing import check_uri
from vnicaudit.text.targets import unsafe_parts

_XML = """\
<domain type='kvm'>
  <name>a</name>
  <uuid>11111111-1111-1111-1111-111111111111</uuid>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/><model type='virtio'/><driver queues='8'/>
    </interface>
  </devices>
</domain>
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a mark."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    path.chmod(0o755)
    return path


def tampered(folder: Path, uri: str) -> Path:
    """A plan of a file, edited to be one of a host."""
    (folder / "a.xml").write_text(_XML)
    plan = folder / "plan.json"
    made = inside("plan", folder / "a.xml", "-o", plan, "--quiet")
    assert made.returncode == 0, made.stderr
    text: dict[str, Any] = json.loads(plan.read_text())
    (step,) = text["steps"]
    step.update(target=uri, unit={"kind": "domain"}, safe=True)
    step["about"]["id"] = "11111111-1111-1111-1111-111111111111"
    step["modes"] = [{"mode": "next-boot", "possible": True, "reason": ""}]
    plan.write_text(json.dumps(text))
    return plan


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    "uri", ["qemu+ext:///system?command={}", "qemu+ssh://h/system?command={}",
            "qemu+ssh://h/system?no_tty=1;c%6fmmand={}"],
)  # fmt: skip
def test_no_program_of_a_plan_runs(uri: str, dry: bool, program: Path, tmp_path: Path) -> None:
    pytest.importorskip("libvirt")
    plan = tampered(tmp_path, uri.format(program))
    words = ("--dry-run",) if dry else ("--yes",)
    result = inside("apply", plan, *words, "--state", tmp_path / "state")
    assert not (tmp_path / "ran").exists()
    assert result.returncode == 5
    assert "comes from a file, and" in result.stderr
    assert "command= may start a program here" in result.stderr
    assert "--trust-uri" in result.stderr


def test_the_same_uri_given_by_the_user_is_dialled(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("libvirt")
    uri = f"qemu+ext:///system?command={program}"
    plan = tampered(tmp_path, uri)
    result = inside(
        "apply", plan, "--dry-run", "--trust-uri", uri, "--state", tmp_path / "state",
        "VNICAUDIT_DEADLINE=5",
    )  # fmt: skip
    assert "comes from a file" not in result.stderr
    assert (tmp_path / "ran").exists()


@rows_of_tuples
def test_what_more_than_names_a_host_is_refused(uri: str, parts: tuple[str, ...]) -> None:
    assert unsafe_parts(uri) == parts
    with pytest.raises(RefusedError, match="it was not contacted"):
        check_uri(uri)
    check_uri(uri, {uri})


@pytest.mark.parametrize(
    "uri",
    ["qemu:///system", "qemu:///session", "qemu+ssh://root@kvm7:2222/system", "qemu+tls://h/system",
     "qemu+ssh://h/system?no_tty=1", "qemu://h/system", "test:///default", "qemu+unix:///system",
     "qemu+ssh://[2001:db8::1]/system?mode=legacy"],
)  # fmt: skip
def test_what_names_a_host_is_dialled(uri: str) -> None:
    assert unsafe_parts(uri) == ()


def test_no_plan_has_a_line_of_a_file_shown(tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text("root:S3cr3tW0rd:20228:0\n")
    plan = tampered(tmp_path, f"test://{tmp_path}/shadow")
    shown = inside("apply", plan, "--dry-run", "--state", tmp_path / "state")
    assert shown.returncode == 4
    assert "Start tag expected" in shown.stderr
    assert "S3cr3tW0rd" not in shown.stdout + shown.stderr


@pytest.mark.parametrize("uri", ["vbox:///session", "agent://x", "qemu+ssh://[x/system"])
def test_what_is_no_uri_of_libvirt_is_no_internal_error(uri: str, tmp_path: Path) -> None:
    plan = tampered(tmp_path, uri)
    shown = inside("apply", plan, "--dry-run", "--state", tmp_path / "state")
    assert shown.returncode == 4
    assert f"Error: {uri}: cannot connect: " in shown.stderr
