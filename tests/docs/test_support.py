"""The page of tested versions says what the tests have: locked packages, recorded outputs, data."""

import json
import re

import pytest

from tests.docs.pages import ROOT
from tests.rows import rows

PAGE = (ROOT / "docs/reference/support.md").read_text("utf-8")
TESTBED = ROOT / "tests/openstack/testbed"
RECORDED = ROOT / "tests/bench/engines/data"


@rows
def test_versions_of_the_cloud(lock: str, packages: str) -> None:
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)$", (TESTBED / lock).read_text("utf-8"), re.M))
    for package in packages.split():
        assert locked[package] in PAGE, package


@pytest.mark.parametrize("engine", ["iperf3", "dnsperf"])
def test_versions_of_what_is_recorded(engine: str) -> None:
    row = re.search(rf"^\| {engine}.*\| (.*?) \|$", PAGE, re.MULTILINE)
    folders = {path.name for path in (RECORDED / engine).iterdir() if path.is_dir()}
    assert row is not None
    assert set(re.findall(r"\d+\.[\d.]*\d", row[1].partition("(")[0])) == folders


def test_versions_of_data() -> None:
    ready = json.loads((ROOT / "vnicaudit/knowledge/readiness.json").read_text("utf-8"))
    options = json.loads((ROOT / "vnicaudit/knowledge/nova_conf/options.json").read_text("utf-8"))
    assert f"{ready['source']} {ready['version']}" in PAGE
    for number in (0, -1):
        release = options["releases"][number]
        assert f"{release[1]} ({release[-1]})" in PAGE
