"""What a format writes, and what it is to write."""

from pathlib import Path

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.formats import RENDERERS
from vnicaudit.reports.writers import Options

DATA = Path(__file__).parent / "data"


def expected(name: str) -> str:
    """The content of a file beside the tests; one that is missing is an error."""
    return (DATA / name).read_text(encoding="utf-8")


def written(name: str, result: BenchResult, options: Options | None = None) -> str:
    """A whole report."""
    return "".join(RENDERERS[name](result, options or Options()))
