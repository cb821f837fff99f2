"""Entry point of the ``vnicaudit`` script and of ``python -m vnicaudit``."""

from __future__ import annotations

import gc
import os
import signal
import sys

from vnicaudit import __version__

GARBAGE = 100_000
"""Objects made between two looks for cycles; records have none, and Python's 700 costs a tenth of
the start."""


def main() -> None:
    """Run the command line; ``--version`` is answered before anything heavy is imported."""
    gc.set_threshold(GARBAGE)
    try:
        if sys.argv[1:] in (["--version"], ["-V"]):
            raise SystemExit(_print_version())
        _load_msgspec()
        from vnicaudit.cli.main import run

        code: object = run()
    except KeyboardInterrupt:  # while the program is still being loaded
        sys.exit(130)
    except SystemExit as ended:  # by a signal; a thread that waits for a host must not delay it
        code = ended.code
    _leave(code if isinstance(code, int) else 0)


def _print_version() -> int:
    try:
        print(f"vnicaudit {__version__}", flush=True)  # noqa: T201 - as the command line does
    except OSError as error:
        sys.stderr.write(f"Error: standard output could not be written: {error.strerror}\n")
        sys.stdout = None  # nothing to flush at shutdown
        return 3
    return 0


def _load_msgspec() -> None:
    """Load msgspec while Ctrl-C waits: msgspec 0.22 may ignore an exception in the middle of that,
    and crash when it examines its first type."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        import msgspec  # noqa: F401
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave(code: int) -> None:
    """End at once. Everything is written and closed by now; to free every object one by one, as
    Python does when it ends, takes longer than to lint a file (mypy ends in the same way)."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            sys.exit(code)  # what cannot be written has been said, or dropped, before
    os._exit(code)


if __name__ == "__main__":
    main()
