"""``--group-by`` where a target does not tell by what."""

from pathlib import Path

from tests.cli.inside import inside
from tests.cli.test_screens import SLOW


def test_files_name_no_host(tmp_path: Path) -> None:
    done = inside("audit", tmp_path, "--group-by", "host")
    assert done.returncode == 2
    assert "--group-by domain" in done.stderr


def test_a_plan_of_files_is_grouped_by_folder(tmp_path: Path) -> None:
    for folder in ("kvm1", "kvm2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.xml").write_text(SLOW)
    done = inside("plan", tmp_path, "--include-unsafe", "--group-by", "host")
    lines = done.stdout.splitlines()
    titles = [line.partition("  ")[0] for line in lines if line.startswith("host ")]
    folders = [str(tmp_path / folder) for folder in ("kvm1", "kvm2")]
    assert titles == [f"host not told: files in {each}" for each in folders]
