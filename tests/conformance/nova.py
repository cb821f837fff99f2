"""Compare what is read of random folders of nova.conf with a real Nova: every value, and every
refusal by name.

    python -m tests.conformance.nova PYTHON [--folders 500] [--seed N]

PYTHON is that of an environment in which Nova is installed. Prints the seed, each disagreement and
the totals; exit code 1 where there is one. A value that is left open here (``not certain``) agrees
with every value of Nova's, and is counted; one that Nova refuses has to be found by a rule, or the
file be called one that Nova does not start with.
"""

import argparse
import ast
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conformance.nova_folders import folder
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.reading.files import read_file
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.nova_conf.options import knowledge
from vnicaudit.model.nova import KnownOption, NovaConfig
from vnicaudit.model.report import ReadError

ORACLE = Path(__file__).parent / "nova_oracle.py"
_REFUSALS = ("VNIC035", "VNIC073")
"""Rules that name a value which Nova does not take."""


class Answer(NamedTuple):
    """What Nova says of a folder: why it does not start, or ``(kind, text)`` of each option."""

    load: str | None
    values: dict[tuple[str, str], tuple[str, str]]


def options() -> list[KnownOption]:
    """The options that are compared: those that bear on NICs and that the newest release reads."""
    found = {(o.section, o.name): o for o in knowledge().options.values() if o.is_read}
    return [found[name] for name in sorted(found)]


class Oracle:
    """A Nova that is asked folder by folder."""

    def __init__(self, python: str) -> None:
        command = [python, "-I", str(ORACLE)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._names = [[o.section, o.name] for o in options()]

    def ask(self, home: Path) -> Answer:
        """What it reads there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"home": str(home), "names": self._names}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the Nova of {self._process.args!r} ended")
        said = json.loads(line)
        pairs = zip(self._names, said["values"], strict=False)
        return Answer(said["load"], {(s, n): (kind, text) for (s, n), (kind, text) in pairs})

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        with self._process:  # which closes both ends, and waits
            self._process.stdin.close()


def disagreements(home: Path, nova: Answer, seen: Counter[str]) -> Iterator[str]:
    """Where the two differ on one folder."""
    read = [
        item
        for path in _loaded(home)
        for item in read_file(str(path), str(home), every_platform().files, explicit=False)
    ]
    configs = [item for item in read if isinstance(item, NovaConfig)]
    errors = [item for item in read if isinstance(item, ReadError)]
    if nova.load is not None:
        seen["does not start"] += 1
        if not any("Nova would not start" in e.message or "UTF-16" in e.message for e in errors):
            yield f"Nova does not start ({nova.load}), and nothing says so"
        return
    if errors:
        yield f"Nova starts, and: {errors[0].message}"
    if not configs:
        return
    refused = _refused(configs)
    for option in options():
        kind, text = nova.values[option.section, option.name]
        where = f"[{option.section}] {option.name}"
        if kind == "refused":
            seen["refused"] += 1
            if (option.section, option.name) in refused or configs[0].libvirt is False:
                continue
            if any(not o.certain for o in configs[0].values(option.section, option.name)):
                seen["refused, and open here"] += 1
                continue
            yield f"{where}: Nova refuses it ({text}), and no rule says so"
        elif (option.section, option.name) in refused:
            yield f"{where}: {text} to Nova, and a rule says that it is refused"
        else:
            yield from _value(configs[-1], option, text, seen)


def _loaded(home: Path) -> list[Path]:
    files = [home / name for name in ("nova.conf", "nova-compute.conf")]
    folders = [home / name for name in ("nova.conf.d", "nova-compute.conf.d")]
    found = [file for file in files if file.exists()]
    return found + [path for each in folders for path in sorted(each.glob("[!.]*.conf"))]


def _refused(configs: list[NovaConfig]) -> set[tuple[str, str]]:
    found = set()
    judge = DescriptionAuditor(_REFUSALS, every_platform().wordings)
    for config in configs:
        for finding in judge.audit(config, "t").findings:
            section, _, rest = finding.message.removeprefix("[").partition("] ")
            if finding.rule == "VNIC035":
                section, rest = "libvirt", finding.message
            found.add((section, rest.split(" ", 1)[0]))
    olds = {f"{a[0]}/{a[1]}": name for name, many in knowledge().aliases.items() for a in many}
    return found | {olds[f"{s}/{n}"] for s, n in found if f"{s}/{n}" in olds}


def _value(config: NovaConfig, option: KnownOption, text: str, seen: Counter[str]) -> Iterator[str]:
    form, setting = option.form, config.winner(option.section, option.name)
    if setting is None or form is None or form.kind in ("list", "map", "other"):
        seen["not set, or no type that is compared"] += 1
        return
    if not setting.certain:
        seen["open"] += 1
        return
    seen["compared"] += 1
    if _theirs(form.kind, text) != form.plain(setting.value).strip():
        yield f"[{option.section}] {option.name}: {text!r} to Nova, {setting.value!r} here"


def _theirs(kind: str, text: str) -> str:
    """Nova's value in the spelling of :meth:`OptionForm.plain`."""
    if text == "None":
        return ""
    return str(ast.literal_eval(text)).lower() if kind == "bool" else text.strip()


def compare(python: str, folders: int, seed: int) -> tuple[list[str], Counter[str]]:
    """The disagreements over so many random folders, and what was seen."""
    found: list[str] = []
    seen: Counter[str] = Counter()
    oracle = Oracle(python)
    try:
        for number in range(folders):
            draw = random.Random(f"{seed}/{number}")
            with tempfile.TemporaryDirectory() as name:
                home = Path(name)
                folder(home, draw)
                nova = oracle.ask(home)
                if nova.load == "SystemExit":
                    # by an option that its command line has too (debug): no rule is about those
                    seen["ends by an option of its command line"] += 1
                    continue
                lines = list(disagreements(home, nova, seen))
                found += [f"folder {number}: {line}" for line in lines]
    finally:
        oracle.close()
    return found, seen


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.nova")
    parser.add_argument("python")
    parser.add_argument("--folders", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}")
    found, seen = compare(given.python, given.folders, given.seed)
    for line in found:
        print(line)
    for what, number in sorted(seen.items()):
        print(f"{what}: {number}")
    print(f"{len(found)} disagreements in {given.folders} folders")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
