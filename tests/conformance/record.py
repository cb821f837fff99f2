"""Make the command lines in ``data/`` anew: define each definition there with the libvirt of this
machine, start it paused, take QEMU's arguments from the log, and remove it.

    python -m tests.conformance.record

needs root, libvirtd, QEMU for the architectures used, and creates (and removes) a bridge
``vnicconf0`` and a libvirt network ``vnicaudit-conf`` on it.
"""

import re
import subprocess
import sys
from pathlib import Path

from vnicaudit.platforms.qemu.read import last_start

DATA = Path(__file__).parent / "data"
_LOGS = Path("/var/log/libvirt/qemu")
_URI = "qemu:///system"
_NETWORK = (
    "<network><name>vnicaudit-conf</name><forward mode='bridge'/>"
    "<bridge name='vnicconf0'/></network>"
)
_BLOCK = re.compile(r"^\S*/qemu-system-.*?[^\\]\n", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Record every definition; 1 when one did not start."""
    _run("ip", "link", "add", "vnicconf0", "type", "bridge")
    _virsh("net-create", "/dev/stdin", text=_NETWORK)
    failed = 0
    try:
        for xml in sorted(DATA.glob("*.xml")):
            failed += not _record(xml)
    finally:
        _virsh("net-destroy", "vnicaudit-conf")
        _run("ip", "link", "delete", "vnicconf0")
    return 1 if failed else 0


def _record(xml: Path) -> bool:
    name = f"vnicaudit-conf-{xml.stem}"
    log = _LOGS / f"{name}.log"
    log.unlink(missing_ok=True)
    done = _virsh("create", str(xml), "--paused")
    _virsh("destroy", name)
    if done.returncode:
        print(f"{xml.name}: {done.stderr.strip()}")
        return False
    text = log.read_text()
    start = last_start(text)
    block = _BLOCK.search(text)
    if start is None or block is None:
        print(f"{xml.name}: no start in {log}")
        return False
    arch = start.program.rpartition("-")[2].replace("i386", "i686")
    path = xml.with_name(f"{xml.stem}.{arch}-{start.qemu}.args")
    path.write_text(block.group())
    print(f"{path.name}: libvirt {start.libvirt}")
    return True


def _virsh(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return _run("virsh", "--quiet", "--connect", _URI, *arguments, text=text)


def _run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
