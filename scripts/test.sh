#!/bin/sh
# The whole test suite: installs required packages (and lists them), then runs all tox environments.
#
#   scripts/test.sh              everything
#   scripts/test.sh tests lint   these tox environments
#
# Stages run one after the other. The environments of a stage run in parallel; the output of each is
# printed when it ends.
#
# The last lines list the suites that ran, and the suites and tests that failed. A suite that cannot
# run here is listed as "not run, because …"; with CI=true that is a failure, except for kube. Real
# guests need root; their images are built once in VNICAUDIT_RIG (default /var/tmp/vnicaudit-rig). The
# real OpenStack needs root too; its packages and state are in VNICAUDIT_OPENSTACK (default
# /var/tmp/vnicaudit-openstack). The API server of Kubernetes is built once by Go, beside the first
# stages, in VNICAUDIT_KUBE (default /var/tmp/vnicaudit-kube).
set -eu
# Started in the background, a shell and all its programs ignore Ctrl-C, but tests press it.
if [ -z "${VNICAUDIT_TEST_SIGNALS:-}" ] && env --default-signal true 2>/dev/null; then
    VNICAUDIT_TEST_SIGNALS=default exec env --default-signal sh "$0" "$@"
fi
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

# obstacle SUITE: print why a suite cannot run here; succeeds if there is a reason
obstacle() {
    case $1 in
        measured | nested | rig)
            if [ "$(id -u)" != 0 ]; then echo "not run, because real guests need root"
            elif [ "$(family)" != apt ]; then
                echo "not run, because its images are built with Debian's tools"
            else return 1
            fi
            ;;
        openstack)
            if [ "$(id -u)" != 0 ]; then echo "not run, because an OpenStack with real guests needs root"
            elif [ "$(family)" != apt ]; then
                echo "not run, because it is built from Debian's packages"
            else return 1
            fi
            ;;
        kube) ! "$bin/python" -m tests.kube.building obstacle ;;
        fuzz) ! "$bin/python" -m tests.fuzz.available ;;
        *) return 1 ;;
    esac
}

# in_memory: let tests write to memory if there is enough: they sync each line of a journal, and their
# files are not needed afterwards
in_memory() {
    free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
    [ "${free:-0}" -gt 8000000 ] || return 0
    try=$(mktemp /dev/shm/vnicaudit-XXXXXX) || return 0
    printf '#!/bin/sh\n' > "$try"
    chmod +x "$try"
    # must not be mounted noexec, because tests run programs that they write
    if "$try" 2>/dev/null; then export TMPDIR=/dev/shm; fi
    rm -f "$try"
}

cd "$ROOT"
# some set CI=1; tox needs CI=true
case ${CI:-} in '' | 0 | [Ff][Aa][Ll][Ss][Ee]) ;; *) CI=true ;; esac
# sockets are created in temporary folders, and a socket's path has at most 107 bytes
case ${TMPDIR:-} in ?????????????????????*) unset TMPDIR ;; esac
[ -n "${TMPDIR:-}" ] || in_memory
NOT_RUN=$(mktemp)
VNICAUDIT_TEST_FAILURES=$(mktemp -d)
export NOT_RUN VNICAUDIT_TEST_FAILURES
building=
trap '[ -z "$building" ] || kill "$building"; rm -rf "$NOT_RUN" "$VNICAUDIT_TEST_FAILURES"' EXIT
bin="$ROOT/.venv-test/bin"
packages demo
environment "$ROOT/.venv-test" "tox>=4.20" "tox-uv>=1.25"
as_pip_does

suites=$*
[ -n "$suites" ] || suites=$("$bin/tox" list -d --no-desc -q)
ran=
for suite in $suites; do
    if reason=$(obstacle "$suite"); then echo "$suite: $reason" >> "$NOT_RUN"
    else ran="$ran $suite"
    fi
done
for suite in $ran; do
    case $suite in tests | measured | nested | rig | openstack | kube) packages tests ;; esac
    case $suite in measured | nested | rig | openstack) packages rig ;; esac
    case $suite in openstack) packages openstack ;; esac
done

# made SECONDS WHAT: note a duration for the last lines
made() {
    took="$took
   $(($(date +%s) - $1)) s:$2"
}

# tox_run ARGUMENT...: show the output of installing only if it fails; a terminal shows how long it
# has been running
tox_run() {
    number=$((number + 1))
    how=$1; shift
    patiently "$bin/tox" "$how" -q --no-list-dependencies \
        --result-json "$VNICAUDIT_TEST_FAILURES/$number.json" "$@"
}

# environments SUITE...: create one environment first, with nearly everything the others need, so that
# they need not download it again. If one fails, $skip is empty: each stage then installs what it
# needs, and fails if it cannot
environments() {
    say "environments: $*"
    began=$(date +%s)
    names=$(echo "$@" | sed 's/ /,/g')
    case " $* " in *" tests "*) first=tests ;; *) first=$1 ;; esac
    if tox_run run --notest -e "$first" &&
        tox_run run-parallel --notest -p all --parallel-no-spinner -e "$names"
    then skip=--skip-pkg-install
    else say "not all environments could be created: the stages will try again"
    fi
    made "$began" " environments"
}

# stage SUITE...: run the chosen ones of these suites, two at a time; $code is 0, or the exit code of
# the last stage that failed
stage() {
    chosen='' staged="$staged $*"
    for suite in "$@"; do
        case "$ran " in *" $suite "*) chosen="$chosen $suite" ;; esac
    done
    [ -n "$chosen" ] || return 0
    say "stage:$chosen"
    began=$(date +%s)
    # shellcheck disable=SC2086 # word splitting is intended: skip is one word or none
    case $chosen in
        " "*" "*)
            names=$(echo "$chosen" | sed 's/^ //; s/ /,/g')
            tox_run run-parallel $skip -p 2 --parallel-no-spinner -e "$names" || code=$?
            ;;
        *) tox_run run $skip -e "${chosen# }" || code=$? ;;
    esac
    made "$began" "$chosen"
}

# built: wait for what is built beside the first stages, so that it does not disturb measurements
built() {
    [ -n "$building" ] || return 0
    began=$(date +%s)
    wait "$building" || true # its suite tries again, and says what is missing
    building=
    made "$began" " waiting for kube-apiserver"
}

code=0 took='' staged='' number=0 skip=''
case "$ran " in *" kube "*)
    nice -n 19 "$bin/python" -m tests.kube.building &
    building=$!
    ;;
esac
# shellcheck disable=SC2086 # word splitting is intended
[ -z "$ran" ] || environments $ran
stage lint types imports docs fuzz # one core each
stage tests                        # all cores
built
stage measured nested              # the measurements get one core, a guest with one CPU the other
stage rig openstack kube           # each waits for its own guests, or server
for suite in $ran; do # suites without a stage
    case "$staged " in *" $suite "*) ;; *) stage "$suite" ;; esac
done

say "ran:${ran:- nothing}$took"
failed=$("$bin/python" -m tests.failures "$VNICAUDIT_TEST_FAILURES") || failed="it cannot be told"
[ -z "$failed" ] || say "failed:
$failed"
if [ -s "$NOT_RUN" ]; then
    sort -u "$NOT_RUN"
    # kube: see LEFT_TO_OTHERS in tests/not_run.py
    if [ "${CI:-}" = true ] && grep -qv '^kube: ' "$NOT_RUN"; then
        echo "CI=true: a suite that was not run is a failure"
        code=1
    fi
fi
if [ "$code" = 0 ] && [ -z "$ran" ]; then echo "Nothing was run."
elif [ "$code" = 0 ]; then echo "All suites that could run here passed."
else echo "FAILED (exit code $code)"
fi
exit "$code"
