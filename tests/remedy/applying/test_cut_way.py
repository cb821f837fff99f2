"""The way to a real host over ssh is cut by a change, or the program is killed: the host is back by
itself, and the run says so. With ``--long`` as often as that was promised."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import Stage
from tests.remedy.applying.guarded_host import JUMBO, MTU, GuardedHost, guarded_host, kill, until
from tests.remedy.applying.settings_host import seen, step_to, veth_namespace
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import ActionError, NoResponseError
from vnicaudit.knowledge.host_settings import HostSetting

SMALL = 1400
LONG = 120
"""A deadline that a busy machine does not miss."""
DEADLINE = 16
"""Half of it is enough to arm the timer, and the way is cut for all of it."""
SLACK, BUSY_SLACK = 2.0, 60.0
"""How late the host may be back: as it was promised, and where other tests run beside this one."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHost]:
    with guarded_host(tmp_path_factory.mktemp("guarded")) as found:
        yield found


def killed(
    host: GuardedHost, state: str, value: int, line: int, delay: float, slack: float
) -> str:  # fmt: skip
    """Kill the program so many seconds after that line of its journal, and wait until the host is
    on its own no more, at the most that many seconds after its deadline. The state of the timer
    when it was killed."""
    process = host.start("apply", value, DEADLINE, state)
    until(lambda: host.lines(state) >= line or process.poll() is not None, "so many lines")
    time.sleep(delay)
    kill(process)
    timer = host.timer(state)
    if timer in ("armed", "undoing"):  # or its end is still on its way
        took = until(lambda: host.mtu == MTU or host.timer(state) == "disarmed", "back")
        assert took < DEADLINE + slack
        until(lambda: host.timer(state) in ("undone", "disarmed"), "undone")
    return timer


def test_a_new_connection_confirms(host: GuardedHost) -> None:
    before = host.seen()
    assert host.told("apply", SMALL, LONG, "kept") == ("applied", "until the next boot")
    assert (host.timer("kept"), host.mtu) == ("disarmed", SMALL)
    assert host.told("rollback", 0, LONG, "kept")[0] == "applied"
    assert host.seen() == before


def test_jumbo_frames_cut_the_way(host: GuardedHost, pytestconfig: pytest.Config) -> None:
    before = host.seen()
    for number in range(20 if pytestconfig.getoption("--long") else 1):
        outcome, message = host.told("apply", JUMBO, DEADLINE, f"cut{number}")
        assert outcome == "failed", message
        assert message.startswith("undone by the host: ")
        assert message.endswith("; its settings are as before")
        assert host.seen() == before


STATES = ("disarmed", "undone")


def test_one_timer_at_a_time_and_nothing_after_it() -> None:
    mtu = HostSetting("mtu", "v0")
    with veth_namespace() as namespace:
        place = adapters().host(f"netns://{namespace}", 20)
        script = place.undo_script(namespace, [(mtu, "1400")], [(mtu, "1400")])
        digest = sha256(script.encode()).hexdigest()
        earlier = {state: Path("/run/vnicaudit", f"{namespace}-{state}") for state in STATES}
        for state, folder in earlier.items():
            folder.mkdir(parents=True)
            (folder / state).touch()
            os.utime(folder / state, times=(two_days_ago := time.time() - 172800, two_days_ago))
        place.arm(namespace, script, digest, LONG)
        assert [state for state in STATES if earlier[state].exists()] == ["undone"]
        stored = Path("/run/vnicaudit", namespace, "undo")
        assert (stored.read_text(), stored.stat().st_mode & 0o777) == (script, 0o700)
        with pytest.raises(ActionError, match="another run has armed one"):
            place.arm(f"{namespace}-2", script, digest, LONG)
        facts, refused = place.set([(mtu, "10"), (mtu, "1450")], namespace)
        assert [link.mtu for link in facts.links or () if link.name == "v0"] == [1450]
        assert list(refused) == [mtu]
        assert refused[mtu].startswith("10 was not accepted: ")
        assert [place.disarm(namespace), place.disarm(namespace)] == ["disarmed"] * 2
        assert place.disarm(f"{namespace}-3") == ""
        with pytest.raises(ActionError, match=rf"cannot be stored in /run/vnicaudit/{namespace} "):
            place.arm(namespace, script, digest, LONG)
        subprocess.run(["ip", "netns", "exec", namespace, "sh", stored], check=True)
        with pytest.raises(NoResponseError, match="the timer ended"):
            place.set([(mtu, "1460")], namespace)
        assert " mtu 1450 " in seen(namespace)
        file = HostSetting("file", name="/proc/no-file")
        _facts, refused = place.set([(file, "# Written by vnicaudit")])
        assert refused[file].startswith("the text was not accepted: ")
        for folder in (stored.parent, earlier["undone"]):
            shutil.rmtree(folder)


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_a_user_confirms_what_no_connection_from_here_can(
    is_confirmed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a namespace of this machine, by which its user may have come."""
    told: list[str] = []

    def tell(_name: str, text: str) -> None:
        told.append(text)
        if " and run: " in text and is_confirmed:
            subprocess.run(shlex.split(text.partition(" and run: ")[2]), check=True)

    with veth_namespace() as namespace:
        for line in ("addr add 10.0.0.1/24 dev v0", "link set v0 up", "link set v1 up"):
            subprocess.run(["ip", "-n", namespace, *line.split()], check=True)
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.2 50022 10.0.0.1 22")
        stage = Stage(tmp_path)
        stage.adapters = adapters()
        monkeypatch.setattr(stage, "_tell", tell)
        target, before = f"netns://{namespace}", seen(namespace)
        step = step_to(stage.adapters.host(target, 20).facts(), target, {"mtu:v0": "1400"})
        seconds = float(LONG if is_confirmed else DEADLINE)
        (unit,) = stage.apply((step,), stage.context(confirm_seconds=seconds)).run.steps
        assert any(text.startswith("v0 may carry the way to this host") for text in told)
        if is_confirmed:
            assert unit.outcome == "applied"
            assert " mtu 1400 " in seen(namespace)
        else:
            assert unit.outcome == "failed"
            assert "undone by the host: nobody confirmed it in time" in unit.message
            assert seen(namespace) == before


ARMING, SETTING = 3, 4
"""Lines of the journal of one unit."""
_DELAYS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
EVERYWHERE = [*product((SMALL, JUMBO), range(ARMING, ARMING + 5), _DELAYS)]


def test_killed_with_a_timer(host: GuardedHost, pytestconfig: pytest.Config) -> None:
    before = host.seen()
    is_long = pytestconfig.getoption("--long")
    places = EVERYWHERE if is_long else [(SMALL, SETTING, 0.3)]
    for number, (value, line, delay) in enumerate(places):
        state = f"killed{number}"
        timer = killed(host, state, value, line, delay, SLACK if is_long else BUSY_SLACK)
        outcome, message = host.told("apply", value, LONG if value == SMALL else DEADLINE, state)
        print(number, value, line, delay, timer, outcome, message)
        if outcome == "failed":
            assert "undone by the host" in message
        else:  # "already": the first run was killed after it had confirmed
            assert outcome in ("applied", "already"), message
            host.told("rollback", 0 if outcome == "applied" else -1, LONG, state)
        assert host.seen() == before
