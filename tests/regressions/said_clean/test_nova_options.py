"""nova.conf was called clean though Nova does not read a line, or does not start: misspelt options,
a byte order mark, references that lead nowhere, lists with a word that is none of the choices, and
an empty ``compute_driver``, which silenced a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside as vnicaudit

Found = tuple[str, int, str]


def findings(folder: Path, text: str | bytes) -> tuple[int, list[Found]]:
    """The exit code of an audit of such a nova.conf, and rule, line and message of each finding."""
    file = folder / "nova.conf"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = vnicaudit("audit", file, "--format", "json")
    found = json.loads(done.stdout)["findings"]
    return done.returncode, [(f["rule"], f["location"]["line"], f["message"]) for f in found]


def test_misspelt_options_are_not_clean(tmp_path: Path) -> None:
    text = "[libvirt]\nuse_virtio_for_bridge = false\nrx_queue_sizes = 1024\nmax_queue = 8\n"
    end = "does not exist in any release of Nova: did you mean"
    assert findings(tmp_path, f"{text}virt_type = kvm\n") == (
        1,
        [
            ("VNIC081", 2, f"[libvirt] use_virtio_for_bridge {end} use_virtio_for_bridges?"),
            ("VNIC081", 3, f"[libvirt] rx_queue_sizes {end} rx_queue_size?"),
            ("VNIC081", 4, f"[libvirt] max_queue {end} max_queues?"),
        ],
    )


def test_a_byte_order_mark_is_not_read_over(tmp_path: Path) -> None:
    file = tmp_path / "nova.conf"
    file.write_bytes(b"\xef\xbb\xbf[libvirt]\nvirt_type = kvm\n")
    done = vnicaudit("audit", file)
    assert done.returncode == 4
    told = " ".join(done.stdout.split())
    assert "nova.conf:1: begins with a byte order mark: Nova would not start with it" in told


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "virt_type = $libvirt_type",
            "refers to $libvirt_type, which Hibiscus (34.0) does not have",
        ),
        ("rx_queue_size = $rx_queue_size", "refers to itself"),
        ("max_queues = $mine", "refers to $mine, an option that Nova does not have"),
    ],
)
def test_a_reference_that_leads_nowhere_is_not_clean(tmp_path: Path, line: str, why: str) -> None:
    code, found = findings(tmp_path, f"[libvirt]\n{line}\n")
    told = f"[libvirt] {line}: it {why}, and Nova fails when it uses the option"
    assert (code, found) == (1, [("VNIC073", 2, told)])


def test_a_list_with_a_word_that_is_no_choice_is_not_clean(tmp_path: Path) -> None:
    option = "wait_for_vif_plugged_event_during_hard_reboot"
    text = f"[libvirt]\nvirt_type = kvm\n[workarounds]\n{option} = true\n"
    code, found = findings(tmp_path, text)
    assert (code, [each[:2] for each in found]) == (1, [("VNIC073", 4)])
    assert found[0][2].startswith(f"[workarounds] {option} = true: it takes words with commas")


def test_an_empty_driver_silences_no_rule(tmp_path: Path) -> None:
    text = "[DEFAULT]\ncompute_driver =\n[libvirt]\nmax_queues = 0\n"
    code, found = findings(tmp_path, text)
    assert (code, [each[:2] for each in found]) == (1, [("VNIC073", 2), ("VNIC073", 4)])
    assert found[0][2] == (
        "[DEFAULT] compute_driver is empty: nova-compute does not start without a driver"
    )
