"""Runs inside L1: what /proc says about the vhost of one domain's QEMU, as JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path


def of_each(pattern: str, read: Callable[[Path], str]) -> Iterator[str]:
    """Of threads and descriptors that are there until they have been read."""
    for path in process.glob(pattern):
        with suppress(OSError):
            yield read(path)


pid = int(Path(f"/run/libvirt/qemu/{sys.argv[1]}.pid").read_text())
process = Path(f"/proc/{pid}")
words = process.joinpath("cmdline").read_bytes().decode().split("\0")
threads = list(of_each("task/*/comm", lambda path: path.read_text().strip()))
opened = list(of_each("fd/*", os.readlink))
facts = {
    "pid": pid,
    "netdev": json.loads(words[words.index("-netdev") + 1]),
    "vhost_files": opened.count("/dev/vhost-net"),
    "vdpa_files": sum(path.startswith("/dev/vhost-vdpa-") for path in opened),
    "vhost_threads": sorted(name for name in threads if name.startswith("vhost")),
}
print(json.dumps(facts))
