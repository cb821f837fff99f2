"""Pieces of configuration that keep a name or an address."""

import configparser
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows_of_tuples
from vnicaudit.knowledge.systems import System
from vnicaudit.model.plan import Snippet
from vnicaudit.remedy.planning.naming import snippets

MAC = "52:54:00:12:34:56"

LINK = """\
# then renew the initramfs: update-initramfs -u, dracut -f or mkinitcpio -P
[Match]
MACAddress=52:54:00:12:34:56

[Link]
Name=ens3
"""
UDEV = """\
# instead of a line there is for this MAC
SUBSYSTEM=="net", ACTION=="add", ATTR{address}=="52:54:00:12:34:56", ATTR{type}=="1", NAME="ens3"
"""
EXPECTED = {
    "systemd-link": Snippet("systemd-link", "/etc/systemd/network/10-vnicaudit-ens3.link", LINK),
    "udev": Snippet("udev", "/etc/udev/rules.d/70-persistent-net.rules", UDEV),
}
NETSH = """\
rem 1. before the change, in the guest, as administrator: keep what is static
netsh interface ip dump > C:\\vnicaudit-525400123456.txt
rem 2. after it: the new adapter's name, by its physical address 52-54-00-12-34-56
getmac /v /fo list
rem 3. give it what C:\\vnicaudit-525400123456.txt has for the old one, in place of CAPITALS
netsh interface ip set address name="NEW NAME" source=static addr=ADDRESS mask=MASK gateway=GATEWAY
netsh interface ip set dns name="NEW NAME" source=static addr=SERVER
"""


def linux(name: str | None = None, version: tuple[int, int] | None = None) -> System:
    return System("linux", name, version)


@rows_of_tuples
def test_what_fits_a_distribution(
    system: tuple[str | None, tuple[int, int] | None], kinds: str
) -> None:
    found = snippets(linux(*system), MAC, "ens3", predicted=False)
    assert found == tuple(EXPECTED[kind] for kind in kinds.split())


def test_a_predicted_name_is_to_be_checked_first() -> None:
    (found,) = snippets(linux("debian", (12, 0)), MAC, "ens3", predicted=True)
    assert found.text == (
        "# ens3 is predicted: compare with `ip -br link` in the guest first\n" + LINK
    )


def test_names_that_the_kernel_gives_are_racy() -> None:
    found = {
        one.kind: one.text for one in snippets(linux(), MAC, "eth0", predicted=False)
    }  # fmt: skip
    warning = (
        "# the kernel may give eth0 to another NIC first: safe where this is the only one, else "
        "use\n# a name of your own, as lan0\n"
    )
    assert {kind for kind, text in found.items() if warning in text} == {
        "systemd-link", "udev",
    }  # fmt: skip


def test_windows_keeps_addresses_with_the_adapter() -> None:
    shell, netsh = snippets(System("windows", "win"), MAC, "Ethernet 2", predicted=False)
    assert netsh == Snippet("netsh", "", NETSH)
    assert (shell.kind, shell.path) == ("powershell", "")
    assert shell.text.count("$_.MacAddress -eq '52-54-00-12-34-56'") == 2
    assert shell.text.count("'C:\\vnicaudit-525400123456.xml'") == 2
    assert "Ethernet" not in shell.text
    assert shell.text.count("{") == shell.text.count("}")
    assert "{{" not in shell.text


def test_old_windows_has_no_cmdlets_for_it() -> None:
    system = System("windows", "win", old_windows=True)
    (found,) = snippets(system, MAC, None, predicted=False)
    assert found.kind == "netsh"


def test_a_mac_is_written_as_its_reader_writes_it() -> None:
    mac = "52:54:00:aa:bb:cc"
    (udev,) = snippets(linux("rhel", (7, 9)), mac, "ens3", predicted=False)
    assert 'ATTR{address}=="52:54:00:aa:bb:cc"' in udev.text
    (shell, _netsh) = snippets(System("windows", "win"), mac, None, predicted=False)
    assert "'52-54-00-AA-BB-CC'" in shell.text


@pytest.mark.parametrize("family", ["freebsd", "openbsd", None])
def test_other_systems_have_none(family: str | None) -> None:
    assert snippets(System(family), MAC, "em0", predicted=False) == ()


@pytest.mark.parametrize(
    "name",
    [
        "", "a" * 16, "x y", 'x"', "x;reboot", "$(id)", "x\n[Link]", "../x", "x%i", "é", "`id`",
        "-x", ".", "..", ":x", None,
    ],
)  # fmt: skip
def test_a_name_that_is_not_plainly_one(name: str | None) -> None:
    assert snippets(linux(), MAC, name, predicted=False) == ()


@pytest.mark.parametrize(
    "mac",
    ["", "52:54:00:12:34", "52:54:00:12:34:5g", "52-54-00-12-34-56", f"{MAC}\n", "'; x", None],
)
@pytest.mark.parametrize("system", [linux(), System("windows", "win")], ids=["linux", "windows"])
def test_a_mac_that_is_not_plainly_one(system: System, mac: str | None) -> None:
    assert snippets(system, mac, "ens3", predicted=False) == ()


NAMES = st.from_regex(r"[A-Za-z0-9_.:-]{1,15}", fullmatch=True) | st.text(max_size=20)


@given(name=NAMES, predicted=st.booleans())
def test_whatever_the_guest_says_its_name_is_nothing_else(name: str, predicted: bool) -> None:
    """Each snippet is read by the rules of its own language, and says the name and the MAC."""
    found = {one.kind: one for one in snippets(linux(), MAC, name, predicted=predicted)}
    if not found:
        return
    link = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    link.read_string(found["systemd-link"].text)
    assert {part: dict(link[part]) for part in link.sections()} == {
        "Match": {"macaddress": MAC}, "Link": {"name": name},
    }  # fmt: skip
    assert found["udev"].text.endswith(f', NAME="{name}"\n')
    assert {str(PurePosixPath(one.path).parent) for one in found.values()} == {
        "/etc/systemd/network", "/etc/udev/rules.d",
    }  # fmt: skip
