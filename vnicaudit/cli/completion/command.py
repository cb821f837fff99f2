"""``vnicaudit completion``: print or install the completion script of a shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import click
import msgspec

from vnicaudit.base.files import replaced
from vnicaudit.cli.completion.shells import SHELLS, Shell, script
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.errors import UsageError

_EPILOG = """\b
Examples:
  vnicaudit completion install                 for your login shell
  vnicaudit completion install --shell fish
  vnicaudit completion bash                    print the script
  eval "$(vnicaudit completion bash)"          for this shell session only

\b
Exit codes: 0, or 2 usage, or the file could not be written."""

_ZSH_HINT = """\
If Tab still completes nothing, add this to {rc}:
  fpath+=({folder}); autoload -Uz compinit; compinit
"""


class CompletionOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit completion``."""

    action: Literal["bash", "zsh", "fish", "install"]
    shell: Shell | None
    output: OutputOptions


@click.command("completion", cls=SectionedCommand, epilog=_EPILOG)
@click.argument(
    "action",
    metavar="{bash|zsh|fish|install}",
    type=click.Choice([*SHELLS, "install"]),
)
@click.option(
    "--shell",
    type=click.Choice(SHELLS),
    help="Shell to install for.  [default: the one in $SHELL]",
)
@output_options
@as_record(CompletionOptions)
def command(options: CompletionOptions) -> int:
    """Print the completion script for a shell, or install it where the shell finds it.

    `install` writes one file below your home directory, prints its path, and changes nothing else.
    """
    program = click.get_current_context().find_root().command
    if options.action != "install":
        emit(script(options.action, program))
        return 0
    shell = options.shell or _login_shell()
    place = place_of(shell)
    _install(place, script(shell, program))
    emit(f"Wrote {place}\n")
    if not options.output.quiet:
        emit(f"Open a new {shell}; Tab then completes vnicaudit.\n")
        if shell == "zsh":
            folder = Path(os.environ.get("ZDOTDIR") or Path.home())
            emit(_ZSH_HINT.format(rc=folder / ".zshrc", folder=place.parent))
    return 0


def place_of(shell: Shell) -> Path:
    """The file from which a shell of this user loads the completion of ``vnicaudit``."""
    if shell == "bash":
        named = os.environ.get("BASH_COMPLETION_USER_DIR", "").split(":")[0]
        folder = Path(named) if named else _xdg("XDG_DATA_HOME", ".local/share") / "bash-completion"
        return folder / "completions" / "vnicaudit"
    if shell == "zsh":
        return Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zfunc" / "_vnicaudit"
    return _xdg("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "vnicaudit.fish"


def _xdg(variable: str, otherwise: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / otherwise)


def _login_shell() -> Shell:
    """The user's shell. Raises UsageError if ``SHELL`` is not a supported one."""
    name = os.path.basename(os.environ.get("SHELL", ""))
    for shell in SHELLS:
        if name == shell:
            return shell
    raise UsageError(f"$SHELL is not a supported shell: add --shell {'|'.join(SHELLS)}")


def _install(place: Path, text: str) -> None:
    """Write the script. Raises UsageError if it cannot be written."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replaced(str(place)) as stream:
            stream.write(text.encode())
    except OSError as error:
        raise UsageError(f"{error.filename or place}: {error.strerror}") from None
