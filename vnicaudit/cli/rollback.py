"""``vnicaudit rollback``: the way back."""

from __future__ import annotations

from typing import Any

import click

from vnicaudit.cli.apply_shadow import take_shadows_out
from vnicaudit.cli.doing import asked, dry_run, ended, show_change, tell_damage
from vnicaudit.cli.hangup import hang_up_noted
from vnicaudit.cli.nova_manage import check_reach, cloud_options
from vnicaudit.cli.options import output_options
from vnicaudit.cli.remedy_options import (
    doing_options,
    mode_option,
    order_of,
    state_folder,
    state_option,
)
from vnicaudit.cli.runs import run_ids
from vnicaudit.cli.stdout import flush
from vnicaudit.cli.telling import telling
from vnicaudit.errors import RefusedError, UsageError

_EPILOG = """\b
Examples:
  vnicaudit runs                                  which runs there were
  vnicaudit rollback 20261121-101500-3f2a
  vnicaudit rollback 20261121-101500-3f2a --domain mail-01
  vnicaudit rollback 20261121-101500-3f2a --nic 52:54:00:12:34:56 --mode next-boot
  vnicaudit rollback 20261121-101500-3f2a --nova-manage ssh://controller
  vnicaudit rollback 20261121-101500-3f2a --restore --domain mail-01

\b
Exit codes: as those of apply."""


@click.command("rollback", epilog=_EPILOG)
@click.argument("run", metavar="RUN", shell_complete=run_ids)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="Only this domain, server, image or flavor (name or UUID).",
)
@click.option("--nic", "macs", multiple=True, metavar="MAC", help="Only this NIC.")
@click.option(
    "--over-edits",
    is_flag=True,
    help="Also where somebody changed the definition since: only the NIC is put back then. Of "
    "servers and images: also where somebody set the property since.",
)
@click.option(
    "--restore",
    is_flag=True,
    help="Put the originals that the run kept back as a whole, whatever was changed since and "
    "whatever its journal says: also where that is damaged. What is replaced is kept. "
    "With --mode next-boot unless another is given.",
)
@mode_option(None)
@doing_options
@cloud_options
@state_option
@output_options
def command(run: str, **given: Any) -> int:
    """Take a RUN back, newest domain first, and prove that all is as it was.

    A run that was left in the middle is brought to where it began. A definition that somebody
    changed since is refused.
    """
    from msgspec.structs import replace

    from vnicaudit.remedy.applying.back import Chosen, look, rollback
    from vnicaudit.remedy.applying.state import StateFolder
    from vnicaudit.remedy.history import past

    found = past(StateFolder(state_folder(given)).run(run))
    restore = given["restore"]
    if restore and given["macs"]:
        raise UsageError("--restore puts definitions back as a whole: without --nic")
    mode = given["mode"] or (found.sheet.mode if found and not restore else "next-boot")
    macs = tuple(mac.lower() for mac in given["macs"])
    chosen = Chosen(given["domains"], macs, given["over_edits"], restore)
    order = order_of(given, mode)
    if found is not None:
        units = chosen.of_run(found)
        check_reach(order.reach, [unit.target for unit in units if unit.object == "server"])
    show = None if given["quiet"] else show_change
    if given["dry_run"]:
        return dry_run(look(run, chosen, order, show), "would be taken back")
    tell_damage(() if found is None else found.damage)
    what = f"Put the originals of run {run} back" if restore else f"Take run {run} back"
    if restore and show is not None:
        look(run, chosen, order, show)
        flush()
    asked(f"{what}, --mode {mode}?", yes=given["yes"])
    take_shadows_out(given)
    with hang_up_noted() as halted:
        order = replace(order, halted=halted)
        went = rollback(run, chosen, order, telling(quiet=given["quiet"]))
    codes = [ended(one, given) for one in went]
    return RefusedError.exit_code if RefusedError.exit_code in codes else max(codes)
