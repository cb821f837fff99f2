"""What is asked of an end before iperf3 runs there."""

from collections.abc import Sequence

import pytest

from tests.bench.engines.here import Here
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines._iperf3_command import Iperf3Install, Iperf3Version
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Ran

SETTING = "/proc/sys/net/core/rmem_max"


class Answers(Here):
    """Answers commands from a table: its first word, or what it reads."""

    def __init__(self, **answers: str) -> None:
        super().__init__("there")
        self.answers = answers

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        assert (seconds, stdin) == (30, b"")
        self.commands.append(tuple(argv))
        said = self.answers.get("buffers" if SETTING in argv else argv[0], "")
        return Ran(tuple(argv), 0 if said else 127, said, "", 0.0, self.url)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("iperf 3.9 (cJSON 1.7.13)\nLinux", (3, 9)),
        ("iperf 3.12 (cJSON 1.7.15)", (3, 12)),
        ("iperf 3.19.1 (cJSON 1.7.15)", (3, 19)),
        ("iperf 3.20+ (cJSON 1.7.15)", (3, 20)),
        ("iperf version 2.1.8 (12 August 2022) pthreads", None),
        ("", None),
        ("iperf 3", None),
        ("sh: iperf3: not found", None),
    ],
)
def test_version(text: str, version: tuple[int, int] | None) -> None:
    assert command.version_of(text) == version


def test_is_asked_once() -> None:
    there = Answers(iperf3="iperf 3.12 (cJSON 1.7.15)", buffers="425984\n212992\n")
    assert command.place(there) == Iperf3Install(Iperf3Version(3, 12), 425984)
    commands = list(there.commands)
    assert command.place(there) == Iperf3Install(Iperf3Version(3, 12), 425984)
    assert there.commands == commands


@pytest.mark.parametrize("answer", ["", "212992\n", "a b", "1 99999999999"])
def test_a_buffer_that_cannot_be_read_is_the_kernels_own(answer: str) -> None:
    assert command.place(Answers(iperf3="iperf 3.12", buffers=answer)).buffer == 2 * 212992


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "there: iperf3 cannot be run there; is the package iperf3 installed?"),
        (
            "iperf version 2.1.8",
            "there: iperf3 cannot be run there; is the package iperf3 installed?",
        ),
        ("iperf 3.6", "there: iperf3 3.6 is too old: 3.7 is needed"),
    ],
)
def test_refuses(answer: str, words: str) -> None:
    with pytest.raises(EndpointError) as error:
        command.place(Answers(iperf3=answer))
    assert str(error.value) == words
