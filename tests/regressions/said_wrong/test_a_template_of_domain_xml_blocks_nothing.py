"""A Jinja definition in which only the name, the vCPUs or a source is filled in "could not be
read": exit 4, no baseline, a hook that failed. What is literal in a template is judged, what is
not is said, and a document that only shares the name of an element is passed over."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

GUEST = """<domain type='kvm'>
  <name>{{ name }}</name>
  <memory unit='MiB'>{{ memory }}</memory>
  <vcpu>{{ vcpus }}</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'>
      <source file='{{ disk['path'] }}'/><target dev='vda' bus='virtio'/>
    </disk>
    <interface type='bridge'>
      <mac address='{{ mac }}'/>
      <source bridge='{{ bridge | default("br0") }}'/>
      <model type='rtl8139'/>
    </interface>
  </devices>
</domain>
"""
OTHERS = {
    "erb": GUEST.replace("{{", "<%=").replace("}}", "%>"),
    "go": GUEST.replace("{{ name }}", "{{ .Values.name }}").replace("disk['path']", '.Disk "a"'),
    "loop": GUEST.replace("    <interface", "{% for n in nets %}\n    <interface").replace(
        "</interface>", "</interface>\n{% endfor %}"
    ),
}


@pytest.mark.parametrize("text", [GUEST, *OTHERS.values()], ids=["jinja", *OTHERS])
def test_what_is_literal_is_judged_and_the_exit_code_says_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(text)
    result = inside("audit", "--format", "json", path)
    report = json.loads(result.stdout)
    rules = {(f["rule"], f["location"]["line"]) for f in report["findings"]}
    line = text[: text.index("<model")].count("\n") + 1
    assert ("VNIC001", line) in rules
    assert report["targets"][0]["errors"] == []
    assert result.returncode == 1


def test_a_placeholder_for_the_model_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(GUEST.replace("rtl8139", "{{ model }}"))
    result = inside("audit", path)
    assert result.returncode == 0
    words = " ".join(result.stdout.split())
    assert (
        "No rule was judged for 1 NIC: needs the rendered definition: here a template decides model"
        in words
    )
    assert "rtl8139" not in inside("nics", path).stdout


def test_number_of_vcpus_that_is_filled_in_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(GUEST.replace("<model type='rtl8139'/>", "<model type='virtio'/>"
                                  "<driver queues='4'/>"))  # fmt: skip
    report = json.loads(inside("audit", "--format", "json", path).stdout)
    assert report["findings"] == []
    assert [s["rule"] for s in report["skipped"] if "vCPU" in s["needs"]] == ["VNIC031"]


def test_a_baseline_of_a_folder_with_templates_is_written(tmp_path: Path) -> None:
    (tmp_path / "guest.xml.j2").write_text(GUEST)
    (tmp_path / "odd.xml.j2").write_text(
        GUEST.replace("<devices>", "{% if a %}<devices>{% else %}<devices x=''>{% endif %}")
    )
    baseline = tmp_path / "baseline.json"
    result = inside("audit", tmp_path, "--write-baseline", baseline)
    assert result.returncode == 0, result.stderr
    assert inside("audit", tmp_path, "--baseline", baseline).returncode == 0


def test_a_template_that_no_parser_reads_is_not_called_clean(tmp_path: Path) -> None:
    path = tmp_path / "odd.xml.j2"
    path.write_text(
        GUEST.replace("<devices>", "{% if a %}<devices>{% else %}<devices x=''>{% endif %}")
    )
    result = inside("audit", path)
    assert result.returncode == 0
    assert "No rule was judged for 1 domain: needs the rendered definition" in " ".join(
        result.stdout.split()
    )
    nics = inside("nics", path)
    assert nics.returncode == 0
    assert f"Note: {path}:1: a template decides which NICs {{{{ name }}}} has\n" == nics.stderr


def test_a_fix_of_a_template_changes_the_literal_and_no_other_byte(tmp_path: Path) -> None:
    path = tmp_path / "guest.xml.j2"
    text = GUEST.replace("{{ disk['path'] }}", "{{ path }}").replace(' | default("br0")', "")
    path.write_text(text)
    assert inside("audit", "--fix", "--include-unsafe", path).returncode == 0
    assert path.read_text() == text.replace("'rtl8139'", "'virtio'")


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_a_fix_never_touches_a_template_whose_tags_are_no_xml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(text)
    result = inside("audit", "--fix", "--include-unsafe", path)
    assert path.read_text() == text
    assert "a template with tags that are not XML: change it by hand" in " ".join(
        (result.stdout + result.stderr).split()
    )


def test_a_template_is_not_planned_as_a_definition(tmp_path: Path) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(GUEST)
    result = inside("plan", path, "--include-unsafe", "-o", "-")
    plan = json.loads(result.stdout)
    assert plan["steps"] == []
    assert plan["not_planned"][0]["reason"].startswith(
        "the file is a template ({{ name }}): plan its rendered form"
    )


PROFILE = """<?xml version="1.0"?>
<!DOCTYPE profile{}>
<profile xmlns="http://www.suse.com/1.0/yast2ns">
  <networking>
    <dns>
      <domain>example.com</domain>
    </dns>
  </networking>
</profile>
"""
PLAIN = GUEST.replace("{{ name }}", "plain").replace("{{ vcpus }}", "1")


@pytest.mark.parametrize("declared", ["", " [<!ENTITY x SYSTEM 'file:///etc/passwd'>]"])
def test_a_profile_of_autoyast_in_a_folder_is_no_domain_and_no_error(
    tmp_path: Path, declared: str
) -> None:
    (tmp_path / "autoinst.xml").write_text(PROFILE.format(declared))
    result = inside("audit", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Could not be read" not in result.stdout


def test_a_guest_behind_a_foreign_document_is_still_judged(tmp_path: Path) -> None:
    path = tmp_path / "both.xml"
    path.write_text(PROFILE.format("") + PLAIN)
    report = json.loads(inside("audit", "--format", "json", path).stdout)
    assert ("VNIC001", 22) in {(f["rule"], f["location"]["line"]) for f in report["findings"]}


def test_a_document_type_of_another_name_does_not_hide_a_domain(tmp_path: Path) -> None:
    path = tmp_path / "guest.xml"
    path.write_text("<!DOCTYPE profile [<!ENTITY x 'y'>]>\n" + PLAIN)
    result = inside("audit", tmp_path)
    assert result.returncode == 4
    assert "has a document type declaration" in " ".join(result.stdout.split())


ALTERNATIVES = "{{% if a %}}{one}{{% else %}}{other}{{% endif %}}".format(
    one="<domain type='kvm'>", other="<domain type='qemu'>"
)
BEHIND_A_TAG = {
    "alternatives": GUEST.replace("<domain type='kvm'>", ALTERNATIVES),
    "raw": f"<?xml version='1.0'?>\n{{% raw %}}{GUEST}{{% endraw %}}\n",
    "go": "{{ if .a }}<domain type='kvm'>{{ else }}<domain type='qemu'>{{ end }}"
    + GUEST.partition("\n")[2],
    "comment": "{# of the site #}" + ALTERNATIVES + GUEST.partition("\n")[2],
}


@pytest.mark.parametrize("named", [True, False], ids=["named", "in a folder"])
@pytest.mark.parametrize("name", BEHIND_A_TAG)
def test_a_root_behind_a_tag_is_a_domain_that_is_not_judged(
    tmp_path: Path, name: str, *, named: bool
) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(BEHIND_A_TAG[name])
    result = inside("audit", path if named else tmp_path)
    words = " ".join(result.stdout.split())
    assert "No rule was judged for 1 domain: needs the rendered definition" in words
    assert result.returncode == 0


NAMES = {
    '{{ a | default("<x>") }}': '{{ a | default("<x>") }}',
    "{{ a & 'b' }}-1": "{{ a & 'b' }}-1",
    '<%= a["b"] %>': '<%= a["b"] %>',
}


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_is_called_as_the_template_calls_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "guest.xml.j2"
    path.write_text(GUEST.replace("{{ name }}", name))
    report = json.loads(inside("audit", "--format", "json", path).stdout)
    assert {f["nic"]["domain"] for f in report["findings"]} == {NAMES[name]}
