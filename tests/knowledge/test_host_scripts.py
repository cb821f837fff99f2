"""How modules are loaded and unloaded, with programs that stand for those of kmod."""

import os
import subprocess
from pathlib import Path

import pytest

from vnicaudit.knowledge.host_scripts import SET_MODULE

_IN_USE = "rmmod: ERROR: Module vhost_net is in use"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with them: each notes its words, and rmmod fails where ``used`` is there."""
    for name in ("modprobe", "rmmod"):
        lines = (
            "#!/bin/sh", f'echo "{name} $*" >> {tmp_path}/said',
            f"[ ! -e {tmp_path}/used ] || {{ echo '{_IN_USE}' >&2; exit 1; }}",
        )  # fmt: skip
        (tmp_path / name).write_text("\n".join(lines))
        (tmp_path / name).chmod(0o755)
    return tmp_path


def _set(programs: Path, value: str, device: Path) -> tuple[int, str]:
    ran = subprocess.run(
        ["sh", "-c", SET_MODULE, "sh", value, "vhost_net", str(device)],
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    return ran.returncode, ran.stderr.strip()


def test_it_is_loaded_with_what_it_needs_and_unloaded_alone(programs: Path) -> None:
    for value in ("loaded", "not loaded"):
        assert _set(programs, value, programs / "device") == (0, "")
    said = (programs / "said").read_text()
    assert said == "modprobe vhost_net\nrmmod vhost_net\n"


def test_whoever_uses_it_is_named(programs: Path) -> None:
    (programs / "used").touch()
    (device := programs / "device").touch()
    code, said = _set(programs, "not loaded", device)
    assert (code, said) == (1, f"vhost_net stays loaded: {_IN_USE}")
    with device.open() as opened, subprocess.Popen(["sleep", "60"], stdin=opened) as other:
        code, said = _set(programs, "not loaded", device)
        other.kill()
    own = f"{Path('/proc/self/comm').read_text().strip()} ({os.getpid()})"
    users = sorted((own, f"sleep ({other.pid})"), key=lambda each: int(each.split("(")[1][:-1]))
    assert (code, said) == (
        1, f"vhost_net stays loaded, as it is used by {', '.join(users)}: {_IN_USE}",
    )  # fmt: skip
