"""The error tree. One place (``cli/main.py``) turns it into a message and an exit code.

VnicauditError
├── UsageError            exit 2   the command line or the configuration is wrong
│   └── MissingExtraError exit 2   an optional package is needed and not installed
├── TargetError           exit 4   a target, or a part of it, could not be read
├── RefusedError          exit 5   a change was not made: it cannot be, or not without harm
│   ├── OwnedError        exit 5   … because somebody else writes that text anew
│   ├── KeptError         exit 5   … because what was kept to go back to is not what it was
│   └── UnseenError       exit 5   … because what it is about is not shown, and may be elsewhere
├── ActionError           exit 5   what was begun could not be brought to its end
│   ├── SilentError       exit 5   … because the host stopped answering
│   ├── GuestError        exit 5   … because the guest, or its agent, did not do it
│   └── GoneError         exit 5   … because what it is about was deleted
├── JournalError          exit 5   what a run does could not be noted: it stopped there
├── EndpointError         exit 4   where a generator was to run cannot be reached, or lacks a tool
│   └── BusyError         exit 4   … because another measurement is still under way there
├── HistoryError          exit 4   a history cannot be reached, read or written
├── MeasureError          exit 4   what came back from a measurement cannot be read
└── ReaderGoneError       exit 141 the reader of standard output went away (head, less)
"""

from __future__ import annotations


class VnicauditError(Exception):
    """Base of everything this program raises on purpose."""

    exit_code = 3


class UsageError(VnicauditError):
    """The command line or a configuration file is wrong; nothing was audited."""

    exit_code = 2


def install_command(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'vnicaudit[{extra}]'"


class MissingExtraError(UsageError):
    """An optional dependency is missing.

    The message names the extra to install, for example ``pip install 'vnicaudit[libvirt]'``.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: {install_command(extra)}")
        self.extra = extra


class ReaderGoneError(VnicauditError):
    """Nobody reads standard output any more; not worth a message. 141 is what a shell shows for
    a program that SIGPIPE ended."""

    exit_code = 141


class TargetError(VnicauditError):
    """A target, or one file of it, could not be read. The rest of the run goes on.

    ``file`` and ``line`` say where (``line`` is 1-based, None when there is none). ``failure`` is
    the kind of a live host's failure (:mod:`vnicaudit.model.failure`), empty for other targets.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        failure: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.failure = failure

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class RefusedError(VnicauditError):
    """A change was not made. The message says why, as the end of a sentence; ``codes`` say it to
    machines (``vnicaudit.model.reasons``), where they are known."""

    exit_code = 5
    codes: tuple[str, ...] = ()


class OwnedError(RefusedError):
    """A change was not made here: whoever owns the text would overwrite it, or it says what was
    and not what is to be. The message says where to make it instead."""

    codes = ("owner",)


class KeptError(RefusedError):
    """The text that a run kept, to go back to, is gone or is not what it was: nothing is made of
    it."""

    codes = ("kept-original",)


class UnseenError(RefusedError):
    """The thing to change is not shown here, and nothing tells that it was deleted: it may be
    elsewhere, or not for this user to see."""

    codes = ("unreadable",)


class ActionError(VnicauditError):
    """Something that was asked for failed. The message says what, as a sentence's end."""

    exit_code = 5


class SilentError(ActionError):
    """A host stopped answering. What was asked of it may still happen."""


class GuestError(ActionError):
    """A guest, or its agent, did not do what it was asked."""


class GoneError(ActionError):
    """The thing to change is not there any more: somebody deleted it."""


class JournalError(VnicauditError):
    """The next action could not be noted, so it was not done. Not an ActionError: to
    undo something would have to be noted too."""

    exit_code = 5


class EndpointError(VnicauditError):
    """A place where a generator was to run cannot be reached, was lost, or lacks a program. The
    message says which, and what to do."""

    exit_code = 4


class BusyError(EndpointError):
    """Another measurement has the turn at an end, and had it for as long as was waited."""


class MeasureError(VnicauditError):
    """The output of a measuring tool is not what it prints when it has measured."""

    exit_code = 4


class HistoryError(VnicauditError):
    """A history cannot be reached, read or written. The message says which, and what the database
    says of it."""

    exit_code = 4


class SilenceError(MeasureError):
    """A measuring tool ran, and nothing got through: it could not connect, or nothing came back."""
