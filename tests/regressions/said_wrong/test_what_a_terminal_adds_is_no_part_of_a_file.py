"""A prompt, the trace of a shell or a JSON log around it made a command, a manifest or a NIC "not
recognised"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

TAP = "-accel kvm -smp 8 -nodefaults -netdev tap,id=n -device virtio-net-pci,netdev=n"
MANIFEST = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: a, namespace: lab}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - {name: n, model: rtl8139, bridge: {}}
      networks:
      - {name: n, pod: {}}
"""
INTERFACE = "    <interface type='direct'>\n      <source dev='enp5s0'/>\n    </interface>\n"


def _logged(message: str) -> str:
    line = {"component": "virt-launcher", "level": "info", "msg": message, "subcomponent": "qemu"}
    start = '{"component":"virt-launcher","level":"info","msg":"Domain name event: a"}\n'
    return start + json.dumps(line, separators=(",", ":")) + "\n"


@pytest.mark.parametrize(
    ("text", "rule", "owner", "line"),
    [
        (f"+ exec qemu-system-x86_64 {TAP}\n", "VNIC020", "qemu", 1),
        (f"++ qemu-system-x86_64 {TAP}\n", "VNIC020", "qemu", 1),
        (_logged("/usr/libexec/qemu-kvm " + TAP.replace(" -", " \\-")), "VNIC020", "kubevirt", 2),
        (f"$ oc get vm a -o yaml\n{MANIFEST}", "VNIC071", "kubevirt", 11),
        (f"[root@h ~]# kubectl get vm a -o yaml\n{MANIFEST}", "VNIC071", "kubevirt", 11),
    ],
)
def test_what_was_printed_is_judged(
    tmp_path: Path, text: str, rule: str, owner: str, line: int
) -> None:
    (tmp_path / "in.txt").write_text(text)
    found = json.loads(inside("audit", "in.txt", "--format", "json", cwd=tmp_path).stdout)
    (finding,) = found["findings"]
    assert (finding["rule"], finding["owner"]) == (rule, owner)
    assert finding["location"]["line"] == line


@pytest.mark.parametrize(
    "prompt", ["", "# virsh dumpxml web4 | grep -A6 '<interface'\n", "ann@h:~$ sudo virsh edit a\n"]
)
def test_a_nic_without_its_domain_is_told(tmp_path: Path, prompt: str) -> None:
    (tmp_path / "in.txt").write_text(prompt + INTERFACE)
    result = inside("audit", "in.txt", cwd=tmp_path)
    assert result.returncode == 4
    assert "one NIC without its domain" in result.stdout
