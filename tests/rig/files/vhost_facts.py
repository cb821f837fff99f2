"""Runs inside L1: what /proc says about the vhost of one domain's QEMU, as JSON."""

import json
import os
import sys
from pathlib import Path

pid = int(Path(f"/run/libvirt/qemu/{sys.argv[1]}.pid").read_text())
process = Path(f"/proc/{pid}")
words = process.joinpath("cmdline").read_bytes().decode().split("\0")
threads = [path.read_text().strip() for path in process.glob("task/*/comm")]
opened = [os.readlink(path) for path in process.glob("fd/*")]
facts = {
    "pid": pid,
    "netdev": json.loads(words[words.index("-netdev") + 1]),
    "vhost_files": opened.count("/dev/vhost-net"),
    "vdpa_files": sum(path.startswith("/dev/vhost-vdpa-") for path in opened),
    "vhost_threads": sorted(name for name in threads if name.startswith("vhost")),
}
print(json.dumps(facts))
