"""The container is built of the real Containerfile, on a base made of Debian's archive, and run as
``podman run --read-only --cap-drop all -v …:/work:ro`` runs it. Neither a registry of images nor a
daemon is needed: buildah builds in a chroot, and what is run has mounts of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import ROOT
from tests.not_run import not_run
from tests.pipelines.project import guests
from tests.rig.debian import KEYRING, SUITES, mirror
from tests.rig.errors import RigError
from tests.rig.process import run
from vnicaudit import __version__

pytestmark = pytest.mark.long

ALONE = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc",
         "--kill-child")  # fmt: skip
"""What is mounted is gone when the program ends."""
RUN = """
root=$1 user=$2 guests=$3; shift 3
mkdir -p "$root$PWD_INSIDE"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$guests" "$root$PWD_INSIDE"
mount -o remount,bind,ro "$root$PWD_INSIDE"
mount -o remount,bind,ro "$root"
exec /usr/sbin/chroot "$root" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups \
    --bounding-set=-all --no-new-privs env -C "$PWD_INSIDE" "$@"
"""


class Image(NamedTuple):
    """The files of a container, and its settings as the Containerfile has them."""

    root: Path
    user: str
    environment: dict[str, str]
    command: list[str]
    folder: str
    guests: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run its command, or with ``sh`` in front a shell, in a folder of definitions."""
        words = list(arguments) if arguments[0] == "sh" else [*self.command, *arguments]
        return subprocess.run(
            [*ALONE, "/bin/sh", "-ec", RUN, "sh", str(self.root), self.user,
             str(self.guests), *words],
            env={**self.environment, "PWD_INSIDE": self.folder},
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    if os.geteuid():
        not_run("packaging", "a container is built by root only")
    for program in ("buildah", "debootstrap", "setpriv", "unshare"):
        if shutil.which(program) is None:
            not_run("packaging", f"{program} is not installed")
    if not KEYRING.exists():
        not_run("packaging", f"{KEYRING} does not exist")
    place = tmp_path_factory.mktemp("container")
    try:
        _buildah(place, "build", *_base(place), "--isolation", "chroot", "--pull-never", "--tag",
                 "vnicaudit", "--file", "scripts/packaging/Containerfile", str(ROOT))  # fmt: skip
        yield _unpacked(place)
    finally:
        shutil.rmtree(place)


def _base(place: Path) -> list[str]:
    """What the build is told of the base image, which is Debian as small as it gets, and of the
    index of packages."""
    root = place / "base"
    _install_debian(root)
    options = ["--build-arg", "BASE=localhost/base"]
    if index := _pip_setting("index-url"):
        options += ["--build-arg", f"PIP_INDEX_URL={index}"]
    if certificates := _pip_setting("cert"):
        shutil.copy(certificates, root / "etc/pip.pem")
        (root / "etc/pip.conf").write_text("[global]\ncert = /etc/pip.pem\n")
    container = _buildah(place, "from", "scratch")
    _buildah(place, "add", "--quiet", container, str(root), "/")
    _buildah(place, "commit", "--quiet", "--rm", container, "localhost/base")
    shutil.rmtree(root)
    return options


def _install_debian(root: Path) -> None:
    """The first suite whose packages can all be had."""
    for suite in SUITES:
        shutil.rmtree(root, ignore_errors=True)
        try:
            run(*ALONE, "debootstrap", "--variant=minbase", f"--keyring={KEYRING}", suite, root,
                mirror())  # fmt: skip
        except RigError as error:
            obstacle = error
        else:
            return
    raise obstacle


def _pip_setting(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", f"global.{name}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return os.environ.get(f"PIP_{name.upper().replace('-', '_')}") or done.stdout.strip()


def _buildah(place: Path, *arguments: str) -> str:
    own = ("--root", place / "images", "--runroot", place / "run", "--storage-driver", "vfs")
    return run(*ALONE, "buildah", *own, *arguments, cwd=ROOT, timeout=1800).strip()


def _unpacked(place: Path) -> Image:
    told = json.loads(_buildah(place, "inspect", "--type", "image", "vnicaudit"))["OCIv1"]["config"]
    container = _buildah(place, "from", "--pull-never", "vnicaudit")
    root = Path(_buildah(place, "mount", container))
    environment = dict(line.split("=", 1) for line in told["Env"])
    guests(place, slow="rtl8139")
    return Image(root, told["User"], environment, told["Entrypoint"], told["WorkingDir"],
                 place / "guests")  # fmt: skip


def test_it_is_neither_root_nor_writes(image: Image) -> None:
    done = image.run("sh", "-c", "id -u; ! touch /tmp/a /work/a $VNICAUDIT_STATE 2>&1")
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0]) == (0, "65532")
    assert [line.split(": ")[-1] for line in lines[1:]] == ["Read-only file system"] * 3


def test_it_audits_a_folder_that_is_mounted(image: Image) -> None:
    assert image.run("--version").stdout == f"vnicaudit {__version__}\n"
    done = image.run("audit", ".", "--format", "concise", "--quiet")
    assert (done.returncode, done.stderr) == (1, "")
    assert "slow.xml:12: high VNIC001" in done.stdout


def test_its_extras_can_be_imported(image: Image) -> None:
    """Those that the Containerfile names by itself, compiled ones included."""
    names = "libvirt, openstack, psycopg"
    done = image.run("sh", "-c", f"python3 -c 'import {names}'")
    assert (done.returncode, done.stderr) == (0, "")


def test_neither_a_compiler_nor_an_installer_is_left_in_it(image: Image) -> None:
    done = image.run("sh", "-c", "command -v gcc cc pip pip3; ls -d /source")
    assert done.stdout == ""


def test_it_has_the_manual_pages(image: Image) -> None:
    pages = {page.name for page in (ROOT / "docs/share/man/man1").iterdir()}
    assert {page.name for page in (image.root / "opt/vnicaudit/share/man/man1").iterdir()} == pages
