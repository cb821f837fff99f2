"""An audit of a fleet, compared with an Ansible play and a shell loop that read the same
definitions, as a user might write them.

    python -m benchmarks.play [--hosts 20] [--domains 50] [--played 1]

Uses HOSTS files of libvirt's test driver with DOMAINS domains of two NICs. The play lists the
domains of each host and fetches the XML of each with ``community.libvirt.virt`` (on this machine,
``forks``: 10); the loop runs ``virsh dumpxml`` for each name of ``virsh list``. Neither judges
anything. The audit is ``vnicaudit audit -i`` with all rules and a JSON report. CPU time is that
of all processes, including their start. The play reads only PLAYED of the hosts, and its time is
multiplied.

Needs virsh, ansible-core, lxml and libvirt-python in this Python's environment, and the collection
community.libvirt in a folder named by ``ANSIBLE_COLLECTIONS_PATH`` (it is in the wheel of
``ansible``).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.fleet import write_hosts

_PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - community.libvirt.virt: {command: list_vms, uri: "{{ uri }}"}
      register: found
    - community.libvirt.virt: {command: get_xml, name: "{{ item }}", uri: "{{ uri }}"}
      loop: "{{ found.list_vms }}"
      loop_control: {label: ""}
"""


def spent(words: list[str], codes: tuple[int, ...], **environment: str) -> float:
    """CPU seconds of a program and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}, check=False
    )
    if done.returncode not in codes:
        raise SystemExit(f"{words[0]} ended with {done.returncode}\n{done.stdout[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_play(folder: Path, uris: list[str]) -> float:
    """CPU seconds of the play."""
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {f"h{number}": {**host, "uri": uri} for number, uri in enumerate(uris)}
    (folder / "hosts.yaml").write_text(json.dumps({"all": {"hosts": hosts}}))
    (folder / "play.yaml").write_text(_PLAY)
    program = str(Path(sys.executable).parent / "ansible-playbook")
    words = [program, "-i", str(folder / "hosts.yaml"), "-f", "10", str(folder / "play.yaml")]
    return spent(words, (0,), ANSIBLE_LOCAL_TEMP=str(folder), ANSIBLE_HOME=str(folder))


def of_loop(uris: list[str]) -> float:
    """CPU seconds of the loop."""
    virsh = 'virsh -r -c "$uri"'
    each = f'for name in $({virsh} list --all --name); do {virsh} dumpxml "$name"; done'
    return spent(["sh", "-c", f"for uri; do {each}; done", "sh", *uris], (0,))


def of_audit(folder: Path, uris: list[str]) -> float:
    """CPU seconds of the audit."""
    (folder / "uris").write_text("\n".join(uris))
    words = [sys.executable, "-m", "vnicaudit", "audit", "-q", "-i", f"{folder}/uris"]
    words += ["--state", f"{folder}/state", "-o", f"{folder}/report.json"]
    return spent(words, (0, 1))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--domains", type=int, default=50)
    parser.add_argument("--played", type=int, default=1)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uris = write_hosts(folder, words.hosts, words.domains)
        audit, loop = of_audit(folder, uris), of_loop(uris)
        play = of_play(folder, uris[: words.played]) * len(uris) / words.played
    calls = words.hosts * (words.domains + 1)
    print(f"{words.hosts} hosts of {words.domains} domains, load {os.getloadavg()[0]:.1f}")
    print(f"the audit: {audit:.2f} s of CPU time")
    for name, took in (("virsh in a loop", loop), ("the play", play)):
        print(f"{name}: {took:.1f} s, {took / calls:.2f} s a call; {took / audit:.0f} times")


if __name__ == "__main__":
    main()
