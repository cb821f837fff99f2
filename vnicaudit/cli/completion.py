"""``vnicaudit completion``: the scripts for bash, zsh and fish, how each is answered and
installed.

click has such scripts too, but they offer no files next to other words, no words with a colon in
bash, and cut descriptions at their first comma in fish.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import click
import msgspec
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from vnicaudit.base.files import replaced
from vnicaudit.cli.options import COMPLETES
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.errors import UsageError

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")

# Readline treats the part after a colon as a separate word. If only files match,
# let it complete them: it knows how to quote them.
_BASH = r"""# completion of vnicaudit for bash 4.4 and later, by: vnicaudit completion bash
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} word before= type value files=
    word=${line##*[[:space:]]}
    if [[ $COMP_WORDBREAKS == *:* && $word == *:* && $word != *[\'\"\\]* ]]; then
        before=${word%%"${word##*:}"}
    fi
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            plain) COMPREPLY+=("${value#"$before"}") ;;
            file | dir) files=$type ;;
        esac
    done < <(COMP_WORDS=$line %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ -z $files ]]; then
        return 0
    elif (( ${#COMPREPLY[@]} == 0 )); then
        if [[ $files == dir ]]; then compopt -o dirnames; else compopt -o default; fi
    else
        while IFS= read -r value; do
            if [[ -d $value ]]; then value+=/; fi
            COMPREPLY+=("${value#"$before"}")
        done < <(compgen -f -- "$word")
    fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH = r"""#compdef %(prog_name)s
# completion of vnicaudit for zsh, by: vnicaudit completion zsh
%(complete_func)s() {
    local -a plain described answer
    local type value meaning files=
    answer=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \
        %(complete_var)s=zsh_complete ${~words[1]} 2>/dev/null)}")
    for type value meaning in "${answer[@]}"; do
        case $type in
            plain)
                if [[ $meaning == _ ]]; then plain+=("$value")
                else described+=("${value//:/\\:}:$meaning"); fi ;;
            file | dir) files=$type ;;
        esac
    done
    if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi
    if (( $#described )); then _describe -V vnicaudit described; fi
    if (( $#plain )); then compadd -V vnicaudit -a plain; fi
    case $files in
        file) _files ;;
        dir) _files -/ ;;
    esac
}
if [[ $funcstack[1] == _%(prog_name)s ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""

_FISH = r"""# completion of vnicaudit for fish, by: vnicaudit completion fish
function %(complete_func)s
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -ct)
    set -lx %(complete_var)s fish_complete
    set -l program (commandline -opc)[1]
    set -l before (string match -r -- '^--[a-z-]+=' "$COMP_CWORD")
    set -l word (string replace -r -- '^--[a-z-]+=' '' "$COMP_CWORD")
    for line in ($program 2>/dev/null)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                for path in (__fish_complete_directories "$word" '')
                    echo "$before$path"
                end
            case file
                for path in (complete -C "'' $word")
                    echo "$before$path"
                end
            case plain
                echo "$before$parts[2]"
        end
    end
end
complete --no-files --keep-order --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class Bash(BashComplete):
    """bash: COMP_WORDS is the command line up to the cursor, as typed."""

    source_template: ClassVar[str] = _BASH

    def source(self) -> str:
        """The script. Unlike click's, it does not run bash to check its version."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the word at the cursor."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        ended = line[-1:].isspace() and not line[:-1].endswith("\\")
        return (words, "") if ended or not words else (words[:-1], words[-1])


class Zsh(ZshComplete):
    """zsh: three lines for each word."""

    source_template: ClassVar[str] = _ZSH

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Kind, word and description; ``_``: no description."""
        return f"{item.type}\n{item.value}\n{_one_line(item.help) or '_'}"


class Fish(FishComplete):
    """fish: one line for each word, with its description after a tab."""

    source_template: ClassVar[str] = _FISH

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Kind, word and description."""
        meaning = _one_line(item.help)
        return f"{item.type},{item.value}" + (f"\t{meaning}" if meaning else "")


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def register() -> None:
    """Make click use these classes to answer shells."""
    for one in (Bash, Zsh, Fish):
        add_completion_class(one, one.name)


_CLASSES: dict[Shell, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def script(shell: Shell, program: click.Command) -> str:
    """The script with which a shell completes ``vnicaudit``. ``program``: its command group."""
    return _CLASSES[shell](program, {}, "vnicaudit", COMPLETES).source()


# The command.


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


class CompletionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit completion``."""

    action: Literal["bash", "zsh", "fish", "install"]
    shell: Annotated[
        Shell | None, option("Shell to install for.  [default: the one in $SHELL]")
    ] = None
    output: OutputOptions


@click.command("completion", cls=SectionedCommand, epilog=_EPILOG)
@click.argument(
    "action",
    metavar="{bash|zsh|fish|install}",
    type=click.Choice([*SHELLS, "install"]),
)
@takes(CompletionOptions)
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
