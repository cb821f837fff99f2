"""``audit -o x.sarif`` wrote text into x.sarif, which a code scanner then refused."""

import csv
import io
import json
from pathlib import Path

import pytest
from lxml import etree

from tests.cli.inside import inside

GUEST = """<domain type='kvm'><name>a</name>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='b'/><model type='rtl8139'/></interface></devices>
</domain>
"""
IMAGES = """- openstack.cloud.image:
    name: debian
    properties: {hw_vif_model: e1000}
- openstack.cloud.image:
    name: fedora
    properties: {hw_vif_model: rtl8139}
"""


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    path = tmp_path / "guest.xml"
    path.write_text(GUEST)
    return path


def test_the_suffix_tells_the_format(guest: Path, tmp_path: Path) -> None:
    names = ("a.sarif", "a.json", "a.csv", "a.xml", "a.md", "a.prom", "a.txt")
    places = [tmp_path / f"report-{name}" for name in names]
    options = [word for place in places for word in ("-o", place)]
    result = inside("audit", guest, *options)
    assert (result.returncode, result.stdout) == (1, "")
    texts = {place.name.removeprefix("report-"): place.read_text() for place in places}
    assert json.loads(texts["a.sarif"])["version"] == "2.1.0"
    assert json.loads(texts["a.json"])["schema"] == "vnicaudit.report/1"
    assert texts["a.csv"].startswith('"rule","name","severity",')
    assert etree.fromstring(texts["a.xml"].encode()).tag == "testsuites"
    assert texts["a.md"].lstrip().startswith(("#", "**", "|"))
    assert "# TYPE vnicaudit_findings gauge\n" in texts["a.prom"]
    assert "# EOF" not in texts["a.prom"]
    assert "  low     VNIC001  NIC 0" in texts["a.txt"]


@pytest.mark.parametrize("name", ["report", "report.log", "v1.2"])
def test_a_name_that_tells_nothing_is_text(guest: Path, tmp_path: Path, name: str) -> None:
    inside("audit", guest, "-o", tmp_path / name)
    assert "  low     VNIC001  NIC 0" in (tmp_path / name).read_text()


def test_a_format_that_is_named_wins(guest: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.json"
    inside("audit", guest, "--format", "sarif", "-o", place)
    assert json.loads(place.read_text())["version"] == "2.1.0"
    both = ("--format", "sarif", "-o", place, "-o", tmp_path / "b.csv")
    inside("audit", guest, *both)
    assert (tmp_path / "b.csv").read_text().startswith('"rule","name",')


def test_findings_on_images_name_their_image(tmp_path: Path) -> None:
    path = tmp_path / "images.yml"
    path.write_text(IMAGES)
    report = json.loads(inside("audit", path, "--format", "json").stdout)
    assert {finding["about"]["name"] for finding in report["findings"]} == {"debian", "fedora"}
    rows = csv.DictReader(io.StringIO(inside("audit", path, "--format", "csv").stdout))
    assert {row["domain"] for row in rows} == {"debian", "fedora"}
