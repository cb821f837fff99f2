"""One table as Markdown and as HTML."""

from vnicaudit.reports import as_html, as_markdown
from vnicaudit.reports.model import Part, Row, Table

TABLE = Table(
    "",
    ("Rule", "NIC", "Place"),
    (
        Row(((Part("high", strong=True),), (Part("0"), Part("<a|b>", "aside", code=True)), "x")),
        Row(("R_1", (Part(""), Part("a")), "")),
    ),
)


def test_markdown() -> None:
    assert "".join(as_markdown.table_text(TABLE)) == (
        "| Rule | NIC | Place |\n| --- | --- | --- |\n"
        "| **high** | 0 `<a\\|b>` | x |\n| R\\_1 | a |  |\n\n"
    )


def test_tight_markdown_is_the_same_table() -> None:
    assert "".join(as_markdown.table_text(TABLE, tight=True)) == (
        "| Rule | NIC | Place |\n|---|---|---|\n| **high** | 0 `<a\\|b>` | x |\n| R\\_1 | a | |\n\n"
    )


def test_a_name_is_code_in_html_too() -> None:
    assert "<small><code>&lt;a|b&gt;</code></small>" in "".join(as_html.table_text(TABLE))
