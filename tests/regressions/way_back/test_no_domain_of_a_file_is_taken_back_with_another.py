"""``rollback RUN --domain vm1`` of a file with three domains put back the other two as well, with
exit code 0, and ``--domain vm2`` found no such domain: the file was called after its first."""

import json
from pathlib import Path

from tests.cli.inside import inside

DOMAIN = (
    "<domain type='kvm'><name>{}</name><memory>262144</memory>"
    "<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><devices>"
    "<interface type='bridge'><mac address='52:54:00:00:00:0{}'/><source bridge='br0'/>"
    "<model type='e1000'/></interface></devices></domain>\n"
)


def test_a_domain_is_refused_and_the_file_is_not(tmp_path: Path) -> None:
    file = tmp_path / "guests.xml"
    before = "".join(DOMAIN.format(f"vm{number}", number) for number in (1, 2, 3))
    file.write_text(before)
    state = ("--state", tmp_path / "state")
    assert inside("plan", file, "-o", "p.json", "--include-unsafe", cwd=tmp_path).returncode == 0
    done = inside("apply", "p.json", "--yes", "--include-unsafe", *state, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    changed = file.read_text()
    assert changed.count("virtio") == 3

    (run,) = json.loads(inside("runs", "--format", "json", *state).stdout)["runs"]
    for name in ("vm1", "vm2"):
        refused = inside("rollback", run["id"], "--domain", name, "--yes", *state)
        assert refused.returncode == 2
        assert f"has no such domain '{name}'; vnicaudit runs" in refused.stderr
        assert file.read_text() == changed

    wide = inside("runs", run["id"], *state, env={"COLUMNS": "1000"})  # however long the path is
    assert f"applied      {file}" in wide.stdout
    whole = inside("rollback", run["id"], "--domain", file, "--yes", *state)
    assert whole.returncode == 0, whole.stderr
    assert file.read_text() == before
