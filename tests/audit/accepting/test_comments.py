"""Findings that a comment of their file accepts."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remedy.works import work
from vnicaudit.audit.judging.judgement import fingerprint_of
from vnicaudit.audit.reading.files import with_comments
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.model.file_kind import Content, Item
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import Audited
from vnicaudit.platforms.infra_code import INFRA_CODE
from vnicaudit.text.comment_walk import Form, accepting_comments

_NOVA = """\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
{above}libvirt_use_virtio_for_bridges = True

[libvirt]
virt_type = kvm
rx_queue_size = "2048"
"""
_MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: NAME}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - name: first
            masquerade: {}
            model: e1000
      networks: [{name: first, pod: {}}]
"""
_TERRAFORM = """\
resource "openstack_images_image_v2" "a" {
  name = "first"
  properties = {
    # vnicaudit: suppress VNIC06 as old
    hw_vif_model = "rtl8139"
  }
}
resource "openstack_images_image_v2" "b" {
  name = "second"
  properties = {
    hw_vif_model = "rtl8139"
  }
}
"""


def comment(words: str) -> str:
    return f"# vnicaudit: suppress {words}\n"


def test_comments_are_not_multiplied_by_descriptions() -> None:
    text = "".join(comment("VNIC06 as old") for _ in range(600))
    text += _TERRAFORM.replace("# vnicaudit", "#")
    content = Content(text.encode(), "f", "f")
    items: Iterator[Item] = (
        Image("f", str(line), Location("f", "f", line)) for line in range(700, 900)
    )
    found = list(with_comments(items, INFRA_CODE.comments, content))
    comments = [one.comments for one in found if isinstance(one, Image)]
    assert [len(one) for one in comments] == [600] * 200
    assert len({id(one) for one in comments}) == 2
    assert [one[0].reporter for one in comments] == [True, *[False] * 199]


def test_comments_beyond_those_that_are_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "nova.conf"
    path.write_text(_NOVA.format(above=comment("VNIC061 why") * 1003))
    (found,) = AuditRun(work(), RunOptions()).items([str(path)])
    assert isinstance(found, Audited)
    assert [one.rule for one in found.findings] == ["VNIC035", "SUPP003"]
    assert [one.finding.rule for one in found.suppressed] == ["VNIC061"]
    own = found.findings[1]
    assert own.location.line == 3 + 1000
    assert "in a comment" in own.message
    assert own.message.endswith("more than 1,000 in one file; the others are not read")
    assert "# vnicaudit: suppress RULE" in str(own.fix)


def test_findings_on_comments_of_standard_input_are_its_own() -> None:
    two = f"{_MACHINE}---\n{_MACHINE}"
    text = io.BytesIO(f"{comment('VNIC999 why')}{two}".encode())
    products = list(AuditRun(work(), RunOptions(), stdin=text).items(["-"]))
    (own,) = (one for one in products if isinstance(one, Audited) and one.scope == "config")
    assert (own.target, own.subject, own.file) == ("-", "standard input", "-")
    (finding,) = own.findings
    assert finding.fingerprint == fingerprint_of("SUPP003", "-", "no rule begins with 'VNIC999'")


@pytest.mark.parametrize("word", ["supress", "supppress", "suppresd", "supperss", "Suppress:"])
def test_a_misspelt_word_is_told(word: str) -> None:
    (one,) = accepting_comments(f"# vnicaudit: {word} VNIC062 why\na: 1\n", "yaml")
    assert one.entry == (("problem", f"unknown word {word!r}; write 'suppress'"),)


@pytest.mark.parametrize("word", ["express", "press", "supplies", "impress", "pressus", "see", "s"])
def test_another_word_is_of_another_comment(word: str) -> None:
    assert accepting_comments(f"# vnicaudit: {word} lane\na: 1\n", "yaml") == ()


@pytest.mark.parametrize("form", ["ini", "yaml", "code"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_bare_word_is_no_other_comment(form: Form, end: str) -> None:
    (one,) = accepting_comments(f"# vnicaudit: suppress{end}a: 1{end}", form)
    assert dict(one.entry)["rule"] == ""
