"""Findings that a comment of their file accepts."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.remedy.works import work
from tests.rows import rows
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
{top}[DEFAULT]
compute_driver = libvirt.LibvirtDriver
{above}libvirt_use_virtio_for_bridges = True

[libvirt]
virt_type = kvm
{other}rx_queue_size = "2048"
"""
_MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}}}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - name: first
            masquerade: {{}}
            model: e1000{behind}
      networks: [{{name: first, pod: {{}}}}]
"""
_HEAT = """\
heat_template_version: 2021-04-16
resources:
  first: &old
    type: OS::Glance::WebImage
    properties:
      name: first
      extra_properties:
        # vnicaudit: suppress VNIC06 as old
        hw_vif_model: rtl8139
  second:
    type: OS::Glance::WebImage
    properties:
      name: second
      extra_properties:
        hw_vif_model: rtl8139
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
_IN_HCL = """\
resource "openstack_images_image_v2" "a" {{
  name = "first" /*
{comment}  */
  properties = {{ note = " # vnicaudit: suppress VNIC06 old", hw_vif_model = "rtl8139" }}
  notes = <<-END
    ---
{comment}  END
}}
"""


def audited(*paths: Path) -> list[Audited]:
    run = AuditRun(work(), RunOptions())
    return [one for one in run.items(map(str, paths)) if isinstance(one, Audited)]


def rules_of(everything: list[Audited]) -> tuple[list[str], list[str]]:
    """The rules of what is found, and of what is accepted."""
    found = [each.rule for one in everything for each in one.findings]
    return sorted(found), sorted(each.finding.rule for one in everything for each in one.suppressed)


def nova(tmp_path: Path, top: str = "", above: str = "", other: str = "") -> list[Audited]:
    path = tmp_path / "nova.conf"
    path.write_text(_NOVA.format(top=top, above=above, other=other))
    return audited(path)


def comment(words: str) -> str:
    return f"# vnicaudit: suppress {words}\n"


@pytest.mark.parametrize("place", ["top", "above"])
def test_a_comment_accepts_what_it_stands_above(place: str, tmp_path: Path) -> None:
    words = comment("VNIC061 until we upgrade; until=2099-01-31; owner=compute team")
    found = nova(tmp_path, **{place: words})
    assert rules_of(found) == (["VNIC035"], ["VNIC061"])
    (accepted,) = found[0].suppressed
    line = 1 if place == "top" else 3
    assert (accepted.reason, accepted.owner, accepted.until, accepted.source) == (
        "until we upgrade", "compute team", "2099-01-31", f"{tmp_path}/nova.conf:{line}",
    )  # fmt: skip


@rows
def test_one_that_needs_attention(
    words: str, rule: str, severity: str, says: str, tmp_path: Path
) -> None:
    found = nova(tmp_path, above=comment(words))
    assert rules_of(found) == (sorted([rule, "VNIC035", "VNIC061"]), [])
    (own,) = (one for one in found[0].findings if one.rule == rule)
    assert (own.severity, own.location.line, own.owner) == (severity, 3, "vnicaudit")
    assert says in own.message


def test_a_value_is_no_comment(tmp_path: Path) -> None:
    path = tmp_path / "nova.conf"
    text = _NOVA.format(top="", above="", other="")
    path.write_text(text.replace('"2048"', "2048 # vnicaudit: suppress VNIC035 why"))
    assert rules_of(audited(path)) == (["VNIC035", "VNIC061"], [])


def test_manifests_have_comments_beside_and_above(tmp_path: Path) -> None:
    path = tmp_path / "vms.yaml"
    beside = _MACHINE.format(name="vm1", behind="  # vnicaudit: suppress VNIC071 vendor")
    plain = _MACHINE.format(name="vm2", behind="")
    above = comment("VNIC071 all of it") + _MACHINE.format(name="vm3", behind="")
    path.write_text("---\n".join([beside, plain, above]))
    found = audited(path)
    assert rules_of(found) == (["VNIC071"], ["VNIC071", "VNIC071"])
    assert [one.subject for one in found if one.findings] == ["vm2"]
    reasons = [each.reason for one in found for each in one.suppressed]
    assert reasons == ["vendor", "all of it"]


@pytest.mark.parametrize(("name", "text"), [("heat.yaml", _HEAT), ("images.tf", _TERRAFORM)])
def test_images_of_a_template(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = audited(path)
    assert rules_of(found) == (["VNIC062"], ["VNIC062"])
    assert [one.subject for one in found if one.findings] == ["second"]


@rows
def test_a_text_accepts_nothing(name: str, text: str, tmp_path: Path) -> None:
    """A block of YAML, a heredoc and a string of HCL; and a script, of which it is not known."""
    path = tmp_path / name
    path.write_text(text.format(comment=f"  {comment('VNIC06 as old')}"))
    assert rules_of(audited(path)) == (["VNIC062"], [])


@pytest.mark.parametrize("top", ["#", "//"])
def test_a_heredoc_has_no_documents(top: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tf"
    text = "locals {\n  a = <<E\n---\nE\n}\n" + _TERRAFORM
    path.write_text(f"{top} licence\n" + comment("VNIC06 as old") + text)
    assert rules_of(audited(path)) == ([], ["VNIC062", "VNIC062"])


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
    found = nova(tmp_path, above="".join(comment("VNIC061 why") for _ in range(1003)))
    assert rules_of(found) == (["SUPP003", "VNIC035"], ["VNIC061"])
    (own,) = (one for one in found[0].findings if one.rule == "SUPP003")
    assert own.location.line == 3 + 1000
    assert "in a comment" in own.message
    assert own.message.endswith("more than 1,000 in one file; the others are not read")
    assert "# vnicaudit: suppress RULE" in str(own.fix)


_SHARED = """\
heat_template_version: 2021-04-16
resources:
  first:
    type: OS::Glance::WebImage
    properties:
      name: first
      extra_properties: &old
        hw_vif_model: rtl8139{behind}
  second:
    type: OS::Glance::WebImage
    properties:
      name: second
      extra_properties: *old
"""


def test_a_line_that_several_descriptions_share(tmp_path: Path) -> None:
    path = tmp_path / "heat.yaml"
    path.write_text(_SHARED.format(behind="  # vnicaudit: suppress VNIC062 as old"))
    assert rules_of(audited(path)) == ([], ["VNIC062", "VNIC062"])


@rows
@pytest.mark.parametrize("number", [0, 1], ids=["first", "last"])
def test_comments_of_several_descriptions_that_need_attention(
    words: str, rule: str, number: int, tmp_path: Path
) -> None:
    lines = _TERRAFORM.replace("    # vnicaudit: suppress VNIC06 as old\n", "").split("\n")
    at = [at for at, line in enumerate(lines) if "hw_vif" in line][number]
    lines[at] += f"  # vnicaudit: {words}"
    path = tmp_path / "images.tf"
    path.write_text("\n".join(lines))
    found = audited(path)
    assert rules_of(found) == ([rule, "VNIC062", "VNIC062"], [])
    ((whose, own),) = ((each, one) for each in found for one in each.findings if one.rule == rule)
    assert own.location.line == at + 1
    assert (whose.scope, whose.subject, whose.file) == ("config", str(path), str(path))


def test_what_is_wrong_with_comments_stands_once_with_their_file(tmp_path: Path) -> None:
    for name in ("a.tf", "b.tf"):
        text = _TERRAFORM.replace("VNIC06 as old", "VNIC061 unused")
        (tmp_path / name).write_text(f"{comment('VNIC999 why')}{text}")
    found = [one for one in audited(tmp_path / "a.tf", tmp_path / "b.tf") if one.findings]
    assert [(one.scope, rules_of([one])[0]) for one in found] == [
        ("image", ["VNIC062"]), ("config", ["SUPP003"]), ("image", ["VNIC062"]),
        ("image", ["VNIC062"]), ("config", ["SUPP003"]), ("image", ["VNIC062"]),
    ]  # fmt: skip


def test_findings_on_comments_of_standard_input_are_its_own() -> None:
    two = f"{_MACHINE.format(name='a', behind='')}---\n{_MACHINE.format(name='b', behind='')}"
    text = io.BytesIO(f"{comment('VNIC999 why')}{two}".encode())
    products = list(AuditRun(work(), RunOptions(), stdin=text).items(["-"]))
    (own,) = (one for one in products if isinstance(one, Audited) and one.scope == "config")
    assert (own.target, own.subject, own.file) == ("-", "standard input", "-")
    (finding,) = own.findings
    assert finding.fingerprint == fingerprint_of("SUPP003", "-", "no rule begins with 'VNIC999'")


def test_a_comment_about_something_else_is_none(tmp_path: Path) -> None:
    path = tmp_path / "images.tf"
    path.write_text(_TERRAFORM.replace("suppress VNIC06 as old", "see the wiki"))
    assert rules_of(audited(path)) == (["VNIC062", "VNIC062"], [])


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("sign", ["#", "//"])
def test_both_comments_of_hcl_count(sign: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "images.tf"
    path.write_text(mark + _TERRAFORM.replace("# vnicaudit", f"{sign} vnicaudit"))
    assert rules_of(audited(path)) == (["VNIC062"], ["VNIC062"])
    path.write_text(f"{mark}{sign} vnicaudit: suppress VNIC062 all\n" + _TERRAFORM)
    assert rules_of(audited(path))[1] == ["VNIC062", "VNIC062"]
    path.write_text(_IN_HCL.format(comment=f"{sign} vnicaudit: suppress VNIC062 all\n"))
    assert rules_of(audited(path)) == (["VNIC062"], [])


def test_a_byte_order_mark_before_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "vm.yaml"
    path.write_text("\ufeff" + comment("VNIC071 vendor") + _MACHINE.format(name="a", behind=""))
    assert rules_of(audited(path)) == ([], ["VNIC071"])


def test_a_carriage_return_alone_hides_nothing(tmp_path: Path) -> None:
    """Nova takes it for the end of a line; in HCL what stands behind it is part of the comment."""
    found = nova(tmp_path, above="# vnicaudit: suppress VNIC061 why\rx = y\n")
    assert rules_of(found) == (["VNIC035", "VNIC061"], [])
    path = tmp_path / "images.tf"
    path.write_text(_TERRAFORM.replace("as old\n", "as old\rname = 1\n"))
    assert rules_of(audited(path)) == (["SUPP003", "VNIC062", "VNIC062"], [])


def test_one_of_several_explained_alone_tells_nothing_of_comments(tmp_path: Path) -> None:
    """Whether another guest of the file needs one is not known then."""
    used = _MACHINE.format(name="vm1", behind="  # vnicaudit: suppress VNIC071 vendor")
    wrong = _MACHINE.format(name="vm2", behind="  # vnicaudit: suppress VNIC071")
    (tmp_path / "vms.yaml").write_text("---\n".join([used, wrong, used.replace("vm1", "vm3")]))
    for name in ("vm1", "vm2", "vm3"):
        words = ("explain", "vms.yaml", "--nic", "0", "--domain", name)
        assert "SUPP" not in inside(*words, cwd=tmp_path).stdout
    found = rules_of(audited(tmp_path / "vms.yaml"))
    assert found == (["SUPP003", "VNIC071"], ["VNIC071", "VNIC071"])


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("words", "told"),
    [("suppress", "no rule"), ("suppress\rVNIC062 why", "a carriage"), ("suppress\xa0VNIC062", "")],
)
def test_a_comment_without_a_rule_is_told(words: str, told: str, end: str, tmp_path: Path) -> None:
    """Also where lines end in CRLF, and where no blank stands behind the word."""
    path = tmp_path / "images.tf"
    text = _TERRAFORM.replace("suppress VNIC06 as old", words)
    path.write_bytes(text.replace("\n", end).encode())
    found = audited(path)
    assert rules_of(found) == (["SUPP003", "VNIC062", "VNIC062"], [])
    (own,) = (one for each in found for one in each.findings if one.rule == "SUPP003")
    assert told in own.message


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
