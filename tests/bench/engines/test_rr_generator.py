"""The program that makes the requests is built on this machine, and copied to the ends."""

import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.engines.here import Here
from tests.bench.engines.test_rr import measured as answered
from tests.not_run import not_run
from vnicaudit.bench import generator
from vnicaudit.bench.contract import Ends, Needs
from vnicaudit.bench.engines import rr
from vnicaudit.errors import MeasureError, UsageError
from vnicaudit.model.measurement import Ran, Workload

_WORK = Workload(
    id="w", engine="rr", pattern="rr1c-200x1000", direction="both", seconds=0.3, warmup=0.1,
    decides=("transaction_rate",),
)  # fmt: skip


class End(Here):
    """This machine. ``machine``: the architecture that it says it has; ``fails``: how the program
    ends there without a role."""

    def __init__(self, url: str, machine: str = "", fails: Ran | None = None) -> None:
        super().__init__(url)
        self._machine = machine or platform.machine()
        self._fails = fails
        self.brought = 0

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        if argv[0] == "uname":
            return Ran(tuple(argv), 0, f"{self._machine}\n")
        if len(argv) == 1 and self._fails is not None:
            return self._fails
        return super().run(argv, seconds=seconds, stdin=stdin)

    def put_file(self, name: str, data: bytes) -> str:
        self.brought += 1
        return super().put_file(name, data)


@pytest.fixture(autouse=True)
def unbuilt() -> Iterator[None]:
    """Nothing was built yet, and nothing is kept for others."""
    generator.built.cache_clear()
    yield
    generator.built.cache_clear()


@pytest.fixture
def compiler() -> None:
    if shutil.which("cc") is None:
        not_run("tests/bench/engines", "there is no C compiler")


@pytest.mark.usefixtures("compiler")
def test_it_is_built_once_brought_once_to_each_end_and_gone_afterwards() -> None:
    target, peer = End("target"), End("peer")
    with target, peer:
        ends = Ends(target, peer, "127.0.0.1", seed=5)
        assert rr.prepare(_WORK, [ends, ends]) == ""
        for _ in range(2):
            assert answered(_WORK, ends).error == ""
        assert (target.brought, peer.brought) == (1, 1)
        program = Path(next(argv[0] for argv in target.commands if "server" in argv))
        assert program.stat().st_mode & 0o777 == 0o700
    assert generator.built.cache_info().misses == 1
    assert not program.exists()
    assert rr.needs(_WORK) == Needs()


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("connections", [1, 8])
def test_new_connections(connections: int) -> None:
    work = replace(
        _WORK, pattern="crr-1x1", decides=("connection_rate",), connections=connections, seconds=0.5
    )
    with End("target") as target, End("peer") as peer:
        found = answered(work, Ends(target, peer, "127.0.0.1", seed=5))
    assert found.error == ""
    assert found.values["connection_rate"] > 0
    assert set(found.values) == set(rr.PATTERNS["crr-1x1"])
    assert found.transactions == round(found.values["connection_rate"] * 0.5)


def test_without_a_compiler_it_is_not_measured_and_what_to_install_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: None)
    monkeypatch.setattr(generator, "find_spec", lambda _module: None)
    why = (
        f"the generator of requests cannot be built on this machine for {platform.machine()}: pip "
        "install '.[generator]' in a checkout of vnicaudit, or, for this machine's own "
        "architecture, a C compiler"
    )
    with End("target") as target, End("peer") as peer:
        ends = Ends(target, peer, "127.0.0.1", seed=5)
        assert rr.prepare(_WORK, [ends]) == f"w will not be measured: {why}"
        found = rr.measure(_WORK, ends)
    assert (found.values, found.error, found.failure) == ({}, why, "tool")


def test_where_it_does_not_run_it_is_not_measured() -> None:
    why = "peer: the generator of requests does not run there: Exec format error"
    with (
        End("target") as target,
        End("peer", fails=Ran((), 126, "", "sh: Exec format error")) as peer,
    ):
        found = rr.measure(_WORK, Ends(target, peer, "127.0.0.1"))
    assert (found.values, found.failure) == ({}, "tool")
    assert found.error in (why, why.replace("there: ", "there: sh: "))


def _compilers(monkeypatch: pytest.MonkeyPatch, *fail: str) -> list[list[str]]:
    """The command lines of compilers, each of which fails that has one of these words."""
    asked: list[list[str]] = []

    def run(argv: Sequence[str], **_more: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(list(argv))
        if set(fail) & set(argv):
            said = b"x.c: In function f:\nx.c:1:1: fatal error: no stdio.h\nends\n"
            return subprocess.CompletedProcess(argv, 1, b"", said)
        Path(argv[argv.index("-o") + 1]).write_bytes(b"program")
        return subprocess.CompletedProcess(argv, 0, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda program: program if program == "gcc" else None)
    monkeypatch.setattr(generator, "find_spec", lambda _module: object())
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return asked


def test_another_architecture_is_zig_s(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _compilers(monkeypatch)
    for machine in ("ppc64le", "x86_64"):
        assert generator.built(machine) == b"program"
    zig, own = asked
    assert zig[1:6] == ["-m", "ziglang", "cc", "-target", "powerpc64le-linux-musl"]
    assert own[0] == "gcc"
    assert all("-static" in argv for argv in asked)


def test_without_a_static_c_library_it_is_zig_s_or_else_bound_to_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = _compilers(monkeypatch, "-static")
    assert generator.built("x86_64") == b"program"
    assert [argv[0] == "gcc" for argv in asked] == [True, False, True]
    assert ["-static" in argv for argv in asked] == [True, True, False]


def test_what_a_compiler_said_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _compilers(monkeypatch, "-s")
    with pytest.raises(MeasureError, match=r"for s390x: .*: x\.c:1:1: fatal error: no stdio\.h$"):
        generator.built("s390x")
    with pytest.raises(MeasureError, match="for mips: pip install"):
        generator.built("mips")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pattern": "crr-1x1", "rate": 100.0}, "always made as fast as possible"),
        ({"options": {"generator": "c"}}, "rr has no option 'generator'"),
    ],
)
def test_what_it_cannot_do_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        rr.check(replace(_WORK, **changes))
