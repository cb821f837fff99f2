"""Safe fixes of Nova's options in the files of other programs: the value changes where it is
written, and nothing else; what cannot be changed so is told."""

from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.rows import rows

_ANSIBLE = "nova_nova_conf_overrides:\n  libvirt: {max_queues: 4, rx_queue_size: %s} # é\n"
_STRING = "data:\n  nova.conf: |\n    [libvirt]\n    rx_queue_size = %s\n    max_queues = 4\n"
_JUJU = "applications:\n  n: {charm: nova-compute, options: {virtio-net-rx-queue-size: %s}}\n"


@pytest.mark.parametrize(
    "text",
    [
        _ANSIBLE,
        _ANSIBLE.replace("%s", '"%s"'),
        _STRING,
        _STRING.replace("%s", "'%s'").replace("\n", "\r\n"),
        _JUJU,
        "\ufeffconf:\n  nova:\n    libvirt: {rx_queue_size: %s}\n",
        "nova::compute::libvirt::rx_queue_size: %s\n",
        "parameter_defaults:\n  # é\n  NovaLibvirtRxQueueSize: %s\n",
        "- ini_file: path=/etc/nova/nova.conf section=libvirt option=rx_queue_size value=%s\n",
    ],
)
def test_a_value_changes_where_it_is_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes((text % 2048).encode())
    done = inside("audit", "--fix", path)
    assert path.read_bytes() == (text % 1024).encode(), done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_ANSIBLE % "0", "a setting is removed from a nova.conf only: remove it here by hand"),
        ('data:\n  nova.conf: "[libvirt]\\nrx_queue_size = 2048\\n"\n', "not a simple value"),
        (
            "nova_nova_conf_overrides:\n  libvirt:\n    rx_queue_size: &r 2048\n"
            "    tx_queue_size: *r\n",
            "an anchor shares it",
        ),
        (f"{_ANSIBLE % 2048}others: *o\n".replace("es:", "es: &o", 1), "an anchor shares it"),
        (f"{_STRING % 2048}more: *o\n".replace("|", "&o |"), "an anchor shares it"),
        (
            "rings: &r {rx_queue_size: 2048}\nneutron: *r\n"
            "nova_nova_conf_overrides: {libvirt: {<<: *r}}\n",
            "an anchor shares it",
        ),
    ],
)
def test_what_is_not_changed_is_told(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    done = inside("audit", "--fix", path)
    assert reason in " ".join((done.stdout + done.stderr).split())
    assert path.read_text() == text
    assert done.returncode == 5


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (_ANSIBLE % "0", 0),  # the fix removes it
        ('data:\n  nova.conf: "[libvirt]\\nrx_queue_size = 2048\\n"\n', 0),
        (_ANSIBLE % "2048", 1),
    ],
)
def test_what_is_changed_by_hand_is_not_counted(tmp_path: Path, text: str, number: int) -> None:
    (tmp_path / "a.yaml").write_text(text)
    done = inside("audit", tmp_path / "a.yaml")
    assert "VNIC035" in done.stdout
    assert done.stdout.count("safe to fix") == number


@rows
def test_a_diff_shows_known_names_and_no_password(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{line}\nnova::db::password: geheim\n")
    done = inside("audit", "--diff", path)
    assert f"-{line}\n+{line.replace('2048', '1024')}\n" in done.stdout
    assert "geheim" not in done.stdout + done.stderr
