"""``vnicaudit audit --format html``: every NIC is handed on, wrong or not."""

import json
from pathlib import Path

from tests.cli.inside import inside as vnicaudit
from tests.reports.page.decoded import check_markup, decoded

DEMO = Path(__file__).parents[3] / "templates" / "demo" / "host.xml"


def test_the_suffix_of_a_page_is_enough_and_every_nic_is_in_it(tmp_path: Path) -> None:
    page, listed = tmp_path / "page.html", vnicaudit("nics", DEMO, "--format", "json")
    done = vnicaudit("audit", DEMO, "--format", "text", "-o", "-", "-o", page)
    assert done.returncode == 4, done.stderr  # the last definition of the demo is no XML
    text = page.read_text(encoding="utf-8")
    check_markup(text)
    macs = [nic["mac"] or "" for nic in json.loads(listed.stdout)["nics"]]
    assert decoded(text).tables["nic"]["mac"] == macs
    assert "of 15 NICs are slow" in text
