"""The last line of every report with a VNIC016 ended in "2 of 2 NIC with a shared MAC addresss"."""

from vnicaudit.base.wording import count
from vnicaudit.reports.totals import SCOPE_WORD

PLURALS = {
    "domain": "guests", "host": "hosts", "config": "files", "image": "images",
    "flavor": "flavors", "preference": "preferences", "cluster": "clusters",
    "site": "compute nodes", "mac": "NICs", "interface": "interfaces",
}  # fmt: skip


def test_no_scope_has_a_wrong_plural() -> None:
    assert {scope: count(2, word) for scope, word in SCOPE_WORD.items()} == {
        scope: f"2 {plural}" for scope, plural in PLURALS.items()
    }
