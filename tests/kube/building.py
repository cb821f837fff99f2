"""kube-apiserver and podexec, built from the Go module proxy, and Debian's etcd: made once, kept.

    python -m tests.kube.building             make what is missing
    python -m tests.kube.building obstacle    why it cannot be made here; exit code 1 if so

No registry has a binary of kube-apiserver. Its build takes 550 seconds of CPU and the network, that
of podexec 25; a build that is interrupted goes on where it was.
"""

import fcntl
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.rig.cache import digest
from tests.rig.errors import Missing, RigError
from tests.rig.process import log, run

MODULE = Path(__file__).with_name("go.mod")
"""That of both programs. The one requirement is the release. It requires its parts at v0.0.0, so
each is replaced, by its v0.X.Y: the list is that of the go.mod of k8s.io/kubernetes."""
_PODEXEC = Path(__file__).with_name("podexec.go")
VERSION = re.findall(r"k8s\.io/kubernetes (v\S+)", MODULE.read_text())[0]
_OLDEST_GO = (1, 26)
_FAST = "-N -l -dwarf=false"
"""Without optimiser and DWARF, a third less CPU: for what is not busy while a list is answered."""
_KUBERNETES = "k8s.io/kubernetes"
_LARGE = (
    _KUBERNETES, "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator",
    "google.golang.org/grpc", "go.etcd.io", "k8s.io/client-go/informers",
    "k8s.io/client-go/listers", "k8s.io/client-go/kubernetes",
)  # fmt: skip
_VERSION_OF = "k8s.io/component-base/version"
_LINKED = (
    f"-s -w -X {_VERSION_OF}.gitVersion={VERSION} -X {_VERSION_OF}.gitMajor=1"
    f" -X {_VERSION_OF}.gitMinor={VERSION.split('.')[1]} -X {_VERSION_OF}.gitTreeState=clean"
)
_ALWAYS = ("-mod=mod", "-trimpath")
FLAGS = (
    *_ALWAYS, f"-ldflags={_LINKED}",
    *(f"-gcflags={package}/...={_FAST}" for package in _LARGE),
    "-gcflags=k8s.io/apiserver/...=-dwarf=false",
)  # fmt: skip
_APISERVER = f"kube-apiserver-{VERSION}-{digest(MODULE, *FLAGS)}"


def folder() -> Path:
    """Where the programs are: VNICAUDIT_KUBE, or a folder in /var/tmp."""
    home = Path(os.environ.get("VNICAUDIT_KUBE", "/var/tmp/vnicaudit-kube"))
    home.mkdir(parents=True, exist_ok=True)
    return home


def apiserver() -> Path:
    """The program, from an earlier run or built now. Raises Missing."""
    package = f"{_KUBERNETES}/cmd/kube-apiserver"
    return _made(_APISERVER, lambda program: _build(program, f"kube-apiserver {VERSION}", package))


def podexec() -> Path:
    """What runs commands in pods, from an earlier run or built now. Raises Missing."""
    flags = (*_ALWAYS, "-ldflags=-s -w")
    name = f"podexec-{digest(MODULE, _PODEXEC, *flags)}"
    return _made(name, lambda program: _build(program, "podexec", "podexec.go", flags))


def etcd() -> Path:
    """The program of this machine, or Debian's, without its service. Raises Missing."""
    found = shutil.which("etcd")
    return Path(found) if found else _made("etcd", lambda program: _unpack(program, "etcd-server"))


def kubectl() -> Path:
    """The program of this machine, or Debian's: the package itself cannot be installed beside those
    of others. Raises Missing."""
    found = shutil.which("kubectl")
    if found:
        return Path(found)
    return _made("kubectl", lambda program: _unpack(program, "kubernetes-client"))


def obstacle() -> str:
    """Why the programs cannot be made here; empty if they are there, or may be made."""
    if not shutil.which("etcd") and not shutil.which("dpkg-deb"):
        return "etcd is not installed, and is unpacked from Debian's package"
    try:
        _go()
    except Missing as error:
        return "" if (folder() / _APISERVER).exists() else str(error)
    return ""


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """A program of this name: it gets the name when it is complete. Who comes second waits."""
    program = folder() / name
    with (folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            part = program.with_name(f"{name}.part")
            make(part)
            part.rename(program)
    return program


def _go() -> str:
    """The Go toolchain. Raises Missing."""
    found = shutil.which("go", path=f"{os.environ.get('PATH', '')}:/usr/local/go/bin")
    version = run(found, "env", "GOVERSION") if found else ""
    number = re.match(r"go(\d+)\.(\d+)", version)
    if found is None or number is None or tuple(map(int, number.groups())) < _OLDEST_GO:
        there = f"({version.strip()} is here)" if version else "(none is here)"
        wanted = ".".join(map(str, _OLDEST_GO))
        raise Missing(f"kube-apiserver is built by Go {wanted} or later {there}")
    return found


def _build(program: Path, what: str, package: str, flags: Sequence[str] = FLAGS) -> None:
    go, work = _go(), folder() / f"build-{what.split()[0]}"
    (work / "module").mkdir(parents=True, exist_ok=True)
    for file in (MODULE, _PODEXEC):
        shutil.copy(file, work / "module")  # Go adds to go.mod
    environment = {
        **os.environ, "CGO_ENABLED": "0", "GOCACHE": f"{work}/cache", "GOGC": "400",
        "GOFLAGS": "-buildvcs=false -modcacherw", "GOMODCACHE": f"{work}/modules",
    }  # fmt: skip
    log(f"building {what}")
    began = time.monotonic()
    kindly = ["setpriv", "--pdeathsig", "TERM", "nice", "-n", "19"]
    ended = subprocess.run(
        [*kindly, go, "build", *flags, "-o", program, package],
        cwd=work / "module", env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise Missing(f"{what} cannot be built: {ended.stderr[-600:].strip()}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    log(
        f"built {what} in {time.monotonic() - began:.0f} s"
        f" ({used.ru_utime + used.ru_stime:.0f} s of CPU)"
    )
    shutil.rmtree(work)


def _unpack(program: Path, package: str) -> None:
    """A program out of one of Debian's packages."""
    work = folder() / f"unpacked-{package}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        run("apt-get", "download", package, cwd=work)
    except RigError as error:
        raise Missing(f"Debian's {package} cannot be fetched: {error}") from error
    (file,) = work.glob("*.deb")
    run("dpkg-deb", "--extract", file, work)
    (work / "usr/bin" / program.name.removesuffix(".part")).rename(program)
    shutil.rmtree(work)


def main(*words: str) -> str | None:
    """What ``sys.exit`` is told."""
    if words == ("obstacle",):
        if found := obstacle():
            print(f"not run, because {found}")
            return ""
        return None
    try:
        print(apiserver(), etcd(), podexec())
    except RigError as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
