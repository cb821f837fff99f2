"""``--limit``: as Ansible's users expect, by the real Ansible."""

import json
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.drawing import drawn_seed
from tests.not_run import not_run
from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.fleet.own_format import LimitedHosts
from vnicaudit.model.fleet import InventoryHost

HOSTS = tuple(
    InventoryHost(name, f"qemu+ssh://{name}/system", groups=groups)
    for name, groups in [
        ("kvm1", ("zone_a", "prod")),
        ("kvm2", ("zone_a",)),
        ("kvm7", ("zone_a", "prod")),
        ("kvm10", ("zone_b", "prod")),
        ("web-1.example", ("zone_b",)),
        ("alone", ()),
    ]
)


def limited(limit: str) -> list[str]:
    """The names that are left."""
    return [host.name for host in LimitedHosts(HOSTS, ("empty",)).limited(limit)]


@rows
def test_a_limit_leaves(limit: str, names: list[str]) -> None:
    if names:
        assert limited(limit) == names
    else:
        with pytest.raises(UsageError, match="leaves no host"):
            limited(limit)


def test_a_limit_that_leaves_no_host_says_what_was_meant() -> None:
    with pytest.raises(UsageError, match=r"'zone_c' leaves no host; did you mean 'zone_"):
        limited("zone_c")


def test_a_whole_name_wins_over_its_colons() -> None:
    uri = "qemu+tcp://[::1]:16509/system"
    hosts = LimitedHosts((InventoryHost(uri, uri), *HOSTS), ())
    assert [host.name for host in hosts.limited(uri)] == [uri]


def test_patterns_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "failed").write_text("kvm7\n\nalone\n")
    assert limited(f"@{tmp_path}/failed") == ["kvm7", "alone"]


def test_a_pattern_without_a_match_is_remembered() -> None:
    hosts = LimitedHosts(HOSTS, ())
    hosts.limited("zone_a,kvm99")
    assert hosts.unmatched == ["kvm99"]


WORDS = ("zone_a", "zone_b", "prod", "kvm1", "kvm7", "kvm*", "*1", "web*", "~kvm[0-9]$", "all",
         "ungrouped", "alone", "nothing", "kvm[17]", "zone_*", "zone_a[0]", "prod[1:]")  # fmt: skip


ANSIBLE = """
import json, sys
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
inventory = InventoryManager(DataLoader(), sys.argv[1])
found = []
for limit in json.load(sys.stdin):
    inventory.subset(limit)
    found.append([host.name for host in inventory.list_hosts("all")])
json.dump(found, sys.stdout)
"""


def test_random_limits_leave_what_ansible_leaves(tmp_path: Path) -> None:
    if find_spec("ansible") is None:
        not_run("tests", "ansible-core is not installed")
    inventory = tmp_path / "hosts"
    groups = dict.fromkeys(group for host in HOSTS for group in host.groups)
    lines = [host.name for host in HOSTS if not host.groups]
    for group in groups:
        lines += [f"[{group}]", *(host.name for host in HOSTS if group in host.groups)]
    inventory.write_text("\n".join(lines) + "\n")
    seed = drawn_seed()
    print(f"seed {seed}")
    draw = random.Random(seed)
    limits = [drawn_limit(draw) for _ in range(300)]
    answer = subprocess.run(
        [sys.executable, "-c", ANSIBLE, str(inventory)],
        input=json.dumps(limits), capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = dict(zip(limits, map(sorted, json.loads(answer.stdout)), strict=True))
    ours = {limit: sorted(limited_or_none(limit)) for limit in limits}
    assert ours == theirs


def drawn_limit(draw: random.Random) -> str:
    """One to three patterns."""
    parts = [draw.choice(("", "", "!", "&")) + draw.choice(WORDS)
             for _ in range(draw.randint(1, 3))]  # fmt: skip
    return draw.choice((",", ":")).join(parts)


def limited_or_none(limit: str) -> list[str]:
    """The names that are left; none where that is an error."""
    try:
        return limited(limit)
    except UsageError:
        return []
