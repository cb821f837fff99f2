"""Servers that are changed and taken back, and what is asked of them and of the product."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.openstack.cloud import Cloud
from tests.openstack.doing import Did, Doing
from tests.openstack.machine import TESTBED
from tests.openstack.places import Fault, Passed
from tests.openstack.proxy import Proxy, running_proxy
from tests.openstack.remedy import DEAF, TARGET, kept
from tests.openstack.servers import Server, ServerFactory
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.history import runs

_MODELS = {"there": "virtio", "back": "rtl8139"}
_WENT = ("applied", "already")
AT_CALLS = ("before call", "behind call")
CALLS = tuple(Passed(place, call) for call in ("stop", "set", "start") for place in AT_CALLS)
"""What there is in any case on the way of one server."""


class Fleet:
    """Servers on their way to virtio and back, by commands in whose way something is put."""

    def __init__(self, cloud: Cloud, proxy: Proxy, servers: Sequence[Server], folder: Path) -> None:
        self.cloud, self.proxy, self._servers = cloud, proxy, servers
        self._folder, self.token = folder, folder / "token"
        self._state, self._plan = folder / "state", folder / "plan.json"
        self._env = {"OS_CLIENT_CONFIG_FILE": str(self._by_proxy())}
        self.size = len(servers)
        self.tally: Counter[str] = Counter()
        self.places = dict.fromkeys(_MODELS, CALLS * self.size)
        self.seconds = 0.0
        domains = [word for one in servers for word in ("--domain", one.id)]
        made = self.do("plan", TARGET, *domains, "--include-unsafe", "-o", self._plan, "--quiet")
        assert made.code == 0, made

    def do(self, *words: str | Path) -> Did:
        """A command to its end, without a fault."""
        return Doing(self.cloud, words, self._env).wait()

    def begin(self, way: str, fault: Fault | None = None, manage: str = "") -> Doing:
        """Apply the plan, or take it back; ``manage`` is what nova-manage does wrong once."""
        return Doing(self.cloud, self._words(way, manage), self._env, fault)

    def walk(self) -> None:
        """There and back with nothing in the way: says which places there are."""
        for way in _MODELS:
            did = self.begin(way).wait()
            assert did.code == 0, did
            self.places[way] = did.passed
            self.seconds = max(self.seconds, did.seconds)
            self.check(dict.fromkeys(self._ids(), _MODELS[way]))
        shutil.rmtree(self._state)

    def settle(self, way: str, *, undo: bool, killed: bool) -> None:
        """Give the commands that the product asks for, until it asks for none."""
        if undo and way == "there" and not self._set_unseen():
            for run in self.runs():
                if run.outcome == "unfinished":
                    self.do("rollback", run.id, *self._options())
        elif killed:
            did = self.begin(way).wait()
            assert did.code == 0 or DEAF in did.said, did
        for _again in range(3):
            if all(run.outcome != "unfinished" for run in self.runs()):
                break
            self.begin(way).wait()
        self.check(self.said())

    def home(self) -> None:
        """All of it is taken back, with nothing in the way."""
        if set(self.said().values()) != {_MODELS["back"]}:
            for run in self.runs():
                if run.kind == "apply":
                    self._take_back(run)
        self.check(dict.fromkeys(self._ids(), _MODELS["back"]))
        shutil.rmtree(self._state, ignore_errors=True)

    def _take_back(self, run: RunRecord) -> None:
        did = self.do("rollback", run.id, *self._options())
        if did.code and DEAF in did.said:  # once: the run is still there to be taken back
            did = self.do("rollback", run.id, *self._options())
        assert did.code == 0, did

    def runs(self) -> list[RunRecord]:
        """The runs there were, newest first."""
        return runs(str(self._state))

    def said(self) -> dict[str, str]:
        """Server -> its model, by what the product reports."""
        models = dict.fromkeys(self._ids(), _MODELS["back"])
        for run in reversed(self.runs()):
            assert run.outcome != "unfinished", run
            for unit in run.steps:
                assert "not everything could be undone" not in unit.message, unit
                if unit.outcome in _WENT:
                    models[str(unit.uuid)] = _MODELS["there" if run.kind == "apply" else "back"]
        return models

    def check(self, models: dict[str, str]) -> None:
        """Every server runs, now, and has that model: in the API, in the request specification that
        Nova builds it from next time, in its definition."""
        for one in self._servers:
            record, wanted = one.record, models[one.id]
            state = (record.status, record.task_state, record.power_state)
            assert state == ("ACTIVE", None, 1), (one.id, state, self.runs())
            found = (kept(one), _requested(one), one.model())
            assert found == (wanted,) * 3, (one.id, found, wanted, self.runs())
        for journal in self._state.glob("runs/*/journal.jsonl"):
            for line in journal.read_text().splitlines():
                json.loads(line)

    def is_there(self) -> bool:
        """Whether one run has brought all of them to the goal."""
        runs = self.runs()
        return len(runs) == 1 and set(self.said().values()) == {_MODELS["there"]}

    def _ids(self) -> list[str]:
        return [one.id for one in self._servers]

    def _words(self, way: str, manage: str = "") -> list[str | Path]:
        if way == "there":
            first: list[str | Path] = ["apply", self._plan, "--include-unsafe"]
            return [*first, "--canary", "0", "--max-failures", "9", *self._options(manage)]
        return ["rollback", self.runs()[-1].id, *self._options(manage)]

    def _options(self, manage: str = "") -> list[str | Path]:
        program = f"bash {TESTBED}/nova-manage.sh {manage} {self.token}"
        return [
            "--yes", "--mode", "restart", "--batch", "9", "VNICAUDIT_GUEST_DEADLINE=300",
            "VNICAUDIT_DEADLINE=60", "--state", self._state,
            "VNICAUDIT_NOVA_MANAGE=local",
            *((f"VNICAUDIT_NOVA_MANAGE_COMMAND={program}",) if manage else ()),
        ]  # fmt: skip

    def _set_unseen(self) -> bool:
        """Whether a nova-manage may still be at work: a rollback waits for its end."""
        events = [
            json.loads(line)["event"]["event"]
            for path in self._state.glob("runs/*/journal.jsonl")
            for line in path.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]
        return events.count("setting") > sum(map(events.count, ("set", "not set", "half set")))

    def _by_proxy(self) -> Path:
        """clouds.yaml, in which Nova is behind the proxy."""
        text = (self.cloud.machine.namespaces.root / "etc/openstack/clouds.yaml").read_text()
        url = f"    compute_endpoint_override: {self.proxy.url}\n"
        path = self._folder / "clouds.yaml"
        path.write_text(text.replace("    auth:\n", f"{url}    auth:\n"))
        return path


def _requested(server: Server) -> str:
    rows = server.cloud.sql(
        'select json_value(spec, \'$."nova_object.data".image."nova_object.data".properties'
        '."nova_object.data".hw_vif_model\') from nova_api.request_specs'
        f" where instance_uuid='{server.id}'"
    )
    return rows[0][0] if rows else ""


@contextmanager
def fleet_of(cloud: Cloud, number: int, folder: Path) -> Iterator[Fleet]:
    """Servers that run, behind a proxy."""
    factory = ServerFactory(cloud)
    try:
        servers = [factory("legacy", wait=False) for _ in range(number)]
        for one in servers:
            one.wait("ACTIVE")
            one.nics()
        with running_proxy(cloud.machine.namespaces) as proxy:
            yield Fleet(cloud, proxy, servers, folder)
    finally:
        factory.remove()
