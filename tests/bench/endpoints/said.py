"""An endpoint that says what a test wants: for what is judged, not for how it is reached."""

from collections.abc import Callable, Sequence

from vnicaudit.bench.contract import StartedProgram
from vnicaudit.model.host import GuestInterface
from vnicaudit.model.measurement import Ran

Answer = tuple[int | None, str]


class Saying:
    """``answer`` is asked for each command's code and output. ``listed``: interfaces, as a guest's
    agent says them."""

    def __init__(
        self,
        url: str,
        answer: Callable[[Sequence[str]], Answer],
        listed: list[GuestInterface] | None = None,
    ) -> None:
        self.url = url
        self.commands: list[Sequence[str]] = []
        self._answer = answer
        self._listed = listed

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        """Answer."""
        del seconds, stdin
        self.commands.append(argv)
        code, text = self._answer(argv)
        return Ran(command=tuple(argv), code=code, stdout=text, endpoint=self.url)

    def interfaces(self) -> list[GuestInterface] | None:
        """What is listed."""
        return self._listed

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        """Nothing is started."""
        raise NotImplementedError

    def put_file(self, name: str, data: bytes) -> str:
        """Nothing is kept."""
        raise NotImplementedError

    def close(self) -> None:
        """There is nothing to leave."""
