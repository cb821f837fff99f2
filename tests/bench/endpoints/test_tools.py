"""Programs that are needed, and those that are not there."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.said import Saying
from vnicaudit.bench.contract import RequiredTool
from vnicaudit.bench.endpoints.opening import missing_tools, require_tools
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.errors import EndpointError
from vnicaudit.reaching.process import Prefixed

SH = RequiredTool("sh", {"apt": "dash"})
IPERF3 = RequiredTool("iperf3", {"apt": "iperf3", "dnf": "iperf3"})
PING = RequiredTool("ping", {"apt": "iputils-ping", "dnf": "iputils", "brew": "inetutils"})
OWN = RequiredTool("own-generator", {})


@pytest.fixture
def local() -> Iterator[EndpointSession]:
    with closing(open_endpoint("local")) as session:
        yield session


def has(*programs: str) -> Saying:
    """A place with these programs."""

    def answer(argv: Sequence[str]) -> tuple[int, str]:
        return 0, "".join(f"{name}\n" for name in argv[4:] if name not in programs)

    return Saying("agent://web01", answer)


def test_what_is_not_there_is_found(local: EndpointSession) -> None:
    nothing = RequiredTool("no-such-program-1", {})
    assert missing_tools(local, [SH, nothing, RequiredTool("cat", {}), nothing]) == (
        nothing,
        nothing,
    )
    assert missing_tools(local, [SH]) == ()
    assert missing_tools(local, []) == ()


def test_it_is_asked_once() -> None:
    endpoint = has("sh")
    assert missing_tools(endpoint, [SH, IPERF3, PING]) == (IPERF3, PING)
    assert len(endpoint.commands) == 1
    missing_tools(endpoint, [])
    assert len(endpoint.commands) == 1


def test_a_poor_path_is_made_up_for() -> None:
    """sshd and guest agents often have no ``sbin`` on it; what is found is also run."""
    place = Path("/usr/sbin") if Path("/usr/sbin").is_dir() else Path("/sbin")
    program = next(p.name for p in sorted(place.iterdir()) if os.access(p, os.X_OK))
    with closing(EndpointSession("local", Prefixed(("env", "PATH=/usr/bin:/bin")))) as session:
        assert missing_tools(session, [RequiredTool(program, {})]) == ()
        path = session.run(["sh", "-c", "echo $PATH"]).stdout.strip().split(":")
    assert {"/usr/local/sbin", "/usr/sbin", "/sbin"} <= set(path)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([SH, IPERF3],
         "agent://web01 has no iperf3: install the package iperf3"
         " (apt-get install iperf3, dnf install iperf3)"),
        ([PING],
         "agent://web01 has no ping: install its package"
         " (apt-get install iputils-ping, dnf install iputils, brew: inetutils)"),
        ([OWN], "agent://web01 has no own-generator: install it"),
        ([IPERF3, SH, OWN],
         "agent://web01 lacks 2 programs: iperf3: install the package iperf3"
         " (apt-get install iperf3, dnf install iperf3); own-generator: install it"),
    ],
)  # fmt: skip
def test_all_that_is_missing_is_named_with_its_package(
    tools: list[RequiredTool], message: str
) -> None:
    with pytest.raises(EndpointError) as error:
        require_tools(has("sh"), tools)
    assert str(error.value) == message


def test_of_a_pod_the_image_is_named() -> None:
    pod = Saying("kubectl://generator-1?namespace=bench&container=c", lambda _argv: (0, "iperf3\n"))
    with pytest.raises(EndpointError) as error:
        require_tools(pod, [IPERF3])
    assert str(error.value) == (
        "the image of pod generator-1 has no iperf3: it needs the package iperf3"
        " (apt-get install iperf3, dnf install iperf3)"
    )


def test_what_is_there_is_no_error() -> None:
    require_tools(has("sh", "iperf3"), [SH, IPERF3])


def test_a_place_that_cannot_say_is_an_error() -> None:
    with pytest.raises(
        EndpointError, match=r"^ssh://h: cannot check which programs are installed there$"
    ):
        missing_tools(Saying("ssh://h", lambda _argv: (127, "")), [SH])
