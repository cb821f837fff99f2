"""The comparison with a real QEMU: some lines of it here, and its own parts without one."""

import json
import random
import re
import shlex

import pytest

from tests.conformance import argv
from tests.conformance.argv import Programs, Real, Shape, differences, read
from tests.conformance.argv_lines import MACHINES, Line, random_line
from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.process import require
from vnicaudit.model.host import Version

LINES = 40
"""Of the 240 that the script compares: a quarter of a minute."""
QEMU = Version(7, 2, 22)
NIC = Shape("virtio", "52:54:00:00:00:01", 1, 256, 256)


@pytest.mark.rig
@pytest.mark.parametrize("seed", [12, 2026])
def test_what_is_read_is_what_a_real_qemu_makes_of_it(
    seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        for program in MACHINES:
            require(program)
    except Missing as error:
        not_run("rig", str(error))
    code = argv.run(seed, LINES)
    assert code == 0, capsys.readouterr().out


def test_a_seed_gives_the_same_lines_again() -> None:
    first, again = (random.Random(7), random.Random(7))
    for _ in range(20):
        assert random_line(first, tap=True) == random_line(again, tap=True)


def test_the_text_is_the_words() -> None:
    """Whatever the quoting, the NICs that are read of the text are those of the words."""
    source = random.Random(3)
    for _ in range(200):
        line = random_line(source, tap=False)
        plain = line._replace(text=f"{line.words[0]} {' '.join(map(_quoted, line.words[1:]))}\n")
        found, expected = read(line, QEMU), read(plain, QEMU)
        assert _without_places(found.refused) == _without_places(expected.refused)
        assert found._replace(refused=()) == expected._replace(refused=())


def _without_places(reasons: tuple[str, ...]) -> list[str]:
    return [re.sub(r"line:\d+", "line", reason) for reason in reasons]


def _quoted(word: str) -> str:
    return shlex.quote(word) if "'" in word else "'" + word + "'"


def test_both_syntaxes_and_wrong_lines_are_drawn() -> None:
    source = random.Random(1)
    lines = [random_line(source, tap=True) for _ in range(400)]
    words = [word for line in lines for word in line.words]
    for part in (
        "{'driver'",
        "id=0n",
        "bus=foo",
        "=0x200",
        "vhost=1",
        '{"driver"',
        '{"type": ',
        "tap,id=",
        "-nic",
        "-net",
        "-global",
        "-nodefaults",
    ):
        assert any(part in word for word in words), part
    refused = [line for line in lines if read(line, QEMU).refused]
    assert 80 < len(refused) < 320


@pytest.mark.parametrize(
    ("ours", "real", "found"),
    [
        ([NIC], [NIC], []),
        ([NIC._replace(mac=None)], [NIC], []),
        ([NIC, NIC._replace(mac=None)], [NIC._replace(mac="52:54:00:00:00:02"), NIC], []),
        ([], [NIC], [f"QEMU has {NIC}"]),
        ([NIC], [], [f"we say {NIC}"]),
        (
            [NIC],
            [NIC._replace(queues=2)],
            [f"we say {NIC}", f"QEMU has {NIC._replace(queues=2)}"],
        ),
    ],
)
def test_each_difference_is_told(ours: list[Shape], real: list[Shape], found: list[str]) -> None:
    assert differences(ours, real) == found


class _Pretended(Programs):
    """Answers of a QEMU that takes every line and makes no NIC, or takes none but bare ones."""

    def __init__(self, *, takes: bool) -> None:
        super().__init__(None)
        self._takes = takes

    def version(self, name: str) -> Version:
        return self._versions.setdefault(name, QEMU)

    def start(self, words: list[str]) -> Real:
        about_nics = any(word in ("-device", "-nic", "-net", "-global") for word in words)
        return Real([]) if self._takes or not about_nics else Real(None, "no")


@pytest.mark.parametrize(("takes", "words"), [(True, "differs"), (False, "not predicted")])
def test_a_qemu_that_does_otherwise_is_found(takes: bool, words: str) -> None:
    source = random.Random(5)
    found = {argv.compare(source, _Pretended(takes=takes), tap=False)[0] for _ in range(40)}
    assert words in found


def test_the_nics_of_a_tree() -> None:
    tree = """bus: main-system-bus
  type System
  dev: i440FX-pcihost, id ""
    bus: pci.0
      type PCI
      dev: virtio-net-pci, id "net0"
        disable-legacy = "off"
        bus: virtio-bus
          type virtio-pci-bus
          dev: virtio-net-device, id ""
            mac = "52:54:00:00:00:01"
            mq = true
            rx_queue_size = 512 (0x200)
            tx_queue_size = 256 (0x100)
      dev: e1000, id ""
        mac = "52:54:00:00:00:02"
"""
    network = """virtio-net-pci.0: index=0,type=nic,model=virtio-net-pci,macaddr=52:54:00:00:00:01
 \\ n: index=0,type=tap,ifname=tap0
virtio-net-pci.1: index=1,type=nic,
 \\ n: index=1,type=tap,ifname=tap0
e1000.0: index=0,type=nic,model=e1000,macaddr=52:54:00:00:00:02
"""
    assert list(argv.nics(tree, network)) == [
        Shape("virtio", "52:54:00:00:00:01", 2, 512, 256),
        Shape("e1000", "52:54:00:00:00:02", 1, None, None),
    ]


def test_a_line_that_is_not_understood_is_no_agreement() -> None:
    line = Line(["qemu-system-x86_64"], "qemu-system-x86_64 -device '" + json.dumps({}) + "\n", [])
    (reason,) = read(line, QEMU).refused
    assert reason.startswith("not understood: ")
