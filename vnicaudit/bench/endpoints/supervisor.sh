#!/bin/sh
# Starts programs on an endpoint, says how they are, and ends them. It lies in the session's folder
# and is asked by `sh FOLDER/supervisor VERB ...`; each time it renews the session's lease. Where
# nobody did so for a while, its watch ends everything and removes the folder.
#
#   open SECONDS                    the session begins; SECONDS is how long a lease lasts
#   renew                           nothing but that
#   start NUMBER SECONDS PATIENCE INPUT PROGRAM [WORD...]
#                                   start one, with INPUT (or /dev/null) to read; as for `wait`
#   wait NUMBER PATIENCE            wait so many whole seconds for its end; say how it is
#   stop NUMBER                     end it, and say how it was
#   read NUMBER out|err BLOCK       a further piece of what it printed
#   put NAME TEXT new|more          write a piece of a file (TEXT is base64)
#   turn TEXT                       take the lock of this place until the session ends (held, taken,
#                                   unknown); where it is taken, the TEXTs of those who have it
#   end                             the session's end
#
# Answers begin with a line of their own, for a login shell may say things before:
#   vnicaudit-supervisor STATE CODE BYTES BYTES [WAITED]
# WAITED: per mille of its time that a thread of it was ready to run and had no CPU, of the one that
# waited longest; not said of programs that ran for less than a second.
#
# A program has a session of its own, so that it can be ended with its children; and a mark in its
# environment, by which those are found that left the session, or where there is no setsid.
# POSIX; dash, bash and busybox's ash will do.
set -u
umask 077
folder=${0%/*}
PATH=${PATH:-}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
TMPDIR=$folder
export PATH LC_ALL TMPDIR
block=524288 # bytes
most=131072  # blocks of 512 bytes that a program may write into a file
cd "$folder" || exit

say() { printf '\nvnicaudit-supervisor %s %s %s %s\n' "$@"; }

nap() { sleep "$1" 2>/dev/null || sleep $((${1%.*} + 1)); } # not every sleep knows fractions

apart() { # apart PROGRAM [WORD...]: in a session of its own, with the mark
    KEPT_BY_VNICAUDIT=$folder:$mark
    export KEPT_BY_VNICAUDIT
    if command -v setsid >/dev/null; then exec setsid "$@"; fi
    exec "$@"
}

marked() { # marked MARK: the processes whose mark begins so
    mine="KEPT_BY_VNICAUDIT=$folder:$1"
    # busybox's grep does not look behind a NUL; what head says before each file may be in a file
    # too, so each of the few that are found is looked at again
    for one in $(head -n 9999 /proc/[0-9]*/environ | tr '\0' '\n' |
        sed -n -e '/^==> .* <==$/h' -e "\\|^$mine|{g;s/[^0-9]//g;p;}"); do
        if tr '\0' '\n' <"/proc/$one/environ" | grep -q "^$mine"; then echo "$one"; fi
    done
} 2>/dev/null

program() { # program NUMBER SECONDS INPUT PROGRAM [WORD...]: run it to its end
    number=$1 seconds=$2 input=$3
    shift 3
    trap '' HUP
    mark=program:$number,
    (
        ulimit -f "$most"
        # a shell between: it says which program is not there, and from when on there is a mark;
        # who was to end it before that cannot have found it
        # shellcheck disable=SC2016 # for that shell to expand
        apart sh -c 'echo "$$" >"$1.pid"
            if [ -e "$1.stopped" ] || [ -e "$1.late" ]; then exit 137; fi
            shift; exec "$@"' sh "$number" "$@"
    ) <"$input" >"$number.out" 2>"$number.err" &
    leader=$!
    mark=supervisor,
    (apart sh "$0" limit "$number" "$seconds") </dev/null >/dev/null 2>&1 &
    limit=$!
    wait "$leader"
    code=$?
    kill -KILL "-$leader" 2>/dev/null
    echo "$code" >"$number.code"
    if [ ! -e "$number.late" ]; then kill -KILL "-$limit" "$limit" 2>/dev/null; fi
    wait "$limit"
}

now() { # in hundredths of a second since the boot
    read -r up _ </proc/uptime && echo "${up%.*}${up#*.}"
}

most_waited() { # most_waited PID: nanoseconds that its thread that waited longest ran, and waited
    # (schedstat, Documentation/scheduler/sched-stats.rst), of the program, its children and theirs
    most=-1
    those=$1
    for _ in 1 2 3; do
        next=
        for one in $those; do
            for thread in /proc/"$one"/task/*; do
                if read -r had waited _ <"$thread/schedstat" && [ "$waited" -gt "$most" ]; then
                    most=$waited ran=$had
                fi
                if read -r children <"$thread/children"; then next="$next $children"; fi
            done
        done
        those=$next
    done
    [ "$most" -ge 0 ] && echo "$ran $most"
} 2>/dev/null

note_wait() { # note_wait NUMBER SINCE: per mille of the time since; nothing of one that hardly ran
    # (a shell, whose children are not to be seen where Linux has no CONFIG_PROC_CHILDREN)
    read -r pid <"$1.pid" && times=$(most_waited "$pid") || return
    past=$(($(now) - $2))
    if [ "$past" -gt 0 ] && [ $((${times% *} + ${times#* })) -gt $((past * 50000)) ]; then
        echo $((${times#* } / (past * 10000))) >>"$1.waited"
    fi
}

linger() { # linger NUMBER SECONDS: nap so long, and note how long the program waited for a CPU
    since=$(now)
    nap "0.${2#*.}"
    left=${2%.*}
    while [ "$left" -gt 0 ]; do
        nap 1
        left=$((left - 1))
        if [ -n "$since" ] && [ -s "$1.pid" ]; then note_wait "$1" "$since"; fi
    done
} 2>/dev/null

leaders() { # leaders NUMBER|'*': the programs that have not ended
    # shellcheck disable=SC2231 # a pattern
    for file in $1.pid; do
        if [ -s "$file" ] && [ ! -s "${file%pid}code" ]; then cat "$file"; fi
    done
}

mark_of() { if [ "$1" = '*' ]; then echo program:; else echo "program:$1,"; fi; }

hit() { # hit SIGNAL NUMBER|'*'
    for leader in $(leaders "$2"); do kill "-$1" "-$leader" || kill "-$1" "$leader"; done
    for one in $(marked "$(mark_of "$2")"); do kill "-$1" "$one"; done
} 2>/dev/null

quit() { # quit NUMBER|'*': TERM, and after two seconds KILL
    hit TERM "$1"
    for pause in 0.02 0.03 0.05 0.1 0.2 0.3 0.3 0.5 0.5; do
        if [ -z "$(leaders "$1")$(marked "$(mark_of "$1")")" ]; then return; fi
        nap "$pause"
    done
    hit KILL "$1"
}

stop() { # stop NUMBER
    if [ ! -s "$1.code" ]; then : >"$1.stopped"; fi
    for _ in 1 2 3 4 5 6 7 8 9; do # it may just be about to begin
        if [ -s "$1.pid" ] || [ -s "$1.code" ]; then break; fi
        nap 0.1
    done
    quit "$1"
    await "$1" 2
    if [ ! -s "$1.code" ]; then echo 137 >"$1.code"; fi # whoever waited for it was ended itself
}

finish() { # end everything, and the watch
    quit '*'
    for _ in 1 2 3 4 5 6 7 8 9; do
        left=$(marked '')
        if [ -z "$left" ]; then break; fi
        for one in $left; do kill -KILL "$one" 2>/dev/null; done
    done
    cd /
    rm -rf "$folder"
}

holders() { # who holds the lock of this place, or tried to just now; not those of other places
    head -n 9999 /proc/[0-9]*/cmdline | tr '\0' '\n' |
        sed -n '/^==> .* <==$/h; /^vnicaudit-turn: /{ G; p; }' |
        while read -r text && read -r _ file _; do
            place=${file%cmdline}ns/net
            # one that may not be looked at (another user's) may be this one
            if [ ! -e "$place" ] || [ "$place" -ef /proc/self/ns/net ]; then
                echo "${text#* }"
            fi
        done | head -n 8
} 2>/dev/null

settled() { [ -s "$1.code" ] || [ ! -e supervisor ]; } # without a supervisor the session has ended

await() { # await NUMBER SECONDS
    for pause in 0.01 0.01 0.02 0.05 0.1 0.2 0.2 0.4; do
        if settled "$1" || [ "$2" = 0 ]; then return; fi
        nap "$pause"
    done
    left=$(($2 * 2 - 2))
    while [ "$left" -gt 0 ] && ! settled "$1"; do
        nap 0.5
        left=$((left - 1))
    done
}

piece() { dd if="$1" bs="$block" skip="$2" count=1 2>/dev/null; }

size() { if [ -s "$1" ]; then wc -c <"$1"; else echo 0; fi; }

report() { # report NUMBER
    if [ ! -s "$1.code" ]; then
        say running 0 0 0
        return
    fi
    state=ended
    if [ -e "$1.late" ] || [ -e "$1.stopped" ]; then state=stopped; fi
    read -r code <"$1.code"
    waited=
    if [ -s "$1.waited" ]; then waited=" $(tail -n 1 "$1.waited")"; fi
    say "$state" "$code" $(($(size "$1.out"))) "$(($(size "$1.err")))$waited"
    if [ -s "$1.out" ]; then piece "$1.out" 0; fi
    if [ -s "$1.err" ]; then piece "$1.err" 0; fi
}

: >lease
verb=$1
shift
case $verb in
    open)
        mkdir files
        mark=supervisor,
        (apart sh "$0" watch "$1") </dev/null >/dev/null 2>&1 &
        say "$folder" 0 0 0
        ;;
    watch)
        trap '' HUP INT
        while rm -f lease && nap "$1" && [ -e lease ]; do :; done
        unset KEPT_BY_VNICAUDIT
        exec sh "$0" end
        ;;
    renew) say renewed 0 0 0 ;;
    start)
        number=$1 seconds=$2 patience=$3
        shift 3
        mark=supervisor,
        (apart sh "$0" program "$number" "$seconds" "$@") </dev/null >/dev/null 2>&1 &
        supervisor=$!
        await "$number" "$patience"
        if [ -s "$number.code" ]; then wait "$supervisor"; fi
        report "$number"
        ;;
    program) program "$@" ;;
    limit)
        linger "$1" "$2"
        : >"$1.late"
        quit "$1"
        ;;
    wait)
        await "$1" "$2"
        report "$1"
        ;;
    stop)
        stop "$1"
        report "$1"
        ;;
    read)
        say piece 0 0 0
        piece "$1.$2" "$3"
        ;;
    put)
        if [ "$3" = new ]; then rm -f "files/$1"; fi
        printf %s "$2" | base64 -d >>"files/$1" || exit
        say put 0 "$(($(wc -c <"files/$1")))" 0
        ;;
    turn)
        rm -f turn
        mark=supervisor,
        (apart sh "$0" hold "vnicaudit-turn: $1") </dev/null >/dev/null 2>&1 &
        for pause in 0.01 0.02 0.05 0.1 0.2 0.5 1 2 2 2; do
            if [ -s turn ]; then break; fi
            nap "$pause"
        done
        state=unknown
        if [ -s turn ]; then read -r state <turn; fi
        say "$state" 0 0 0
        if [ "$state" = taken ]; then holders; fi
        ;;
    hold)
        state=unknown
        if command -v flock >/dev/null && [ -r /proc/self/ns/net ] && exec 9</proc/self/ns/net; then
            if flock -n 9; then state=held; else state=taken; fi
        fi
        echo "$state" >turn
        while [ "$state" = held ] && nap 60 9<&-; do :; done
        ;;
    end)
        finish
        say gone 0 0 0
        ;;
esac
