"""Files that keep settings of hosts, as the programs that read them understand them."""

import os
import shutil
import subprocess
from pathlib import Path

from msgspec.structs import replace

from tests.not_run import not_run
from tests.rows import rows
from vnicaudit.knowledge.host_settings import KEEPING, HostSetting, field_of, setting_of, takes
from vnicaudit.knowledge.persistent_forms import OwnFile, for_nodes, in_run, is_own, own_files
from vnicaudit.model.host_facts import HostFacts, HostLink

MAC = "52:54:00:00:00:01"
FACTS = HostFacts(
    links=(
        HostLink(name="ens3", physical=True, mac=MAC),
        HostLink(name="br0", kind="bridge", mac=MAC),
        HostLink(name="vnet0", kind="tun"),
        HostLink(name="ens4", physical=True),
    ),
    own_files={folder: {} for folder in KEEPING},
)
ENTRIES = "net.core.rps_sock_flow_entries"


def _udev() -> int:
    if shutil.which("udevadm") is None:
        return 0
    return int(subprocess.run(["udevadm", "--version"], capture_output=True, text=True).stdout[:3])


UDEV = _udev()


def form_of(settings: dict[HostSetting, str]) -> OwnFile:
    """The one file that keeps these settings."""
    (made,) = own_files(settings, FACTS)
    assert isinstance(made, OwnFile), made
    return made


def setting_in(field: str) -> HostSetting:
    """The setting of a field."""
    found = setting_of(field)
    assert found is not None
    return found


@rows
def test_a_file_for_each_setting(
    setting: str, value: str, path: str, line: str, tmp_path: Path
) -> None:
    one = setting_in(setting)
    form = form_of({one: value})
    assert (form.path, form.text.split("\n")[1:]) == (path, [line])
    assert is_own(*form)
    file = HostSetting("file", one.device, form.path)
    assert setting_in(field_of(file)) == file
    assert takes(file, form.text)
    if UDEV >= 254 and path.endswith(".rules"):  # udevadm verify comes with systemd 254
        (rules := tmp_path / Path(path).name).write_text(f"{form.text}\n")
        words = ["udevadm", "verify", str(rules)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_adapter_is_known_also_by_the_address_that_a_link_file_gives_it() -> None:
    given, bond = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
    adapters = (
        HostLink(name="ens3", physical=True, mac=MAC, address=given),
        HostLink(name="ens4", physical=True, mac="52:54:00:00:00:02", address=bond, master="bond0"),
        HostLink(name="ens5", physical=True, mac=bond, master="bond0"),
        HostLink(name="bond0", kind="bond", mac=bond),
    )

    def macs(device: str) -> str:
        facts = replace(FACTS, links=adapters)
        (made,) = own_files({HostSetting("mtu", device): "9000"}, facts)
        assert isinstance(made, OwnFile), made
        assert is_own(*made)
        return made.text.partition('ATTR{address}=="')[2].partition('"')[0]

    assert [macs(device) for device in ("ens3", "ens4", "ens5")] == [
        f"{MAC}|{given}", "52:54:00:00:00:02", bond,
    ]  # fmt: skip


def test_all_queues_of_a_device_are_in_one_file() -> None:
    form = form_of({HostSetting("rps", "ens3", f"rx-{queue}"): "3" for queue in range(2)})
    assert [line.rpartition("/queues/")[2][:4] for line in form.text.split("\n")[1:]] == [
        "rx-0", "rx-1",
    ]  # fmt: skip


def test_all_governors_are_in_one_file_and_a_module_is_ours_alone() -> None:
    form = form_of({HostSetting("governor", name=f"cpu{cpu}"): "performance" for cpu in (0, 1)})
    assert [line.split("/")[5] for line in form.text.split("\n")[1:]] == ["cpu0", "cpu1"]
    assert is_own(*form)
    module = form_of({HostSetting("module", name="vhost_net"): "loaded"})
    assert not is_own(module.path, module.text.replace("\nvhost_net", "\nother"))


def test_systemd_writes_what_such_a_file_says(tmp_path: Path) -> None:
    if shutil.which("systemd-tmpfiles") is None:
        not_run("tests", "systemd-tmpfiles is not installed")
    form = form_of({HostSetting("governor", name="cpu0"): "performance"})
    (governor := tmp_path / "scaling_governor").write_text("schedutil\n")
    file = tmp_path / "form.conf"
    there = form.text.replace(
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", str(governor)
    )
    file.write_text(f"{there}\n")
    subprocess.run(["systemd-tmpfiles", "--create", "--boot", str(file)], check=True)
    assert governor.read_text().startswith("performance")


@rows
def test_what_no_file_keeps(setting: str, why: str) -> None:
    (said,) = own_files({setting_in(setting): "1"}, FACTS)
    assert isinstance(said, str)
    assert why in said


def test_a_device_that_nothing_identifies_has_no_file() -> None:
    twins = (*(FACTS.links or ()), HostLink(name="ens5", physical=True, mac=MAC))
    (said,) = own_files({HostSetting("mtu", "ens3"): "1"}, replace(FACTS, links=twins))
    assert "or another's too" in said
    (nowhere,) = own_files({HostSetting("mtu", "br0"): "1"}, replace(FACTS, own_files={}))
    assert nowhere == "the host has no /etc/udev/rules.d"


def test_a_text_of_ours_has_nothing_else_in_it() -> None:
    form = form_of({HostSetting("mtu", "br0"): "9000"})
    written = in_run(form.text, "20261130-021500-3f2a")
    assert written.startswith(
        "# Written by vnicaudit; taken back by: vnicaudit rollback 20261130-021500-3f2a\n"
    )
    assert is_own(form.path, written)
    for more in (
        '\nACTION=="add|move", RUN+="/bin/sh -c reboot"',
        "\n",
        "\n# more",
        ', OPTIONS+="x"',
    ):
        assert not is_own(form.path, written + more)
    assert not is_own(form.path, form.text.replace("mtu", "address"))
    assert not is_own("/etc/sysctl.d/99-vnicaudit-x.conf", form.text)


def test_a_file_of_sysctls_is_ours_only_with_a_setting_that_is_changed_here() -> None:
    text = "# Written by vnicaudit; taken back by: vnicaudit rollback RUN\n{} = 1"
    path = "/etc/sysctl.d/99-vnicaudit-x.conf"
    assert is_own(path, text.format("net.core.rps_sock_flow_entries"))
    assert not is_own(path, text.format("kernel.panic"))


def test_nodes_of_a_pool_have_only_names_in_common() -> None:
    (form,) = for_nodes({HostSetting("ring", "ens3", "rx"): "4096"})
    assert isinstance(form, OwnFile)
    _head, *lines = form.text.split("\n")
    assert [line.split(", ")[2:-1] for line in lines] == [
        ['NAME=="ens3"'], ['NAME==""', 'KERNEL=="ens3"'],
    ]  # fmt: skip


def test_sysctl_sets_what_a_file_keeps(tmp_path: Path) -> None:
    if os.geteuid() or shutil.which("unshare") is None:
        not_run("tests", "a network namespace needs root and unshare")
    name = "net.ipv4.ip_forward"
    form = form_of({HostSetting("sysctl", name=name): "1"})
    file = tmp_path / Path(form.path).name
    file.write_text(f"{form.text}\n")
    words = ["unshare", "-n", "sh", "-c", f'sysctl -q -p "{file}" && sysctl -n {name}']
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "1\n"
