"""A dnsperf that measures nothing: it says what a server of known speed would make it say.

It is run as a program, so that what runs around dnsperf is the real thing.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

PROGRAM = """\
#!{python}
import json, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.bench.engines.dnsperf_fake import Server, say
say(Server(*json.loads({server!r})), sys.argv[1:])
"""

BLOCK = """\
[Status] Testing complete (time limit)

Statistics:

  Queries sent:         {sent}
  Queries completed:    {completed} (99.99%)
  Queries lost:         {lost} (0.01%)

  Response codes:       {codes}
  Average packet size:  request 32, response 81
  Run time (s):         {seconds:.6f}
  Queries per second:   {rate:.6f}

  Average Latency (s):  {latency:.6f} (min 0.000100, max {latency:.6f})
  Latency StdDev (s):   0.000140

"""


class Server(NamedTuple):
    """``most``: queries per second that it answers. ``generator``: that dnsperf can send.
    ``buffer``: queries that wait for it, at most; what comes on top is lost."""

    most: float
    generator: float = 1e6
    buffer: int = 200
    code: str = "NOERROR"
    hangs: str = ""
    """Argument with which it fails (``-Q``)."""


def install(folder: Path, server: Server) -> Path:
    """Make the program; the folder goes in front of PATH."""
    root = str(Path(__file__).parents[3])
    program = folder / "dnsperf"
    program.write_text(
        PROGRAM.format(python=sys.executable, root=root, server=json.dumps(list(server)))
    )
    program.chmod(0o755)
    return folder


def say(server: Server, argv: list[str]) -> None:
    """Print what dnsperf prints."""
    if argv == ["-H"]:
        print("Available long options:\n  suppress: suppress messages/warnings")
        return
    if server.hangs and server.hangs in argv:
        print("Error: unable to open file: nofile", file=sys.stderr)
        raise SystemExit(1)
    options = dict(zip(argv[::2], argv[1::2], strict=True))
    seconds, places = float(options["-l"]), int(options["-q"])
    wanted = float(options.get("-Q", "1e9"))
    offered = min(wanted, server.generator)
    answered = min(offered, server.most)
    late = offered > server.most
    lost = max(places - server.buffer, 0) if late else 0
    latency = min(places, server.buffer) / answered if late and answered else 0.0001
    completed = round(answered * seconds)
    print(
        BLOCK.format(
            sent=completed + lost,
            completed=completed,
            lost=lost,
            codes=f"{server.code} {completed} (100.00%)" if completed else "",
            seconds=seconds,
            rate=completed / seconds,
            latency=latency,
        ),
        end="",
    )
