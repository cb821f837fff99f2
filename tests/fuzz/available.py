"""Whether atheris has a build for this Python: tells why not, and exits 1, where it has none.

    python -m tests.fuzz.available

``tox.ini`` installs atheris for the same Pythons.
"""

import sys

FIRST, AFTER_LAST = (3, 11), (3, 14)
"""The Pythons that atheris 3.0 has wheels for; building it otherwise needs a libFuzzer."""


def obstacle(version: tuple[int, int]) -> str:
    """Why the fuzz targets cannot run under this version of Python; empty where they can."""
    if FIRST <= version < AFTER_LAST:
        return ""
    return "atheris has no build for this Python"


def main() -> int:
    """The exit code."""
    found = obstacle(sys.version_info[:2])
    if found:
        print(f"not run, because {found}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
