"""JUnit XML, against the schema Jenkins publishes."""

from pathlib import Path

import msgspec
from lxml import etree

from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Ref

XSD = Path(__file__).parents[1] / "data" / "junit-10.xsd"


def tree(text: str) -> etree._Element:
    return etree.fromstring(text.encode())


def test_it_is_valid() -> None:
    schema = etree.XMLSchema(etree.parse(str(XSD)))
    schema.assertValid(tree(written("junit")))
    schema.assertValid(tree(written("junit", stream=[CLEAN], end=OK_END)))


def test_a_suite_per_domain_and_per_unread_target() -> None:
    suites = tree(written("junit")).findall("testsuite")
    counts = [
        tuple(suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped"))
        for suite in suites
    ]
    assert counts == [
        ("web-01", "5", "3", "0", "2"),
        ("mail-01", "1", "0", "0", "0"),
        ("instance-0000002a", "2", "1", "1", "0"),
        ("legacy", "3", "0", "0", "2"),
        ("domains", "1", "0", "1", "0"),
        ("qemu+ssh://kvm7/system", "1", "0", "1", "0"),
    ]


def test_a_finding_is_a_failure_with_place_and_fix() -> None:
    suite = tree(written("junit"))[0]
    case = suite[0]
    assert case.get("classname") == "web-01"
    assert case.get("name") == "VNIC001 legacy-emulated-nic NIC 0 52:54:00:6b:3c:58"
    [failure] = case
    assert failure.get("type") == "high"
    assert failure.get("message") == finding().message
    assert failure.text == (
        f"domains/web-01.xml:18: {finding().message}\n"
        "fix (unsafe): Set <model type='virtio'/> (virsh edit), then power the guest off and on. "
        "Unsafe: no sign of a virtio driver."
    )


def test_skips_crashes_suppressions_and_unread_files_are_told_apart() -> None:
    root = tree(written("junit"))
    ends = [
        (case.get("name"), end.tag, end.get("message"))
        for case in root.iter("testcase")
        for end in case
        if end.tag != "failure"
    ]
    needs = "needs the running QEMU: its command line, its log, or /proc on the hypervisor"
    assert ends == [
        ("VNIC020 NIC 1 vnet7", "skipped", needs),
        ("VNIC027 NIC 1 vnet7", "skipped", needs),
        ("VNIC048 NIC 0 fa:16:3e:10:20:30", "error", "KeyError: 'mtu'"),
        ("VNIC020 NIC 0", "skipped", needs),
        (
            "VNIC001 legacy-emulated-nic NIC 0 52:54:00:00:00:09",
            "skipped",
            "suppressed: the guest is OS/2 (vnicaudit.toml)",
        ),
        (
            "read domains/broken.xml:3",
            "error",
            "Opening and ending tag mismatch: mac and interface",
        ),
        ("read qemu+ssh://kvm7/system", "error", "no answer within 30 s"),
    ]


def test_a_clean_domain_is_one_passed_test() -> None:
    [suite] = tree(written("junit", stream=[CLEAN], end=OK_END))
    [case] = suite
    assert (case.get("name"), len(case)) == ("no findings", 0)


def test_characters_xml_cannot_hold_are_written_out() -> None:
    nic = Ref("nic", "a\x00b", None, None, 0)
    odd = finding(about=nic, message="\x1b]0;x\x07 ]]> &", fix="")
    stream = [msgspec.structs.replace(WEB_01, subject="a\x00b\uffff", findings=(odd,))]
    suite = tree(written("junit", stream=stream))[0]
    assert suite.get("name") == "a\\x00b\\uffff"
    assert suite[0][0].get("message") == "\\x1b]0;x\\x07 ]]> &"
