"""A TCP proxy that delays everything, to simulate a network's round-trip time on one machine.

    python -m benchmarks.delay_proxy HOST:PORT [--listen PORT] [--delay-ms 10]

Each direction is delayed, so 10 ms give a round-trip time of 20 ms. Listens on 127.0.0.1 and prints
``listening on PORT`` when ready (port 0: any free port). Ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CHUNK = 65536


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Copy one direction; each piece is written ``delay`` seconds after it was read."""
    due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    late = asyncio.create_task(_deliver(due, writer))
    loop = asyncio.get_running_loop()
    try:
        while data := await reader.read(_CHUNK):
            due.put_nowait((loop.time() + delay, data))
    except ConnectionError:
        pass
    due.put_nowait((loop.time() + delay, b""))
    await late


async def _deliver(due: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    data = b"first"
    while data:
        when, data = await due.get()
        await asyncio.sleep(max(0.0, when - loop.time()))
        writer.write(data)
    writer.close()


async def _serve(host: str, port: int, listen: int, delay: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, port)
        await asyncio.gather(_pump(reader, back, delay), _pump(there, writer, delay))

    server = await asyncio.start_server(connected, "127.0.0.1", listen)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def running(target: str, *, delay_ms: float = 10) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A proxy to ``target`` (``HOST:PORT``) in a process of its own: yields its port and the
    process."""
    command = [sys.executable, "-m", "benchmarks.delay_proxy", target, "--delay-ms", str(delay_ms)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as proxy:
        assert proxy.stdout is not None
        try:
            yield int(proxy.stdout.readline().rsplit(None, 1)[1]), proxy
        finally:
            proxy.kill()


def main() -> None:
    """Run until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="HOST:PORT to connect to")
    parser.add_argument("--listen", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=10)
    given = parser.parse_args()
    host, _colon, port = given.target.rpartition(":")
    asyncio.run(_serve(host, int(port), given.listen, given.delay_ms / 1000))


if __name__ == "__main__":
    main()
