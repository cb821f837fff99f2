"""The Python packages of OpenStack, in a virtual environment of the testbed's own."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from tests.rig.cache import digest
from tests.rig.errors import Missing, RigError
from tests.rig.process import log, run

LOCKED = Path(__file__).parent / "testbed/packages.lock"
BUILD = Path(__file__).parent / "testbed/build.lock"
# Debian's own: its packages of libvirt and of libosinfo (by GObject introspection) are made for it.
PYTHON = Path("/usr/bin/python3")
_DEBIAN = Path("/usr/lib/python3/dist-packages")
_FROM_DEBIAN = ("gi", "libvirt.py", "libvirt_qemu.py", "libvirtmod*.so")


def installed(home: Path) -> Path:
    """The virtual environment under ``home``: from an earlier session, or made now."""
    return _made(home, "venv", LOCKED)


def nova(home: Path) -> Path:
    """That of Nova: of the other services' release, or of the one in VNICAUDIT_OPENSTACK_NOVA."""
    release = os.environ.get("VNICAUDIT_OPENSTACK_NOVA")
    if not release:
        return installed(home)
    locked = BUILD.with_name(f"nova-{release}.lock")
    if not locked.exists():
        raise Missing(f"VNICAUDIT_OPENSTACK_NOVA={release}: there is no {locked}")
    return _made(home, f"nova-{release}", locked)


def _made(home: Path, name: str, locked: Path) -> Path:
    place, stamp = home / name, home / name / "made-of"
    key = digest(locked, BUILD, Path(__file__))
    if not stamp.exists() or stamp.read_text() != key:
        log(f"installing OpenStack's Python packages ({locked.name})")
        shutil.rmtree(place, ignore_errors=True)
        _install(place, home / "uv", locked)
        _link(place)
        stamp.write_text(key)
    return place


def _install(place: Path, cache: Path, locked: Path) -> None:
    if not PYTHON.exists() or importlib.util.find_spec("uv") is None:
        raise Missing(f"OpenStack is installed for {PYTHON} by uv, and one of them is not there")
    uv: list[str | Path] = [sys.executable, "-m", "uv"]
    env = {**os.environ, "UV_CACHE_DIR": str(cache), "UV_NO_CONFIG": "1", **_as_pip_does()}
    run(*uv, "venv", "--quiet", "--no-project", "--python", PYTHON, place, env=env)
    wanted: list[str | Path] = ["--no-deps", "--requirement", locked, "--build-constraint", BUILD]
    target: list[str | Path] = ["--quiet", "--python", place / "bin/python"]
    try:
        run(*uv, "pip", "install", *target, *wanted, env=env)
    except RigError as error:
        raise Missing(f"OpenStack's Python packages cannot be installed: {error}") from error
    run(*uv, "pip", "check", *target, env=env)


def _as_pip_does() -> dict[str, str]:
    """uv's names for what pip is told about the network here."""
    names = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_CERT": "SSL_CERT_FILE"}
    return {ours: os.environ[pips] for pips, ours in names.items() if os.environ.get(pips)}


def _link(place: Path) -> None:
    (packages,) = place.glob("lib/python3.*/site-packages")
    for pattern in _FROM_DEBIAN:
        found = list(_DEBIAN.glob(pattern))
        if not found:
            raise Missing(f"{_DEBIAN / pattern} is missing; see scripts/packages/openstack.apt")
        for path in found:
            (packages / path.name).symlink_to(path)
    # each program imports thousands of modules: the garbage collector looks through them in vain
    (packages / "collect-seldom.pth").write_text("import gc; gc.set_threshold(50_000, 20, 50)\n")
