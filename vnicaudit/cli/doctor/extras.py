"""The optional packages: their purpose, and which are installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from vnicaudit.cli.doctor.check import DoctorCheck
from vnicaudit.errors import install_command


class Extra(NamedTuple):
    """An optional package. ``modules``: the modules imported by the code that needs it."""

    modules: tuple[str, ...]
    purpose: str


EXTRAS = {
    "libvirt": Extra(("libvirt",), "live hypervisors (qemu:///system)"),
    "openstack": Extra(("openstack",), "clouds (openstack:CLOUD)"),
    "hosts": Extra(("testinfra",), "ssh:// and other endpoints of bench"),
    "generator": Extra(("ziglang",), "requests between ends of any architecture, for bench"),
    "charts": Extra(("matplotlib",), "charts of measurements"),
    "history": Extra(("sqlalchemy", "alembic"), "the history of a fleet"),
    "postgresql": Extra(("sqlalchemy", "alembic", "psycopg"), "a history in PostgreSQL"),
    "dask": Extra(("distributed",), "fleet audit --engine dask"),
    "serve": Extra(("sqlalchemy", "alembic", "prometheus_client"), "fleet serve --metrics"),
}
"""The extras of setup.cfg."""


def is_installed(extra: str) -> bool:
    """True if all modules of an extra are installed. Imports none."""
    return all(find_spec(module) is not None for module in EXTRAS[extra].modules)


def check_extras() -> list[DoctorCheck]:
    """One check for each extra. A missing extra alone is not a problem."""
    return [
        DoctorCheck(f"extra {name}", "ok", f"installed: {extra.purpose}")
        if is_installed(name)
        else DoctorCheck(
            f"extra {name}", "absent", f"not installed: {extra.purpose}", "", install_command(name)
        )
        for name, extra in EXTRAS.items()
    ]
