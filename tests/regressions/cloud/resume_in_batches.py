"""Run in a process of its own: four servers are stopped, the program is ended, and is run again.

It works out what a record's parts are made of as slowly as on a loaded machine, so that one thread
is at it when the next one wants the same record. The argument is a folder.
"""

import importlib.util
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

SERVERS = 4
_SECONDS = 0.02


def slow_down() -> None:
    """To be called before msgspec is imported: it takes the function at import."""
    found = importlib.util.find_spec("msgspec")
    assert found is not None
    assert found.submodule_search_locations is not None
    path = Path(found.submodule_search_locations[0], "_utils.py")
    spec = importlib.util.spec_from_file_location("msgspec._utils", path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    real = module.get_class_annotations
    known = threading.local()

    def slowly(kind: Any) -> Any:
        if hasattr(known, "first"):
            time.sleep(_SECONDS)
        known.first = kind
        return real(kind)

    module.get_class_annotations = slowly  # type: ignore[attr-defined]
    sys.modules["msgspec._utils"] = module


def main(folder: Path) -> None:
    """Ends with what the servers run."""
    import pytest

    from tests.remedy.applying.clouds.fakes import MODEL, CloudWorld, installed, server_step
    from tests.remedy.applying.fakes import Killed

    class Life(CloudWorld):
        """Ends the program in each thread as nova-manage is about to be run."""

        ending = True

        def passing(self, place: str) -> None:
            super().passing(place)
            if self.ending and place == "before set":
                raise Killed(place)

    world = Life(folder, SERVERS)
    installed(world, pytest.MonkeyPatch())
    for server in world.servers:
        server.boot()
    steps = tuple(server_step(server) for server in world.servers)
    context = world.context("restart", canary=0, batch=SERVERS)
    try:
        world.apply(steps, context)
    except Killed:
        print("off:", sum(server.model is None for server in world.servers))
    world.ending = False
    done = world.apply(steps, context)
    print("outcomes:", *[unit.outcome for unit in done.run.steps])
    print("run:", *[server.running.get(MODEL) for server in world.servers])


if __name__ == "__main__":
    slow_down()
    main(Path(sys.argv[1]))
