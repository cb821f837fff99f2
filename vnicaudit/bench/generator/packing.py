"""The generator's Python program as one file that Python runs: a zip archive (PEP 441)."""

from __future__ import annotations

import io
import zipfile
from importlib.resources import files

NAME = "vnicaudit-rr.pyz"

_MAIN = b"import sys\nfrom program.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


def packed_generator() -> bytes:
    """The archive, always with the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), _MAIN)
        for name, text in sources().items():
            archive.writestr(zipfile.ZipInfo(f"program/{name}"), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def sources() -> dict[str, bytes]:
    """The program's modules: name of the file -> its text."""
    folder = files(__package__).joinpath("program")
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name[-3:] == ".py"}
    return dict(sorted(found.items()))
