"""``fleet serve`` as a program: a page and metrics of what is kept, and its refusals."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.endpoints.left import until
from tests.cli.inside import inside
from tests.fleet.receiver import receiving
from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from tests.promtool import checked_metrics
from tests.rows import rows, rows_of_tuples
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place

HOST = host("kvm1", "north")
SLOW = TestDomain(1, (TestNic("52:54:00:00:00:01", "e1000", frozenset({"TEST01", "TEST02"})),))
NAME = "20260102-000000-0000"
SECRET = "S3cr3tW0rd"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory with a history, and with the spool of its newest audit."""
    folder = tmp_path / "state"
    made, read = audit(NAME, 1, (HOST,)), reading(HOST, [SLOW], 1)
    with history_to_write(history_place(None, folder)) as history:
        history.store(made, [read])
    spool = SpoolFolder(folder).new(NAME)
    spool.add(0, read)
    spool.write_audit(made)
    return folder


@contextmanager
def serving(state: Path, *words: str) -> Iterator[str]:
    """The address that it listens on."""
    command = [sys.executable, "-m", "vnicaudit", "fleet", "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--state", str(state), *words], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"Listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert found is not None, line + process.stderr.read()
        yield found[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.communicate()


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=120) as answer:
        text: str = answer.read().decode()
        return text


def fetched_when_made(url: str) -> str:
    """A page that takes longer than the server waits for it is there later."""
    pages: list[str] = []

    def is_made() -> bool:
        try:
            pages.append(fetched(url))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 503:
                raise
        return bool(pages)

    until(is_made, "the page is made")
    return pages[0]


def test_metrics_and_the_page_of_what_is_kept(state: Path) -> None:
    with serving(state, "--metrics") as url:
        text = checked_metrics(fetched(f"{url}/metrics"))
        page = fetched_when_made(f"{url}/")
    assert 'vnicaudit_fleet_hosts{site="north",state="fresh"} 1\n' in text
    labels = 'rule="TEST01",severity="high",site="north",owner="libvirt"'
    assert f"vnicaudit_fleet_findings{{{labels}}} 1\n" in text
    assert page.startswith("<!")
    assert "Content-Security-Policy" in page
    assert "Fleet of 1 host" in page


def test_without_the_option_there_are_no_metrics(state: Path) -> None:
    with serving(state) as url, pytest.raises(urllib.error.HTTPError, match="404"):
        fetched(f"{url}/metrics")


def test_before_the_first_audit_it_says_so_and_serves_the_next_one(tmp_path: Path) -> None:
    with serving(tmp_path / "empty", "--metrics") as url:
        for path in ("/", "/metrics"):
            with pytest.raises(urllib.error.HTTPError, match="503"):
                fetched(url + path)


@rows_of_tuples
def test_what_would_be_open_to_others_is_refused(words: tuple[str, ...], says: str) -> None:
    result = inside("fleet", "serve", *words)
    assert result.returncode == 2
    assert says in result.stderr


def test_notify_tells_what_is_new_once(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = tmp_path / "channels.toml"
    channels.write_text('[channels.ops]\nform = "json"\nurl = "env:HOOK"\n')
    words = ("fleet", "notify", "--channels", channels, "--state", state)
    with receiving("503", "200") as receiver:
        monkeypatch.setenv("HOOK", receiver.url)
        first, second = inside(*words), inside(*words)
        got = [json.loads(one.body) for one in receiver.got]
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == "ops: 2 findings sent\n"
    assert second.stderr == "ops: 0 findings sent, 2 already sent today\n"
    assert SECRET not in first.stderr + second.stderr
    assert len(got) == 2
    assert got[-1]["audit"] == NAME
    rules = [(one["rule"], one["state"], one["host"], one["mac"]) for one in got[-1]["findings"]]
    mac = "52:54:00:00:00:01"
    assert rules == [("TEST01", "new", "kvm1", mac), ("TEST02", "new", "kvm1", mac)]


def test_notify_says_which_channel_failed(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = tmp_path / "channels.toml"
    channels.write_text('[channels.ops]\nform = "slack"\nurl = "env:HOOK"\n')
    with receiving("404") as receiver:
        monkeypatch.setenv("HOOK", receiver.url)
        result = inside("fleet", "notify", "--channels", channels, "--state", state, "-q")
    assert result.returncode == 4
    assert result.stderr == "ops: 0 findings sent; 2 not sent: HTTP 404\n"


@rows
def test_a_mistake_in_one_channel_costs_no_other_its_alert(
    setting: dict[str, str], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty label, a token that was wrapped when it was copied: the run ended, the alert was
    lost for the day, and no later channel got any."""
    token = 'token = "env:TOKEN"\n' if "TOKEN" in setting else ""
    channels = tmp_path / "channels.toml"
    channels.write_text(
        f'[channels.a]\nform = "json"\nurl = "env:HOOK"\n{token}'
        '[channels.b]\nform = "json"\nurl = "env:GOOD"\n'
    )
    words = ("fleet", "notify", "--channels", channels, "--state", state)
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    with receiving() as receiver:
        monkeypatch.setenv("GOOD", receiver.url)
        wrong = inside(*words)
        assert (wrong.returncode, len(receiver.got)) == (2, 1)
        assert "b: 2 findings sent\n" in wrong.stderr
        assert "channel 'a': " in wrong.stderr
        assert "internal error" not in wrong.stderr
        assert SECRET not in wrong.stderr
        monkeypatch.setenv("HOOK", receiver.url)
        monkeypatch.setenv("TOKEN", SECRET)
        right = inside(*words)
    assert right.returncode == 0
    assert right.stderr == "a: 2 findings sent\nb: 0 findings sent, 2 already sent today\n"


def test_notify_without_a_history_says_what_to_do(tmp_path: Path) -> None:
    channels = tmp_path / "channels.toml"
    channels.write_text('[channels.a]\nform = "alertmanager"\nurl = "http://127.0.0.1:1"\n')
    result = inside("fleet", "notify", "--channels", channels, "--state", tmp_path / "none")
    assert result.returncode == 2
    assert "nothing is stored there yet" in result.stderr
