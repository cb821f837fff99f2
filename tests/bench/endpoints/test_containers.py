"""Endpoints in containers and pods.

FAKES: ``docker``, ``podman``, ``kubectl`` and ``sudo`` are scripts here that note how they were
called and run what they were to run on this machine.
"""

import os
import shlex
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.left import gone, until
from vnicaudit.errors import EndpointError

_FAKE = """\
#!/bin/sh
# what stands before "/bin/sh -c" is this program's; the rest is run here
for word; do
    [ "$word" = /bin/sh ] && break
    case $word in --) continue ;; esac
    printf '%s ' "$word" >>{calls}
    shift
done
[ "$1" = -- ] && shift
echo >>{calls}
exec "$@"
"""
_FAKE_SUDO = """\
#!/bin/sh
printf 'sudo %s %s\\n' "$1" "$2" >>{calls}
while [ "$1" != /bin/sh ] && [ "$1" != -- ]; do shift; done
[ "$1" = -- ] && shift
SUDO_USER=fake exec "$@"
"""


class Fakes(NamedTuple):
    """How they were called."""

    calls: Path

    def first(self) -> str:
        """The first call's words."""
        return self.calls.read_text().splitlines()[0].strip()


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    calls = tmp_path / "calls"
    for name, text in {
        "docker": _FAKE,
        "podman": _FAKE,
        "kubectl": _FAKE,
        "sudo": _FAKE_SUDO,
    }.items():
        script = tmp_path / name
        script.write_text(text.format(calls=shlex.quote(str(calls))))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Fakes(calls)


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("docker://web", "exec web"),
        ("docker://nobody@web", "exec -u nobody web"),
        ("podman://web-1.a", "exec web-1.a"),
        ("kubectl://pod", "exec pod"),
        ("kubectl://pod?container=c&namespace=n&context=arn:aws:eks:eu-1:1:cluster/x",
         "--context=arn:aws:eks:eu-1:1:cluster/x -n n -c c exec pod"),
        ("kubectl://pod?kubeconfig=/etc/kube&address=192.0.2.1", "--kubeconfig=/etc/kube exec pod"),
    ],
)  # fmt: skip
def test_programs_run_there(fakes: Fakes, url: str, called: str) -> None:
    with closing(open_endpoint(url)) as session:
        assert fakes.first() == called
        ran = session.run(["sh", "-c", "cat; exit 3"], stdin=b"given\n")
        assert (ran.code, ran.stdout, ran.endpoint) == (3, "given\n", url)
        words = ["", "a b", "$HOME", "`id`", "'", '"', "\\n", "*", "%s", "ä\nb", ";reboot"]
        said = session.run(["printf", "<%s>", *words]).stdout
        assert said == "".join(f"<{word}>" for word in words)
        started = session.start(["sleep", "100"], seconds=60)
        assert started.running()
        assert started.stop().code is None
    until(lambda: gone(session.folder), "nothing is left")


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("docker://web?sudo=true", "sudo /bin/sh -c"),
        ("docker://web?sudo=true&sudo_user=dns", "sudo -u dns"),
        ("local?sudo=true", "sudo -n --"),
    ],
)
def test_sudo(fakes: Fakes, url: str, called: str) -> None:
    with closing(open_endpoint(url)) as session:
        assert session.run(["sh", "-c", 'echo "$SUDO_USER"']).stdout == "fake\n"
        assert called in fakes.calls.read_text().splitlines()
    until(lambda: gone(session.folder), "nothing is left")


def test_one_that_is_not_there_is_an_error(fakes: Fakes) -> None:
    _answers(fakes, "docker", "Error response from daemon: No such container: web\\n", 1)
    with pytest.raises(EndpointError) as error:
        open_endpoint("docker://web")
    assert str(error.value) == "docker://web: Error response from daemon: No such container: web"


def test_what_is_said_is_shown_safely(fakes: Fakes) -> None:
    _answers(fakes, "kubectl", "warning\\n\\033[2Jpods \\302\\233 not found\\n", 1)
    with pytest.raises(EndpointError) as error:
        open_endpoint("kubectl://pod")
    assert str(error.value) == "kubectl://pod: [2Jpods not found"


def test_one_that_says_nothing_is_an_error(fakes: Fakes) -> None:
    _answers(fakes, "podman", "", 0)
    with pytest.raises(EndpointError, match=r"^podman://web: there was no answer \(code 0\)$"):
        open_endpoint("podman://web")


def test_a_program_that_is_not_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(
        EndpointError, match=r"^kubectl://pod: kubectl is not installed on this machine$"
    ):
        open_endpoint("kubectl://pod")


def test_an_answer_without_end_is_bounded(fakes: Fakes) -> None:
    (fakes.calls.parent / "docker").write_text("#!/bin/sh\nexec cat /dev/zero\n")
    with pytest.raises(EndpointError, match=r"^docker://web: its answer is longer than 8 MiB$"):
        open_endpoint("docker://web")


def _answers(fakes: Fakes, name: str, text: str, code: int) -> None:
    script = f"#!/bin/sh\nprintf '{text}' >&2\nexit {code}\n"
    (fakes.calls.parent / name).write_text(script)
