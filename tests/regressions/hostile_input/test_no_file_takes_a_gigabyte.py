"""7 MB of XML took 1.5 GB, 1 MB of HCL 740 MB and 8 MB of shell as much: each reader has a limit at
which its worst input stays below the ceiling that the documentation states."""

import subprocess
import sys
from pathlib import Path

import pytest

from vnicaudit.platforms.domain_xml.documents import MAX_DOCUMENT, MAX_NICS, MAX_TAGS
from vnicaudit.platforms.infra_code import hcl, shell

CEILING = 512
"""MiB of one process; stated in docs/explanation/safety.md."""

MEASURE = """
import re, sys
from vnicaudit.audit.reading.files import read_file
from vnicaudit.cli.wiring.platforms import every_platform
found = read_file(sys.argv[1], "f", every_platform().files, explicit=True)
items = [getattr(item, "message", "") for item in found]
peak = re.search(r"VmHWM:\\s+([0-9]+) kB", open("/proc/self/status").read())
print(int(peak[1]) >> 10, *items, sep="\\n")
"""
"""Not ``ru_maxrss``, in which a process inherits what its parent had."""

HEAD, TAIL = b"<domain type='kvm'><name>a</name><devices>", b"</devices></domain>"
NIC = b"<interface><source/><model/></interface>"
INPUTS = {
    "NICs": HEAD + NIC * MAX_NICS + TAIL,
    "elements": HEAD + b"<a/>" * (MAX_TAGS - 10) + TAIL,
    "attributes": HEAD + b"<interface " + b" ".join(
        b"a%d='1'" % number for number in range(MAX_DOCUMENT // 14)) + b"/>" + TAIL,
    "a quoted word": b'qemu-system-x86_64 -m 1 -netdev user,id=n -name "' + b"a" * (4 << 20) + b'"',
    "escapes": b'qemu-system-x86_64 -m 1 -netdev user,id=n -name "' + b'\\"' * (1 << 20) + b'"',
    "a list of HCL": b'resource "openstack_images_image_v2" "a" {\n x = ['
    + b"1," * (hcl.MAX_LENGTH // 2 - 100) + b"]\n}\n",
    "words of a shell": b"#!/bin/sh\nopenstack image set --property hw_vif_model=e1000 x\n"
    + b"a;" * (shell.MAX_BYTES // 2 - 100),
}  # fmt: skip


@pytest.mark.parametrize("data", INPUTS.values(), ids=INPUTS)
def test_the_worst_of_what_is_read_stays_below_the_ceiling(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "f")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, *_said = done.stdout.splitlines()
    assert int(peak) < CEILING


@pytest.mark.parametrize("nic", [b"<interface/>", b"<hostdev/>"])
def test_more_nics_than_any_domain_has_are_refused(nic: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(HEAD + nic * (MAX_NICS + 1) + TAIL)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "f")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, said = done.stdout.splitlines()
    assert said.startswith("a document of 0 MiB and ")
    assert said.endswith("not read, no domain is that large")
    assert int(peak) < CEILING
