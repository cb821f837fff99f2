"""The Jenkinsfile of the how-to: its shell step, run."""

import os
import re
from pathlib import Path

from lxml import etree

from tests.pipelines.project import SCRIPTS, bash, guests, page


def test_the_step_writes_the_report_that_is_shown(tmp_path: Path) -> None:
    (file,) = [block.text for block in page("ci.md") if block.language == "groovy"]
    (step,) = re.findall(r"sh '([^']+)'", file)
    (report,) = re.findall(r"junit '([^']+)'", file)
    guests(tmp_path, good="virtio", slow="rtl8139")
    path = {"PATH": f"{SCRIPTS}:{os.environ['PATH']}"}
    result = bash(step, tmp_path, path, ("-xe",))
    assert (result.returncode, result.stdout) == (0, "")
    suites = etree.parse(str(tmp_path / report)).getroot()
    assert [suite.get("failures") for suite in suites] == ["0", "1"]
    (tmp_path / "guests" / "broken.xml").write_text("<domain>")
    assert bash(step, tmp_path, path, ("-xe",)).returncode == 4
