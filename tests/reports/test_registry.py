"""Formats by their names."""

import subprocess
import sys

import pytest

from vnicaudit.errors import UsageError
from vnicaudit.reports.formats import formats, writer
from vnicaudit.reports.writers import Options


def test_the_formats_of_the_command_line_are_there() -> None:
    assert {
        "concise", "csv", "github", "gitlab", "html", "json", "junit", "markdown", "prometheus",
        "sarif", "text",
    } <= set(formats())  # fmt: skip
    assert list(formats()) == sorted(formats())


def test_an_unknown_format_is_a_usage_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no format 'xml': concise, csv, github, .*text"):
        writer("xml", Options())


def test_choosing_a_format_of_lines_loads_no_other_module() -> None:
    program = (
        "import sys\n"
        "from vnicaudit.reports.formats import writer\n"
        "from vnicaudit.reports.writers import Options\n"
        "writer('json', Options())\n"
        "loaded = [m for m in sys.modules if m.startswith('vnicaudit.reports.formats.')]\n"
        "print(loaded, 'lxml.etree' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['vnicaudit.reports.formats.lines'] False\n"
