"""The reference page is what the program says."""

from pathlib import Path

import pytest

from docs import generate_profiles
from vnicaudit.bench.engines import ENGINES
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.keys import Kind, ProfileTable, WorkloadTable, descriptions
from vnicaudit.bench.profiles.load import shipped_profiles


def text() -> str:
    return generate_profiles.PAGE.read_text("utf-8")


def test_it_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert (generate_profiles.main(["--check"]), capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize(
    ("kind", "heading"), [(ProfileTable, "Keys"), (WorkloadTable, "Keys of `[[workload]]`")]
)
def test_it_names_every_key(kind: Kind, heading: str) -> None:
    section = text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for key, meaning in descriptions(kind).items():
        assert f"| `{key}` | {meaning} |" in section


def test_it_names_every_profile_engine_pattern_and_metric() -> None:
    page = text()
    for name in shipped_profiles():
        assert f"\n### {name}\n" in page
    for name in ENGINES.names():
        section = page.partition(f"\n### {name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{pattern}` |" in section for pattern in ENGINES.load(name).PATTERNS)
    assert all(f"| `{metric}` |" in page for metric in METRICS)


def test_check_exits_1_when_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_profiles, "PAGE", tmp_path / "profiles.md")
    assert generate_profiles.main(["--check"]) == 1
    assert "docs/reference/profiles.md differs" in capsys.readouterr().err
    assert generate_profiles.main([]) == 0
    assert generate_profiles.main(["--check"]) == 0
