"""In a folder, a script, a unit or a batch file with a QEMU command was skipped without a word,
unless the command was its first line."""

from pathlib import Path

import pytest

from tests.cli.inside import inside
from vnicaudit.reports.formats import FORMATS

DOMAIN = """<domain type='kvm'><name>a</name>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
</devices></domain>
"""


def _audited(folder: Path, *options: str) -> str:
    return " ".join(inside("audit", ".", *options, cwd=folder).stdout.split())


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "github"])
def test_a_report_of_our_own_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "other.xml").write_text(DOMAIN)
    inside("audit", "other.xml", "--format", name, "-o", "report", cwd=tmp_path)
    said = _audited(tmp_path)
    assert "1 problem in " in said
    assert "passed over" not in said
    named = inside("audit", "report", cwd=tmp_path)
    assert named.returncode == 4
    assert "a report, a plan or a baseline of vnicaudit: give what it is about" in " ".join(
        named.stdout.split()
    )
