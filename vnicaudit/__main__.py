"""Entry point of the ``vnicaudit`` script and of ``python -m vnicaudit``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; ``--version`` is answered before anything heavy is imported."""
    try:
        if sys.argv[1:] == ["--version"]:
            from vnicaudit.cli.version import print_version

            sys.exit(print_version())
        from vnicaudit.cli.main import run
    except KeyboardInterrupt:  # while the program is still being loaded
        sys.exit(130)
    sys.exit(run())


if __name__ == "__main__":
    main()
