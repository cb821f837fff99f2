#!/bin/sh
# The whole test suite: installs what it needs (and says so), then runs every tox environment.
#
#   scripts/test.sh              everything
#   scripts/test.sh tests lint   these tox environments
#
# The last lines say which suites ran. One that cannot run here is named there as "not run,
# because …"; with CI=true that is a failure. Real guests need root; images are built once under
# VNICAUDIT_RIG (default /var/tmp/vnicaudit-rig). So does the real OpenStack, whose packages and state
# are under VNICAUDIT_OPENSTACK (default /var/tmp/vnicaudit-openstack).
set -eu
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

# obstacle SUITE: why a suite cannot run here; succeeds where it says something
obstacle() {
    case $1 in
        rig)
            if [ "$(id -u)" != 0 ]; then echo "not run, because real guests need root"
            elif [ "$(family)" != apt ]; then
                echo "not run, because its images are built with Debian's tools"
            else return 1
            fi
            ;;
        openstack)
            if [ "$(id -u)" != 0 ]; then echo "not run, because an OpenStack with real guests needs root"
            elif [ "$(family)" != apt ]; then
                echo "not run, because it is made of Debian's packages"
            else return 1
            fi
            ;;
        fuzz) ! "$bin/python" -m tests.fuzz.available ;;
        *) return 1 ;;
    esac
}

cd "$ROOT"
NOT_RUN=$(mktemp)
export NOT_RUN
trap 'rm -f "$NOT_RUN"' EXIT
bin="$ROOT/.venv-test/bin"
packages demo
environment "$ROOT/.venv-test" "tox>=4" "tox-uv>=1.25"
as_pip_does

suites=$*
[ -n "$suites" ] || suites=$("$bin/tox" list -d --no-desc -q)
ran=
for suite in $suites; do
    if reason=$(obstacle "$suite"); then echo "$suite: $reason" >> "$NOT_RUN"
    else ran="$ran $suite"
    fi
done
case "$ran " in *" tests "* | *" rig "* | *" openstack "*) packages tests ;; esac
case "$ran " in *" rig "* | *" openstack "*) packages rig ;; esac
case "$ran " in *" openstack "*) packages openstack ;; esac

code=0
if [ -n "$ran" ]; then
    "$bin/tox" run -e "$(echo "$ran" | sed 's/^ //; s/ /,/g')" || code=$?
fi

say "ran:${ran:- nothing}"
if [ -s "$NOT_RUN" ]; then
    sort -u "$NOT_RUN"
    if [ "${CI:-}" = true ]; then
        echo "CI=true: a suite that was not run is a failure"
        code=1
    fi
fi
if [ "$code" = 0 ] && [ -z "$ran" ]; then echo "Nothing was run."
elif [ "$code" = 0 ]; then echo "All suites that could run here passed."
else echo "FAILED (exit code $code)"
fi
exit "$code"
