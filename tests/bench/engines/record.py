"""Records what an iperf3 prints, over this machine's loopback, into ``data/iperf3/VERSION/``:

    python -m tests.bench.engines.record FOLDER_WITH_IPERF3...

Each case is a run of a client and a server; what both printed is kept as it is.
"""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.engines.here import Here, HereStarted
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines._listening import listens
from vnicaudit.model.measurement import Ran

DATA = Path(__file__).parent / "data" / "iperf3"

_PORT = "5999"
_UDP = ("-u", "-w", "1M")
_FLOOD = ("-u", "-b", "4G", "-l", "200", "-w", "16K")
"""More than the receiver's small buffer bears."""

RUNS: dict[str, tuple[str, ...]] = {
    "tcp": ("-t", "3"),
    "tcp-reverse": ("-t", "2", "-R"),
    "tcp-bidir": ("-t", "2", "--bidir"),
    "tcp-streams": ("-t", "2", "-P", "4"),
    "tcp-omit": ("-t", "2", "-O", "1"),
    "udp": ("-t", "3", *_UDP, "-b", "50M", "-l", "1000"),
    "udp-reverse": ("-t", "2", *_UDP, "-b", "50M", "-l", "1000", "-R"),
    "udp-bidir": ("-t", "2", *_UDP, "-b", "50M", "-l", "1000", "--bidir", "-P", "2"),
    "udp-64": ("-t", "2", *_UDP, "-b", "10M", "-l", "18"),
    "udp-loss": ("-t", "3", *_FLOOD),
    "udp-loss-reverse": ("-t", "2", *_FLOOD, "-R"),
    "udp-loss-omit": ("-t", "2", *_FLOOD, "-O", "1"),
    "buffer-refused": ("-t", "1", "-u", "-b", "1M", "-w", "512M"),
}
"""Case -> what the client is told beside the address."""


def record(here: Here, folder: Path) -> None:
    """All cases of one iperf3."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in RUNS.items():
        server = _server(here)
        client = here.run(_client(*options), seconds=30)
        _keep(folder, name, client, server.wait(5))
    _keep(folder, "refused", here.run(_client("-t", "1")))
    _keep(folder, "busy", _busy(here))
    _keep(folder, "interrupted", *_broken(here, signal.SIGINT, client=True))
    _keep(folder, "killed", *_broken(here, signal.SIGKILL, client=False))
    server = _server(here)
    _keep(folder, "taken", None, here.run(("iperf3", "-s", "-p", _PORT, "--one-off", "-J")))
    server.stop()


def _client(*options: str) -> Sequence[str]:
    return ("iperf3", "-c", "127.0.0.1", "-p", _PORT, "-J", "-i", "1", *options)


def _server(here: Here) -> HereStarted:
    """One that listens."""
    server = here.start(("iperf3", "-s", "-p", _PORT, "--one-off", "-J", "-i", "1"), seconds=30)
    while not listens(here, int(_PORT), tries=1):
        assert server.running(), server.stop()
        time.sleep(0.05)
    return server


def _busy(here: Here) -> Ran:
    """What a second client is told."""
    server, first = _server(here), here.start(_client("-t", "3"), seconds=30)
    time.sleep(1)
    second = here.run(_client("-t", "1"))
    first.wait(10)
    server.stop()
    return second


def _broken(here: Here, number: signal.Signals, *, client: bool) -> tuple[Ran, Ran]:
    """Both ends of a run that was ended in its second interval."""
    server, ended = _server(here), here.start(_client("-t", "4"), seconds=30)
    time.sleep(1.6)
    (ended if client else server).kill(number)
    return ended.wait(10), server.wait(2)


def _keep(folder: Path, name: str, client: Ran | None, server: Ran | None = None) -> None:
    for end, ran in (("client", client), ("server", server)):
        for kind, text in (("json", ran.stdout), ("err", ran.stderr)) if ran else ():
            if text:
                (folder / f"{name}.{end}.{kind}").write_text(text)


if __name__ == "__main__":
    for programs in sys.argv[1:]:
        with Here(programs=Path(programs)) as machine:
            version = command.version_of(machine.run(("iperf3", "--version")).stdout)
            record(machine, DATA / str(version))
