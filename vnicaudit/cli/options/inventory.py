"""``-i``: the options that name the hosts of an inventory."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.options.records import group, is_on_command_line, trust_uri_option
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import DEFAULT_URI


class InventoryOptions(msgspec.Struct, frozen=True):
    """Where hosts are listed, which of them are selected, the URI of hosts that have none of their
    own, and the URIs that may start programs."""

    inventories: tuple[str, ...] = ()
    limit: str | None = None
    uri: str = DEFAULT_URI
    trusted_uris: tuple[str, ...] = ()

    def are_used(self, targets: tuple[str, ...]) -> bool:
        """True if the hosts of an inventory are the targets. Named targets win over an inventory in
        the environment; raises UsageError if the command line names both, or a part of no
        inventory."""
        if self.inventories and not (targets and not is_on_command_line("inventories")):
            if targets:
                raise UsageError(
                    "-i names the hosts to read: use it without TARGET, or name a host as "
                    "-i HOST or -i URI"
                )
            return True
        odd = [name for name in ("limit", "uri", "trusted_uris") if is_on_command_line(name)]
        if odd:
            option = {"trusted_uris": "trust-uri"}.get(odd[0], odd[0])
            raise UsageError(f"--{option} needs an inventory (-i)")
        return False


inventory_option = click.option(
    "-i",
    "--inventory",
    "inventories",
    envvar="VNICAUDIT_INVENTORY",
    multiple=True,
    metavar="SOURCE",
    help="Read the hosts of SOURCE: a file (vnicaudit TOML or YAML, Ansible INI or YAML, output of "
    "ansible-inventory --list, or one libvirt URI or name per line), a folder of Ansible's, "
    "openstack:CLOUD, a libvirt URI, HOST,HOST, or - for standard input. Repeatable.",
)

limit_option = click.option(
    "-l",
    "--limit",
    envvar="VNICAUDIT_LIMIT",
    metavar="PATTERN",
    help="Use only matching hosts and groups, as with Ansible: 'zone_a,!kvm7', 'web:&prod', "
    "globs, ~REGEX, @FILE.",
)

inventory_options = group(
    "inventory",
    InventoryOptions,
    inventory_option,
    limit_option,
    click.option(
        "--uri",
        default=DEFAULT_URI,
        show_default=True,
        metavar="TEMPLATE",
        help="URI for hosts without their own; {host} is the address, {name} the name.",
    ),
    trust_uri_option(
        "Allow this libvirt URI in an inventory, although it may start a program (the ext "
        "transport, command= or similar).  [repeatable]"
    ),
)
"""Options of every command that reads the hosts of an inventory."""
