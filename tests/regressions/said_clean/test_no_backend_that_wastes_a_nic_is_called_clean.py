"""Backends on QEMU's command line that give the guest less than it seems: a hub, one queue behind
``mq=on``, several behind a device without it. All was measured with QEMU 7.2
(``x-query-virtio-status``)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

QEMU = "qemu-system-x86_64 -accel kvm -smp 8"
VIRTIO = "-device virtio-net-pci,netdev=n"
COMMANDS = {
    "a hub": ("-net nic,model=virtio -net tap,ifname=tap0,script=no,vhost=on", "VNIC020", "hub"),
    "a hub without vhost": ("-net nic,model=virtio -net tap,ifname=tap0", "VNIC020", "hub"),
    "a hub on a bridge": ("-net nic,model=virtio -net bridge,br=br0", "VNIC020", "hub"),
    "a hubport": (
        "-nodefaults -netdev tap,id=t,vhost=on -netdev hubport,id=p,hubid=1,netdev=t "
        "-netdev hubport,id=n,hubid=1 " + VIRTIO, "VNIC020", "hub",
    ),
    "multiqueue on user": (
        f"-nodefaults -netdev user,id=n {VIRTIO},mq=on,vectors=6", "VNIC031", "one queue",
    ),
    "multiqueue on one descriptor": (
        f"-nodefaults -netdev tap,id=n,fd=3,vhost=on {VIRTIO},mq=on", "VNIC031", "one queue",
    ),
    "four queues without multiqueue": (
        f"-nodefaults -netdev tap,id=n,vhost=on,queues=4 {VIRTIO}", "VNIC030", "no mq=on",
    ),
    "four descriptors without multiqueue": (
        f"-nodefaults -netdev tap,id=n,vhost=on,fds=3:4:5:6 {VIRTIO}", "VNIC030", "no mq=on",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "rule", "said"), COMMANDS.values(), ids=list(COMMANDS))
def test_a_backend(tmp_path: Path, words: str, rule: str, said: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"#!/bin/sh\nexec {QEMU} {words}\n")
    result = inside("audit", "--format", "json", path)
    messages = {one["rule"]: one["message"] for one in json.loads(result.stdout)["findings"]}
    assert said in messages[rule]
    assert result.returncode == 1


def test_queues_that_the_guest_does_not_get_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"{QEMU} -nodefaults -netdev tap,id=n,vhost=on,queues=4 {VIRTIO}\n")
    (nic,) = json.loads(inside("nics", "--format", "json", path).stdout)["nics"]
    assert (nic["queues"]["declared"], nic["queues"]["effective"]) == (4, 1)
    assert nic["queues"]["reason"] == "QEMU runs one queue pair: mq=on is missing in its -device"


@pytest.mark.parametrize(
    "words",
    [
        f"-nodefaults -netdev tap,id=n,vhost=on,queues=8 {VIRTIO},mq=on",
        f"-nodefaults -netdev vhost-vdpa,id=n,vhostdev=/dev/vhost-vdpa-0 {VIRTIO},mq=on",
        "-nodefaults -netdev user,id=n -device virtio-net-pci,netdev=n",
        "-nodefaults -netdev user,id=channel0,guestfwd=tcp:10.0.2.1:4600-chardev:c "
        f"-netdev tap,id=n,vhost=on,queues=8 {VIRTIO},mq=on",
    ],
)
def test_what_is_in_order(tmp_path: Path, words: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"{QEMU} {words}\n")
    report = json.loads(inside("audit", "--format", "json", path).stdout)
    assert {one["rule"] for one in report["findings"]} <= {"VNIC033"}
    assert report["targets"][0]["status"] == "ok"
