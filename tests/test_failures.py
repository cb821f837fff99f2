"""What failed is told in the last lines of scripts/test.sh."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.failures import NOTES, failures

ROOT = Path(__file__).parents[1]

_CONFTEST = """\
from tests.failures import noting
def pytest_configure(config):
    noting(config)
"""
_TESTS = """\
import pytest
@pytest.fixture
def missing():
    raise OSError("not there")
def test_well():
    pass
def test_wrong():
    assert 1 == 2, "said\\x1b[31m\\nand more"
def test_without_it(missing):
    pass
@pytest.mark.skip
def test_left():
    pass
"""


def noted(folder: Path, *options: str) -> list[str]:
    """What pytest notes of these tests."""
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_some.py").write_text(_TESTS)
    (folder / "test_none.py").write_text("import no_such_module\n")
    notes = folder / "notes"
    notes.mkdir()
    kept = {name: text for name, text in os.environ.items() if "PYTEST" not in name}
    more = {NOTES: str(notes), "TOX_ENV_NAME": "tests", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", *options]
    ended = subprocess.run(
        [*command, f"--rootdir={folder}", str(folder)],
        cwd=folder, env=kept | more, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return (notes / "tests").read_text().splitlines()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_each_failure_is_noted_once(tmp_path: Path, workers: str) -> None:
    """By one process, and by several."""
    first, *others = sorted(noted(tmp_path, "-n", workers))
    assert first.startswith("tests: test_none.py: ImportError while importing test module ")
    assert others == [
        "tests: test_some.py::test_without_it (setup): OSError: not there",
        r"tests: test_some.py::test_wrong: AssertionError: said\x1b[31m",
    ]


def results(path: Path, **suites: dict[str, Any]) -> None:
    """What tox writes of suites."""
    path.write_text(json.dumps({"testenvs": suites}))


def result(code: int, output: str = "", err: str = "") -> dict[str, Any]:
    """A suite whose only command ended so."""
    ran = {"output": output, "err": err, "retcode": code}
    return {"result": {"success": not code, "exit_code": code}, "test": [ran]}


def test_tests_are_told_and_of_other_suites_the_last_line(tmp_path: Path) -> None:
    said = "one\nFound 1 error.\n"
    results(tmp_path / "1.json", lint=result(1, said), docs=result(0, "x"), package={})
    uninstalled = {**result(1), "setup": [{"output": "", "err": "no such package", "retcode": 1}]}
    results(tmp_path / "2.json", tests=result(1, "12 failed"), types={**uninstalled, "test": []})
    (tmp_path / "tests").write_text("tests: a.py::b: KeyError: 7\nrig: c.py::d: not of these\n")
    assert failures(tmp_path) == [
        "lint: exit code 1: Found 1 error.",
        "tests: a.py::b: KeyError: 7",
        "types: exit code 1: no such package",
    ]


def test_of_a_suite_that_ran_twice_the_last_run_counts(tmp_path: Path) -> None:
    results(tmp_path / "9.json", lint=result(1, "no mirror"), tests=result(1, "no mirror"))
    results(tmp_path / "10.json", lint=result(0), tests=result(1, "no such package"))
    assert failures(tmp_path) == ["tests: exit code 1: no such package"]


def test_they_are_few_and_short(tmp_path: Path) -> None:
    results(tmp_path / "1.json", tests=result(1), types=result(2, "\x07" + "x" * 1000))
    (tmp_path / "tests").write_text("".join(f"tests: {number}\n" for number in range(100)))
    found = failures(tmp_path)
    assert (len(found), found[-1]) == (40, "and 62 more")
    (tmp_path / "tests").unlink()
    _tests, types = failures(tmp_path)
    assert len(types) == 200
    assert types.startswith(r"types: exit code 2: \x07xxx")


def test_where_all_is_well_nothing_is_told(tmp_path: Path) -> None:
    results(tmp_path / "1.json", tests=result(0))
    assert failures(tmp_path) == []


_PYTHON = """\
#!/bin/sh
# makes a virtual environment of this and the tox beside it, and runs what is the project's own
case "$*" in
    -) exit 0 ;;
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$FAKES/tox" "$3/bin/tox" ;;
    "-m pip install "*) ;;
    "-m tests.failures "*) exec "$REAL" "$@" ;;
    *) exit 1 ;;
esac
"""
_TOX = """\
#!/bin/sh
case " $* " in *" -q --no-list-dependencies --result-json "*) ;; *) exit 9 ;; esac
case " $* " in
    *" --notest "*) of=install.json CODE=$MADE ;;
    *" --skip-pkg-install "*) of=result.json; [ "$MADE" = 0 ] || exit 8 ;;
    *) of=result.json; [ "$MADE" != 0 ] || exit 7 ;;
esac
while [ "$1" != --result-json ]; do shift; done
cp "$FAKES/$of" "$2"
[ "$of" = result.json ] || exit "$CODE"
echo "tests: a.py::b: KeyError: 7" >>"$VNICAUDIT_TEST_FAILURES/tests"
exit "$CODE"
"""


@pytest.mark.parametrize("made", [0, 1])
@pytest.mark.parametrize("code", [0, 1])
def test_the_script_ends_with_what_failed(tmp_path: Path, code: int, made: int) -> None:
    """FAKES: a tox that says how its suites ended, and the Python it is installed by. ``made``: the
    exit code of making the environments; a stage makes again what could not be made."""
    (tmp_path / "scripts/packages").mkdir(parents=True)
    for name in ("test.sh", "setup.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    for name in ("demo", "tests"):
        for family in ("apt", "dnf"):
            (tmp_path / f"scripts/packages/{name}.{family}").touch()
    for name in ("setup.cfg", "pyproject.toml"):
        (tmp_path / name).touch()
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    for name, script in {"python3": _PYTHON, "tox": _TOX}.items():
        (fakes / name).write_text(script)
        (fakes / name).chmod(0o755)
    results(fakes / "install.json", tests=result(made, err="no mirror"))
    results(fakes / "result.json", tests=result(code))
    more = {
        "FAKES": str(fakes), "REAL": sys.executable, "CODE": str(code), "MADE": str(made),
        "PYTHONPATH": str(ROOT), "PATH": f"{fakes}:{os.environ['PATH']}",
    }  # fmt: skip
    whole = tmp_path / "scripts/test.sh"
    ended = subprocess.run(
        ["sh", whole, "tests"], env=os.environ | more, capture_output=True, text=True, check=False
    )
    _before, _ran, last = ended.stdout.partition("== ran: tests\n")
    told = "== failed:\ntests: a.py::b: KeyError: 7\nFAILED (exit code 1)\n"
    well = "All suites that could run here passed.\n"
    assert last.partition("s: tests\n")[2] == (told if code else well), ended.stdout + ended.stderr
    assert ended.returncode == code


def test_a_command_that_a_terminal_waits_for_leaves_the_exit_code_of_the_script_alone() -> None:
    """``patiently`` counts seconds beside it; the variables of the script that uses it are not its
    own."""
    text = (ROOT / "scripts/setup.sh").read_text("utf-8")
    function = text[text.index("patiently() {") :].partition("\n}\n")[0] + "\n}\n"
    script = f"set -eu\n{function}code=5\npatiently true\npatiently false || echo wrong $?\n"
    script += 'echo "code $code"\n'
    ours, its = pty.openpty()
    ran = subprocess.run(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, stderr=its, text=True, check=True
    )
    os.close(its)
    os.close(ours)
    assert ran.stdout == "wrong 1\ncode 5\n"
