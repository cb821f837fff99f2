"""How ``--help`` shows options: under headings, with their environment variables."""

from __future__ import annotations

import click

_FEW = 12
"""Up to this number of options, a command needs no headings."""

OWN = "Options"
"""Heading of the command's own options."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Selection": (
        "--select", "--ignore", "--severity", "--min-confidence", "--owner", "--domain", "--nic",
        "--exclude", "--changed-since", "--skip-unrecognised", "--force-exclude", "--baseline",
        "--assume-qemu", "--assume-libvirt", "--limit", "--inventory", "--uri", "--sample",
        "--sample-of", "--sample-seed", "--wrong",
    ),
    "Output": (
        "--format", "--output", "--group-by", "--view", "--sort", "--max", "--fail-on",
        "--fail-confidence", "--write-baseline", "--redact",
    ),
    "Fixing": (
        "--fix", "--diff", "--include-unsafe", "--backup", "--to", "--accept-loss", "--vdpa-device",
        "--vhostuser-mode", "--vhostuser-socket",
    ),
    "Live hosts": (
        "--deadline", "--agent", "--host-deadline", "--parallel", "--per-site", "--retries",
        "--trust-uri", "--guest-deadline", "--force-off", "--traffic",
    ),
    "OpenStack": (
        "--project", "--projects", "--host", "--zone", "--aggregate", "--image", "--max-rps",
        "--cloud-deadline", "--nova-config", "--nova-release", "--nova-manage",
        "--nova-manage-command", "--nova-manage-jobs", "--nova-manage-timeout",
        "--libvirt-of-host",
    ),
    "Common": (
        "--config", "--trust-settings", "--rules-dir", "--jobs", "--state", "--history", "--quiet",
        "--verbose", "--color", "--help",
    ),
}  # fmt: skip
"""Headings in the order of ``--help``, after the command's own options."""

_HEADING = {name: heading for heading, names in SECTIONS.items() for name in names}


class SectionedCommand(click.Command):
    """A command whose options are listed under headings if there are many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under each heading that has any."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (OWN, *SECTIONS)}
        for option in options:
            record = option.get_help_record(ctx)
            if record is not None:
                heading = heading_of(option) if len(options) > _FEW else OWN
                sections[heading].append((record[0], record[1] + _variable(option)))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def heading_of(option: click.Option) -> str:
    """The heading of an option; the same in all commands."""
    return next((_HEADING[name] for name in option.opts if name in _HEADING), OWN)


def _variable(option: click.Option) -> str:
    return f"  [env:{option.envvar}]" if isinstance(option.envvar, str) else ""
