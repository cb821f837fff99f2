"""What stood beside an image or a domain in a form that nobody reads was dropped: a play that
copies a nova.conf, a script with one in a here-document, an interface for ``virsh attach-device``,
a QEMU command as a task. "No problems in 1 image", and not a word."""

import json
from pathlib import Path

from tests.cli.inside import inside

IMAGE = """- hosts: all
  tasks:
    - openstack.cloud.image:
        name: debian
        properties: {hw_vif_model: virtio}
"""
MADE = (
    "also holds a guest that virt-install makes: not judged, give its definition (virt-install "
    "--print-xml)"
)
PLAY = (
    IMAGE
    + "    - ansible.builtin.copy:\n        dest: /root/make.sh\n        content: |\n"
    + "          virt-install --name web --network network=default,model=rtl8139\n"
)
"""A play that copies a script, whose text begins in line 9."""


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
