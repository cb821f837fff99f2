"""What stood beside an image or a domain in a form that nobody reads was dropped: a play that
copies a nova.conf, a script with one in a here-document, an interface for ``virsh attach-device``,
a QEMU command as a task. "No problems in 1 image", and not a word."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside
from tests.regressions.false_negatives.test_a_second_kind_in_a_file_is_not_dropped import (
    DOMAIN,
)
from vnicaudit.reports.formats import formats

IMAGE = """- hosts: all
  tasks:
    - openstack.cloud.image:
        name: debian
        properties: {hw_vif_model: virtio}
"""
INTERFACE = """<interface type='network'>
  <source network='default'/>
  <model type='rtl8139'/>
</interface>
"""
MADE = (
    "also holds a guest that virt-install makes: not judged, give its definition (virt-install "
    "--print-xml)"
)
ATTACHED = (
    "also holds an <interface> outside of a domain (virsh attach-device): not judged, give the "
    "definition of the domain that it is attached to (virsh dumpxml)"
)
PLAY = (
    IMAGE
    + "    - ansible.builtin.copy:\n        dest: /root/make.sh\n        content: |\n"
    + "          virt-install --name web --network network=default,model=rtl8139\n"
)
"""A play that copies a script, whose text begins in line 9."""


def audited(path: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the report of one target."""
    result = inside("audit", "--format", "json", path)
    return result.returncode, json.loads(result.stdout)


def test_reports_for_people_and_for_build_servers_say_it(tmp_path: Path) -> None:
    path = tmp_path / "play.yml"
    path.write_text(PLAY)
    text = " ".join(inside("audit", path).stdout.split())
    assert f"Not judged {path}:9: {MADE}" in text.replace("judged- ", "judged ")
    assert text.endswith("No problems in 1 image; 1 part was not judged")
    junit = inside("audit", "--format", "junit", path).stdout
    assert f'<skipped message="{MADE}"' in junit
    sarif = json.loads(inside("audit", "--format", "sarif", path).stdout)
    (invocation,) = sarif["runs"][0]["invocations"]
    (note,) = invocation["toolExecutionNotifications"]
    assert (note["level"], invocation["executionSuccessful"]) == ("note", True)
    assert note["message"]["text"] == f"{path}:9: {MADE}"
    markdown = inside("audit", "--format", "markdown", path).stdout
    assert MADE in markdown
    nics = inside("nics", path)
    assert nics.returncode == 0
    assert f"Note: {path}:9: {MADE}" in nics.stderr


def test_it_leaves_no_baseline_incomplete(tmp_path: Path) -> None:
    path, baseline = tmp_path / "play.yml", tmp_path / "b.json"
    path.write_text(PLAY)
    written = inside("audit", "--write-baseline", baseline, path)
    assert written.returncode == 0
    assert "some targets could not be read" not in written.stderr


def test_a_plan_says_it(tmp_path: Path) -> None:
    path = tmp_path / "all.xml"
    path.write_text(DOMAIN + INTERFACE)
    planned = inside("plan", path, "--include-unsafe")
    assert planned.returncode == 0
    assert f"{path}:11: {ATTACHED}" in " ".join(planned.stdout.split())


def test_an_interface_of_a_host_is_told_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "nic.xml"
    path.write_text("<interface type='bridge' name='br0'><bridge/></interface>")
    (error,) = audited(path)[1]["targets"][0]["errors"]
    assert error["message"] == "a libvirt <interface> document: it describes no NIC"


WITHOUT_PLACES = ["concise", "csv", "github", "prometheus"]


@pytest.mark.parametrize("name", formats())
def test_no_format_leaves_it_unsaid(tmp_path: Path, name: str) -> None:
    """CSV, GitLab and metrics had no word of it: a green pipeline was taken for all judged."""
    path = tmp_path / "play.yml"
    path.write_text(PLAY)
    result = inside("audit", "--format", name, path)
    said = f"1 part was not judged: {path}:9; --format text shows why\n"
    assert result.returncode == 0
    assert result.stderr == (said if name in WITHOUT_PLACES else "")
    named = "virt-install makes" in " ".join(result.stdout.split())
    assert named == (name not in WITHOUT_PLACES)
    assert inside("audit", "--quiet", "--format", name, path).stderr == ""


def test_a_report_that_names_it_is_enough(tmp_path: Path) -> None:
    path, table = tmp_path / "all.sh", tmp_path / "a.csv"
    path.write_text(
        "openstack image set --property hw_vif_model=virtio debian\n"
        "sudo virt-install --name x --network network=default,model=rtl8139\n"
        "virsh attach-interface x network default --model rtl8139\n"
    )
    both = inside("audit", "--format", "csv", "-o", table, "--format", "text", "-o", "-", path)
    assert both.stderr == ""
    alone = inside("audit", "--format", "csv", path)
    assert alone.stderr == (
        f"2 parts were not judged: {path}:2 and 1 more; --format text shows why\n"
    )


def test_a_diff_without_a_report_says_it(tmp_path: Path) -> None:
    path = tmp_path / "play.yml"
    path.write_text(PLAY)
    assert f"1 part was not judged: {path}:9;" in inside("audit", "--diff", path).stderr


def test_merge_requests_and_dashboards_have_it(tmp_path: Path) -> None:
    path = tmp_path / "play.yml"
    path.write_text(PLAY)
    (entry,) = json.loads(inside("audit", "--format", "gitlab", path).stdout)
    assert (entry["check_name"], entry["severity"]) == ("not-judged", "info")
    assert entry["description"] == MADE
    assert entry["location"] == {"path": str(path), "lines": {"begin": 9}}
    path.write_text(f"# moved\n{PLAY}" * 2)
    first, second = json.loads(inside("audit", "--format", "gitlab", path).stdout)
    assert first["location"]["lines"]["begin"] == 10
    assert first["fingerprint"] == entry["fingerprint"] != second["fingerprint"]
    path.write_text(PLAY)
    assert "\nvnicaudit_not_judged 1\n" in inside("audit", "--format", "prometheus", path).stdout
