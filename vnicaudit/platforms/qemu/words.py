"""Split text into words: shell text with its quoting, ``ps`` output without any."""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.beginning import PROMPT

MAX_COMMAND = 4 << 20
"""Maximum number of characters of one command line; Linux allows arguments of 2 MiB."""

_PATTERN = r"""(?P<space>[ \t\r\f\v]+)
      | (?P<joint>(?:\\|(?<=[ \t])\^)\r?\n)
      | (?P<sample><[A-Za-z_][\w.-]*>)
      | (?P<redirection>&>>?|>[>|&]?)
      | (?P<end>\n|\#(?<![^\s]\#)|[;|&]%s)
      | '(?P<single>[^']*)'
      | "(?P<double>[^"\\]*)"
      | \\(?P<escaped>.)
      | (?P<raw>%s|<)
      | (?P<open>['"\\])
    """
_TOKEN = re.compile(_PATTERN % ("", r"[^\s'\"\\;|&<>]+"), re.VERBOSE | re.DOTALL)
_ENCLOSED = re.compile(
    _PATTERN % (r"|\)", r"\$\([^()\n]*\)|[^\s'\"\\;|&<>)$]+|\$"), re.VERBOSE | re.DOTALL
)
"""The same pattern within parentheses."""
_QUOTE_OR_ESCAPE = re.compile(r"[\"\\]")
_BARE_JSON = re.compile(r"\{[ \t]{0,8}\"")
_IN_DOUBLE = re.compile(r"\\(\n|[$`\"\\])")


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


def shell_words(text: str, start: int, most: int = MAX_COMMAND, *, enclosed: bool = False) -> Words:
    """Split like a POSIX shell, from ``start`` to the end of the command (an unescaped newline,
    ``;``, ``|``, ``&``, a comment, the end of the text), reading at most ``most`` characters.
    ``enclosed``: it is within parentheses, which end it too.

    Nothing is expanded: ``$VAR`` stays as it is. The target of a redirection is not a word.
    """
    pattern = _ENCLOSED if enclosed else _TOKEN
    found = _WordReader()
    bare = kept = False
    position = start
    limit = min(len(text), start + most)
    while position < limit:
        match = pattern.match(text, position, limit)
        if match is None:
            break
        kind = match.lastgroup
        if kind == "open" and (end := _closing(text, match, limit)) >= 0:
            plain = _IN_DOUBLE.sub(_unescape, text[match.end() : end])
            kept = kept or (not found.parts and plain.startswith("{"))
            found.take(plain, sealed=True)
            position = end + 1
            continue
        if kind == "open":
            mark = _unfinished(match.group())
            return Words(found.finished(), limit, mark, bare, kept, found.seals())
        if kind == "end":
            return Words(found.finished(), match.start(), None, bare, kept, found.seals())
        position = match.end()
        if kind in ("space", "redirection"):
            found.end_word(redirection=kind == "redirection")
        elif kind != "joint":
            plain = match.group(kind or 0)
            if not found.parts:
                bare = bare or _BARE_JSON.match(text, match.start(), limit) is not None
                kept = kept or (kind != "raw" and plain.startswith("{"))
            found.take(plain, sealed=kind in ("double", "single"))
    problem = _unended(text, limit)
    return Words(found.finished(), position, problem, bare, kept, found.seals())


class _WordReader:
    """The words so far, and the ``parts`` of the current word, which are joined once, because a
    word may have millions."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.parts: list[str] = []
        self._sealed: set[int] = set()
        self._open = False
        """True if a part of the word is not in quotes."""
        self._redirected = False
        """True if the current or next word is the target of a redirection."""

    def take(self, part: str, *, sealed: bool) -> None:
        """Add a part to the current word."""
        self.parts.append(part)
        self._open = self._open or not sealed

    def seals(self) -> frozenset[int]:
        """The positions of words in quotes."""
        return frozenset(self._sealed)

    def end_word(self, *, redirection: bool) -> None:
        """End the current word at a blank or a redirection, except for the number of a descriptor
        (``2>``)."""
        word = bool(self.parts)
        if word and not self._redirected and not (redirection and self._is_number()):
            if not self._open:
                self._sealed.add(len(self.words))
            self.words.append("".join(self.parts))  # an empty word ('') has one empty part
        self._open = False
        self._redirected = redirection or (self._redirected and not word)
        self.parts = []

    def finished(self) -> list[str]:
        """All words, after ending the last one."""
        self.end_word(redirection=False)
        return self.words

    def _is_number(self) -> bool:
        return len(self.parts) == 1 and self.parts[0].isdecimal()


def _unended(text: str, limit: int) -> str | None:
    if text[:limit].rstrip(" \t").endswith("\\\n"):
        return "ends in a continued line"
    return "a command line of more than 4 MiB" if limit < len(text) else None


def _closing(text: str, opening: re.Match[str], limit: int) -> int:
    """The end of a double-quoted text that contains escapes; negative if there is none."""
    position = opening.end()
    while opening.group() == '"':
        found = _QUOTE_OR_ESCAPE.search(text, position, limit)
        if found is None:
            break
        if found.group() == '"':
            return found.start()
        position = found.end() + 1
    return -1


def _unescape(match: re.Match[str]) -> str:
    return "" if match.group(1) == "\n" else match.group(1)


def _unfinished(mark: str) -> str:
    return "ends in a continued line" if mark == "\\" else f"a quotation mark {mark} is not closed"


# Analyse the text before QEMU's program in its line, to tell whether a shell would start the
# program there.


_PROMPT = re.compile(rf"(?:{PROMPT}|\+{{1,9}} (?! ))")
"""A prompt, or what ``sh -x`` writes before each command."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_WRAPPERS = frozenset(
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


class Prefix(NamedTuple):
    """The kind of text before a program. ``starts``: a shell starts the program here; ``enclosed``:
    within parentheses, which end its command; ``run_elsewhere``: within a text or a list that is
    run elsewhere."""

    starts: bool
    enclosed: bool = False
    run_elsewhere: bool = False


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
    return Prefix(starts=_is_start(text[begin:]), enclosed=depth > 0)


def _without_prompt(text: str) -> str:
    prompt = _PROMPT.match(text.lstrip())
    return text.lstrip()[prompt.end() :] if prompt else text


def _is_start(text: str) -> bool:
    """True for nothing but keywords, assignments, and a program that starts another."""
    first = _first_word(text)
    return first is None or first in _WRAPPERS


def _runs_text(text: str) -> bool:
    """True if the quoted text that follows is run, or kept in a variable."""
    if _HELD.search(text):
        return True
    first = _first_word(text)
    return first is not None and first in _WRAPPERS | _SHELLS


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
