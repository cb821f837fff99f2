"""What one command sets fits into one argument; a timer's script that does not is refused."""

from shlex import quote

import pytest

from vnicaudit.errors import ActionError
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.model.host import Section
from vnicaudit.platforms.host.visiting.settings import SettingsPlace

_LIMIT = 128 * 1024
_MASK = ",".join(["ffffffff"] * 16)


def test_settings_of_512_cpus_are_set_by_several_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    scripts: list[str] = []

    def ask(_place: object, script: str, *_given: object) -> list[Section]:
        scripts.append(script)
        return [Section("setting", "no", 1)] * script.count("fact setting if_armed")

    monkeypatch.setattr(SettingsPlace, "_ask", ask)
    monkeypatch.setattr(SettingsPlace, "_facts_in", lambda *_given: None)
    values = [(HostSetting("rps", "enp2s0f0np0", f"rx-{each}"), _MASK) for each in range(600)]
    _facts, refused = SettingsPlace("local", 5).set(values)
    assert list(refused) == [setting for setting, _value in values]
    assert len(scripts) == 2
    assert max(len(quote(script)) for script in scripts) < _LIMIT - 20_000  # the facts come after


def test_a_script_that_is_too_long_is_refused_before_it_is_sent() -> None:
    place = SettingsPlace("local", 5)
    values = [(HostSetting("rps", "eth0", f"rx-{queue}"), _MASK) for queue in range(256)]
    script = place.undo_script("run", values, values)
    with pytest.raises(ActionError, match="is longer than 96 KiB: the device has too many queues"):
        place.arm("run", script, "", 60)
