"""``vnicaudit audit --fix`` over templates: what is to be filled in is never written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inside import inside as vnicaudit

_XML = """\
<domain type='kvm'>
  <name>a</name>
  <vcpu>4</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/>
      <model type='virtio'/>
      <driver queues='8' rx_queue_size='{0}' tx_queue_size='{0}'/>
    </interface>
  </devices>
</domain>
"""
_NOVA = """\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
[libvirt]
rx_queue_size = {0}
tx_queue_size = {0}
max_queues = {0}
"""
_MANIFEST = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: a
  labels: {{kubevirt.io/os: fedora40}}
spec:
  domain:
    devices:
      interfaces:
      - name: default
        masquerade: {{}}
        model: "{0}"
  networks:
  - name: default
    pod: {{}}
"""


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [("a.xml", _XML, 0), ("nova.conf", _NOVA, 0), ("a.yaml", _MANIFEST, 0)],
)
def test_fix_leaves_placeholders_alone(tmp_path: Path, name: str, text: str, code: int) -> None:
    forms = ("@X@", "__X__", "%X%", "%(x)s", "((x))", "[[ x ]]", "#{x}#", "{x}", "$(X)", "${X}")
    written = {tmp_path / str(at) / name: text.format(form) for at, form in enumerate(forms)}
    for file, content in written.items():
        file.parent.mkdir()
        file.write_text(content)
    result = vnicaudit("audit", "--fix", "--include-unsafe", *written)
    assert {file: file.read_text() for file in written} == written
    assert "error" not in result.stdout
    assert result.returncode == code, result.stdout
    if name == "a.xml":
        assert "here a template decides rx_queue_size, tx_queue_size" in " ".join(
            result.stdout.split()
        )
