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


def test_a_baseline_of_a_folder_with_templates_is_written(tmp_path: Path) -> None:
    (tmp_path / "guest.xml.j2").write_text(GUEST)
    (tmp_path / "odd.xml.j2").write_text(
        GUEST.replace("<devices>", "{% if a %}<devices>{% else %}<devices x=''>{% endif %}")
    )
    baseline = tmp_path / "baseline.json"
    result = inside("audit", tmp_path, "--write-baseline", baseline)
    assert result.returncode == 0, result.stderr
    assert inside("audit", tmp_path, "--baseline", baseline).returncode == 0


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
    assert {f["about"]["name"] for f in report["findings"]} == {NAMES[name]}
