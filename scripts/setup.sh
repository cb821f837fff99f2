# shellcheck shell=sh
# Sourced by demo.sh and test.sh: finds a Python, and installs packages of the operating system.
# It lists packages before installing them; installed ones are left alone.

set -eu
ROOT=$(cd "$(dirname "$0")/.." && pwd)

say() { printf '%s\n' "== $*"; }

die() { printf '%s\n' "Error: $*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else die "installing packages needs root: run this as root or install sudo"
    fi
}

# family: the package manager of this system
family() {
    if command -v apt-get >/dev/null 2>&1; then echo apt
    elif command -v dnf >/dev/null 2>&1; then echo dnf
    else die "neither apt-get nor dnf here: install the packages of scripts/packages/ by hand"
    fi
}

installed() { # installed PACKAGE: it, or a package that provides it (QEMU's s390x on Debian 12)
    case $(family) in
        apt)
            dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$' ||
                dpkg-query -W -f '${Status}: ${Provides},\n' |
                    grep -Eq "^install ok installed:.* $1( \\(|,)"
            ;;
        dnf) rpm -q --whatprovides "$1" >/dev/null 2>&1 ;;
    esac
}

# patiently COMMAND...: run it, and show on a terminal how long it has been running
patiently() {
    if [ ! -t 2 ]; then "$@"; return; fi
    (seconds=0; while sleep 1 && kill -0 $$ 2>/dev/null; do
        seconds=$((seconds + 1))
        printf '\r... %s s' "$seconds" >&2
    done) &
    ticker=$! status=0
    "$@" || status=$?
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    printf '\r\033[K' >&2
    return "$status"
}

# packages FILE: install missing packages of scripts/packages/FILE.apt or FILE.dnf
packages() {
    list="$ROOT/scripts/packages/$1.$(family)"
    [ -f "$list" ] || die "no package list for this system: $list"
    missing=
    # shellcheck disable=SC2013 # word splitting is intended: names have no spaces
    for package in $(sed 's/#.*//' "$list"); do
        installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "about to install with $(family):$missing"
    # let sudo ask for its password now, not while the seconds are counted
    if [ -t 2 ] && [ "$(id -u)" != 0 ] && command -v sudo >/dev/null 2>&1; then sudo -v || true; fi
    # shellcheck disable=SC2086 # word splitting is intended
    case $(family) in
        apt)
            patiently as_root apt-get -o DPkg::Lock::Timeout=600 update -qq
            patiently as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 \
                install -y -qq --no-install-recommends $missing >/dev/null
            ;;
        dnf) patiently as_root dnf install -y -q --setopt=install_weak_deps=False $missing ;;
    esac
}

# python: a Python that is new enough, supports virtual environments and has headers
python() {
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        "$candidate" - <<'CHECK' >/dev/null 2>&1 && { command -v "$candidate"; return 0; }
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(0 if sys.version_info >= (3, 10) and os.path.exists(header) else 1)
CHECK
    done
    die "no Python 3.10 or later with venv and headers was found"
}

# as_pip_does: give uv the network settings of pip
as_pip_does() {
    index=$("$ROOT/.venv-test/bin/python" -m pip config get global.index-url 2>/dev/null || true)
    index=${PIP_INDEX_URL:-$index}
    if [ -n "$index" ]; then export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"; fi
    if [ -n "${PIP_CERT:-}" ]; then export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"; fi
    if [ -n "${PIP_FIND_LINKS:-}" ]; then export UV_FIND_LINKS="${UV_FIND_LINKS:-$PIP_FIND_LINKS}"; fi
}

# environment DIR WHAT...: a virtual environment with WHAT installed; created once, and reused
# until its sources change
environment() {
    dir=$1; shift
    stamp=$(cat "$ROOT/setup.cfg" "$ROOT/pyproject.toml" | cksum; printf '%s\n' "$@")
    if [ ! -x "$dir/bin/python" ] || [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ]; then
        say "creating the virtual environment $dir with: $*"
        rm -rf "$dir"
        patiently "$(python)" -m venv "$dir"
        patiently "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
        printf '%s\n' "$stamp" > "$dir/.stamp"
    fi
}
