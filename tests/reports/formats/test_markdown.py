"""Markdown for comments and issues."""

import msgspec
from markdown_it import MarkdownIt

from tests.reports.golden import golden
from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Ref
from vnicaudit.model.report import TargetResult

TOP = golden("audit.markdown.top.txt")
NOVA = golden("audit.markdown.nova.txt")
END = golden("audit.markdown.end.txt")


def test_a_table_per_domain_and_the_end() -> None:
    text = written("markdown")
    assert text.startswith(TOP)
    assert text.endswith(NOVA + END)


def test_a_clean_run_is_one_sentence() -> None:
    text = written("markdown", stream=[CLEAN], end=OK_END)
    assert text == "## vnicaudit\n\n**No problems in 1 guest, 1 NIC**\n"


def test_notes_stand_behind_the_answer() -> None:
    target = TargetResult("openstack:prod", "ok", notes=("Nova 34", "<b>no</b> hosts"))
    end = msgspec.structs.replace(OK_END, targets=(target,))
    assert written("markdown", stream=[CLEAN], end=end) == (
        "## vnicaudit\n\n**No problems in 1 guest, 1 NIC**\n"
        "\n<details><summary>Notes</summary>\n\n"
        "* openstack:prod: Nova 34\n"
        "* openstack:prod: \\<b\\>no\\</b\\> hosts\n"
        "\n</details>\n"
    )


def test_a_hostile_name_makes_no_markup() -> None:
    evil = "</td>|\n# [x](http://e.example) <script>`@all"
    problem = finding(about=Ref("nic", evil, None, "`|`", 0), message=evil, fix=evil)
    stream = [msgspec.structs.replace(WEB_01, subject=evil, findings=(problem,))]
    html = MarkdownIt("commonmark").enable("table").render(written("markdown", stream=stream))
    assert html.count("<tr>") == 2
    assert html.count("<td>") == 5
    assert "<script" not in html
    assert "<a " not in html
    assert "<h1" not in html
    assert "@all" not in html.replace("<code>@</code>all", "").replace("`@all</code>", "")
