"""Nova's configuration is told from other ini files by what stands in it."""

from __future__ import annotations

import pytest

from vnicaudit.platforms.nova_conf.recognise import looks_like

NOVA = {
    "a compute node": "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n",
    "only [libvirt]": "# managed\n\n[libvirt]\nvirt_type=kvm\n",
    "an old one": "[DEFAULT]\nverbose=True\nlibvirt_use_virtio_for_bridges=True\n",
    "the sample, all commented out": "[DEFAULT]\n\n#\n# From nova.conf\n#\n\n"
    "# Driver to use for controlling virtualization (string value)\n#compute_driver = <None>\n",
    "a template": "{% set x = 1 %}\n# {{ managed }}\n[DEFAULT]\nforce_raw_images = {{ raw }}\n",
    "a colon instead of =": "[libvirt]\nuse_virtio_for_bridges: false\n",
    "with a byte order mark": "\ufeff[libvirt]\ncpu_mode = host-model\n",
    "Windows line ends": "[libvirt]\r\nrx_queue_size = 512\r\n",
    "a list of devices": "[pci]\ndevice_spec = {}\n",
    "flags of old": "# Cactus\n--verbose\n--libvirt_type=kvm\n--sql_connection=mysql://[::1]/nova\n",
}

OTHER = {
    "empty": "",
    "neutron.conf": "[DEFAULT]\ncore_plugin = ml2\ntransport_url = rabbit://\n"
    "notify_nova_on_port_status_changes = true\n[nova]\nauth_url = http://x\n[agent]\n",
    "cinder.conf": "[DEFAULT]\nenabled_backends = lvm\n[lvm]\nvolume_group = vg\n"
    "[nova]\ninterface = internal\n",
    "a masakari monitor": "[libvirt]\nconnection_uri = qemu:///system\n",
    "the generator of Nova's sample": "[DEFAULT]\noutput_file = nova.conf.sample\n"
    "namespace = nova.conf\n",
    "setup.cfg": "[metadata]\nname = nova\n[options]\npackages = find:\n",
    "tox.ini": "[tox]\nenvlist = py3\n[testenv]\ncommands = stestr run\n",
    "a systemd unit": "[Unit]\nDescription=libvirt\n[Service]\nExecStart=/usr/bin/nova-compute\n",
    "TOML": '[tool.ruff]\nline-length = 100\n[libvirt]\nuri = "qemu:///system"\n',
    "a script that writes one": "#!/bin/sh\ncat <<EOF\n[libvirt]\nvirt_type = kvm\nEOF\n",
    "YAML around one": "data:\n  nova.conf: |\n[libvirt]\nvirt_type = kvm\n",
    "the option in another section": "[glance]\nvirt_type = kvm\n",
    "prose": "See [libvirt] in nova.conf.\nvirt_type = kvm\n",
    "qemu.conf": '# [libvirt]\nuser = "root"\nvirt_type = 1\n',
    "flags of another program": "--verbose\n--output=x\n",
    "QEMU's options, one on each line": "--name=guest\n--machine=q35\n--netdev=user,id=n\n",
    "a script with such options": "--libvirt_type=kvm\nrun this\n",
    "a section [pci] of others": "[pci]\nslots = 4\n",
    "binary": "[libvirt]\nvirt_type = kvm\n\0\1",
}


@pytest.mark.parametrize("text", NOVA.values(), ids=NOVA)
def test_nova(text: str) -> None:
    assert looks_like(text.encode())


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_not_nova(text: str) -> None:
    assert not looks_like(text.encode())


def test_bytes_that_are_no_text_are_not_nova() -> None:
    assert not looks_like(b"\xff\xfe[\x80\x81libvirt]\xf0\n")
