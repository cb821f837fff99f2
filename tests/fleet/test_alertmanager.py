"""Alerts as the real Alertmanager takes them."""

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.not_run import not_run
from tests.ports import free_port
from tests.reports.notices.samples import new, odd
from vnicaudit.fleet.notifying import Channel, ChannelOutcome, Notifier, address_of
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.reports.notices import messages_of

CONFIG = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    """Its address."""
    program = shutil.which("prometheus-alertmanager")
    if program is None:
        not_run("webhooks", "Alertmanager is not installed: apt install prometheus-alertmanager")
    (tmp_path / "config.yml").write_text(CONFIG)
    port = free_port()
    process = subprocess.Popen(
        [
            program, f"--config.file={tmp_path / 'config.yml'}", f"--storage.path={tmp_path}",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{url}/-/ready")
        yield url
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise AssertionError("Alertmanager is not ready")


def test_alertmanager_has_an_alert_for_each_rule_and_site(
    alertmanager: str, tmp_path: Path
) -> None:
    channel = Channel("alertmanager", alertmanager)
    told = {"am": (channel, address_of("am", channel))}
    findings = [*(new(number) for number in range(300)), new(301, site="west"), odd()]
    with history_to_write(history_place(None, tmp_path / "state")) as history:
        notifier = Notifier(history, messages_of, time)
        outcomes = notifier.tell(told, findings, "a", "2026-11-26")
    assert outcomes == (ChannelOutcome("am", delivered=302),)
    with urllib.request.urlopen(f"{alertmanager}/api/v2/alerts", timeout=120) as answer:
        alerts = json.load(answer)
    sites = {alert["labels"]["site"] for alert in alerts}
    assert len(alerts) == 3
    assert {"east", "west"} < sites
    assert {alert["labels"]["alertname"] for alert in alerts} == {"VnicauditNewFindings"}
    assert all(alert["status"]["state"] == "active" for alert in alerts)
