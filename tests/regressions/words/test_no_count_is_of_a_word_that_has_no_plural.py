"""The last line of every report with a VNIC016 ended in "2 of 2 NIC with a shared MAC addresss"."""

from pathlib import Path

from tests.audit.judging.test_macs import text
from tests.cli.inside import inside
from vnicaudit.base.wording import count
from vnicaudit.reports.tally import SCOPE_WORD

PLURALS = {
    "domain": "domains", "host": "hosts", "config": "files", "image": "images",
    "flavor": "flavors", "preference": "preferences", "site": "compute nodes",
    "mac": "NICs",
}  # fmt: skip


def test_no_scope_has_a_wrong_plural() -> None:
    assert {scope: count(2, word) for scope, word in SCOPE_WORD.items()} == {
        scope: f"2 {plural}" for scope, plural in PLURALS.items()
    }


def test_nics_with_one_mac_are_counted_in_words_that_exist(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.xml").write_text(text(number))
    last = inside("audit", str(tmp_path), "--select", "VNIC016").stdout.splitlines()[-1]
    found = "Found 2 problems (2 medium) in 2 domains, 2 NICs"
    assert last == f"{found}, 2 of them with the MAC address of another"
