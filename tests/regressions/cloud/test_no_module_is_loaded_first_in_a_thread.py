"""Records were not the only thing that is made at first use: a module that two threads load at once
may be seen half made, where modules load one another. What works in threads is loaded before.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openstack")

import vnicaudit
from tests.platforms.openstack.cloud import PASSWORD, FakeCloud, serve
from tests.platforms.openstack.conftest import CLOUD

_ROOT = Path(vnicaudit.__file__).parents[1]
_WATCH = """
import sys, threading

LOADED = []

def watch(event, arguments):
    if event == "import" and arguments[0] not in sys.modules:
        if threading.current_thread() is not threading.main_thread():
            LOADED.append(arguments[0])

sys.addaudithook(watch)

def told():
    ours = sorted(one for one in LOADED if one.partition(".")[0] not in sys.stdlib_module_names)
    print("loaded in threads:", *ours, file=sys.stderr)
"""
_COMMAND = (
    _WATCH
    + """
from vnicaudit.cli.main import run
code = run(sys.argv[1:])
told()
sys.exit(code)
"""
)
_RESUME = (
    _WATCH
    + """
from pathlib import Path
from tests.regressions.cloud.resume_in_batches import main
main(Path(sys.argv[1]))
told()
"""
)


def _python(program: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False,
        cwd=_ROOT, env={**os.environ, **env},
    )  # fmt: skip


@pytest.mark.parametrize(("command", "word"), [("audit", "VNIC"), ("plan", "hw_vif_model")])
def test_reading_a_cloud(command: str, word: str, tmp_path: Path) -> None:
    for cloud in serve(FakeCloud()):
        file = tmp_path / "clouds.yaml"
        entry = CLOUD.format(name="admin", url=cloud.url, password=PASSWORD)
        file.write_text(f"clouds:\n{entry}", "utf-8")
        done = _python(_COMMAND, command, "openstack:admin", OS_CLIENT_CONFIG_FILE=str(file))
        assert word in done.stdout, done.stderr
        assert done.stderr.splitlines()[-1] == "loaded in threads:"


def test_carrying_on_a_run_in_batches(tmp_path: Path) -> None:
    done = _python(_RESUME, str(tmp_path))
    assert done.stderr.splitlines()[-1] == "loaded in threads:"
    assert "outcomes: applied applied applied applied" in done.stdout


@pytest.mark.parametrize("others", [(), ("test:///default?other=1",)], ids=["one", "side by side"])
def test_visiting_hosts(others: tuple[str, ...]) -> None:
    pytest.importorskip("libvirt")
    done = _python(_COMMAND, "audit", "test:///default", *others)
    assert "test:///default" in done.stdout, done.stderr
    assert done.stderr.splitlines()[-1] == "loaded in threads:"
