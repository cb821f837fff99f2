"""``vnicaudit doctor``: what can be audited from this machine, and what would not be judged.

None of the checks of this machine connects to anything: a connection may start libvirt. A cluster
that is named is asked for this user's rights.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Literal, NamedTuple

import click
import msgspec

from vnicaudit import __version__
from vnicaudit.base.wording import count
from vnicaudit.cli.options.candidates import CloudsFile, clouds_file
from vnicaudit.cli.options.environment import environment
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, state_folder, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.wiring.adapters import (
    AuditMachine,
    cluster_rights,
    this_machine,
    unusable_clouds,
)
from vnicaudit.errors import TargetError, install_command
from vnicaudit.reports.safe import safe

# Result of one check of the doctor.


Result = Literal["ok", "absent", "problem"]
"""``absent``: not available, and an audit of this machine does not need it. ``problem``: an audit
could not judge something that is present."""


class DoctorCheck(msgspec.Struct, frozen=True):
    """``not_judged``: what an audit leaves out because of it. ``remedy``: what to do about it. Both
    may be empty."""

    name: str
    result: Result
    message: str
    not_judged: str = ""
    remedy: str = ""


# The optional packages: their purpose, and which are installed.


class Extra(NamedTuple):
    """An optional package. ``modules``: the modules imported by the code that needs it."""

    modules: tuple[str, ...]
    purpose: str


EXTRAS = {
    "libvirt": Extra(("libvirt",), "live hypervisors (qemu:///system)"),
    "openstack": Extra(("openstack",), "clouds (openstack:CLOUD)"),
    "kube": Extra(("kubernetes",), "clusters (kube:CONTEXT)"),
    "hosts": Extra(("testinfra",), "ssh://, containers and pods: hosts, ends of bench"),
    "generator": Extra(("ziglang",), "requests between ends of any architecture, for bench"),
    "history": Extra(("sqlalchemy",), "the history of a fleet, and fleet serve --metrics"),
    "postgresql": Extra(("sqlalchemy", "psycopg"), "a history in PostgreSQL"),
    "dask": Extra(("distributed",), "audit -i, with VNICAUDIT_SCHEDULER"),
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


_SOCKETS = ("virtqemud-sock-ro", "libvirt-sock-ro")
_SERVERS = "the servers of these clouds"
_LIVE_NICS = "the NICs of this hypervisor's domains (files in /etc/libvirt/qemu are)"


def check_libvirt(folder: Path = Path("/run/libvirt")) -> DoctorCheck:
    """The read-only socket of qemu:///system, of virtqemud or libvirtd."""
    sockets = [folder / name for name in _SOCKETS if os.path.lexists(folder / name)]
    if not sockets:
        return DoctorCheck(
            "libvirt", "absent", f"no socket in {folder}: libvirt is not running here"
        )
    if not is_installed("libvirt"):
        missing = f"{sockets[0]}: libvirt-python is missing"
        return DoctorCheck("libvirt", "problem", missing, _LIVE_NICS, install_command("libvirt"))
    open_ones = [one for one in sockets if os.access(one, os.W_OK)]
    if open_ones:
        return DoctorCheck("libvirt", "ok", f"qemu:///system through {open_ones[0]}")
    denied = f"{sockets[0]}: permission denied"
    remedy = "run as root, or join the group of the socket (often libvirt)"
    return DoctorCheck("libvirt", "problem", denied, _LIVE_NICS, remedy)


def check_qemu(machine: AuditMachine) -> DoctorCheck:
    """QEMU's processes; their open descriptors show whether vhost is used."""
    unknown = "vhost, queues and rings of running guests (their definitions are judged)"
    if machine.hidden:
        hidden = "processes of other users are hidden (hidepid)"
        return DoctorCheck("/proc", "problem", hidden, unknown, "run as root")
    if not machine.qemus:
        return DoctorCheck("/proc", "absent", "no QEMU is running here, or this user cannot see it")
    seen = count(machine.qemus, "running QEMU")
    if not machine.closed:
        return DoctorCheck("/proc", "ok", f"{seen}, descriptors can be read")
    closed = f"{seen}; descriptors of {machine.closed} cannot be read"
    return DoctorCheck("/proc", "problem", closed, unknown, "run as root")


def check_vhost_net(machine: AuditMachine) -> DoctorCheck:
    """The kernel's vhost-net. If it is missing, that is not a problem here; an audit reports it."""
    if machine.vhost_net is None:
        message = "unknown: the device or the kernel's modules are not visible"
        if not machine.qemus:
            return DoctorCheck("/dev/vhost-net", "absent", message)
        remedy = "run on the host itself, not in a container"
        return DoctorCheck(
            "/dev/vhost-net", "problem", message, "whether vhost-net is available", remedy
        )
    if machine.vhost_net:
        return DoctorCheck("/dev/vhost-net", "ok", "the kernel has vhost-net")
    return DoctorCheck(
        "/dev/vhost-net", "absent", "this kernel has no vhost-net: QEMU copies every packet itself"
    )


def check_clouds() -> DoctorCheck:
    """The clouds of clouds.yaml, and why an audit could not use them."""
    file = clouds_file()
    names = [] if file is None else [*file.names]
    if os.environ.get("OS_AUTH_URL"):
        names.append("envvars")
    if reason := _unusable(file, names):
        return DoctorCheck("openstack", "problem", reason, _SERVERS, "correct the file")
    if not names:
        none = "no clouds.yaml" if file is None else f"no cloud in {file.path}"
        return DoctorCheck("openstack", "absent", f"{none}, and no OS_* variables are set")
    return _check_openstack(names)


def _unusable(file: CloudsFile | None, names: Sequence[str]) -> str:
    """Why an audit could not use the file or some of its clouds; empty: it can."""
    reasons = list(unusable_clouds(names)) if is_installed("openstack") else []
    if file is not None and file.reason and not reasons:
        reasons.append(file.reason)
    return "; ".join(reasons[:5])


def _check_openstack(names: Sequence[str]) -> DoctorCheck:
    listed = ", ".join(f"openstack:{name}" for name in names[:5])
    listed += f" and {len(names) - 5} more" if len(names) > 5 else ""
    if is_installed("openstack"):
        return DoctorCheck("openstack", "ok", listed)
    missing = f"{listed}: openstacksdk is missing"
    return DoctorCheck("openstack", "problem", missing, _SERVERS, install_command("openstack"))


def check_state(folder: str) -> DoctorCheck:
    """The state directory, or its nearest existing parent: `apply` and `bench` write there."""
    place = Path(folder)
    there = next((one for one in (place, *place.parents) if os.path.exists(one)), Path("/"))
    if os.access(there, os.W_OK | os.X_OK):
        return DoctorCheck("state", "ok", f"{folder} is writable")
    message = f"{folder} is not writable: apply, rollback and bench need it"
    return DoctorCheck(
        "state", "absent", message, "", "choose another folder with --state, or run as root"
    )


def check_cluster(target: str) -> Iterator[DoctorCheck]:
    """The lists that an audit of a cluster needs, and which of them this user may not read."""
    try:
        version, rights = cluster_rights(target, environment().deadline)
    except TargetError as error:
        yield DoctorCheck(target, "problem", error.message, "this cluster")
        return
    may = ", ".join(name for name, allowed, _check in rights if allowed)
    yield DoctorCheck(target, "ok", f"Kubernetes {version}, may list: {may or 'nothing'}")
    for name, allowed, check in rights:
        if not allowed:
            why = "no right" if allowed is False else "the server does not tell the right"
            yield DoctorCheck(
                target,
                "problem",
                f"{why} to list {name}",
                "rules that need it",
                f"grant docs/how-to/clusters/clusterrole.yaml; check it: {check}",
            )


def is_complete(checks: Iterable[DoctorCheck]) -> bool:
    """True if an audit from this machine would judge everything on it."""
    return all(one.result != "problem" for one in checks)


# The command.


SCHEMA: Literal["vnicaudit.doctor/1"] = "vnicaudit.doctor/1"

_EPILOG = """\b
Examples:
  vnicaudit doctor                  before the first audit
  sudo vnicaudit doctor             as the user who will run the audit
  vnicaudit doctor -q               problems only
  vnicaudit doctor kube:prod        the rights of this user in a cluster
  vnicaudit doctor --format json

\b
Exit codes: 0, or 4 if something would not be judged."""

_MARKS = {"ok": "ok", "absent": "-", "problem": "problem"}
_INDENT = " " * 26


class DoctorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit doctor``."""

    clusters: tuple[str, ...]
    format: FormatOption = "text"
    state: str | None
    output: OutputOptions


class DoctorReport(msgspec.Struct, frozen=True):
    """``vnicaudit.doctor/1``. ``complete``: an audit from this machine would judge everything on
    it."""

    schema: Literal["vnicaudit.doctor/1"]
    version: str
    complete: bool
    checks: tuple[DoctorCheck, ...]


@click.command("doctor", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("clusters", nargs=-1, metavar="[kube:CONTEXT]...")
@takes(DoctorOptions)
def command(options: DoctorOptions) -> int:
    """Check what can be audited from this machine, and show what would not be judged and why.

    It checks the optional packages, libvirt's sockets, QEMU in /proc, /dev/vhost-net, clouds.yaml
    and the state directory. It connects to nothing and changes nothing. Of a cluster it asks
    whether this user may list what an audit reads.
    """
    named = options.clusters
    checks = tuple(
        chain.from_iterable(map(check_cluster, named))
        if named
        else _checks(state_folder(options.state))
    )
    complete = is_complete(checks)
    if options.format == "json":
        report = DoctorReport(SCHEMA, __version__, complete, checks)
        emit(msgspec.json.format(msgspec.json.encode(report)).decode() + "\n")
    else:
        width = screen_options(options.output).width
        for check in checks:
            if check.result == "problem" or not options.output.quiet:
                emit("".join(f"{line}\n" for line in _lines(check, width)))
    return 0 if complete else TargetError.exit_code


def _checks(state: str) -> Iterator[DoctorCheck]:
    machine = this_machine()
    yield check_libvirt()
    yield check_qemu(machine)
    yield check_vhost_net(machine)
    yield check_clouds()
    yield check_state(state)
    yield from check_extras()


def _lines(check: DoctorCheck, width: int) -> Iterator[str]:
    """Text lines of a check: its result, name and message, then its consequences and remedy."""
    room = max(20, width - len(_INDENT))
    first, *more = wrap(safe(check.message), room)
    yield f"{_MARKS[check.result]:<8} {check.name:<16} {first}"
    for text in more:
        yield _INDENT + text
    if check.not_judged:
        for text in wrap(f"not judged: {safe(check.not_judged)}", room):
            yield _INDENT + text
    if check.remedy:
        for text in wrap(f"to do: {check.remedy}", room):
            yield _INDENT + text
