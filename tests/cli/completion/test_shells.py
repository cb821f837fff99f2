"""Completion in real shells, installed as a user installs it."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.cli.command import SCRIPT
from tests.cli.completion.terminal import PROMPT, Terminal
from tests.cli.inside import inside

CASES = {
    "a folder": ("audit gue", ["audit", "guests/"]),
    "a folder with a space": ("nics my", ["nics", "my guests/"]),
    "a file in a folder": ("audit guests/w", ["audit", "guests/web.xml"]),
    "a file with a space": ("audit my\\ guests/o", ["audit", "my guests/one.xml"]),
    "a second target": ("audit guests qemu:", ["audit", "guests", "qemu:///system"]),
    "a cloud": ("audit openstack:pr", ["audit", "openstack:prod"]),
    "a command": ("expl", ["explain"]),
    "a choice": ("audit --level nev", ["audit", "--level", "never"]),
    "a choice behind =": ("audit --level=nev", ["audit", "--level=never"]),
    "a file behind =": ("audit --baseline=kno", ["audit", "--baseline=known.json"]),
    "a folder of an option": ("rules --state gue", ["rules", "--state", "guests/"]),
    "an owner": ("audit --owner kub", ["audit", "--owner", "kubevirt"]),
    "a rule": ("rules VNIC001", ["rules", "VNIC001"]),
    "a second rule": ("audit --select VNIC001,VNIC030", ["audit", "--select", "VNIC001,VNIC030"]),
    "a profile": ("bench run -p smo", ["bench", "run", "-p", "smoke"]),
    "a file of an option": ("audit --baseline kno", ["audit", "--baseline", "known.json"]),
}
"""Each has one answer."""

RC = {
    "bash": (
        '. "$HOME/.local/share/bash-completion/completions/vnicaudit"\nPS1="ready> "\n',
        ".rc",
    ),
    "zsh": (
        "fpath+=($HOME/.zfunc); autoload -Uz compinit; compinit -u; bindkey -e\n"
        "setopt no_auto_remove_slash\n",
        ".zshrc",
    ),
    "fish": ("function fish_prompt; echo 'ready> '; end\n", ".config/fish/config.fish"),
}
WORDS = {"bash": ("--noprofile", "--rcfile", ".rc", "-i"), "zsh": ("-i",), "fish": ("-i",)}


@pytest.fixture(scope="module", params=RC)
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def terminal(shell: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A shell in a folder with files, into which completion was installed."""
    home = tmp_path_factory.mktemp(shell)
    for name in ("guests/web.xml", "my guests/one.xml", "known.json"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).touch()
    (home / "clouds.yaml").write_text("clouds:\n  prod: {}\n  'a; reboot': {}\n  lab: {}\n")
    (home / "bin").mkdir()
    program = home / "bin/vnicaudit"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SCRIPT} "$@"\n')
    program.chmod(0o755)
    env = {
        "HOME": str(home),
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "PS1": "ready> ",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "XDG_STATE_HOME": str(home / "state"),
    }
    unset = dict.fromkeys(("ZDOTDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), "")
    done = inside("completion", "install", "--shell", shell, env=env | unset)
    assert done.returncode == 0, done.stderr
    text, rc = RC[shell]
    (home / rc).parent.mkdir(parents=True, exist_ok=True)
    (home / rc).write_text(text)
    with Terminal(shell, *WORDS[shell], cwd=home, env=env) as opened:
        opened.wait(PROMPT)
        yield opened


@pytest.mark.parametrize("case", CASES)
def test_one_answer_is_typed_in_full(terminal: Terminal, case: str) -> None:
    line, words = CASES[case]
    assert terminal.completed(f"vnicaudit {line}") == words
