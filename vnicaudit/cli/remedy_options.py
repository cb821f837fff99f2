"""Options that plan, apply, rollback and runs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from vnicaudit.cli.nova_manage import reach_of
from vnicaudit.cli.options import F, Number, together
from vnicaudit.cli.telling import telling
from vnicaudit.model.host import DEADLINE
from vnicaudit.model.plan import MODES, Mode
from vnicaudit.text.own_commands import SYSTEM, default_state

if TYPE_CHECKING:
    from vnicaudit.remedy.applying.engine import Order

_GUEST_DEADLINE = 300.0


def state_folder(given: dict[str, Any]) -> str:
    """Where runs are remembered: ``--state``, else the folder of this user."""
    return str(given.get("state") or default_state())


state_option = click.option(
    "--state",
    envvar="VNICAUDIT_STATE",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help=f"Where runs are remembered.  [default: {SYSTEM} for root, else ~/.local/state/vnicaudit]",
)


deadline_option = click.option(
    "--deadline",
    envvar="VNICAUDIT_DEADLINE",
    type=Number(min=0.1, max=86_400),
    default=DEADLINE,
    show_default=True,
    metavar="SECONDS",
    help="How long libvirt, or a cloud, may take for one answer.",
)


trust_option = click.option(
    "--trust-uri",
    "trusted_uris",
    multiple=True,
    metavar="URI",
    help="Connect to this libvirt URI of the plan or run although it names more than a host "
    "(the ext transport, command=, socket=, keyfile= and the like).  [repeatable]",
)


def _window(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    from vnicaudit.errors import UsageError
    from vnicaudit.remedy.applying.schedule import Window

    try:
        return Window.parse(value)
    except UsageError as error:
        raise click.BadParameter(str(error), context, parameter) from None


doing_options = together(
    click.option(
        "--dry-run", is_flag=True, help="Look at everything again, and say what would be done."
    ),
    click.option("--yes", "-y", is_flag=True, help="Do not ask."),
    click.option(
        "--canary",
        envvar="VNICAUDIT_CANARY",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        metavar="N",
        help="Domains (or servers) that go first, one after the other; all of them must be well.",
    ),
    click.option(
        "--batch",
        envvar="VNICAUDIT_BATCH",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Domains that are worked on at once behind the canaries; of a server group one member "
        "at a time.",
    ),
    click.option(
        "--max-failures",
        envvar="VNICAUDIT_MAX_FAILURES",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="N",
        help="Stop when more domains than this have failed.",
    ),
    click.option(
        "--window",
        envvar="VNICAUDIT_WINDOW",
        metavar="HH:MM-HH:MM",
        callback=_window,
        help="Begin with a domain only at this time of day (local time).",
    ),
    click.option(
        "--guest-deadline",
        envvar="VNICAUDIT_GUEST_DEADLINE",
        type=Number(min=1, max=86_400),
        default=_GUEST_DEADLINE,
        show_default=True,
        metavar="SECONDS",
        help="How long a guest may take to shut down, and to come back.",
    ),
    click.option(
        "--force-off",
        is_flag=True,
        help="Power a guest off that does not shut down in time. It may lose data. (Nova does so "
        "with servers in any case.)",
    ),
    deadline_option,
    trust_option,
)
"""Options of the commands that change something."""


def mode_option(default: str | None) -> Callable[[F], F]:
    """``--mode``; ``default`` None: that of the run."""
    return click.option(
        "--mode",
        type=click.Choice(MODES),
        default=default,
        show_default=default is not None,
        help="next-boot: define, and leave what runs alone. restart: shut guests down and start "
        "them. hotswap: exchange the NIC under the running guest (needs its agent)."
        + ("" if default else "  [default: that of the run]"),
    )


def order_of(given: dict[str, Any], mode: Mode) -> Order:
    """What is asked for, for the remedy."""
    from vnicaudit.remedy.applying.engine import Order
    from vnicaudit.remedy.applying.means import Limits
    from vnicaudit.remedy.applying.schedule import Schedule
    from vnicaudit.remedy.applying.state import StateFolder

    return Order(
        mode=mode,
        limits=Limits(given["guest_deadline"], given["force_off"], given["nova_manage_timeout"]),
        schedule=Schedule(given["canary"], given["batch"], given["max_failures"], given["window"]),
        deadline=given["deadline"],
        state=StateFolder(state_folder(given)),
        reach=replace(reach_of(given), trusted=frozenset(given["trusted_uris"])),
        tell_left=telling(quiet=False),
    )
