from collections.abc import Callable

from testinfra.host import Host

class CommandResult:
    exit_status: int
    command: bytes
    @property
    def stdout_bytes(self) -> bytes: ...
    @property
    def stderr_bytes(self) -> bytes: ...

class BaseBackend:
    encode: Callable[[str], bytes]
    get_command: Callable[..., str]
    run_local: Callable[..., CommandResult]
    @staticmethod
    def quote(command: str, *args: str) -> str: ...
    def result(
        self, rc: int, cmd: bytes, stdout: str | bytes, stderr: str | bytes
    ) -> CommandResult: ...
    def run(self, command: str) -> CommandResult: ...
    def set_host(self, host: Host) -> None: ...
