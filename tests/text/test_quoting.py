"""The line of a file that a report shows below a finding."""

from pathlib import Path

import pytest

from vnicaudit.text.secrets import QuotedLine, quoted_line

NIC = "/domain/devices/interface[1]"
XML = """\
<domain>
  <interface type='bridge'>
    <source bridge='br0'/> <!-- the password is hunter2 -->
    <model type='e1000'/>
  </interface>
  <interface type='bridge'>
    <model type='rtl8139'/>
  </interface>
</domain>
"""


@pytest.mark.parametrize(
    ("text", "line", "column", "xpath", "quoted"),
    [
        (XML, 2, None, f"{NIC}/model/@type", QuotedLine(4, "<model type='e1000'/>", 0)),
        (XML, 2, None, f"{NIC}/driver/@queues", QuotedLine(2, "<interface type='bridge'>", None)),
        (XML, 3, None, NIC, QuotedLine(3, "<source bridge='br0'/> <!-- *** -->", None)),
        ("[libvirt]\nvirt_type = kvm\n", 2, 13, "", QuotedLine(2, "virt_type = kvm", 12)),
        ("x: {password: hunter2, model: e1000}", 1, 31, "",
         QuotedLine(1, "x: {password: ***, model: e1000}", None)),
        ("\tmodel: e1000", 1, 9, "", QuotedLine(1, "model: e1000", 7)),
        (f"<a>{'-' * 300}<interface><model type='e1000'/></interface></a>", 1, None,
         f"{NIC}/model/@type", QuotedLine(1, "<model type='e1000'/>", 0)),
        ("-" * 301, 1, 300, "", None),
        (XML, 99, None, NIC, None),
        ("\udcff", 1, None, NIC, None),
    ],
)  # fmt: skip
def test_the_line_with_what_is_wrong(
    tmp_path: Path, text: str, line: int, column: int | None, xpath: str, quoted: QuotedLine | None
) -> None:
    file = tmp_path / "guest.xml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert quoted_line(str(file), line, column, xpath) == quoted


def test_a_file_that_is_gone_is_not_quoted(tmp_path: Path) -> None:
    assert quoted_line(str(tmp_path / "gone.xml"), 1, None, NIC) is None
    assert quoted_line(str(tmp_path), 1, None, NIC) is None
