"""The comparison itself: on our own recordings always, on libvirt's where they are at hand."""

import shutil
from pathlib import Path

import pytest

from tests.conformance.compare import Pair, differences, main, pairs
from tests.rows import rows

DATA = Path(__file__).parent / "data"
LIBVIRT = Path(__file__).parents[3] / "shared/corpora/libvirt"


@pytest.mark.parametrize("pair", pairs(DATA), ids=lambda pair: pair.xml.stem)
def test_own_recordings(pair: Pair) -> None:
    assert list(differences(pair)) == []


def test_every_definition_is_recorded() -> None:
    assert {pair.xml.name for pair in pairs(DATA)} == {path.name for path in DATA.glob("*.xml")}


@pytest.mark.skipif(not LIBVIRT.is_dir(), reason="libvirt's own test data is not here")
def test_libvirts_own_test_data(capsys: pytest.CaptureFixture[str]) -> None:
    (directory,) = LIBVIRT.glob("libvirt-*/tests/qemuxmlconfdata")
    code = main([str(directory)])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert printed.rstrip().endswith("agree: 100.00 %")


@rows
def test_a_difference_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, says: str
) -> None:
    (args,) = DATA.glob("rings.*.args")
    shutil.copy(DATA / "rings.xml", tmp_path)
    text = args.read_text()
    assert old in text
    (tmp_path / args.name).write_text(text.replace(old, new, 1))
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert says in printed
    assert printed.startswith(f"{args.name}: ")
    assert printed.rstrip().endswith("0 of 1 command lines agree: 0.00 %")


def test_a_missing_nic_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (args,) = DATA.glob("nothing.*.args")
    shutil.copy(DATA / "pc-default.xml", tmp_path / "nothing.xml")
    shutil.copy(args, tmp_path)
    assert main([str(tmp_path)]) == 1
    assert "NIC 2: we say Shape(model='rtl8139', queues=1" in capsys.readouterr().out


def test_names_of_files(tmp_path: Path) -> None:
    for name in (
        "a.b.xml", "a.b.x86_64-latest.args", "a.b.x86_64-8.0.0.args", "a.b.x86_64-latest+hvf.args",
        "a.b.x86_64-latest.abi-update.args", "a.b.x86_64-latest.xml", "a.b.x86_64-latest.err",
        "c.s390x-latest.args", "a.b.args",
    ):  # fmt: skip
        (tmp_path / name).touch()
    found = [(pair.args.name, str(pair.version)) for pair in pairs(tmp_path)]
    assert found == [
        ("a.b.x86_64-8.0.0.args", "8.0.0"),
        ("a.b.x86_64-latest+hvf.args", "None"),
        ("a.b.x86_64-latest.abi-update.args", "None"),
        ("a.b.x86_64-latest.args", "None"),
    ]


@pytest.mark.parametrize("arguments", [[], ["/nonexistent"], ["a", "b"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "python -m tests.conformance.compare DIRECTORY" in capsys.readouterr().out


def test_nothing_to_compare_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no NAME.xml" in capsys.readouterr().out
