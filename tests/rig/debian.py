"""Debian packages of any architecture, fetched without touching this machine's own apt.

Each `Archive` is a private apt root: its own lists, its own (empty) record of installed
packages, one architecture. No foreign architecture is added to the machine.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from tests.rig.errors import Missing, NotFetched, RigError
from tests.rig.process import log, run

SUITE = "trixie"
SUITES = (SUITE, "bookworm")
"""The second where a mirror is between two versions of the first: after a point release its index,
or the packages that it lists, may be of the other one for days, and for one architecture alone."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

_PAST_CACHES = ("-o", "Acquire::http::No-Cache=true")


def mirror() -> str:
    """Address of the Debian archive: VNICAUDIT_RIG_MIRROR, or from this machine's apt sources."""
    if chosen := os.environ.get("VNICAUDIT_RIG_MIRROR"):
        return chosen
    form = "$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)"
    targets = run("apt-get", "indextargets", "--format", form, "Identifier: Packages")
    for line in targets.splitlines():
        # updates and security have codenames with a hyphen; security is an archive of its own
        if found := re.fullmatch(r"Debian [a-z]+ main (\S+)", line):
            return found[1]
    raise Missing(
        "apt has no list of a Debian archive: run apt-get update, or set VNICAUDIT_RIG_MIRROR"
    )


class Archive:
    """The Debian archive as seen by one Debian architecture (amd64, s390x)."""

    def __init__(self, architecture: str, root: Path, suite: str = SUITE) -> None:
        if not KEYRING.exists():
            raise Missing(f"{KEYRING} does not exist; see scripts/packages/rig.apt")
        self._root = root
        for name in ("state/lists/partial", "cache/archives/partial", "parts"):
            (root / name).mkdir(parents=True)
        (root / "status").touch()
        (root / "apt.conf").write_text(_proxy_settings() + _private_settings(architecture, root))
        source = f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n"
        (root / "sources.list").write_text(source)
        self._fetch("apt-get", "update", "--error-on=any")

    def newest(self, meta_package: str) -> str:
        """The one package that a meta package (linux-image-amd64) stands for."""
        shown = self._apt("apt-cache", "show", "--no-all-versions", meta_package)
        depends = re.search(r"^Depends: (\S+)", shown, re.MULTILINE)
        if depends is None:
            raise RigError(f"{meta_package} depends on nothing")
        return depends[1]

    def unpack(self, package: str, into: Path) -> None:
        """Unpack one package, without what it depends on."""
        self._fetch("apt-get", "download", package, cwd=self._root)
        _extract(self._root.glob("*.deb"), into)

    def unpack_with_dependencies(self, packages: Iterable[str], into: Path) -> None:
        """Unpack packages and all they depend on; no package script is run."""
        self._fetch("apt-get", "install", "--yes", "--download-only", *packages)
        _extract((self._root / "cache/archives").glob("*.deb"), into)

    def _fetch(self, *argv: str, cwd: Path | None = None) -> None:
        """Have apt fetch something: if need be once more, past the caches on the way. Raises
        NotFetched."""
        try:
            self._apt(*argv, cwd=cwd)
        except RigError as error:
            log(str(error))
            try:
                self._apt(*argv, *_PAST_CACHES, cwd=cwd)
            except RigError as again:
                raise NotFetched(f"the Debian archive cannot be read: {again}") from error

    def _apt(self, *argv: str, cwd: Path | None = None) -> str:
        environment = {**os.environ, "APT_CONFIG": str(self._root / "apt.conf"), "LC_ALL": "C"}
        return run(*argv, env=environment, cwd=cwd)


def merged_folders(root: Path) -> None:
    """Make a root whose programs and libraries are all in /usr, as Debian has it."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")


def _extract(packages: Iterable[Path], into: Path) -> None:
    """Into /usr also what older packages have in /lib: unlike here, ``dpkg-deb --extract`` makes a
    folder of the link that stands there."""
    if not into.exists():
        merged_folders(into)
    command = 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"'
    for package in sorted(packages):
        run("bash", "-o", "pipefail", "-c", command, package, into)
        package.unlink()


def _proxy_settings() -> str:
    """How this machine's apt reaches the network."""
    return "".join(
        f"{line}\n"
        for line in run("apt-config", "dump").splitlines()
        if line.startswith(("Acquire::http", "Acquire::Retries"))
    )


def _private_settings(architecture: str, root: Path) -> str:
    # The machine's own configuration is left out: its hooks act on the machine's own apt.
    return f"""\
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::Etc::Main "{root}/none";
Dir::Etc::Parts "{root}/parts";
Dir::Etc::PreferencesParts "{root}/parts";
Dir::Etc::SourceList "{root}/sources.list";
Dir::Etc::SourceParts "{root}/parts";
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
"""
