"""Long texts that reports are compared with, each in a file that is reviewed by eye."""

from pathlib import Path

DATA = Path(__file__).parent / "data"


def golden(name: str) -> str:
    """The content of a file in ``data``; one that is missing is an error."""
    return (DATA / name).read_text(encoding="utf-8")
