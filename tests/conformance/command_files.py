"""Random files with a QEMU command, as operators keep them: what of them is judged in a folder.

    python -m tests.conformance.command_files [--seed NUMBER] [--count NUMBER]

Each file is audited in a folder of its own, beside a definition that is read. All NICs of its
command must be judged, or the file must be told. Prints the seed, the files of which nothing was
said, and the counts; exit code 1 when there is one, or when a form that is read was judged in no
file.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.cli.inside import inside

_OTHER = "<domain type='kvm'><name>other</name></domain>\n"
_BINARIES = ("qemu-system-x86_64", "/usr/bin/qemu-system-x86_64", "kvm", "qemu-kvm")
_BEFORE_SHELL = (
    "set -e", "set -euo pipefail", "cd /srv/guests", "DISK=/srv/web.qcow2", "export LANG=C", "",
    "# the web server", "umask 077", "mkdir -p /run/guests", "modprobe vhost_net", "sleep 1",
    "ip link set br0 up", "echo starting", "source ./settings.sh", "trap 'rm -f pid' EXIT",
)  # fmt: skip
_AFTER_SHELL = ("", "echo done", "wait", "# end", "exit 0")
_UNIT = "[Unit]\nDescription=A guest\n{more}\n[Service]\nType=simple\n{before}ExecStart={command}\n"


class CommandFile(NamedTuple):
    """A file, its form, and how many rtl8139 NICs its command has."""

    name: str
    form: str
    text: str
    nics: int


def random_file(source: random.Random) -> CommandFile:
    """A file that runs a QEMU command, in one of the forms of :data:`FORMS`."""
    form = source.choice(list(FORMS))
    words, nics = _words(source)
    return CommandFile(_NAMES.get(form, "guest"), form, FORMS[form](source, words), nics)


def _words(source: random.Random) -> tuple[list[str], int]:
    """The options of a command, each with its value in one word, and the number of NICs."""
    options = [
        ["-nodefaults"],
        source.choice([["-m 512"], ["-m 2G"], []]),
        source.choice([["-smp 2"], []]),
        source.choice([["-name web"], ["-name guest=web,debug-threads=on"], []]),
        source.choice([["-drive file=/srv/a.qcow2,if=none,id=d0"], []]),
        source.choice([["-display none"], ["-nographic"], []]),
    ]
    nics = source.randint(1, 3)
    for number in range(nics):
        device = f"-device rtl8139,netdev=n{number}"
        if source.random() < 0.5:
            device += f",mac=52:54:00:12:34:{source.randrange(256):02x}"
        options.append([f"-netdev user,id=n{number}", device])
    source.shuffle(options)
    return [word for option in options for word in option], nics


def _lines(source: random.Random, count: int, choice: tuple[str, ...]) -> str:
    return "".join(f"{source.choice(choice)}\n" for _ in range(source.randrange(count)))


def _one_line(source: random.Random, words: list[str]) -> str:
    return " ".join([source.choice(_BINARIES), *words])


def _continued(source: random.Random, words: list[str], sign: str = "\\") -> str:
    return f" {sign}\n    ".join([source.choice(_BINARIES), *words])


def _script(source: random.Random, words: list[str]) -> str:
    first = source.choice(["#!/bin/sh\n", "#!/bin/bash\n", "#!/usr/bin/env bash\n", ""])
    write = source.choice([_one_line, _continued])
    run = source.choice(["", "exec ", "sudo ", "nice -n 5 ", "nohup ", "taskset -c 2-5 "])
    before, after = _lines(source, 5, _BEFORE_SHELL), _lines(source, 3, _AFTER_SHELL)
    return f"{first}{before}{run}{write(source, words)}\n{after}"


def _in_block(source: random.Random, words: list[str]) -> str:
    head, end = source.choice(
        [("if true; then", "fi"), ("for vm in web db; do", "done"), ("start() {", "}\nstart"),
         ("while true; do", "done"), ("(", ")")]
    )  # fmt: skip
    before = _lines(source, 4, _BEFORE_SHELL)
    return f"#!/bin/sh\n{before}{head}\n  {_continued(source, words)}\n{end}\n"


def _in_variable(source: random.Random, words: list[str]) -> str:
    """All NICs come from a variable."""
    given = " ".join(words)
    use = source.choice(["$OPTIONS", "${OPTIONS}", "-snapshot $OPTIONS"])
    binary = source.choice(_BINARIES[:2])
    return f"#!/bin/sh\n{_lines(source, 3, _BEFORE_SHELL)}OPTIONS='{given}'\nexec {binary} {use}\n"


def _binary_in_variable(source: random.Random, words: list[str]) -> str:
    use = source.choice(["$QEMU", '"$QEMU"', "${QEMU}"])
    return f"#!/bin/sh\nQEMU=/usr/bin/qemu-system-x86_64\n{use} {' '.join(words)}\n"


def _array(source: random.Random, words: list[str]) -> str:
    whole = source.random() < 0.5
    given = source.choice([" ", "\n  "]).join([*(["qemu-system-x86_64"] if whole else []), *words])
    use = '"${A[@]}"' if whole else 'exec qemu-system-x86_64 "${A[@]}"'
    return f"#!/bin/bash\n{_lines(source, 3, _BEFORE_SHELL)}A=({given})\n{use}\n"


def _unit(source: random.Random, words: list[str]) -> str:
    write = source.choice([" ", " \\\n  "])
    command = write.join(["/usr/bin/qemu-system-x86_64", *words])
    more = source.choice(["", "After=network.target\n", "; by hand\n"])
    before = source.choice(["", "User=qemu\n", "ExecStartPre=/sbin/modprobe kvm\n"])
    return _UNIT.format(command=command, more=more, before=before)


def _batch(source: random.Random, words: list[str]) -> str:
    binary = source.choice(
        [
            "qemu-system-x86_64",
            "qemu-system-x86_64.exe",
            '"C:\\Program Files\\qemu\\qemu-system-x86_64.exe"',
        ]
    )
    first = source.choice(
        ["@echo off\r\n", "rem the guest\r\n", "setlocal\r\ncd C:\\guests\r\n", ""]
    )
    return first + source.choice([" ", " ^\r\n  "]).join([binary, *words]) + "\r\npause\r\n"


def _terminal(source: random.Random, words: list[str]) -> str:
    prompt = source.choice(["$ ", "# ", "root@host:~# ", "[kvm@node1 ~]$ "])
    return f"{prompt}uptime\n 12:00:00 up 3 days\n{prompt}{_one_line(source, words)}\n"


def _trace(source: random.Random, words: list[str]) -> str:
    return f"+ set -e\n+ cd /srv\n+ exec {_one_line(source, words)}\n"


def _ps(source: random.Random, words: list[str]) -> str:
    return (
        "UID          PID    PPID  C STIME TTY          TIME CMD\n"
        "root           1       0  0 Nov01 ?        00:00:09 /sbin/init\n"
        f"qemu        2114       1 12 Nov02 ?        09:12:44 {_one_line(source, words)}\n"
    )


def _prose(source: random.Random, words: list[str]) -> str:
    return f"# Guests\n\nRun it like this:\n\n    {_one_line(source, words)}\n\nThen log in.\n"


def _python(source: random.Random, words: list[str]) -> str:
    command = " ".join(["qemu-system-x86_64", *words])
    call = source.choice([f"os.system({command!r})", f"subprocess.run({command.split()!r})"])
    return f"import os, subprocess\n\n{call}\n"


def _makefile(source: random.Random, words: list[str]) -> str:
    run = source.choice(["", "@"]) + _one_line(source, words)
    return f"QEMU ?= qemu-system-x86_64\n\nrun:\n\t{run}\n"


FORMS: dict[str, Callable[[random.Random, list[str]], str]] = {
    "script": _script, "block": _in_block, "variable": _in_variable, "program": _binary_in_variable,
    "array": _array, "unit": _unit, "batch": _batch, "terminal": _terminal, "trace": _trace,
    "ps": _ps, "prose": _prose, "python": _python, "makefile": _makefile,
}  # fmt: skip
"""Form of a file -> what writes it."""

_READ = frozenset({"batch", "block", "program", "ps", "script", "unit"})
"""Forms of which all NICs are judged in at least one file."""
_NAMES = {
    "unit": "guest.service", "batch": "guest.bat", "prose": "README.md", "python": "start.py",
    "makefile": "Makefile", "ps": "ps.txt", "terminal": "session.txt",
}  # fmt: skip


def outcome(file: CommandFile, folder: Path) -> str:
    """``judged`` if all NICs of the file are, ``told`` if the report says of the file that it was
    not read in full; else what was said."""
    (folder / "other.xml").write_text(_OTHER)
    path = folder / file.name
    path.write_bytes(file.text.encode())
    try:
        ran = inside("audit", ".", "--format", "json", cwd=folder)
    finally:
        path.unlink()
    report = json.loads(ran.stdout)
    (target,) = report["targets"]
    nics = [one["about"] for one in report["findings"] if one["rule"] == "VNIC001"]
    if len(nics) == file.nics:
        return "judged"
    told = json.dumps([target["errors"], target["not_judged"], target["notes"]])
    if file.name in told and not nics:
        return "told"
    return f"{len(nics)} of {file.nics} NICs judged, exit code {ran.returncode}"


def run(seed: int, count: int) -> int:
    """Compare ``count`` files; returns the exit code."""
    print(f"seed {seed}")
    source, seen, bad = random.Random(seed), Counter[tuple[str, str]](), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            file = random_file(source)
            said = outcome(file, Path(folder))
            seen[file.form, said if said in ("judged", "told") else "silent"] += 1
            if said not in ("judged", "told"):
                bad += 1
                print(f"{file.name} ({file.form}): {said}\n{file.text}")
    for (form, said), number in sorted(seen.items()):
        print(f"{form}: {number} {said}")
    print(f"{count - bad} of {count} files are judged or told")
    judged = {form for form, said in seen if said == "judged"}
    return 1 if bad or not judged >= _READ else 0


def main(arguments: list[str]) -> int:
    """Run with the arguments of the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--count", type=int, default=320)
    options = parser.parse_args(arguments)
    return run(options.seed, options.count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
