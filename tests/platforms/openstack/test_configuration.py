"""What is said of a clouds.yaml that cannot be used: by openstacksdk itself, and before it."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.platforms.openstack.cloud import PASSWORD, FakeCloud
from tests.platforms.openstack.conftest import CLOUD
from tests.platforms.openstack.entering import connect
from tests.rows import rows
from tests.shares import examples
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.platforms.openstack import config_files
from vnicaudit.platforms.openstack.config_files import region_of

KEYS = st.sampled_from(
    ["auth", "auth_url", "auth_type", "username", "password", "regions", "region_name", "profile",
     "networks", "verify", "cacert", "name", "values", "interface", "floating_ip_source"],
)  # fmt: skip


@pytest.fixture
def file(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where OS_CLIENT_CONFIG_FILE says."""
    path = nowhere / "clouds.yaml"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    return path


def wrong(name: str = "admin") -> str:
    """Why the configuration is refused."""
    with pytest.raises(UsageError) as caught:
        connect(name, deadline=30)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


def unusable(file: Path, text: str, name: str = "admin") -> str:
    """What is wrong with such a file."""
    file.write_text(text, "utf-8")
    begin = f"{file} cannot be used: "
    message = wrong(name)
    assert message.startswith(begin)
    return message.removeprefix(begin)


@rows
def test_a_file_that_cannot_be_used(file: Path, text: str, reason: str) -> None:
    assert unusable(file, text) == reason


def test_a_file_that_is_no_text(file: Path) -> None:
    file.write_bytes(b"clouds: \xff\xfe\x80")
    assert wrong() == f"{file} cannot be used: it is not YAML"


def test_a_file_in_json(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = nowhere / "clouds.json"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    assert unusable(file, '{"clouds": ') == "it is not JSON at line 1, column 12"
    assert unusable(file, "[" * 100_000) == "it is nested too deeply"
    file.write_text(json.dumps({"clouds": {"admin": {"auth": {"username": "me"}}}}), "utf-8")
    assert wrong() == "openstack:admin: the configuration lacks auth_url"


def test_a_file_that_is_too_large(file: Path) -> None:
    file.write_text("#" * (512 << 10), "utf-8")
    assert wrong() == f"{file} cannot be used: it is empty, but must be a mapping (key: value)"
    file.write_text("#" * ((512 << 10) + 1), "utf-8")
    assert wrong() == f"{file} is larger than 512 KiB: no clouds.yaml is that large"


def test_a_file_that_is_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.mkdir()
    assert wrong() == f"{file} is not a file"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", "/dev/zero")
    assert wrong() == "/dev/zero is not a file"


def refuse(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """As for a user who may not read it; tests may run as root."""

    def denied(name: str, *_mode: str) -> object:
        raise PermissionError(13, "Permission denied", name)

    assert path.exists()
    monkeypatch.setattr(config_files, "open", denied, raising=False)


def test_a_file_that_was_named_must_be_readable(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("clouds: {admin: {}}", "utf-8")
    refuse(monkeypatch, file)
    assert wrong() == f"{file} cannot be read: Permission denied"


def test_a_file_of_others_is_left_out_and_named(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openstack.config import loader

    system = nowhere / "clouds.yaml"
    system.write_text("clouds: {prod: {}}", "utf-8")
    monkeypatch.setattr(loader, "CONFIG_FILES", [str(system)])
    refuse(monkeypatch, system)
    with pytest.raises(TargetError) as caught:
        connect("admin", deadline=30)
    assert caught.value.message.endswith(f"; {system} cannot be read: Permission denied")


def test_a_damaged_secure_file(
    cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cloud.url
    secure = nowhere / "secure.yaml"
    monkeypatch.setenv("OS_CLIENT_SECURE_FILE", str(secure))
    assert unusable(secure, "clouds: [") == "it is not YAML at line 1, column 10"
    assert unusable(secure, "clouds: {admin: word}").startswith("clouds: admin: is a string")
    assert unusable(secure, "- clouds").startswith("it is a list")
    secure.write_text("", "utf-8")
    assert connect("admin", deadline=30).admin


def test_a_secret_of_the_secure_file_is_used(
    cloud: FakeCloud, nowhere: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = nowhere / "secure.yaml"
    monkeypatch.setenv("OS_CLIENT_SECURE_FILE", str(secure))
    text = "clouds:\n" + CLOUD.format(name="admin", url=cloud.url, password="")
    file.write_text(text.replace("      password: \n", ""), "utf-8")
    secure.write_text(f"clouds: {{admin: {{auth: {{password: {PASSWORD}}}}}}}", "utf-8")
    assert connect("admin", deadline=30).admin


@pytest.mark.parametrize("word", ["*S3cretPw", "!S3cretPw"])
def test_a_password_that_is_no_yaml_is_not_shown(
    file: Path, word: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    message = unusable(file, f"clouds: {{admin: {{auth:\n  {{password: {word} }}}}}}\n")
    assert message == "it is not YAML at line 2, column 14"
    assert "S3cretPw" not in message + caplog.text + "".join(capsys.readouterr())


@rows
def test_what_is_said_of_a_cloud_is_not_enough(file: Path, entry: str, reason: str) -> None:
    file.write_text(f"clouds: {{admin: {entry}}}", "utf-8")
    assert wrong() == f"openstack:admin: {reason}"


@rows
def test_odd_values_never_end_in_a_traceback(file: Path, entry: str) -> None:
    file.write_text(f"clouds: {{admin: {entry}}}", "utf-8")
    with pytest.raises((UsageError, TargetError)) as caught:
        connect("admin", deadline=30)
    assert str(caught.value).startswith("openstack:admin: ")


def test_variables_without_a_password(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert nowhere
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:9/v3")
    monkeypatch.setenv("OS_USERNAME", "me")
    assert wrong("envvars") == (
        "openstack:envvars: the configuration lacks password (in OS_PASSWORD)"
    )


@pytest.fixture
def vendors(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of vendors' profiles."""
    from openstack.config import loader

    path = nowhere / "clouds-public.yaml"
    monkeypatch.setattr(loader, "VENDOR_FILES", [str(path)])
    return path


@pytest.mark.parametrize("text", ["clouds: [a]", "public-clouds: [", "- a", "clouds: {admin: }"])
def test_a_file_of_vendors_that_is_not_needed(cloud: FakeCloud, vendors: Path, text: str) -> None:
    assert cloud.url
    vendors.write_text(text, "utf-8")
    assert connect("admin", deadline=30).admin


@pytest.mark.parametrize("word", ["profile", "cloud"])
def test_a_profile_of_a_file_of_vendors(
    cloud: FakeCloud, file: Path, vendors: Path, word: str
) -> None:
    entry = CLOUD.format(name="admin", url=cloud.url, password=PASSWORD)
    url = f"auth_url: {cloud.url}/identity/v3"
    assert url in entry
    file.write_text(
        "clouds:\n" + entry.replace(url, "project_domain_id: default") + f"    {word}: mine\n",
        "utf-8",
    )
    vendors.write_text(f"public-clouds: {{mine: {{auth: {{{url}}}}}}}", "utf-8")
    assert connect("admin", deadline=30).admin
    begin = f"{vendors} cannot be used: "
    vendors.write_text("public-clouds: [mine]", "utf-8")
    assert wrong() == f"{begin}public-clouds: is a list, but must be a mapping (key: value)"
    vendors.write_text("public-clouds: {", "utf-8")
    assert wrong() == f"{begin}it is not YAML at line 1, column 17"


def test_a_profile_at_an_address_that_does_not_answer(file: Path) -> None:
    """Nothing listens at port 1."""
    file.write_text("clouds: {admin: {profile: 'http://127.0.0.1:1'}}", "utf-8")
    with pytest.raises(TargetError) as caught:
        connect("admin", deadline=30)
    assert str(caught.value) == (
        "openstack:admin: its profile cannot be fetched: nothing is listening there: is "
        "the service running, is the port right?"
    )


YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(YAML, st.sampled_from(["clouds.yaml", "clouds.json"]))
def test_whatever_is_in_it_nothing_else_is_raised(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, said: object, name: str
) -> None:
    file = nowhere / name
    file.write_text(json.dumps({"clouds": {"admin": said}}), "utf-8")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    with contextlib.suppress(UsageError, TargetError):
        region_of("admin")


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("{}[]:&*<!-'\"#|>, \nac", max_size=60).map(str.encode))
def test_whatever_is_no_yaml_nothing_else_is_raised(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    with contextlib.suppress(UsageError):
        config_files.check("a")


def test_a_cloud_that_is_odd_and_another_one(cloud: FakeCloud, file: Path) -> None:
    entry = CLOUD.format(name="admin", url=cloud.url, password=PASSWORD)
    file.write_text("clouds:\n  odd: [a]\n  none:\n  7: word\n" + entry, "utf-8")
    assert connect("admin", deadline=30).admin
