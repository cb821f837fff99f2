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
