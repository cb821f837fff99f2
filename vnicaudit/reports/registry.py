"""Find the output formats: a file in ``vnicaudit/reports/formats/`` is one."""

from __future__ import annotations

import importlib
import os
from typing import cast

import vnicaudit.reports.formats
from vnicaudit.errors import UsageError
from vnicaudit.reports.writer import Format, Options, Writer


def formats() -> tuple[str, ...]:
    """The names of all formats, ordered. Reads the folder, imports none of them."""
    folder = vnicaudit.reports.formats.__path__
    names = [name for place in folder for name in os.listdir(place)]
    return tuple(sorted(n[:-3] for n in names if n.endswith(".py") and not n.startswith("_")))


def load(name: str) -> Format:
    """One format's module. Raises UsageError, with the names there are, for any other."""
    if name not in formats():
        raise UsageError(f"no format {name!r}; there are {', '.join(formats())}")
    return cast(Format, importlib.import_module(f"vnicaudit.reports.formats.{name}"))


def writer(name: str, options: Options) -> Writer:
    """A fresh writer of that format. Raises UsageError for a format that does not exist."""
    return load(name).writer(options)
