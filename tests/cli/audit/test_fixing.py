"""``vnicaudit audit --fix`` and ``--diff``, as a user runs them."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli import command
from tests.cli.inside import inside as vnicaudit
from tests.rows import rows_of_tuples

_XML = """\
<domain type='kvm'>
  <name>{name}</name>
  <!-- by hand -->
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/>
      <model type="virtio"/>
      <driver queues='{queues}'/>
    </interface>{more}
  </devices>
</domain>
"""
_UNSAFE = """\
<domain type='kvm'>
  <name>a</name>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'><source bridge='br0'/><model type='e1000'/></interface>
  </devices>
</domain>
"""
_TERRAFORM = """\
resource "libvirt_domain" "web" {
  name = "web"
  type = "kvm"
  os   = { type = "hvm", type_arch = "x86_64", type_machine = "q35" }
  devices = {
    interfaces = [
      {
        source = { bridge = { bridge = "br0" } }
        model  = { type = "e1000" }
      },
    ]
  }
}
"""
_DIFF = """\
--- a.xml
+++ a.xml
@@ -7,7 +7,7 @@
     <interface type='bridge'>
       <source bridge='br0'/>
       <model type="virtio"/>
-      <driver queues='4'/>
+      <driver queues='2'/>
     </interface>
   </devices>
 </domain>
"""
_ONE = ("--select", "VNIC031")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two definitions, one of which is in order."""
    (tmp_path / "a.xml").write_text(_XML.format(name="a", queues=4, more=""))
    (tmp_path / "b.xml").write_text(_XML.format(name="b", queues=2, more=""))
    return tmp_path


def test_fix(folder: Path) -> None:
    result = vnicaudit("audit", ".", "--fix", *_ONE, cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "Fixed 1 problem in 1 file\n"
        "Of 2 NICs it is unknown whether they are slow. No problems in 2 guests, 2 NICs\n"
    )
    assert (folder / "a.xml").read_text() == _XML.format(name="a", queues=2, more="")
    assert sorted(os.listdir(folder)) == ["a.xml", "b.xml"]


def test_a_second_run_changes_nothing(folder: Path) -> None:
    vnicaudit("audit", ".", "--fix", "--include-unsafe", cwd=folder)
    before = (folder / "a.xml").stat()
    result = vnicaudit("audit", ".", "--fix", "--include-unsafe", cwd=folder)
    assert "Fixed" not in result.stdout
    after = (folder / "a.xml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_diff_changes_nothing(folder: Path) -> None:
    result = vnicaudit("audit", ".", "--diff", *_ONE, cwd=folder)
    assert result.stdout == _DIFF
    assert result.stderr == "Would fix 1 problem in 1 file\n"
    assert result.returncode == 1, "what is there is there still"
    assert (folder / "a.xml").read_text() == _XML.format(name="a", queues=4, more="")


def test_fix_and_show(folder: Path) -> None:
    result = vnicaudit("audit", ".", "--fix", "--diff", *_ONE, cwd=folder)
    assert (result.stdout, result.stderr) == (_DIFF, "Fixed 1 problem in 1 file\n")
    assert result.returncode == 0
    assert "queues='2'" in (folder / "a.xml").read_text()


def test_nothing_to_show(folder: Path) -> None:
    result = vnicaudit("audit", "b.xml", "--diff", *_ONE, cwd=folder)
    assert (result.stdout, result.stderr, result.returncode) == ("", "Nothing to fix\n", 0)


def test_diff_of_standard_input(folder: Path) -> None:
    data = (folder / "a.xml").read_bytes()
    result = command.vnicaudit("audit", "-", "--diff", *_ONE, stdin=data)
    assert result.stdout == _DIFF.replace("a.xml", "-")
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("data", "fixes"),
    [
        (_UNSAFE, []),
        ("[libvirt]\nvirt_type = kvm\nrx_queue_size = 1\n", ["vnicaudit audit - --diff"]),
    ],
    ids=["XML", "nova.conf"],
)
def test_a_command_that_is_suggested_reads_standard_input(data: str, fixes: list[str]) -> None:
    """``vnicaudit plan -`` would be refused."""
    said = command.vnicaudit("audit", "-", stdin=data.encode()).stdout.splitlines()
    assert [line.split(": ")[1] for line in said if ": vnicaudit " in line] == fixes


def test_colour(folder: Path) -> None:
    result = vnicaudit("audit", ".", "--diff", "--color", "always", *_ONE, cwd=folder)
    assert "\x1b[32m+      <driver queues='2'/>\x1b[0m\n" in result.stdout


def test_report_beside_the_diff(folder: Path) -> None:
    options = ("--format", "json", "--output", "r.json")
    result = vnicaudit("audit", ".", "--fix", "--diff", *_ONE, *options, cwd=folder)
    assert result.stdout == _DIFF
    summary = json.loads((folder / "r.json").read_text())["summary"]
    assert (summary["fixed"], summary["fixed_files"], summary["refused"]) == (1, 1, 0)


def test_unsafe_ones_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(_UNSAFE)
    result = vnicaudit("audit", path, "--fix")
    assert result.stderr == "1 more with unsafe fixes (--include-unsafe)\n"
    assert (result.returncode, path.read_text()) == (1, _UNSAFE)
    result = vnicaudit("audit", path, "--fix", "--include-unsafe")
    assert "Fixed 1 problem in 1 file\n" in result.stdout
    assert path.read_text() == _UNSAFE.replace("e1000", "virtio")


def test_suppressed_and_known_ones_stay(folder: Path) -> None:
    vnicaudit("audit", ".", "--write-baseline", "known.json", cwd=folder)
    result = vnicaudit("audit", ".", "--fix", "--baseline", "known.json", *_ONE, cwd=folder)
    assert (result.returncode, "queues='4'" in (folder / "a.xml").read_text()) == (0, True)
    (folder / "vnicaudit.toml").write_text(
        "[[suppress]]\nrule = 'VNIC031'\nfile = 'a.xml'\nreason = 'later'\n"
    )
    result = vnicaudit("audit", ".", "--fix", *_ONE, cwd=folder)
    assert (result.returncode, "queues='4'" in (folder / "a.xml").read_text()) == (0, True)


def test_a_refused_fix_is_exit_code_5(folder: Path) -> None:
    os.link(folder / "a.xml", folder / "c.xml")
    result = vnicaudit("audit", ".", "--fix", *_ONE, cwd=folder)
    assert result.returncode == 5
    assert result.stderr == (
        "a.xml:10: VNIC031 not fixed: the file has 2 names (hard links): the others would "
        "keep the old content\nc.xml:10: VNIC031 not fixed: the file has 2 names (hard "
        "links): the others would keep the old content\n"
    )
    assert "2 could not be fixed in place\n" in result.stdout
    assert (folder / "a.xml").read_text() == _XML.format(name="a", queues=4, more="")


def test_a_report_says_what_was_not_fixed_and_why(folder: Path) -> None:
    """Also what belongs to somebody else, which is no refusal of its own."""
    os.link(folder / "a.xml", folder / "c.xml")
    text = _XML.format(name="d", queues=4, more="")
    (folder / "d.xml").write_text(f"<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE.\n-->\n{text}")
    result = vnicaudit("audit", ".", "--fix", "--format", "json", *_ONE, cwd=folder)
    report = json.loads(result.stdout)
    found = {one["fingerprint"]: one for one in report["findings"]}
    assert [
        (found[one["fingerprint"]]["location"]["file"], one["code"])
        for one in report["not_fixed"]
    ] == [
        ("a.xml", "cannot-be-written"), ("c.xml", "cannot-be-written"), ("d.xml", "owner"),
    ]  # fmt: skip
    assert all(one["reason"] for one in report["not_fixed"])
    plain = vnicaudit("audit", ".", "--format", "json", *_ONE, cwd=folder)
    assert "not_fixed" not in json.loads(plain.stdout)


def test_terraform_is_changed_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "main.tf"
    path.write_text(_TERRAFORM)
    result = vnicaudit("audit", "main.tf", "--fix", "--include-unsafe", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (1, "")
    assert "VNIC002  NIC 0  main.tf:9\n" in result.stdout
    assert path.read_text() == _TERRAFORM
    shown = vnicaudit("explain", "main.tf", "--nic", "0", cwd=tmp_path).stdout
    assert "Terraform resource" in shown


def test_what_belongs_to_libvirt_is_no_refusal(folder: Path) -> None:
    text = _XML.format(name="a", queues=4, more="")
    (folder / "a.xml").write_text(f"<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE.\n-->\n{text}")
    result = vnicaudit("audit", ".", "--fix", *_ONE, cwd=folder)
    assert result.stderr == (
        "1 not fixed here: libvirt's own file, which it overwrites: change it with virsh edit\n"
    )
    assert result.returncode == 1


def test_a_broken_neighbour_is_still_exit_code_4(folder: Path) -> None:
    (folder / "c.xml").write_text("<domain><name>")
    result = vnicaudit("audit", ".", "--fix", *_ONE, cwd=folder)
    assert result.returncode == 4
    assert "queues='2'" in (folder / "a.xml").read_text()


def test_many_that_cannot_be_read_are_counted_beside_a_diff(folder: Path) -> None:
    for number in range(1200):
        (folder / f"torn-{number}.xml").write_text("<domain><name>")
    result = vnicaudit("audit", ".", "--diff", "-q", *_ONE, cwd=folder)
    assert result.returncode == 4
    assert result.stderr.count("torn-") == 20
    assert result.stderr.endswith("… 1,180 more in .\n")


@rows_of_tuples
def test_what_makes_no_sense(arguments: tuple[str, ...], message: str, folder: Path) -> None:
    before = (folder / "a.xml").read_bytes()
    result = vnicaudit("audit", *arguments, cwd=folder)
    assert result.returncode == 2
    assert message in result.stderr
    assert (folder / "a.xml").read_bytes() == before


@pytest.mark.parametrize("option", ["--domain", "--nic"])
def test_nothing_is_written_where_one_of_several_names_is_misspelt(
    option: str, folder: Path
) -> None:
    before = (folder / "a.xml").read_bytes()
    right = {"--domain": "a", "--nic": "0"}[option]
    for wrong in ("52:54:00:ff:ff:ff", ""):
        result = vnicaudit("audit", ".", "--fix", option, right, option, wrong, cwd=folder)
        assert result.returncode == 2
        assert option in result.stderr
        assert (folder / "a.xml").read_bytes() == before
    assert vnicaudit("audit", ".", "--fix", option, right, cwd=folder).returncode == 0
    assert (folder / "a.xml").read_bytes() != before


def test_nothing_is_changed_where_the_report_cannot_be_written(folder: Path) -> None:
    before = (folder / "a.xml").read_bytes()
    result = vnicaudit("audit", ".", "--fix", "--output", "no/such/folder/r", cwd=folder)
    assert (result.returncode, (folder / "a.xml").read_bytes()) == (2, before)


def test_what_could_not_be_read_is_said_beside_the_diff(folder: Path) -> None:
    (folder / "torn.xml").write_text("<domain>\n<name>a</nam>\n</domain>\n")
    result = vnicaudit("audit", ".", *_ONE, "--diff", cwd=folder)
    assert result.returncode == 4
    assert result.stdout == _DIFF
    assert "torn.xml:2: not well-formed XML: " in result.stderr


def test_a_filter_hides_no_danger_from_a_fix(tmp_path: Path) -> None:
    """libvirt starts no guest with a virtio ring of 511; on e1000 nobody reads it."""
    ring = "<model type='e1000'/><driver rx_queue_size='511'/>"
    text = _UNSAFE.replace("<model type='e1000'/>", ring)
    path = tmp_path / "a.xml"
    path.write_text(text)
    result = vnicaudit("audit", path, "--fix", "--include-unsafe", "--level", "low")
    assert path.read_text() == text
    assert "VNIC035" in result.stderr
    assert result.returncode == 5


def test_what_a_filter_leaves_out_is_not_fixed(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for severity, model in (("error", "e1000"), ("low", "virtio")):
        path.write_text(_UNSAFE)
        vnicaudit("audit", path, "--fix", "--include-unsafe", "--level", severity)
        assert f"<model type='{model}'/>" in path.read_text()


def test_sarif_has_the_safe_fix(folder: Path) -> None:
    settings = folder / "settings.toml"
    settings.write_text('docs-url = "https://docs.example.org"\n')
    more = ("--format", "sarif", "--config", "settings.toml", "--level", "never")
    shown = vnicaudit("audit", "a.xml", *_ONE, *more, cwd=folder)
    (run,) = json.loads(shown.stdout)["runs"]
    (result,) = run["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change == {
        "artifactLocation": {"uri": "a.xml"},
        "replacements": [
            {
                "deletedRegion": {
                    "startLine": 10, "startColumn": 23, "endLine": 10, "endColumn": 24,
                },
                "insertedContent": {"text": "2"},
            }
        ],
    }  # fmt: skip
    help_uri = run["tool"]["driver"]["rules"][0]["helpUri"]
    assert help_uri == "https://docs.example.org/rules/VNIC031.html"
    hidden = vnicaudit("audit", "a.xml", *_ONE, *more, "--redact", cwd=folder)
    assert "fixes" not in json.loads(hidden.stdout)["runs"][0]["results"][0]


def test_backups_are_never_written_over(folder: Path) -> None:
    old = _XML.format(name="a", queues=4, more="")
    file, copy = folder / "a.xml", folder / "a.xml.vnicaudit.bak"
    copy.write_text("older")
    file.chmod(0o640)
    result = vnicaudit("audit", ".", "--fix", "--backup", *_ONE, cwd=folder)
    assert result.returncode == 0
    second = folder / "a.xml.vnicaudit.bak2"
    assert (copy.read_text(), second.read_text()) == ("older", old)
    assert second.stat().st_mode == file.stat().st_mode
    assert file.read_text() == _XML.format(name="a", queues=2, more="")
    assert not (folder / "b.xml.vnicaudit.bak").exists()
    back = result.stderr.splitlines()[0].partition("to restore: ")[2]
    subprocess.run(shlex.split(back), check=True)
    assert file.read_text() == old


def test_the_way_back_is_a_command_whatever_the_name(tmp_path: Path) -> None:
    old = _XML.format(name="a", queues=4, more="")
    names = ["line\nbreak.xml", "latin-\udcff.xml", "it's\\.xml", "bidi\u202e.xml"]
    for name in names:
        (tmp_path / name).write_text(old)
    result = vnicaudit("audit", ".", "--fix", "--backup", *_ONE, cwd=tmp_path)
    assert "Saved a copy of 4 files; to restore:" in result.stderr.splitlines()
    commands = [line for line in result.stderr.splitlines() if line.startswith("  mv ")]
    subprocess.run(["bash", "-ec", "\n".join(commands)], check=True)
    assert sorted(os.listdir(tmp_path)) == sorted(names)
    assert all((tmp_path / name).read_text() == old for name in names)


def test_each_of_many_copies_has_its_way_back_or_is_counted(tmp_path: Path) -> None:
    for number in range(22):
        text = _XML.format(name=f"g{number}", queues=4, more="")
        (tmp_path / f"{number}.xml").write_text(text)
    (tmp_path / "0.xml.vnicaudit.bak").write_text("older")
    result = vnicaudit("audit", ".", "--fix", "--backup", *_ONE, cwd=tmp_path)
    assert result.stderr.count("  mv ") == 20
    assert "  … 2 more" in result.stderr.splitlines()
    assert f"  mv {tmp_path}/0.xml.vnicaudit.bak2 {tmp_path}/0.xml" in result.stderr.splitlines()


def test_copies_are_passed_over_in_a_folder(folder: Path) -> None:
    (folder / "b.xml.vnicaudit.bak12").write_text(_XML.format(name="b", queues=8, more=""))
    result = vnicaudit("audit", ".", *_ONE, "--level", "never", cwd=folder)
    assert "Of 2 NICs it is unknown whether they are slow." in result.stdout


def test_a_backup_that_cannot_be_made_leaves_the_file(folder: Path) -> None:
    (folder / "a.xml").rename(folder / ("a" * 250))
    result = vnicaudit("audit", ".", "--fix", "--backup", *_ONE, cwd=folder)
    assert result.returncode == 5
    assert (folder / ("a" * 250)).read_text() == _XML.format(name="a", queues=4, more="")
    assert "cannot be written" in result.stderr


def test_backup_alone_is_a_mistake(folder: Path) -> None:
    result = vnicaudit("audit", ".", "--backup", cwd=folder)
    assert result.returncode == 2
    assert "--fix" in result.stderr


def test_a_name_that_looks_escaped_leads_to_no_other_file(folder: Path) -> None:
    other = folder / "b-\udcff.xml"
    old = _XML.format(name="other", queues=4, more="")
    other.write_text(old)
    odd = folder / "kept\\x2f..\\x2fb-\udcff.xml"
    (folder / "kept").mkdir()
    odd.write_text(old)
    result = vnicaudit("audit", odd.name, "--fix", *_ONE, cwd=folder)
    assert result.returncode == 0
    assert other.read_text() == old
    assert odd.read_text() == _XML.format(name="other", queues=2, more="")


@pytest.mark.parametrize("name", [b"a-\xff.xml", b"a-\\xff.xml", "größe.xml".encode()])
def test_a_name_in_any_encoding_is_fixed(name: bytes, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    with open(path, "w") as stream:
        stream.write(_XML.format(name="a", queues=4, more=""))
    result = vnicaudit("audit", ".", "--fix", "--backup", *_ONE, cwd=tmp_path)
    assert result.returncode == 0
    with open(path) as stream:
        assert stream.read() == _XML.format(name="a", queues=2, more="")
    assert sorted(os.listdir(os.fsencode(tmp_path))) == [name, name + b".vnicaudit.bak"]
