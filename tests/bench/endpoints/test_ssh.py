"""Endpoints over a real ssh."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.left import gone, marked, until
from tests.bench.endpoints.private_sshd import PrivateSshd, private_sshd
from vnicaudit.errors import EndpointError


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateSshd]:
    with private_sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where connections keep their sockets; its path is short, as a socket's has to be."""
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_programs_run_there(sshd: PrivateSshd) -> None:
    with closing(open_endpoint(sshd.url())) as session:
        ran = session.run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"given")
        assert (ran.code, ran.stdout, ran.stderr) == (3, "given", "err\n")
        assert ran.endpoint == sshd.url()
        words = ["", "a b", "$HOME", "`id`", "'", '"', "\\n", "*", "%s", "ä\nb", ";reboot"]
        said = session.run(["printf", "<%s>", *words]).stdout
        assert said == "".join(f"<{word}>" for word in words)
        assert session.run(["no-such-program"]).code == 127
        data = bytes(range(256)) * 1000
        assert Path(session.put_file("data", data)).read_bytes() == data
        started = session.start(["sleep", "100"], seconds=60)
        assert started.running()
        assert started.stop().code is None
    until(lambda: gone(session.folder), "nothing is left")


def test_all_commands_go_through_one_connection(sshd: PrivateSshd) -> None:
    before = _accepted(sshd)
    with closing(open_endpoint(sshd.url())) as session:
        for _ in range(3):
            session.run(["true"])
    assert _accepted(sshd) == before + 1


def test_nothing_is_left_here_either(sshd: PrivateSshd, sockets: Path) -> None:
    with closing(open_endpoint(sshd.url())):
        (folder,) = sockets.glob("vnicaudit-ssh-*")
        assert (folder / "s").is_socket()
    assert list(sockets.glob("vnicaudit-ssh-*")) == []


def test_a_place_too_deep_for_a_socket_does_without(
    sshd: PrivateSshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with closing(open_endpoint(sshd.url())) as session:
        assert session.run(["echo", "there"]).stdout == "there\n"
    until(lambda: gone(session.folder), "nothing is left")


def test_there_it_takes_no_connection_of_the_users_own(
    sshd: PrivateSshd, sockets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, config = sockets / "own", tmp_path / "config"
    config.write_text(f"{(sshd.folder / 'config').read_text()}    ControlPath {own}\n")
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    to = ["ssh", "-F", str(config), "-p", str(sshd.port), "127.0.0.1"]
    subprocess.run([*to, "-o", "ControlMaster=yes", "-o", "ControlPersist=60", "true"], check=True)
    try:
        before = _accepted(sshd)
        monkeypatch.setattr(tempfile, "tempdir", str(deep))
        with closing(open_endpoint(f"ssh://127.0.0.1:{sshd.port}?ssh_config={config}")) as session:
            session.run(["true"])
        assert _accepted(sshd) > before
    finally:
        subprocess.run([*to, "-O", "exit"], check=True)


def test_a_connection_that_breaks_is_made_anew(sshd: PrivateSshd, sockets: Path) -> None:
    """As long as the lease lasts, the session is still there."""
    with closing(open_endpoint(sshd.url())) as session:
        started = session.start(["sleep", "100"], seconds=60)
        (folder,) = sockets.glob("vnicaudit-ssh-*")
        subprocess.run(["ssh", "-S", folder / "s", "-O", "exit", "x"], check=True, stderr=-3)
        assert started.running()
    until(lambda: gone(session.folder), "nothing is left")


def test_a_lost_host_ends_everything_by_itself(tmp_path: Path) -> None:
    with private_sshd(tmp_path) as sshd, closing(open_endpoint(sshd.url(), lease=12)) as session:
        session.start(["sleep", "100"], seconds=60)
        until(lambda: marked(session.folder, "program"), "it sleeps")
        _kill_tree(sshd.process.pid)
        lost = r"^ssh://.*: (ssh: connect to host|Connection (reset|closed) by) 127\.0\.0\.1 "
        with pytest.raises(EndpointError, match=lost):
            session.run(["true"])
        until(lambda: gone(session.folder), "nothing is left")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("UserKnownHostsFile /dev/null", "Host key verification failed."),
        ("IdentityFile /dev/null", "Permission denied (publickey)."),
        # the proxy reads ssh's greeting before it exits: otherwise ssh may report a broken pipe
        ("ProxyCommand head -n 1 >/dev/null", "Connection closed by UNKNOWN port 65535"),
    ],
)
def test_a_host_that_lets_nobody_in_is_an_error(
    sshd: PrivateSshd, tmp_path: Path, sockets: Path, option: str, said: str
) -> None:
    config = tmp_path / "config"
    whole = (sshd.folder / "config").read_text()
    lines = [line for line in whole.splitlines() if option.split()[0] + " " not in line.lstrip()]
    config.write_text("\n".join([lines[0], f"    {option}", *lines[1:], ""]))
    url = f"ssh://127.0.0.1:{sshd.port}?ssh_config={config}"
    with pytest.raises(EndpointError) as error:
        open_endpoint(url)
    assert str(error.value).startswith(f"{url}: ")
    assert said in str(error.value)
    assert list(sockets.iterdir()) == []


def test_nobody_listening_is_an_error() -> None:
    with pytest.raises(EndpointError, match=r"^ssh://127\.0\.0\.1:1: ssh: connect to host .* port"):
        open_endpoint("ssh://127.0.0.1:1")


def _accepted(sshd: PrivateSshd) -> int:
    return (sshd.folder / "log").read_text().count("Accepted publickey")


def _kill_tree(pid: int) -> None:
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end by itself meanwhile
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            _kill_tree(int(child))
        os.kill(pid, signal.SIGKILL)
