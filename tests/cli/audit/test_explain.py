"""``vnicaudit explain`` without ``--nic``: the only NIC, or what to name."""

from pathlib import Path

from tests.cli.definitions import E1000
from tests.cli.inside import inside

OTHER = (
    "<interface type='bridge'><mac address='52:54:00:00:00:77'/><source bridge='b'/></interface>"
)


def test_the_only_nic_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(E1000)
    named = inside("explain", tmp_path / "a.xml", "--nic", "0")
    assert named.returncode == 0
    assert inside("explain", tmp_path / "a.xml").stdout == named.stdout


def test_one_of_several_is_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(E1000.replace("</devices>", f"{OTHER}</devices>"))
    several = inside("explain", tmp_path / "a.xml")
    assert (several.returncode, several.stdout) == (2, "")
    assert "there are several NICs (" in several.stderr
    assert "52:54:00:00:00:77" in several.stderr
    assert several.stderr.endswith(": name one with --nic\n")
    redacted = inside("explain", tmp_path / "a.xml", "--redact", f"VNICAUDIT_STATE={tmp_path}/s")
    assert redacted.stderr == "Error: there are several NICs: name one with --nic\n"


def test_no_nic_at_all(tmp_path: Path) -> None:
    start, end = E1000.index("<interface"), E1000.index("</interface>") + len("</interface>")
    (tmp_path / "a.xml").write_text(E1000[:start] + E1000[end:])
    none = inside("explain", tmp_path / "a.xml")
    assert (none.returncode, none.stderr) == (4, "Error: there is no NIC in these targets\n")


def test_guests_that_share_a_mac_address_are_several(tmp_path: Path) -> None:
    for name in ("a", "b"):
        text = "<domain type='kvm'><name>{}</name><devices><interface type='network'>{}</interface>"
        nic = "<mac address='52:54:00:00:00:01'/><source network='default'/>"
        (tmp_path / f"{name}.xml").write_text(text.format(name, nic) + "</devices></domain>")
    refused = inside("explain", tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "there are several NICs" in refused.stderr
