"""Reading libvirt's own test driver, and hosts that cannot be read."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.live import read

HOST = """<node>
  <domain type='test'>
    <name>{name}</name>
    <memory>65536</memory>
    <os><type arch='x86_64'>hvm</type></os>
    <devices>{nics}</devices>
  </domain>
</node>
"""


def test_the_test_driver_is_read() -> None:
    live = read("test:///default")
    found = [item for item in live.domains if isinstance(item, Domain)]
    assert not live.local
    assert [domain.name for domain in found] == ["test"]
    assert found[0].nics[0].declared.actual_type == "bridge"
    assert found[0].location.target == "test:///default"


def test_the_test_driver_has_no_versions_that_mean_anything() -> None:
    assert read("test:///default").host.declared == HostConfig()


def test_its_definitions_have_no_defaults_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "host.xml"
    file.write_text(HOST.format(name="vm", nics="<interface type='user'/>"))
    (domain,) = read(f"test://{file}").domains
    assert isinstance(domain, Domain)
    assert (domain.declared.form, domain.nics[0].declared.model) == ("raw", None)


@rows
def test_a_host_that_cannot_be_reached(uri: str, words: str) -> None:
    with pytest.raises(TargetError) as caught:
        read(uri)
    assert str(caught.value).startswith(f"{uri}: ")
    assert words in str(caught.value)


def test_a_broken_host_file_says_where_on_one_line(tmp_path: Path) -> None:
    file = tmp_path / "host.xml"
    file.write_text("<node>\n<domain\n")
    with pytest.raises(TargetError, match=r"host\.xml:3: ") as caught:
        read(f"test://{file}")
    assert "\n" not in str(caught.value)


def test_libvirt_prints_nothing_itself(capfd: pytest.CaptureFixture[str]) -> None:
    for uri in ("test:///nowhere", "qemu+tcp://127.0.0.1:1/system"):
        with pytest.raises(TargetError):
            read(uri)
    assert capfd.readouterr() == ("", "")


def test_a_host_that_hangs_costs_its_deadline_and_no_other_host(mute_port: int) -> None:
    before = set(threading.enumerate())
    with pytest.raises(TargetError, match=r"no answer within 0\.5 s"):
        read(f"qemu+tcp://127.0.0.1:{mute_port}/system", LiveOptions(0.5))
    stuck = set(threading.enumerate()) - before
    assert stuck, "it waited for the call to end"
    assert all(thread.daemon for thread in stuck)
    assert [item.name for item in read("test:///default").domains if isinstance(item, Domain)]


def test_a_stuck_call_does_not_keep_the_program_from_ending(mute_port: int) -> None:
    program = f"""
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.libvirt.live import read
try:
    read("qemu+tcp://127.0.0.1:{mute_port}/system", LiveOptions(0.5))
except TargetError as error:
    print(error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "no answer within 0.5 s" in ended.stdout


def test_without_libvirt_the_extra_is_named() -> None:
    program = """
import sys
sys.modules["libvirt"] = None
from vnicaudit.errors import MissingExtraError
try:
    import vnicaudit.platforms.libvirt.live
except MissingExtraError as error:
    print(error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert ended.stdout.startswith("reading a live libvirt needs an optional package: pip ")


def test_walking_away_early_is_fine() -> None:
    domains = read("test:///default").domains
    assert not isinstance(next(domains), ReadError)
