#!/bin/sh
# The whole test suite: installs what it needs (and says so), then runs every tox environment.
#
#   scripts/test.sh              everything
#   scripts/test.sh tests lint   these tox environments
#
# A suite that cannot run here is named at the end as "not run, because …"; with CI=true that is
# a failure. Real guests need root; images are built once under VNICAUDIT_RIG
# (default /var/tmp/vnicaudit-rig).
. "$(dirname "$0")/setup.sh"

cd "$ROOT"
NOT_RUN=$(mktemp)
export NOT_RUN
trap 'rm -f "$NOT_RUN"' EXIT
packages demo
if [ "$(id -u)" = 0 ]; then
    if [ "$(family)" = apt ]; then packages rig
    else echo "rig: not run, because its images are built with Debian's tools" >> "$NOT_RUN"
    fi
else
    echo "rig: not run, because real guests need root" >> "$NOT_RUN"
fi
environment "$ROOT/.venv-test" "tox>=4"

code=0
if [ $# -gt 0 ]; then
    "$ROOT/.venv-test/bin/tox" run -e "$(echo "$*" | tr ' ' ',')" || code=$?
else
    skip=
    grep -q '^rig:' "$NOT_RUN" && skip="--skip-env rig"
    "$ROOT/.venv-test/bin/tox" run $skip || code=$?
fi

if [ -s "$NOT_RUN" ]; then
    sort -u "$NOT_RUN"
    if [ "${CI:-}" = true ]; then
        echo "CI=true: a suite that was not run is a failure"
        code=1
    fi
fi
[ "$code" = 0 ] && echo "All suites that could run here passed." || echo "FAILED (exit code $code)"
exit "$code"
