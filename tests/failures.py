"""What failed, for the last lines of scripts/test.sh: nobody looks for it in the output of all.

    python -m tests.failures FOLDER

prints what failed in the suites whose results tox wrote into the folder (``--result-json``, a file
``*.json`` for each stage): of suites of pytest each test, with the first line of its error, as it
was noted in the folder's file ``tests``; of others, and where no test was noted, the last line that
the failed command printed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # scripts/test.sh prints it by a Python that has no pytest
    import pytest

NOTES = "VNICAUDIT_TEST_FAILURES"
"""Environment variable: the folder."""
_TESTS = "tests"
_LINES = 40
_WIDTH = 200
_ID_WIDTH = 130


class FailureNotes:
    """A plugin of pytest that notes each test, and each file of tests, that failed."""

    def __init__(self, folder: Path, suite: str) -> None:
        self._file = folder / _TESTS
        self._suite = suite

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, its setup or its teardown has ended."""
        if report.failed:
            when = "" if report.when == "call" else f" ({report.when})"
            self._note(report.nodeid + when, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file was read."""
        if report.failed:
            self._note(report.nodeid, report)

    def _note(self, what: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        line = f"{self._suite}: {_cut(what, _ID_WIDTH)}: {_first_line(report)}"
        with self._file.open("a", encoding="utf-8") as notes:  # in one piece: others write as well
            notes.write(f"{_cut(line, _WIDTH)}\n")


def noting(config: pytest.Config) -> None:
    """Note failures where scripts/test.sh asks for it. pytest-xdist tells its controller all that
    its workers tell."""
    folder = os.environ.get(NOTES)
    if folder and not hasattr(config, "workerinput"):
        suite = os.environ.get("TOX_ENV_NAME", "pytest")
        config.pluginmanager.register(FailureNotes(Path(folder), suite))


def _first_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else report.longreprtext).strip().splitlines()
    return lines[0] if lines else "no word why"


def failures(folder: Path) -> list[str]:
    """Lines: what failed, suite by suite. Of a suite that several files have, the last one counts:
    what could not be installed at first may have been later."""
    notes = folder / _TESTS
    noted = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    found = []
    for suite, reason in _reasons(folder).items():
        if reason:
            own = [line for line in noted if line.startswith(f"{suite}: ")]
            found += own or [_cut(f"{suite}: {reason}", _WIDTH)]
    if len(found) <= _LINES:
        return found
    return [*found[: _LINES - 1], f"and {len(found) - _LINES + 1} more"]


def _reasons(folder: Path) -> dict[str, str]:
    """Suites, and why each failed; empty where it did not."""
    paths = sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))
    return {suite: reason for path in paths for suite, reason in _suites(path)}


def _suites(path: Path) -> Iterator[tuple[str, str]]:
    """Names, and the last line that the failed command of each printed; empty where none failed."""
    for suite, told in json.loads(path.read_text(encoding="utf-8"))["testenvs"].items():
        result = told.get("result")
        if result is not None:
            ran = [*told.get("setup", ()), *told.get("test", ())]
            failed = f"exit code {result['exit_code']}: {_last_line(ran)}"
            yield suite, "" if result["success"] else failed


def _last_line(ran: list[dict[str, Any]]) -> str:
    failed = [one for one in ran if one["retcode"]]
    printed = (failed[-1]["output"] + "\n" + failed[-1]["err"]).strip() if failed else ""
    return printed.splitlines()[-1] if printed else "no word why"


def _cut(text: str, width: int) -> str:
    """At most so long, and no control character is left."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"


def main(folder: str) -> None:
    """Print them."""
    for line in failures(Path(folder)):
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
