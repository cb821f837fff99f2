"""Split text into words: shell text with its quoting, ``ps`` output without any."""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.beginning import PROMPT
from vnicaudit.text.shell import ShellLexer

MAX_COMMAND = 4 << 20
"""Maximum number of characters of one command line; Linux allows arguments of 2 MiB."""

_BARE_JSON = re.compile(r"\{[ \t]{0,8}\"")


class Words(NamedTuple):
    """The words of one command, and where it ends in the text. ``problem`` says why the list may be
    incomplete, None if it is not.

    ``bare_json``: a word is JSON without quotes around it (``{"driver": …``), which a shell would
    mangle, so the quotes were lost. ``quoted_json``: a word is JSON with quotes around it, so they
    were not lost. ``sealed`` are the positions of words in double quotes, which a shell does not
    split."""

    words: list[str]
    end: int
    problem: str | None = None
    bare_json: bool = False
    quoted_json: bool = False
    sealed: frozenset[int] = frozenset()


def shell_words(text: str, start: int, most: int = MAX_COMMAND, *, closing: str = "") -> Words:
    """Split like a POSIX shell, from ``start`` to the end of the command (an unescaped newline,
    ``;``, ``|``, ``&``, a comment, the end of the text), reading at most ``most`` characters.
    ``closing``: the parenthesis or backquote that ends it too.

    Nothing is expanded: ``$VAR`` stays as it is. The target of a redirection is not a word.
    """
    limit = min(len(text), start + most)
    lexer = ShellLexer(text, start, limit, pasted=True)
    words = lexer.command(closing)
    problem = lexer.problem
    if problem is None and lexer.at == limit:
        if text[start:limit].rstrip(" \t").endswith("\\\n"):
            problem = "ends in a continued line"
        elif limit < len(text):
            problem = "a command line of more than 4 MiB"
    return Words(
        [word.text for word in words],
        lexer.at,
        problem,
        any(_BARE_JSON.match(text, word.start, limit) for word in words),
        any(word.text[:1] == "{" and text[word.start] != "{" for word in words),
        frozenset(place for place, word in enumerate(words) if word.quoted),
    )


# Analyse the text before QEMU's program in its line, to tell whether a shell would start the
# program there.


_PROMPT = re.compile(rf"(?:{PROMPT}|\+{{1,9}} (?! ))")
"""A prompt, or what ``sh -x`` writes before each command."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
WRAPPERS = frozenset(
    {"sudo", "exec", "nohup", "time", "env", "nice", "ionice", "numactl", "taskset", "chrt"}
    | {"setsid", "timeout", "strace", "prlimit", "cgexec", "systemd-run", "doas", "runuser"}
    | {"setpriv", "stdbuf", "unshare", "nsenter", "chroot", "ip", "screen", "tmux", "flock"}
    | {"daemonize", "start-stop-daemon", "xvfb-run", "eval", "command", "ssh", "docker", "podman"}
    | {"gdb", "valgrind", "perf", "catchsegv", "firejail", "bwrap", "trickle", "cpulimit", "chpst"}
    | {"pkexec", "gosu", "su-exec", "setarch", "linux32", "linux64", "unbuffer", "ltrace", "rr"}
    | {"dumb-init", "tini", "fakeroot", "sg", "optirun", "primusrun", "gamemoderun"}
    | {"dbus-run-session", "start", "call"}
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "su", "watch", "parallel", "xargs"})
"""Programs that run a text in quotes, in addition to the wrappers."""
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc"})
_TOKEN_PREFIXES = re.compile(
    r"""'[^']*' | "(?:[^"\\]|\\.)*" | \\.
      | (?P<remark>(?<!\S)\#)
      | (?P<quote>['"])
      | (?P<opening>\$?\()
      | (?P<closing>\))
      | (?P<separator>[;&|`\n])
      | [^'"\\$\#();&|`\n]+ | .
    """,
    re.VERBOSE | re.DOTALL,
)
_UNIT = re.compile(r"[ \t]*ExecStart(?:Pre|Post)?[ \t]*=[ \t]*[-@:+!|]*(?=[^\s\"']|\Z)")
"""Text before a program in a systemd unit."""
_HELD = re.compile(r"(?:^|\s)[A-Za-z_]\w*\+?=\(?\Z")


_AROUND = re.compile(
    r"""(?:\s+ | > | [-*•][ \t] | \d{1,3}[.)][ \t] | \+{1,9}[ \t] | (?:CMD|ENTRYPOINT|RUN)[ \t]
      | [│├└|] | [─-]{1,9}\d{1,10}[ \t]                               # systemctl status, pstree
      | \([\w.-]{1,40}\)[ \t] | [\u279c\u276f»λ][ \t]+ (?:[~/][\w./~-]{0,80})?    # prompts
      | \d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?:?[ \t]
      | \[?\d\d:\d\d:\d\d\]?[ \t]
      | \d{1,7}[ ][A-Z]{4,8}[ ][\w.]{1,80}[ ]\[[^\]\n]{0,120}\][ ]             # nova-compute
      | [\w./-]{0,80}:\d{1,6}:[ \t]? | \d{1,6}[:\t]                      # grep -n, a trace
      | (?:\[[^\]\n]{0,80}\]|[\w.@:~/+\\-]{1,80}|PS[ ][\w:\\ ~./-]{0,80})[$#%>](?=[ \t]|\Z) | [$%]
    )""",
    re.VERBOSE,
)
"""What may stand before a pasted command: marks of Markdown, prompts, numbers and times of
lines."""
_TOLD = re.compile(r".*(?:[:;][ \t]+|`|\babout to run[ \t]+)", re.IGNORECASE | re.DOTALL)
"""The text before a command that a log or a sentence tells."""


class Prefix(NamedTuple):
    """The kind of text before a program. ``starts``: a shell starts the program here; ``closing``:
    the parenthesis or backquote that ends its command; ``run_elsewhere``: within a text or a list
    that is run elsewhere; ``told``: a log or a sentence tells the command."""

    starts: bool
    closing: str = ""
    run_elsewhere: bool = False
    told: bool = False


def pasted_prefix_of(text: str) -> Prefix:
    """As :func:`prefix_of`, for a text that people or programs wrote about a command."""
    found = _without_marks(text)
    if found.starts or text.count('"') % 2 or text.count("'") % 2:
        return found
    told = _TOLD.match(text)
    if told is None or not _without_marks(text[told.end() :]).starts:
        return found
    return Prefix(starts=True, closing="`" if told.group()[-1] == "`" else "", told=True)


def _without_marks(text: str) -> Prefix:
    found = prefix_of(text)
    position = 0
    while not found.starts and (match := _AROUND.match(text, position)) and match.end() > position:
        position = match.end()
        found = prefix_of(text[position:])
    return found._replace(told=position > 0 or found.closing == "`")


def prefix_of(text: str) -> Prefix:
    """Analyse one line up to a program's name, or the part of it behind another command."""
    unit = _UNIT.match(text)
    if unit is not None:
        return Prefix(starts=_is_start(text[unit.end() :]))
    if _HELD.search(text):
        return Prefix(starts=False, run_elsewhere=True)
    plain = _without_prompt(text)
    if plain.count("(") <= plain.count(")") and _is_start(plain):
        return Prefix(starts=True)
    begin, depth, quoted = 0, 0, -1
    for match in _TOKEN_PREFIXES.finditer(text):
        if match["remark"]:
            return Prefix(starts=False)
        if match["quote"]:
            quoted = match.start()
            break
        if match["opening"] or match["closing"] or match["separator"]:
            depth = max(0, depth + bool(match["opening"]) - bool(match["closing"]))
            held = match["opening"] and _HELD.search(text, begin, match.end())
            if held:
                return Prefix(starts=False, run_elsewhere=True)
            begin = match.end()
    if quoted >= 0:
        return Prefix(starts=False, run_elsewhere=_runs_text(text[begin:quoted]))
    closing = "`" if text[begin - 1 : begin] == "`" else ")" if depth else ""
    return Prefix(starts=_is_start(text[begin:]), closing=closing)


def _without_prompt(text: str) -> str:
    prompt = _PROMPT.match(text.lstrip())
    return text.lstrip()[prompt.end() :] if prompt else text


def _is_start(text: str) -> bool:
    """True for nothing but keywords, assignments, and a program that starts another."""
    first = _first_word(text)
    return first is None or first in WRAPPERS


def _runs_text(text: str) -> bool:
    """True if the quoted text that follows is run, or kept in a variable."""
    if _HELD.search(text):
        return True
    first = _first_word(text)
    return first is not None and first in WRAPPERS | _SHELLS


def _first_word(text: str) -> str | None:
    """The name of the program, None if there is none."""
    found = shell_words(text, 0)
    if found.problem is not None or text[found.end :].strip():
        return ""
    words = found.words
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in _KEYWORDS):
        del words[0]
    if words[:1] == ["function"] and words[2:3] == ["{"]:
        del words[:3]
    return words[0].rpartition("/")[2] if words else None
