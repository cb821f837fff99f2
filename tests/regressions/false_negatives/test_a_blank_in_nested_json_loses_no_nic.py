"""A command line whose JSON arguments have a blank before a nested object (``json.dumps`` writes
one) was taken for one that had lost its quotes: its NICs were lost, and it was called clean."""

import json
import shlex

import pytest

from vnicaudit.errors import TargetError
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.read import read_text

DISK = {"driver": "qcow2", "node-name": "d", "file": {"driver": "file", "filename": "x"}}
NIC = {"driver": "rtl8139", "netdev": "n0", "mac": "52:54:00:00:00:01"}
NETDEV = {"type": "user", "id": "n0"}
WORDS = [
    "qemu-system-x86_64",
    "-nodefaults",
    *("-blockdev", json.dumps(DISK)),
    *("-device", json.dumps(NIC)),
    *("-netdev", json.dumps(NETDEV)),
]
"""``-device`` and ``-netdev`` stand behind the JSON with the blank."""


def _read(text: str) -> list[RunningQemu]:
    return list(read_text(text.encode(), target="t", file=None))


def _double(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if '"' in word else word


@pytest.mark.parametrize(
    "text",
    [
        shlex.join(WORDS),
        " ".join(map(_double, WORDS)),
        " \\\n  ".join(map(shlex.quote, WORDS)),
        " \\\n  ".join(map(_double, WORDS)),
        "$ sudo " + shlex.join(WORDS),
        "  501  " + shlex.join(WORDS),
        "  501  " + " \\\n  ".join(map(shlex.quote, WORDS)),
        " ".join(WORDS),
        "4711 " + " ".join(WORDS),
        "PID CMD\n4711 " + " ".join(WORDS),
    ],
    ids=[
        "single-quotes", "double-quotes", "continued", "continued-double", "prompt", "history",
        "history-continued", "quotes-lost", "pgrep", "ps",
    ],
)  # fmt: skip
def test_the_nic_is_read(text: str) -> None:
    (qemu,) = _read(text + "\n")
    assert [(nic.driver, nic.backend, nic.mac) for nic in qemu.nics] == [
        ("rtl8139", "user", "52:54:00:00:00:01")
    ]


@pytest.mark.parametrize(
    "text",
    [
        " \\\n  ".join(WORDS),
        " ".join([*WORDS[:4], *map(shlex.quote, WORDS[4:])]),
        " ".join([*map(shlex.quote, WORDS[:4]), *WORDS[4:]]),
    ],
    ids=["continued", "the-first-without", "the-first-with"],
)
def test_json_without_quotes_where_quotes_or_lines_were_kept_is_not_judged(text: str) -> None:
    with pytest.raises(TargetError, match="JSON outside quotes") as caught:
        _read("# start\n" + text + "\n")
    assert caught.value.line == 2
