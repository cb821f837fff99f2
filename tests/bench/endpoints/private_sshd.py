"""An sshd of our own on 127.0.0.1, with its own keys; nothing of the user's ssh is touched."""

import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench.endpoints.left import listens, until
from tests.not_run import not_run
from tests.ports import free_port

SSHD = """\
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
"""Its configuration, beside the place where it listens."""
SSH = """\
IdentityFile {folder}/user
IdentitiesOnly yes
UserKnownHostsFile {folder}/known
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
"""
"""That of a client."""


class PrivateSshd(NamedTuple):
    """Where it is, and the ssh configuration that reaches it."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    def url(self, more: str = "", user: str = getpass.getuser()) -> str:
        """An endpoint there."""
        return f"ssh://{user}@127.0.0.1:{self.port}?ssh_config={self.folder}/config{more}"


@contextmanager
def private_sshd(folder: Path) -> Iterator[PrivateSshd]:
    """A running one; it and its connections end with it."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None or shutil.which("ssh") is None:
        not_run("tests", "sshd or ssh is not installed")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it leaves its privileges behind
    port = free_port()
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    (folder / "sshd").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\n" + SSHD.format(folder=folder)
    )
    (folder / "config").write_text(SSH.format(folder=folder))
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    arguments = [program, "-D", "-e", "-f", str(folder / "sshd")]
    with open(folder / "log", "wb") as log, subprocess.Popen(arguments, stderr=log) as process:
        try:
            until(lambda: listens(port), "sshd listens")
            yield PrivateSshd(port, folder, process)
        finally:
            process.terminate()
