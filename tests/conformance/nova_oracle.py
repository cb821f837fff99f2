"""Run by the Python of an installed Nova: what its own configuration says of folders.

One line of JSON on standard input is one folder: ``{"home": DIR, "names": [[SECTION, NAME]…]}``.
One on standard output is its answer: ``{"load": ERROR or null, "values": [[KIND, TEXT]…]}``, where
KIND is ``value``, ``refused`` (the option cannot be read; TEXT is the error's class) or ``none``
(this Nova has no such option). Files are found as nova-compute finds them: ``nova.conf`` and
``nova-compute.conf`` in DIR, then the folders beside them.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from nova.conf import CONF  # type: ignore[import-not-found]  # noqa: E402
from oslo_config import cfg  # noqa: E402
from oslo_log import log  # type: ignore[import-not-found]  # noqa: E402

log.register_options(CONF)  # as nova/config.py does before it reads a file


def answer(home: str, names: list[list[str]]) -> dict[str, Any]:
    """What Nova reads there."""
    files = [os.path.join(home, name) for name in ("nova.conf", "nova-compute.conf")]
    folders = [os.path.join(home, name) for name in ("nova.conf.d", "nova-compute.conf.d")]
    CONF.reset()
    try:
        CONF(
            [],
            project="nova",
            prog="nova-compute",
            default_config_files=[file for file in files if os.path.exists(file)],
            default_config_dirs=[folder for folder in folders if os.path.isdir(folder)],
        )
    except (cfg.Error, SystemExit) as error:
        return {"load": type(error).__name__, "values": []}
    return {"load": None, "values": [value(section, name) for section, name in names]}


def value(section: str, name: str) -> list[str]:
    """One option."""
    group = CONF if section == "DEFAULT" else getattr(CONF, section)
    if name not in group:
        return ["none", ""]
    try:
        found = getattr(group, name)
    except (cfg.Error, ValueError, RecursionError) as error:
        return ["refused", type(error).__name__]
    return ["value", json.dumps(found) if isinstance(found, (list, dict)) else str(found)]


for line in sys.stdin:
    print(json.dumps(answer(**json.loads(line))), flush=True)
