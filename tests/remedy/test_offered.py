"""Fixes as replacements: another tool that makes them gets what ``--fix`` writes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.remedy.works import work
from tests.rows import rows
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.base.deadlines import FILE_SECONDS, is_timed
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.finding import Finding
from vnicaudit.model.report import Audited
from vnicaudit.remedy.in_place import files_with_changes, fix_files
from vnicaudit.remedy.offered import OfferedFixes
from vnicaudit.text.edits import Replacement

_NIC = """\
    <interface type='bridge'>
      <source bridge='größe-{number}'/>
      <model type='virtio'/>
      <driver name='vhost' queues='{queues}'/>
    </interface>
"""
_XML = """\
<domain type='kvm'>
  <name>grün</name>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
{nics}  </devices>
</domain>
"""
_TWO = _XML.format(
    nics="".join(_NIC.format(number=n, queues=q) for n, q in ((0, 8), (1, 2), (2, 4)))
)


def _findings(path: Path) -> list[Finding]:
    run = AuditRun(work(), RunOptions())
    audited = (each for each in run.items([str(path)]) if isinstance(each, Audited))
    return [one for each in audited for one in each.findings]


def _offered(path: Path, seconds: float = FILE_SECONDS) -> list[Sequence[Replacement]]:
    fixes = OfferedFixes(work(), every_platform().writer, seconds)
    return [found for one in _findings(path) if (found := fixes.of(one))]


def _replaced(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with replacements made, by lines and columns alone."""
    lines = text.splitlines(keepends=True)
    for one in sorted(replacements, reverse=True):
        (first, begin), (last, end), new = one
        rest = lines[last - 1][end - 1 :] if last <= len(lines) else ""
        lines[first - 1 : last] = [f"{lines[first - 1][: begin - 1]}{new}{rest}"]
    return "".join(lines)


def _fixed(path: Path) -> str:
    judge = work()
    paths = files_with_changes(AuditRun(judge, RunOptions()).items([str(path)]), judge)
    list(fix_files(paths, judge, every_platform().writer, include_unsafe=False, write=True))
    return path.read_bytes().decode()


@pytest.mark.parametrize("lines", ["\n", "\r\n"])
@rows
def test_all_of_them_make_what_fix_makes(
    name: str, text: str, number: int, lines: str, tmp_path: Path
) -> None:
    path, text = tmp_path / name, text.replace("\n", lines)
    path.write_bytes(text.encode())
    offered = _offered(path)
    assert len(offered) == number
    every = [one for each in offered for one in each]
    assert _replaced(text, every) == _fixed(path) != text


def test_each_stands_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "two.xml"
    path.write_text(_TWO)
    first, second = _offered(path)
    assert _replaced(_TWO, first) == _TWO.replace("'8'", "'2'")
    assert _replaced(_TWO, second) == _TWO.replace("'4'", "'2'")
    assert [one.start.line for one in (*first, *second)] == [9, 19]


@pytest.mark.parametrize(
    "data",
    [
        f"\ufeff{_TWO}".encode(),
        f"<?xml version='1.0' encoding='iso-8859-1'?>\n{_TWO}".encode("iso-8859-1"),
        _TWO.replace("'virtio'", "'e1000'").replace("<driver", "<tune").encode(),
        b"<!-- WARNING: THIS IS AN AUTO-GENERATED FILE. -->\n" + _TWO.encode(),
        _TWO.replace("<name>", "<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/"
                     "libvirt/nova/1.1'/></metadata><name>").encode(),
    ],
    ids=["mark", "latin-1", "unsafe", "libvirt's", "nova's"],
)  # fmt: skip
def test_none_where_columns_do_not_say_or_it_is_not_to_be_done(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "two.xml"
    path.write_bytes(data)
    assert _findings(path)
    assert _offered(path) == []


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "two.xml"
    path.write_text(_TWO)
    findings = _findings(path)
    path.unlink()
    fixes = OfferedFixes(work(), every_platform().writer)
    assert not any(map(fixes.of, findings))


@pytest.mark.usefixtures("without_collection")
def test_a_file_that_takes_too_long_has_none(tmp_path: Path) -> None:
    path = tmp_path / "many.xml"
    path.write_text(_XML.format(nics="".join(_NIC.format(number=n, queues=8) for n in range(200))))
    assert _offered(path, seconds=1e-6) == []
    assert not is_timed()
