"""How a run reads its targets."""

from __future__ import annotations

import msgspec

from vnicaudit.audit.reading.chosen_servers import ServerFilter
from vnicaudit.audit.reading.selection import Selection
from vnicaudit.model.live import LiveOptions


class RunOptions(msgspec.Struct, frozen=True):
    """``jobs``: worker processes for files (0: one per core); ``selection``: the selected files;
    ``servers``: the selected servers of clouds. ``nova_config``: files and folders that
    nova-compute reads together, in its order."""

    jobs: int = 0
    live: LiveOptions = LiveOptions()
    servers: ServerFilter = ServerFilter()
    selection: Selection = Selection()
    nova_config: tuple[str, ...] = ()
