"""Errors said what is wrong, but not what to write instead: a key that does not exist, a list given
as a table, a guest named as a file, a number of a NIC, a word for a rule."""

from pathlib import Path

import pytest

from tests.cli.inside import inside

XML = """<domain type='kvm'><name>mail-01</name><devices>
<interface type='bridge'><mac address='52:54:00:00:00:01'/></interface></devices></domain>
"""


@pytest.mark.parametrize(
    ("command", "settings", "said"),
    [
        ("audit a.xml", '[[suppress]]\npath = "x"\nrule = "VNIC001"\nreason = "y"\n',
         "unknown key 'path' in [[suppress]]; its keys: rule, reason, domain, "),
        ("audit -i hosts.toml", "", "hosts is a list: write [[hosts]] and a name in it"),
        ("audit mail-01", "",
         "No such file or directory. A guest? vnicaudit audit qemu:///system --domain mail-01"),
        ("audit ./mail-01", "", "mail-01: No such file or directory"),
        ("explain a.xml --domain mail-01 --nic 7", "",
         "there is no NIC '7' of domain 'mail-01' in these targets; it has 52:54:00:00:00:01"),
        ("rules rtl8139", "", "no rule 'rtl8139'; it is in VNIC001, "),
        ("history show --history nothing.db", "", "nothing.db"),
    ],
)  # fmt: skip
def test_what_to_write_instead(tmp_path: Path, command: str, settings: str, said: str) -> None:
    (tmp_path / "a.xml").write_text(XML)
    (tmp_path / "hosts.toml").write_text('[hosts.kvm01]\nuri = "test:///default"\n')
    (tmp_path / "vnicaudit.toml").write_text(settings)
    done = inside(*command.split(), cwd=tmp_path)
    assert done.returncode in (2, 4)
    words = " ".join((done.stdout + done.stderr).split())
    assert said in words
    assert "Missing argument" not in words
    assert ("A guest?" in words) == ("A guest?" in said)
