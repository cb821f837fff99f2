"""A definition of a few thousand NICs kept a plan busy for hours: each step masked the definition
twice, and there was no limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.remedy.planning.planned import definition, interface
from vnicaudit.remedy.planning import diffs
from vnicaudit.remedy.planning.build import MOST_NICS
from vnicaudit.text.secrets import masked


def _file(folder: Path, nics: int) -> None:
    addresses = (f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}" for number in range(nics))
    (folder / "guest.xml").write_text(
        definition("".join(interface("e1000", mac=mac) for mac in addresses))
    )


def test_a_domain_of_more_nics_than_any_has_is_not_planned(tmp_path: Path) -> None:
    _file(tmp_path, MOST_NICS + 1)
    result = inside("plan", "guest.xml", "--include-unsafe", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    words = " ".join(result.stdout.split())
    assert f"{MOST_NICS + 1} NICs: the domain has more than {MOST_NICS} NICs: it is not" in words


def test_what_all_steps_have_in_common_is_masked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _file(tmp_path, 20)
    texts: list[str] = []

    def counted(text: str) -> str:
        texts.append(text)
        return masked(text)

    monkeypatch.setattr("vnicaudit.remedy.planning.diffs.masked", counted)
    diffs._old_lines.cache_clear()
    result = inside("plan", "guest.xml", "--include-unsafe", cwd=tmp_path)
    assert "20 steps" in result.stdout
    assert len(texts) == len(set(texts)) == 21
