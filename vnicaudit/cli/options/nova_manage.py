"""``--nova-manage`` and ``--libvirt-of-host``: access to a cloud besides its API."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import click
import msgspec

from vnicaudit.base.shell import word
from vnicaudit.cli.options.records import group, number_option, seconds_option
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import UsageError
from vnicaudit.remedy.cloud import MANAGE_JOBS, CloudAccess

_SECONDS = 60.0
_COMMAND = "nova-manage"


class NovaManageOptions(msgspec.Struct, frozen=True):
    """The controller as an endpoint, how nova-manage is called there, the timeout of one call in
    seconds, how many calls run at once, and the libvirt URI of compute nodes."""

    nova_manage: str | None
    nova_manage_command: str
    nova_manage_timeout: float
    nova_manage_jobs: int
    libvirt_of_host: str | None


nova_manage_options = group(
    "cloud",
    NovaManageOptions,
    click.option(
        "--nova-manage",
        envvar="VNICAUDIT_NOVA_MANAGE",
        metavar="WHERE",
        help="Endpoint of the cloud controller that runs nova-manage: local, ssh://controller, "
        "docker://nova_api, podman://nova_api, kubectl://POD.",
    ),
    click.option(
        "--nova-manage-command",
        envvar="VNICAUDIT_NOVA_MANAGE_COMMAND",
        metavar="COMMAND",
        default=_COMMAND,
        show_default=True,
        help="Command that runs nova-manage there, for example 'sudo docker exec nova_api "
        "nova-manage'. It is run without a shell.",
    ),
    seconds_option(
        "--nova-manage-timeout",
        least=5,
        most=3600,
        default=_SECONDS,
        text="Timeout for one nova-manage call, which takes about four seconds while the server is "
        "off. If its result is unknown, wait as long again for a late effect.",
    ),
    number_option(
        "--nova-manage-jobs",
        least=1,
        most=64,
        default=MANAGE_JOBS,
        text="Run at most N nova-manage calls at a time, even if --batch allows more servers. Each "
        "takes 170 MB, a core and two database connections for some seconds.",
    ),
    click.option(
        "--libvirt-of-host",
        envvar="VNICAUDIT_LIBVIRT_OF_HOST",
        metavar="URI",
        help="Template of the compute nodes' libvirt URIs (qemu+ssh://{host}/system). Servers are "
        "then also verified by their definition, QEMU and guest agent.",
    ),
)
"""Options of the commands that change servers."""


def reach_of(cloud: NovaManageOptions, trusted: Iterable[str], wiring: Wiring) -> CloudAccess:
    """Access to a cloud besides its API, with the trusted libvirt URIs (``--trust-uri``).
    Connections are closed when the command ends. Raises UsageError for an invalid endpoint."""
    template, uris = cloud.libvirt_of_host or "", frozenset(trusted)
    if cloud.nova_manage is None:
        return CloudAccess(None, template, trusted=uris)
    command = _command(cloud.nova_manage_command)
    controller = wiring.controller(cloud.nova_manage, command, cloud.nova_manage_timeout)
    click.get_current_context().call_on_close(controller.close)
    return CloudAccess(controller, template, jobs=cloud.nova_manage_jobs, trusted=uris)


def words_of(cloud: NovaManageOptions) -> str:
    """The options used, as a later command on the same servers needs them."""
    named = {
        "--nova-manage": cloud.nova_manage,
        "--nova-manage-command": cloud.nova_manage_command,
        "--libvirt-of-host": cloud.libvirt_of_host,
    }
    return "".join(
        f" {option} {word(value)}"
        for option, value in named.items()
        if value is not None and value != _COMMAND
    )


def check_reach(reach: CloudAccess, servers: Iterable[str]) -> None:
    """Raises UsageError if servers are to be changed but the place of nova-manage is unknown, or if
    they belong to several clouds."""
    targets = sorted(set(servers))
    if not targets:
        return
    if len(targets) > 1:
        raise UsageError(
            f"these servers belong to several clouds ({', '.join(targets)}), each with its own "
            "controller: make one plan per cloud"
        )
    if reach.manage is None:
        raise UsageError(
            f"servers of {targets[0]} are changed with nova-manage, on a controller: name the "
            "controller with --nova-manage (local, ssh://controller, docker://nova_api, "
            "kubectl://POD) and, if needed, the command to run there with --nova-manage-command "
            "('sudo docker exec nova_api nova-manage' with kolla, 'sudo lxc-attach -n NAME -- "
            "nova-manage' with openstack-ansible)"
        )


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--nova-manage-command {text!r}: {error}") from None
    if not words:
        raise UsageError("--nova-manage-command is empty")
    return words
