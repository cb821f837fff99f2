"""What makes packages and containers of a checkout: it can be read by the tools that read it, it is
of this version, and a Debian package is built."""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.not_run import not_run
from tests.pipelines.once import made_once
from tests.pipelines.project import copy_of_this, parse
from vnicaudit import __version__

PACKAGING = ROOT / "scripts" / "packaging"
CONTAINERFILE = PACKAGING / "Containerfile"
LINTIAN_SAYS = {
    "bogus-mail-host",  # who builds a package for others puts an address there
    "bogus-mail-host-in-debian-changelog",
    "initial-upload-closes-no-bugs",  # it is not for Debian's own archive
    "newer-standards-version",  # than that of the lintian of Debian 12
}


def _program(name: str) -> str:
    search = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    found = shutil.which(name, path=search)
    if found is None:
        not_run("packaging", f"{name} is not installed")
    return found


def test_packages_are_of_this_version() -> None:
    spec = (PACKAGING / "vnicaudit.spec").read_text("utf-8")
    assert re.findall(r"^Version: +(.+)$", spec, re.MULTILINE) == [__version__]
    changelog = (PACKAGING / "debian/changelog").read_text("utf-8")
    assert re.findall(r"^vnicaudit \((.+)-\d+\)", changelog, re.MULTILINE)[0] == __version__


def test_hadolint_finds_no_fault_in_the_containerfile() -> None:
    done = subprocess.run(
        [_program("hadolint"), str(CONTAINERFILE)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_container_is_the_user_of_the_cronjob() -> None:
    """``runAsNonRoot`` takes a number only, and state is where its volume is mounted."""
    text = CONTAINERFILE.read_text("utf-8")
    job = parse((ROOT / "templates/schedule/vnicaudit-cronjob.yaml").read_text("utf-8"))
    (user,) = re.findall(r"^USER (.+)$", text, re.MULTILINE)
    assert user == "65532:65532"
    assert "'runAsUser': 65532, 'runAsGroup': 65532" in str(job)
    (state,) = re.findall(r"VNICAUDIT_STATE=(\S+)", text)
    assert f"'VNICAUDIT_STATE', 'value': '{state}'" in str(job)


def test_what_is_copied_into_a_container_is_there() -> None:
    for line in re.findall(r"^COPY (?!--)(.+)$", CONTAINERFILE.read_text("utf-8"), re.MULTILINE):
        *sources, _target = line.split()
        assert sources
        for source in sources:
            assert (ROOT / source).exists(), source


def test_rpm_reads_the_spec() -> None:
    done = subprocess.run(
        [_program("rpmspec"), "-P", str(PACKAGING / "vnicaudit.spec")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def debian_package(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Built offline, of what a checkout has."""
    folder = made_once(tmp_path_factory, worker_id, "debian", _make_debian_package)
    (package,) = folder.glob("*.deb")
    return package


def _make_debian_package(folder: Path) -> None:
    builder = _program("dpkg-buildpackage")
    if not Path("/usr/share/perl5/Debian/Debhelper/Sequence/python3.pm").exists():
        not_run("packaging", "dh-python is not installed")
    tree = folder / "vnicaudit"
    tree.mkdir()
    copy_of_this(tree)
    shutil.copytree(PACKAGING / "debian", tree / "debian")
    done = subprocess.run(
        [builder, "--build=binary", "--no-sign", "--no-pre-clean"],
        cwd=tree, env={**_plain_environment(), "http_proxy": "http://127.0.0.1:9"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def _plain_environment() -> dict[str, str]:
    """Debian's own Python builds, not that of the tests."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def test_a_debian_package_has_command_pages_and_completion(debian_package: Path) -> None:
    done = subprocess.run(
        ["dpkg-deb", "--contents", str(debian_package)], capture_output=True, text=True, check=True
    )
    names = {line.split()[5] for line in done.stdout.splitlines()}
    assert {
        "./usr/bin/vnicaudit",
        "./usr/lib/python3/dist-packages/vnicaudit/templates/demo/host.xml",
        "./usr/share/man/man1/vnicaudit.1.gz",
        "./usr/share/man/man1/vnicaudit-fleet-top.1.gz",
        "./usr/share/bash-completion/completions/vnicaudit",
        "./usr/share/zsh/site-functions/_vnicaudit",
        "./usr/share/fish/vendor_completions.d/vnicaudit.fish",
        "./usr/share/doc/vnicaudit/copyright",
        "./usr/share/doc/vnicaudit/NOTICE",
    } <= names
    assert not [name for name in names if "__pycache__" in name]


def test_a_debian_package_needs_what_the_wheel_needs(debian_package: Path) -> None:
    done = subprocess.run(
        ["dpkg-deb", "--field", str(debian_package), "Depends"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = set(re.findall(r"python3-[\w.-]+", done.stdout))
    needed = ("click", "lxml", "msgspec", "rich", "ruamel.yaml", "tomli")
    assert packages == {f"python3-{name}" for name in needed}


@pytest.mark.long
def test_lintian_finds_no_fault(debian_package: Path) -> None:
    lintian = _program("lintian")
    done = subprocess.run(
        [lintian, "--allow-root", "--tag-display-limit=0", str(debian_package)],
        env=_plain_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:")]
    assert [line for line in lines if line.split()[2].rstrip(":") not in LINTIAN_SAYS] == []
