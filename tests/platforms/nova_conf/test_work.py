"""How much work a hostile configuration makes: counted, or compared with one four times as long."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.remedy.works import work
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf import resolve
from vnicaudit.knowledge.nova_conf.options import knowledge
from vnicaudit.model.nova import NovaConfig, NovaIndex
from vnicaudit.platforms.nova_conf import siblings
from vnicaudit.platforms.nova_conf.read import read_bytes
from vnicaudit.remedy.check import MadeChange, Reader, objection
from vnicaudit.remedy.in_place import fixed

DEAD = "linuxnet_interface_driver = x\n"


def config(text: str) -> NovaConfig:
    return read_bytes(text.encode(), target="t", file="nova.conf")


def calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Counter[str]:
    """Counts the calls of a function from now on."""
    count: Counter[str] = Counter()
    real: Callable[..., Any] = getattr(owner, name)

    def counted(*given: Any, **named: Any) -> Any:
        count[name] += 1
        return real(*given, **named)

    monkeypatch.setattr(owner, name, counted)
    return count


def test_each_option_that_is_referred_to_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = calls(monkeypatch, NovaIndex, "winner")
    found = config(f"[DEFAULT]\nmy_ip = {'$host' * 8}\nhost = {'$my_ip' * 8}\n")
    assert [option.certain for option in found.options] == [False, False]
    assert count["winner"] == 2


def test_values_that_grow_without_end_stay_open() -> None:
    names = sorted(knowledge().strings["DEFAULT"])[:5]
    longer = [f"{name} = {f'${before}' * 200}" for before, name in pairwise(names)]
    lines = [f"{names[0]} = {'x' * 100}", *longer]
    found = config("[DEFAULT]\n" + "\n".join(lines) + "\n")
    assert [option.certain for option in found.options][:2] == [True, True]
    assert not found.options[-1].certain
    assert max(len(option.value) for option in found.options) < 2 * resolve._LONGEST


def test_all_that_is_filled_in_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "_MOST", 30)
    found = config("[DEFAULT]\nmy_ip = 1234567890\n" + "host = $my_ip\n" * 5)
    assert [option.certain for option in found.options] == [True, True, True, True, False, False]


def test_a_long_chain_of_references_ends() -> None:
    names = sorted(knowledge().strings["DEFAULT"])
    lines = [f"{name} = ${after}" for name, after in pairwise(names)]
    found = config("[DEFAULT]\n" + "\n".join(lines) + f"\n{names[-1]} = end\n")
    assert len(names) > resolve._DEPTH
    assert not found.options[0].certain
    assert [option.value for option in found.options[-2:]] == ["end", "end"]


def _looks(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """How many options are put into an index and looked at for a whole judgement."""
    made: list[int] = []
    real = NovaIndex.__init__

    def counted(self: NovaIndex, options: Any) -> None:
        made.append(len(options))
        real(self, options)

    with monkeypatch.context() as patch:
        patch.setattr(NovaIndex, "__init__", counted)
        effective = calls(patch, NovaIndex, "_effective")
        audited = DescriptionAuditor(rule_ids(), every_platform().wordings).audit(config(text), "t")
    assert len(audited.findings) == 50
    assert (audited.crashed, audited.skipped) == ((), ())
    return sum(made) + effective["_effective"]


def test_dead_lines_are_gone_over_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    once, more = (_looks(monkeypatch, "[DEFAULT]\n" + DEAD * n) for n in (1000, 4000))
    assert more < 8 * once


def test_what_nothing_asks_for_is_not_kept() -> None:
    found = config("[DEFAULT]\na = 1\nmy_ip = 192.0.2.1\n[a]\nmy_ip = 1\n[libvirt]\nb = 1\n")
    assert [(o.section, o.name) for o in found.options] == [("DEFAULT", "my_ip")]
    assert found.compute


@pytest.mark.parametrize(("text", "same"), [("a = 1\nc = 2\n", True), ("a = 2\n", False)])
def test_but_it_is_seen_that_it_changed(text: str, same: bool) -> None:
    before = config("[x]\na = 1\nc = 2\n[libvirt]\nvirt_type = kvm\n")
    after = config(f"[x]\n{text}[libvirt]\nvirt_type = kvm\n")
    assert before.options[0].value == after.options[0].value
    assert (before.rest_checksum == after.rest_checksum) is same


def test_one_option_is_changed_once_whatever_findings_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads = calls(monkeypatch, Reader, "read")
    text = "[DEFAULT]\ncompute_driver = libvirt.L\n" + DEAD * 200
    text += "[libvirt]\nvif_driver = y\nrx_queue_size = 511\n"
    outcome = fixed(
        text.encode(), "nova.conf", work(), every_platform().writer, include_unsafe=True
    )
    assert outcome.after == (
        b"[DEFAULT]\ncompute_driver = libvirt.L\n[libvirt]\nrx_queue_size = 256\n"
    )
    assert reads["read"] <= 3


def test_every_option_is_told_so_that_fixing_brings_none_up() -> None:
    text = "[DEFAULT]\nforce_raw_images = true\n" + DEAD * 60 + "libvirt_vif_driver = y\n"
    outcome = fixed(
        text.encode(), "nova.conf", work(), every_platform().writer, include_unsafe=True
    )
    assert (outcome.after, outcome.refused) == (b"[DEFAULT]\nforce_raw_images = true\n", ())


def test_a_change_of_an_option_that_is_not_kept_is_seen() -> None:
    data = b"[libvirt]\nrx_queue_size = 511\ncpu_mode_note = 1\n"
    reader = Reader("nova.conf", work(), frozenset())
    before = reader.read(data)
    (finding,) = (f for f in before.findings().values() if f.rule == "VNIC035")
    assert finding.change is not None
    made = MadeChange(0, finding, finding.change)
    good = data.replace(b"511", b"256")
    assert objection(before, reader.read(good), [made], every_platform().writer) is None
    bad = good.replace(b"note = 1", b"note = 2")
    reason = "another option of the file would change"
    assert objection(before, reader.read(bad), [made], every_platform().writer) == reason


def _folder(path: Path, files: int) -> list[Path]:
    path.mkdir()
    (path / "nova.conf").write_text("[libvirt]\nvirt_type = kvm\n")
    (path / "nova.conf.d").mkdir()
    for number in range(files):
        (path / f"nova.conf.d/{number:04}.conf").write_text("[libvirt]\nrx_queue_size = 512\n")
    return sorted(path.rglob("*.conf"))


def _read_all(paths: list[Path]) -> Iterator[NovaConfig]:
    for path in paths:
        yield siblings.read_with_siblings(path.read_bytes(), target="t", file=str(path))[0]


def test_files_that_are_read_together_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = calls(monkeypatch, siblings, "_file_content")
    named = calls(monkeypatch, resolve, "_under_current_name")
    paths = _folder(tmp_path / "a", 40)
    found = list(_read_all(paths))
    assert {len(one.options) for one in found} == {41}
    assert reads["_file_content"] == 41
    assert named["_under_current_name"] <= 3 * 41


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    paths = _folder(tmp_path / "a", 2)
    last = tmp_path / "a/nova.conf.d/0001.conf"

    def sizes() -> set[str]:
        found = (one.winner("libvirt", "rx_queue_size") for one in _read_all(paths))
        return {"" if option is None else option.value for option in found}

    assert sizes() == {"512"}
    new = tmp_path / "new"
    new.write_text("[libvirt]\nrx_queue_size = 256\n")
    new.replace(last)
    assert sizes() == {"256"}
    last.write_text("[libvirt]\nrx_queue_size = 1024\n")
    assert sizes() == {"1024"}


def test_what_is_tried_in_memory_counts_instead_of_what_is_on_disk(tmp_path: Path) -> None:
    _folder(tmp_path / "a", 2)
    last = str(tmp_path / "a/nova.conf.d/0001.conf")
    new = b"[libvirt]\nrx_queue_size = 256\n"
    found, _unread = siblings.read_with_siblings(new, target="t", file=last)
    assert [option.value for option in found.own] == ["256"]
    assert len(found.options) == 3


def test_files_that_are_too_large_together_leave_all_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(siblings, "_MOST_BYTES", 100)
    found = list(_read_all(_folder(tmp_path / "a", 8)))
    assert {option.certain for one in found for option in one.options} == {False}
    assert not any(one.complete for one in found)


_LINES = st.one_of(
    st.sampled_from(["[DEFAULT]", "[a#b]", "[a/b]", "[libvirt]", "[pci]", "{% if x %}", "[c]",
                     "{% endif %}"]),
    st.builds("{} = {}".format, st.sampled_from([
        "--a", "--a#2", "--a/b", "virt_type", "device_spec", "passthrough_whitelist", "vif_driver",
        "pci_passthrough_whitelist", "--",
    ]), st.sampled_from(["1", "kvm", "$my_ip", ""])),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(_LINES, max_size=20).map("\n".join))
def test_what_a_problem_names_is_found_where_it_stands(text: str) -> None:
    try:
        found = config("[DEFAULT]\n" + text + "\n")
    except TargetError:
        return
    fields = [found.field_of(option) for option in found.own]
    for option, field in zip(found.own, fields, strict=True):
        if fields.count(field) == 1:
            assert found.place(field) == found.at(option)
    assert DescriptionAuditor(rule_ids(), every_platform().wordings).audit(found, "t").crashed == ()
