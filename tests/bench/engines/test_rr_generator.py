"""Which program makes the requests: chosen once, named in the result, and what each can do."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.engines.here import Here
from tests.bench.engines.test_rr import measured as answered
from tests.bench.generator.roles import group_lives
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import rr
from vnicaudit.bench.histogram import decode
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.measurement import Ran, Workload

_WORK = Workload(
    id="w", engine="rr", pattern="rr1c-200x1000", direction="both", seconds=1.0, warmup=0.1,
    decides=("transaction_rate",),
)  # fmt: skip
_COMPILERS = ("cc", "gcc", "clang")


class End(Here):
    """This machine. ``compiler``: how a compiler ends; None: as it does."""

    def __init__(
        self, url: str = "local", compiler: Ran | None = None, programs: Path | None = None
    ) -> None:
        super().__init__(url, programs)
        self._compiler = compiler
        self.compiled = 0

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        if argv[0] in _COMPILERS:
            self.compiled += 1
            if self._compiler is not None:
                return replace(self._compiler, command=tuple(argv))
        return super().run(argv, seconds=seconds, stdin=stdin)


_NONE = Ran((), 127, "", "cc: not found")
_NO_HEADERS = Ran(
    (), 1, "",
    'program.c:12:10: fatal error: arpa/inet.h: No such file or directory\n'
    "   12 | #include <arpa/inet.h>\ncompilation terminated.\n",
)  # fmt: skip


@pytest.fixture
def compiler() -> None:
    if shutil.which("cc") is None:
        not_run("tests/bench/engines", "there is no C compiler")


@pytest.fixture
def ends() -> Iterator[Ends]:
    with End("target") as target, End("peer") as peer:
        yield Ends(target, peer, "127.0.0.1", seed=5)


def _generator(workload: Workload) -> str:
    return workload.options.get("generator", "")


@pytest.mark.usefixtures("compiler")
def test_one_connection_is_c_s_where_both_ends_compile_it(ends: Ends) -> None:
    found = rr.settled(_WORK, [ends, ends])
    assert (_generator(found.workload), found.note) == ("c", "")
    assert replace(found.workload, options={}) == _WORK
    assert rr.settled(found.workload, [ends]) == found
    for end in (ends.target, ends.peer):
        assert isinstance(end, End)
        assert end.compiled == 1


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("pattern", ["rr1c-1x1", "rr1c-200x30k", "rr1c-70000x70000"])
def test_c_measures_and_its_name_is_in_the_result(ends: Ends, pattern: str) -> None:
    work = replace(_WORK, pattern=pattern, seconds=0.5, options={"generator": "c"})
    found = answered(work, ends)
    assert found.error == ""
    assert found.details["generator"] == "c"
    assert found.values.keys() == set(rr.PATTERNS[pattern])
    assert found.transactions is not None
    assert found.values["transaction_rate"] == found.transactions / 0.5
    assert found.histogram is not None
    assert decode(found.histogram).total == found.transactions
    busy = found.values["transaction_rate"] * found.values["latency_mean"] / 1e6
    unanswered = found.details["waiting_longest_us"]
    assert isinstance(unanswered, float)
    cut = max(found.values["latency_max"], unanswered)  # at the window's begin, and at its end
    assert busy == pytest.approx(1, abs=0.1 + cut / 0.5e6)
    for end in (ends.target, ends.peer):
        assert isinstance(end, End)
        assert not any(group_lives(started.process) for started in end.started)


@pytest.mark.usefixtures("compiler")
def test_c_is_compiled_once_in_a_session_and_gone_after_it() -> None:
    target, peer = End("target"), End("peer")
    with target, peer:
        ends = Ends(target, peer, "127.0.0.1")
        work = replace(_WORK, seconds=0.2, options={"generator": "c"})
        for _ in range(2):
            assert answered(work, ends).error == ""
        assert (target.compiled, peer.compiled) == (1, 1)
        program = Path(next(argv[0] for argv in target.commands if "server" in argv))
        assert program.exists()
    assert not program.exists()


@pytest.mark.usefixtures("compiler")
def test_many_connections_can_be_c_s_if_asked_for(ends: Ends) -> None:
    work = replace(_WORK, connections=20, seconds=0.3, options={"generator": "c"})
    assert rr.settled(work, [ends]).workload == work
    found = answered(work, ends)
    assert (found.error, found.details["client_workers"]) == ("", 20)


@pytest.mark.parametrize(
    "changes",
    [
        {"connections": 50},
        {"rate": 100.0},
        {"pattern": "str-readx30k", "direction": "tx", "decides": ("goodput",)},
        {"options": {"generator": "python"}},
    ],
    ids=["connections", "rate", "stream", "asked for"],
)
def test_all_else_is_python_s(changes: dict[str, object], ends: Ends) -> None:
    work = replace(_WORK, **changes)
    found = rr.settled(work, [ends])
    assert (found.workload, found.note) == (work, "")
    for end in (ends.target, ends.peer):
        assert isinstance(end, End)
        assert end.compiled == 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (_NONE, "peer has no C compiler"),
        (_NO_HEADERS, "peer: cc cannot compile the generator: program.c:12:10: fatal error: arpa"),
        (Ran((), None, "", ""), "peer: cc cannot compile the generator: exit None"),
        (Ran((), 0, "", ""), "peer: the generator that cc built does not run there: "),
    ],
    ids=["none", "no headers", "too slow", "does not run"],
)
def test_without_it_at_one_end_both_are_python_s_and_why_is_said(said: Ran, why: str) -> None:
    with End("target") as target, End("peer", said) as peer:
        found = rr.settled(replace(_WORK, decides=("latency_p50",)), [Ends(target, peer, "::1")])
    assert _generator(found.workload) == ""
    assert "in Python for requests, whose own time is part of every latency" in found.note
    assert why in found.note


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"options": {"generator": "C"}}, "generator: 'C' is unknown; use c, python"),
        (
            {"options": {"generator": "c"}, "rate": 10.0},
            "generator: c sends requests only, as fast as it can; for streams and rates use python",
        ),
        (
            {"options": {"generator": "c"}, "pattern": "str-readx1", "direction": "tx"},
            "generator: c sends requests only, as fast as it can; for streams and rates use python",
        ),
        (
            {"options": {"generator": "c", "workers": "2"}},
            "generator: c has one thread for each connection, and no workers or generators",
        ),
    ],
)
def test_what_a_generator_cannot_do_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        rr.check(replace(_WORK, **changes))
    assert str(error.value) == f"w: {problem}"


def test_a_generator_that_was_chosen_and_is_not_there_is_no_other_one() -> None:
    """The arm before was measured by it: this one is not measured by another."""
    with End("target", _NONE) as target, End("peer") as peer:
        found = rr.measure(
            replace(_WORK, options={"generator": "c"}), Ends(target, peer, "127.0.0.1")
        )
    assert found.values == {}
    assert (found.error, found.failure) == ("target has no C compiler", "tool")
    needs = rr.needs(replace(_WORK, options={"generator": "c"}))
    assert [each.program for each in (*needs.target, *needs.peer)] == ["cc", "cc"]


_CALLS = replace(_WORK, pattern="crr-1x1", decides=("connection_rate",))


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("connections", [1, 8])
def test_new_connections_are_c_s_however_many_threads_make_them(
    ends: Ends, connections: int
) -> None:
    work = replace(_CALLS, connections=connections, seconds=0.5)
    found = rr.settled(work, [ends])
    assert (_generator(found.workload), found.note) == ("c", "")
    measured = answered(found.workload, ends)
    assert measured.error == ""
    assert measured.values["connection_rate"] > 0
    assert set(measured.values) == set(rr.PATTERNS["crr-1x1"])
    assert measured.transactions == round(measured.values["connection_rate"] * 0.5)


def test_new_connections_are_never_python_s() -> None:
    """Without a compiler, it is said before anything is measured."""
    work = replace(_CALLS, decides=("latency_p99",))
    with End("target", _NONE) as target, End("peer", _NONE) as peer:
        bare = Ends(target, peer, "127.0.0.1", seed=5)
        with pytest.raises(EndpointError, match="new connections need a generator compiled"):
            rr.settled(work, [bare])
    with pytest.raises(UsageError, match="python cannot measure new connections"):
        rr.check(replace(_CALLS, options={"generator": "python"}))
    with pytest.raises(UsageError, match="always made as fast as possible"):
        rr.check(replace(_CALLS, rate=100.0))
