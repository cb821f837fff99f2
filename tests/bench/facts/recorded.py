"""Recorded inputs, and sections as a script would print them."""

from pathlib import Path

from vnicaudit.bench.facts.sections import Section

DATA = Path(__file__).parent / "data"


def text(name: str) -> str:
    return (DATA / name).read_text("utf-8")


def printed(separator: str, *sections: Section) -> str:
    """What a script prints for these."""
    return "".join(
        f"\n{separator} {name}\n{text}{_end(separator, code)}"
        for name, text, code in (*sections, Section("end", ""))
    )


def _end(separator: str, code: int | None) -> str:
    return "" if code is None else f"\n{separator} code {code}"
