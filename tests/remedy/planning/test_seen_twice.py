"""What an audit takes for one thing, a plan takes for one thing, and of the same target."""

import os
from pathlib import Path

import pytest

from tests.remedy.planning.planned import definition, interface
from tests.remedy.planning.test_run import plan
from tests.remedy.planning.units import file_of
from tests.remedy.works import work
from tests.rows import rows_of_tuples
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.model.report import Audited


def audited(*targets: str) -> set[tuple[str, str]]:
    """``(target, name of the domain)`` of what an audit found something on; nothing twice."""
    items = list(AuditRun(work(), RunOptions(jobs=1)).items(targets))
    found = [
        (finding.location.target, item.subject) for item in items if isinstance(item, Audited)
        for finding in item.findings if finding.change and finding.change.field == "model"
    ]  # fmt: skip
    assert len(found) == len(set(found))
    return set(found)


@rows_of_tuples
def test_a_file_of_several_targets_is_one(
    targets: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By two paths, by a link, given twice, and named as well as in a folder: there it is of the
    target that names it."""
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(definition(interface("rtl8139"), name="a"))
    Path("folder").mkdir()
    Path("folder/b.xml").write_text(definition(interface("rtl8139"), name="b"))
    for link in ("link.xml", "folder/link.xml"):
        Path(link).symlink_to(tmp_path / "a.xml")
    made = plan(*dict.fromkeys(targets))  # the command line takes what is given twice for one
    files = [os.path.realpath(file_of(step).path) for step in made.steps]
    assert len(files) == len(set(files))
    assert {(step.target, step.about.name) for step in made.steps} == audited(*targets)
