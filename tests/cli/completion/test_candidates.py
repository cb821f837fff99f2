"""What is offered for a word, and where the script of a shell is put."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tests.cli.inside import inside
from tests.cli.test_imports import loaded
from vnicaudit.cli.commands import cli
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.model.fleet import Coverage, FleetAudit, InventoryHost


def offered(*words: str) -> dict[str, str]:
    """Words that are offered for the last one, with what they are; files are not listed."""
    *before, last = words
    shell = ShellComplete(cli, dict(cli.context_settings), "vnicaudit", "_VNICAUDIT_COMPLETE")
    items = shell.get_completions(list(before), last)
    return {one.value: one.help or "" for one in items if one.type == "plain"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing is configured, and the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR", "OS_CLIENT_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "state"))
    return tmp_path


def test_targets_without_a_word(home: Path) -> None:
    del home
    assert list(offered("audit", "")) == ["/proc", "qemu:///system"]


def audited(state: Path, *uris: str, name: str = "kvm{}") -> Path:
    """The file that names the hosts of the last audit of a fleet in a state folder."""
    spool = SpoolFolder(state).new("20260101-000000-0000")
    hosts = tuple(InventoryHost(name.format(n), uri) for n, uri in enumerate(uris, 1))
    day = "2026-01-01T00:00:00Z"
    coverage = Coverage(("VNIC001",))
    spool.write_audit(
        FleetAudit(id="a", started=day, finished=day, version="1", coverage=coverage, hosts=hosts)
    )
    return spool.folder / "audit.json"


def test_uris_of_the_last_fleet_audit(home: Path) -> None:
    ssh = "qemu+ssh://root@kvm{}/system"
    secret = "qemu+tcp://me:secret@kvm/system"
    file = audited(home / "state", ssh.format(1), ssh.format(2), secret, "test:///a b", "no-uri")
    assert offered("audit", "qemu+") == {
        ssh.format(1): "kvm1, audited 2026-01-01", ssh.format(2): "kvm2, audited 2026-01-01",
    }  # fmt: skip
    assert list(offered("nics", "qemu+ssh://root@kvm2")) == [ssh.format(2)]
    assert list(offered("audit", "test")) == []
    for text in (file.read_bytes()[:-20], b"", b"[]"):
        file.write_bytes(text)
        assert list(offered("audit", "qemu")) == ["qemu:///system"]
    file.unlink()
    file.mkdir()
    assert list(offered("audit", "qemu")) == ["qemu:///system"]


def test_of_many_uris_some_are_offered_that_begin_as_all_of_them_do(home: Path) -> None:
    ssh = "qemu+ssh://root@"
    hosts = [f"{ssh}{'b' if number == 1_300 else 'a'}{number}/system" for number in range(1, 2_000)]
    audited(home / "state", *hosts, "qemu+tcp://me:secret@kvm/system")
    found = list(offered("audit", "qemu+"))
    assert (len(found), found[0], found[-1]) == (
        100, f"{ssh}a1/system", f"{ssh}b1300/system",
    )  # fmt: skip
    exact = [f"{ssh}a123/system", *(f"{ssh}a123{number}/system" for number in range(10))]
    assert list(offered("audit", f"{ssh}a123")) == exact
    assert len(offered("audit", "")) == 102  # with /proc, and this hypervisor


def test_a_name_in_an_inventory_cannot_reach_the_terminal(home: Path) -> None:
    audited(home / "state", "test:///default", name="a\x1b[2J\nb")
    assert offered("audit", "test") == {"test:///default": "a\\x1b[2J\\nb, audited 2026-01-01"}


def test_no_database_is_loaded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audited(home / "state", "test:///default")
    monkeypatch.setenv("_VNICAUDIT_COMPLETE", "fish_complete")
    monkeypatch.setenv("COMP_WORDS", "vnicaudit audit test")
    monkeypatch.setenv("COMP_CWORD", "test")
    modules = loaded()
    assert "vnicaudit.fleet.spool" in modules
    assert not modules & {"sqlalchemy", "sqlite3", "libvirt", "openstack", "rich"}


def test_clouds_of_the_first_file(home: Path) -> None:
    folder = home / ".config/openstack"
    folder.mkdir(parents=True)
    (folder / "clouds.yaml").write_text("clouds: {prod: {}, 'two words': {}, '$(id)': {}}\n")
    assert list(offered("nics", "openstack:")) == ["openstack:prod"]
    (home / "clouds.yaml").write_text("clouds: {lab: {}}\n")
    assert offered("nics", "openstack:") == {"openstack:lab": "a cloud of clouds.yaml"}


@pytest.mark.parametrize("text", ["", "clouds: 3", "[", "clouds: [a]", "\0", "clouds: {1: {}}: x"])
def test_a_file_of_another_form_has_no_clouds(home: Path, text: str) -> None:
    (home / "clouds.yaml").write_text(text)
    assert list(offered("nics", "o")) == []


def test_rules_with_their_summaries() -> None:
    found = offered("audit", "x", "--select", "VNIC030,vnic001")
    assert list(found) == ["VNIC030,VNIC001"]
    assert found["VNIC030,VNIC001"].startswith("Legacy emulated NIC")
    assert "nova" in offered("rules", "n")


def test_releases() -> None:
    assert list(offered("audit", "x", "--nova-release", "carac")) == ["Caracal"]


PLACES = {
    "bash": ".local/share/bash-completion/completions/vnicaudit",
    "zsh": ".zfunc/_vnicaudit",
    "fish": ".config/fish/completions/vnicaudit.fish",
}


@pytest.mark.parametrize("shell", PLACES)
def test_install_writes_one_file(home: Path, shell: str) -> None:
    done = inside("completion", "install", env={"SHELL": f"/usr/bin/{shell}"})
    place = home / PLACES[shell]
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"Wrote {place}")
    assert [one for one in home.rglob("*") if one.is_file()] == [place]
    assert place.read_text() == inside("completion", shell).stdout


def test_a_shell_that_is_not_supported(home: Path) -> None:
    done = inside("completion", "install", env={"SHELL": "/bin/tcsh"})
    assert done.returncode == 2
    assert "add --shell bash|zsh|fish" in done.stderr
    assert list(home.iterdir()) == []


def test_a_place_that_cannot_be_written(home: Path) -> None:
    (home / ".zfunc").touch()
    done = inside("completion", "install", "--shell", "zsh")
    assert done.returncode == 2
    assert str(home / ".zfunc") in done.stderr
