"""nova.conf was called clean though Nova does not read a line, or does not start: misspelt options,
a byte order mark, references that lead nowhere, lists with a word that is none of the choices, and
an empty ``compute_driver``, which silenced a rule."""

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


GOOD = "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n[libvirt]\nvirt_type = kvm\n"
HINTLESS = {
    "a part without a hint": (
        "nova.conf.d/9.conf",
        "[workarounds]\nwait_for_vif_plugged_event_during_hard_reboot = true\n",
        (1, ["VNIC073"], []),
    ),
    "a section that does not end": (
        "nova.conf.d/x.conf",
        "[unclosed\n",
        (4, [], ["Invalid section (must end with ]): Nova would not start with it"]),
    ),
    "a line that is no option": (
        "nova-compute.conf",
        "junk line\n[glance]\n",
        (4, [], ["No ':' or '=' found in assignment: Nova would not start with it"]),
    ),
    "a byte order mark": (
        "nova-compute.conf.d/1.conf",
        "\ufeff[glance]\ndebug = true\n",
        (
            4,
            [],
            [
                "begins with a byte order mark: Nova would not start with it; save it as UTF-8 "
                "without one"
            ],
        ),
    ),
}


@pytest.mark.parametrize("named", ["", "nova.conf"])
@pytest.mark.parametrize(("name", "text", "answer"), HINTLESS.values(), ids=HINTLESS)
def test_a_part_that_nova_reads_is_read_whatever_it_contains(
    tmp_path: Path, name: str, text: str, answer: tuple[int, list[str], list[str]], named: str
) -> None:
    """Where only ``nova.conf`` is named, values in a part are judged with the part."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "nova.conf").write_text(GOOD)
    (tmp_path / name).write_text(text)
    code, rules, errors = answer
    if named and rules:
        code, rules = 0, []
    done = vnicaudit("audit", tmp_path / named, "--format", "json")
    report = json.loads(done.stdout)
    assert [found["rule"] for found in report["findings"]] == rules
    assert [error["message"] for error in report["targets"][0]["errors"]] == errors
    assert done.returncode == code


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sites-enabled/nova.conf", "<VirtualHost *:8774>\n"),
        ("nova.service.d/nova.conf", "[Service]\nLimitNOFILE = 4096\nnonsense\n"),
        ("conf.d/nova-compute.conf", "[program:nova]\n"),
        ("nova.conf.d/README", "[unclosed\n"),
        ("nova/nova.conf", ""),
    ],
)
def test_another_program_s_nova_conf_is_not_taken_for_nova_s(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "nova.conf").write_text(GOOD)
    done = vnicaudit("audit", tmp_path, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["targets"][0]["errors"]) == (0, [])
