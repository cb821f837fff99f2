"""A run of ``apply --batch 4`` was killed while four servers were off, and run again. Its threads
read the journal's first record of a server at once, msgspec had not worked out yet what that
record is made of, and the program died of a segmentation fault: the servers stayed off.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vnicaudit
from tests.rows import rows

ROOT = Path(vnicaudit.__file__).parents[1]
OWNER = "vnicaudit/model/decoding.py"
_RAW = {"dict[str, msgspec.Raw]", "list[msgspec.Raw]"}

_STRESS = """
import sys, threading
import msgspec
from vnicaudit.model.decoding import converted, json_as, json_decoder, msgpack_decoder

sys.setswitchinterval(1e-6)
DATA = {f"part{n}": {"f1": 3} for n in range(4)}
TEXT = msgspec.json.encode(DATA)
PACKED = msgspec.msgpack.encode(DATA)

def fresh(turn):
    fields = [(f"f{n}", int | None, None) for n in range(12)]
    parts = [msgspec.defstruct(f"Part{turn}_{n}", fields) for n in range(4)]
    return msgspec.defstruct(f"Whole{turn}", [(f"part{n}", kind) for n, kind in enumerate(parts)])

def read_at_once(kind):
    found, start = [], threading.Barrier(6)
    ways = (
        lambda: converted(DATA, kind), lambda: json_as(TEXT, kind),
        lambda: json_decoder(list[kind]).decode(b"[" + TEXT + b"]")[0],
        lambda: msgpack_decoder(kind).decode(PACKED), lambda: converted(DATA, kind | None),
        lambda: json_as(TEXT, dict[str, msgspec.Raw]) and json_as(TEXT, kind),
    )
    def work(way):
        start.wait()
        found.append(way())
    threads = [threading.Thread(target=work, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and all(one == found[0] for one in found), found
    assert found[0].part3.f1 == 3

for turn in range(150):
    read_at_once(fresh(turn))
print("well")
"""


def test_four_servers_that_are_off_are_started_by_the_second_life(tmp_path: Path) -> None:
    """The whole way: journal, threads, records; only the clock and the cloud are not real."""
    done = _python("-m", "tests.regressions.cloud.resume_in_batches", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "off: 4",
        "outcomes: applied applied applied applied",
        "run: virtio virtio virtio virtio",
    ]


@pytest.mark.parametrize("process", range(5))
def test_records_that_six_threads_read_first_at_once(process: int) -> None:
    """Without the one place that reads, each of these processes dies within milliseconds."""
    done = _python("-c", f"{_STRESS}# {process}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "well\n", "")


def test_nobody_else_has_msgspec_work_out_a_type() -> None:
    sources = [*(ROOT / "vnicaudit").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(sources)
        if str(path.relative_to(ROOT)) != OWNER
        for line in _reads(path.read_text("utf-8"))
    ]
    assert len(sources) > 500
    assert found == [], f"read records by {OWNER}"


@rows
def test_what_works_out_a_type_is_found(source: str, lines: list[int]) -> None:
    assert list(_reads(source)) == lines


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


_NAMES = {
    "msgspec.convert", "msgspec.json.decode", "msgspec.json.Decoder", "msgspec.msgpack.decode",
    "msgspec.msgpack.Decoder", "msgspec.yaml.decode", "msgspec.toml.decode",
    "msgspec.inspect.type_info", "msgspec.inspect.multi_type_info",
}  # fmt: skip


def _reads(source: str) -> Iterator[int]:
    """Lines on which msgspec is given a type to work out, or is imported under other names."""
    tree = ast.parse(source)
    harmless = {id(one) for node in ast.walk(tree) for one in _harmless(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in harmless:
            if ast.unparse(node) in _NAMES:
                yield node.lineno
        elif isinstance(node, ast.Import):
            if any(one.name.split(".")[0] == "msgspec" and one.asname for one in node.names):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = {f"{node.module}.{one.name}" for one in node.names}
            if names & {*_NAMES, "msgspec.json", "msgspec.msgpack", "msgspec.inspect"}:
                yield node.lineno


def _harmless(node: ast.AST) -> Iterator[ast.AST]:
    """``json.decode(text)`` without a type or with one that has no record in it, and what is only a
    type for who reads the source."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("json.decode"):
        kinds = [ast.unparse(one.value) for one in node.keywords if one.arg == "type"]
        if len(node.args) == 1 and len(kinds) == len(node.keywords) and {*kinds} <= _RAW:
            yield node.func
    elif isinstance(node, ast.Subscript):
        yield node.value
