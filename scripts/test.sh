#!/bin/sh
# The whole test suite: installs what it needs (and says so), then runs every tox environment.
#
#   scripts/test.sh              everything
#   scripts/test.sh tests lint   these tox environments
#
# Stages follow one another; the environments of one stage run side by side, and what each of them
# says is printed when it ends.
#
# The last lines say which suites ran, and which of them, and which tests, failed. A suite that
# cannot run here is named there as "not run, because …"; with CI=true that is a failure. Real guests need root; images are built once under
# VNICAUDIT_RIG (default /var/tmp/vnicaudit-rig). So does the real OpenStack, whose packages and state
# are under VNICAUDIT_OPENSTACK (default /var/tmp/vnicaudit-openstack).
set -eu
# In the background of a shell Ctrl-C is ignored, and every program below inherits that; tests press it.
if [ -z "${VNICAUDIT_TEST_SIGNALS:-}" ] && env --default-signal true 2>/dev/null; then
    VNICAUDIT_TEST_SIGNALS=default exec env --default-signal sh "$0" "$@"
fi
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

# obstacle SUITE: why a suite cannot run here; succeeds where it says something
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
                echo "not run, because it is made of Debian's packages"
            else return 1
            fi
            ;;
        fuzz) ! "$bin/python" -m tests.fuzz.available ;;
        *) return 1 ;;
    esac
}

# in_memory: tests write to memory where there is enough of it: they sync each line of a journal, and
# what they write nobody needs
in_memory() {
    free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
    [ "${free:-0}" -gt 8000000 ] || return 0
    try=$(mktemp /dev/shm/vnicaudit-XXXXXX) || return 0
    printf '#!/bin/sh\n' > "$try"
    chmod +x "$try"
    # tests run programs that they write: it must not be mounted noexec
    if "$try" 2>/dev/null; then export TMPDIR=/dev/shm; fi
    rm -f "$try"
}

cd "$ROOT"
# as tox takes it: some say CI=1
case ${CI:-} in '' | 0 | [Ff][Aa][Ll][Ss][Ee]) ;; *) CI=true ;; esac
# sockets are made in temporary folders, and a socket's path has 107 bytes
case ${TMPDIR:-} in ?????????????????????*) unset TMPDIR ;; esac
[ -n "${TMPDIR:-}" ] || in_memory
NOT_RUN=$(mktemp)
VNICAUDIT_TEST_FAILURES=$(mktemp -d)
export NOT_RUN VNICAUDIT_TEST_FAILURES
trap 'rm -rf "$NOT_RUN" "$VNICAUDIT_TEST_FAILURES"' EXIT
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
    case $suite in tests | measured | nested | rig | openstack) packages tests ;; esac
    case $suite in measured | nested | rig | openstack) packages rig ;; esac
    case $suite in openstack) packages openstack ;; esac
done

# made SECONDS WHAT: for the last lines
made() {
    took="$took
   $(($(date +%s) - $1)) s:$2"
}

# tox_run ARGUMENT...: what is installed is told where that fails; a terminal sees for how long it
# has been running
tox_run() {
    number=$((number + 1))
    how=$1; shift
    patiently "$bin/tox" "$how" -q --no-list-dependencies \
        --result-json "$VNICAUDIT_TEST_FAILURES/$number.json" "$@"
}

# environments SUITE...: first one, with nearly all that the others need: each would fetch that
# for itself. Where one fails, $skip is empty: each stage installs again what it needs, and fails
# where it cannot
environments() {
    say "environments: $*"
    began=$(date +%s)
    names=$(echo "$@" | sed 's/ /,/g')
    case " $* " in *" tests "*) first=tests ;; *) first=$1 ;; esac
    if tox_run run --notest -e "$first" &&
        tox_run run-parallel --notest -p all --parallel-no-spinner -e "$names"
    then skip=--skip-pkg-install
    else say "not all environments could be made: the stages try again"
    fi
    made "$began" " environments"
}

# stage SUITE...: those of them that are to run, two at a time; $code is 0, or the exit code of the
# last stage that failed
stage() {
    chosen='' staged="$staged $*"
    for suite in "$@"; do
        case "$ran " in *" $suite "*) chosen="$chosen $suite" ;; esac
    done
    [ -n "$chosen" ] || return 0
    say "stage:$chosen"
    began=$(date +%s)
    # shellcheck disable=SC2086 # skip: one word, or none
    case $chosen in
        " "*" "*)
            names=$(echo "$chosen" | sed 's/^ //; s/ /,/g')
            tox_run run-parallel $skip -p 2 --parallel-no-spinner -e "$names" || code=$?
            ;;
        *) tox_run run $skip -e "${chosen# }" || code=$? ;;
    esac
    made "$began" "$chosen"
}

code=0 took='' staged='' number=0 skip=''
# shellcheck disable=SC2086 # a list of words
[ -z "$ran" ] || environments $ran
stage lint types imports docs fuzz # one core each
stage tests                        # all cores
stage measured nested              # what measures has a core, and a guest of one CPU the other
stage rig openstack                # each waits for guests of its own
for suite in $ran; do # what belongs to no stage
    case "$staged " in *" $suite "*) ;; *) stage "$suite" ;; esac
done

say "ran:${ran:- nothing}$took"
failed=$("$bin/python" -m tests.failures "$VNICAUDIT_TEST_FAILURES") || failed="it cannot be told"
[ -z "$failed" ] || say "failed:
$failed"
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
