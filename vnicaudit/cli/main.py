"""Runs the command line, and is the only place that turns errors into messages and exit codes."""

from __future__ import annotations

import os
import sys

from vnicaudit.cli.commands import run_command
from vnicaudit.cli.output.files import discard, flush
from vnicaudit.cli.output.process import end, prepare
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import ReaderGoneError, UsageError, VnicauditError
from vnicaudit.reports.safe import message


def run(arguments: list[str] | None = None, wiring: Wiring | None = None) -> int:
    """Run the command line; returns the exit code. Never raises, and prints a traceback only if
    VNICAUDIT_DEBUG is set."""
    prepare()
    try:
        return _run(arguments, wiring or Wiring())
    except KeyboardInterrupt:
        tell("Interrupted.")
        return 130
    except ReaderGoneError as error:
        discard()
        return error.exit_code
    except VnicauditError as error:
        discard()
        _tell_error(str(error))
        return error.exit_code
    except Exception as error:
        if os.environ.get("VNICAUDIT_DEBUG"):
            _trace(error)
        if isinstance(error, FileNotFoundError) and _folder_is_gone():
            discard()
            _tell_error("the current folder has been deleted: change to another one (cd)")
            return UsageError.exit_code
        _tell_error(f"internal error: {type(error).__name__}: {error}")
        tell("Set VNICAUDIT_DEBUG=1 for a traceback, and please report it.")
        return 3
    finally:
        end()


def _run(arguments: list[str] | None, wiring: Wiring) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    _check_files_like_options(words)
    code = run_command(words, wiring)
    if sys.stdout is not None:
        flush()
    return code


def _check_files_like_options(arguments: list[str]) -> None:
    """Raises UsageError for an option that is also the name of a file: it may come from a shell's
    ``*`` or a hook, and somebody else may have named the file."""
    if "--" in arguments:
        return
    for word in arguments:
        if word.startswith("-") and len(word) > 1 and os.path.lexists(word):
            raise UsageError(
                f"{word}: this is an option, but there is also a file of that name. For the file, "
                f"write ./{word} or put -- before the file names"
            )


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _tell_error(text: str) -> None:
    tell(f"Error: {message(text)}")


def _trace(error: Exception) -> None:
    """Print the traceback, made safe: its messages may quote a file."""
    import traceback

    for line in "".join(traceback.format_exception(error)).rstrip("\n").split("\n"):
        tell(message(line))
