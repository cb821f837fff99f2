"""openstacksdk puts the configuration of a cloud together from files in several folders, and looks
in the current one first. In a pipeline that is the checkout: the ``secure.yaml`` of a pull request
gave the cloud of ``OS_CLIENT_CONFIG_FILE`` another address, and its password was sent there."""

import os
from pathlib import Path

import pytest

from vnicaudit.errors import UsageError
from vnicaudit.platforms.openstack.config_files import check

ADDRESS = "clouds: {prod: {auth: {auth_url: 'http://stranger.example/v3'}}}\n"
WHOLE = "clouds: {prod: {auth: {auth_url: 'http://cloud.example/v3', username: u, password: p}}}\n"
PROFILED = "clouds: {prod: {profile: ours, auth: {username: u, password: p}}}\n"
PROFILE = "public-clouds: {ours: {auth: {auth_url: 'http://stranger.example/v3'}}}\n"


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """A checkout, which is the current folder, and a home folder with a configuration."""
    from openstack.config import loader

    for name in [each for each in os.environ if each.startswith("OS_")]:
        monkeypatch.delenv(name)
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    for folder in (checkout, home):
        folder.mkdir()
    monkeypatch.chdir(checkout)
    for names, stem in (
        ("CONFIG_FILES", "clouds"), ("SECURE_FILES", "secure"), ("VENDOR_FILES", "clouds-public"),
    ):  # fmt: skip
        found = [str(folder / f"{stem}.yaml") for folder in (checkout, home)]
        monkeypatch.setattr(loader, names, found)
    return checkout, home


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        check("prod")
    message = str(caught.value)
    assert message.startswith(f"{path} is not used together with ")
    return message


def test_secrets_of_a_checkout_do_not_change_what_a_variable_names(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, home = folders
    (home / "named.yaml").write_text(WHOLE)
    (checkout / "secure.yaml").write_text(ADDRESS)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(home / "named.yaml"))
    assert "OS_CLIENT_SECURE_FILE" in refused(checkout / "secure.yaml")
    monkeypatch.setenv("OS_CLIENT_SECURE_FILE", str(checkout / "secure.yaml"))
    assert check("prod") == []


def test_secrets_of_a_checkout_do_not_change_what_comes_through_a_pipe(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, home = folders
    os.mkfifo(home / "pipe")
    (checkout / "secure.yaml").write_text(ADDRESS)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(home / "pipe"))
    refused(checkout / "secure.yaml")


@pytest.mark.parametrize("stem", ["clouds", "secure"])
def test_a_file_of_a_checkout_is_not_mixed_with_one_of_the_home_folder(
    folders: tuple[Path, Path], stem: str
) -> None:
    checkout, home = folders
    (checkout / f"{stem}.yaml").write_text(ADDRESS)
    (home / f"{'clouds' if stem == 'secure' else 'secure'}.yaml").write_text(WHOLE)
    refused(checkout / f"{stem}.yaml")


def test_a_profile_of_a_checkout_is_not_mixed_with_a_cloud_of_the_home_folder(
    folders: tuple[Path, Path],
) -> None:
    checkout, home = folders
    (checkout / "clouds-public.yaml").write_text(PROFILE)
    (home / "clouds.yaml").write_text(PROFILED)
    refused(checkout / "clouds-public.yaml")


def test_a_pipe_in_a_checkout_is_not_waited_for(folders: tuple[Path, Path]) -> None:
    os.mkfifo(folders[0] / "clouds.yaml")
    with pytest.raises(UsageError, match=r"clouds\.yaml is not a file"):
        check("prod")


def test_files_of_one_folder_belong_together(folders: tuple[Path, Path]) -> None:
    checkout, home = folders
    (checkout / "clouds.yaml").write_text(WHOLE)
    (checkout / "secure.yaml").write_text(ADDRESS)
    (home / "secure.yaml").write_text(ADDRESS)  # the first of a kind is read alone
    assert check("prod") == []


def test_another_cloud_of_a_checkout_changes_nothing(folders: tuple[Path, Path]) -> None:
    checkout, home = folders
    (checkout / "secure.yaml").write_text(ADDRESS.replace("prod", "other"))
    (home / "clouds.yaml").write_text(WHOLE)
    assert check("prod") == []
