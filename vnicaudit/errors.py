"""The error tree. One place (``cli/main.py``) turns it into a message and an exit code.

VnicauditError
├── UsageError            exit 2   the command line or the configuration is wrong
│   └── MissingExtraError exit 2   an optional package is needed and not installed
├── TargetError           exit 4   a target, or a part of it, could not be read
├── RefusedError          exit 5   a change was not made: impossible, or not without harm
│   ├── OwnedElsewhereError        exit 5   … because another program rewrites that text
│   ├── SavedTextError         exit 5   … because the text saved for rollback is missing or damaged
│   └── NotVisibleError       exit 5   … because the object is not visible here and may be elsewhere
├── ActionError           exit 5   a change was started and could not be completed
│   ├── NoResponseError       exit 5   … because the host stopped answering
│   ├── GuestError        exit 5   … because the guest, or its agent, did not do it
│   └── GoneError         exit 5   … because the object was deleted
├── JournalError          exit 5   a run could not record what it does, and stopped there
├── EndpointError         exit 4   a measuring endpoint cannot be reached, or lacks a tool
│   └── BusyError         exit 4   … because another measurement is still running there
├── HistoryError          exit 4   a history cannot be reached, read or written
├── MeasureError          exit 4   the output of a measurement cannot be read
│   └── NoTrafficError    exit 4   … because no traffic got through
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
    """How to install an extra: from a checkout. An index of packages has no vnicaudit, or one of
    somebody else."""
    return f"pip install '.[{extra}]' in a checkout of vnicaudit"


class MissingExtraError(UsageError):
    """An optional dependency is missing.

    The message names the extra, and how to install it.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: {install_command(extra)}")
        self.extra = extra


class ReaderGoneError(VnicauditError):
    """Nobody reads standard output any more; not worth a message. 141 is what a shell shows for
    a program that SIGPIPE ended."""

    exit_code = 141


class TargetError(VnicauditError):
    """A target, or one file of it, could not be read. The run continues with the rest.

    ``file`` and ``line`` say where (``line`` is 1-based, None when there is none). ``failure`` is
    the kind of a live host's failure (:mod:`vnicaudit.model.report`), empty for other targets.
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
    """A change was not made. The message says why and is worded as the end of a sentence; ``codes``
    give the reasons to programs (``vnicaudit.model.plan``), where there are any."""

    exit_code = 5
    codes: tuple[str, ...] = ()


class OwnedElsewhereError(RefusedError):
    """A change was not made here: the owner of the text would overwrite it, or the text describes a
    past state. The message says where to make the change instead."""

    codes = ("owner",)


class SavedTextError(RefusedError):
    """The text that a run saved for rollback is missing or has changed, so it is not used."""

    codes = ("kept-original",)


class NotVisibleError(RefusedError):
    """The object to change cannot be found, and nothing shows that it was deleted: it may be
    elsewhere, or hidden from this user."""

    codes = ("unreadable",)


class ActionError(VnicauditError):
    """A requested action failed. The message says which, and is worded as the end of a sentence."""

    exit_code = 5


class NoResponseError(ActionError):
    """A host stopped answering. The requested action may still happen."""


class GuestError(ActionError):
    """A guest, or its agent, did not carry out a request."""


class GoneError(ActionError):
    """The object to change no longer exists: somebody deleted it."""


class JournalError(VnicauditError):
    """The next action could not be recorded, so it was not done. It is not an ActionError, because
    undoing something would have to be recorded too."""

    exit_code = 5


class EndpointError(VnicauditError):
    """The place where a load generator was to run cannot be reached, was lost, or lacks a program.
    The message says which, and what to do about it."""

    exit_code = 4


class BusyError(EndpointError):
    """Another measurement was still running at one end when the waiting time was over."""


class MeasureError(VnicauditError):
    """The output of a measuring tool is not the output of a completed measurement."""

    exit_code = 4


class HistoryError(VnicauditError):
    """A history cannot be reached, read or written. The message names it, with the database's own
    error."""

    exit_code = 4


class NoTrafficError(MeasureError):
    """A measuring tool ran, but no traffic got through: it could not connect, or nothing came
    back."""
