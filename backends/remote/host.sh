#!/bin/sh
# dlperf-tui on a host: starts runs that outlive every connection, and ends them without a trace.
#
#     sh WORK_DIR/bin/DIGEST/host.sh VERB HOST [ARGUMENT...]
#
# POSIX sh (dash, busybox ash, bash) and the usual small tools. HOST is the console's name for this
# machine: it is part of every path, because WORK_DIR may be a home that all hosts share over NFS.
#
#     WORK_DIR/runs/RUN.HOST/  script.sh output.log work/
#         ticket.*     of starts that may still come; they go with the run, so that a start which was
#                      long on its way executes nothing once the run was taken back or removed
#         claimed/     made by the one supervisor that may run the script: at most one ever does
#         supervisor   "pid start_ticks boot_id started"; pid and ticks name one process for ever
#         reaper       the supervisor is a child subreaper, so its process tree is complete
#         adopter      "pid ticks session" of who adopts orphans there, see orphans.sh
#         ending       "until since pid...": until when who had TERM has time, see end_processes
#         exit         "code ended timed_out leftovers left cancelled orphans oom", written by rename
#         note         the path of the note that says who has the host, see lease.sh
#         in_job       "running JOB" while a node of a job has it, "lost JOB" where its supervisor was killed
#                      there: what a machine that only shares the directory can know of it
#     WORK_DIR/jobs/JOB.HOST/  of a step of a batch job that runs here what "start" hands over, since
#                              what a short step detaches is ended with that step
#     WORK_DIR/stage/DIGEST/   files that runs get a copy of
#
# On a host lie trust.sh, lease.sh, orphans.sh, diagnose.sh and this, as one file. Whoever runs it has seen
# before that it is ours and whole, and that nobody else can write to a directory above it (installation.py).
#
# Answers are lines that begin with "@" on stdout ("follow" has the log there: its answer is on
# stderr). Exit status: 0; 64 wrong arguments; 70 failed, reason on stderr; 75 the host's lease is
# held, by whom say "@lease" and "@claim"; 76 offset beyond the end; 77 no such run; 78 files to
# stage are missing; 79 the log here is not the one that the caller keeps, so nothing was removed.
#
#     serve JOB PATIENCE                  for as long as what is started in the job within PATIENCE
#                                         seconds runs, and until its directory is removed
#     follow RUN OFFSET [SECONDS]         may wait for a directory that another machine has just made
#     status, follow, start               @status ... orphans=: "-"; "?" where nobody can tell; else
#                                         pid:ticks[,...] of what may be left without our marker
#                                         quiet=: seconds since the log of a run that is at work here
#                                         was written to; "-" where nobody can tell
#     start ... TICKET [DIGEST...]        @ticket, and 80, where it is "-": to be sent again with it
#     cancel RUN GRACE                    @cancel killed= left= phase= orphans=; left is "-" where
#                                         nobody can tell that nothing is left
#     digest RUN [BYTES]                  @digest SHA256 SIZE    of the log, or of its first BYTES;
#                                         SHA256 is "-" where no tool can tell
#     remove RUN [SIZE SHA256 | discard] [verified]
#                                         the run's directory, when its log is empty, or has this
#                                         size and digest, and no orphans are left; "discard":
#                                         whatever is in it; "verified": whatever is left

umask_before=$(umask)
umask 077
unset DLPERF_RUN_ID DLPERF_HOST # the wrapper itself is no part of any run

work_dir=${0%/bin/*/host.sh}
verb=${1-} host=${2-}
[ $# -ge 2 ] && shift 2

fail() { printf 'error: %s\n' "$1" >&2; exit "${2-70}"; }

safe() { # $1: a name that may become part of a path
    case $1 in '' | [!A-Za-z0-9_]* | *[!A-Za-z0-9._-]*) fail "not a name: $1" 64 ;; esac
}

ours() { # $1: path below work_dir. Fails where somebody else put something there before we did.
    [ -e "$1" ] || [ -L "$1" ] || return 0
    if [ -O "$1" ]; then
        [ -L "$1" ] || return 0
        look_at "$1" && ! stranger && return 0
    fi
    fail "$1 belongs to $(owner_name "$1") and must be ours: have it removed"
}

clock() { # sets now: 1/100 s since boot
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
}

size_of() { stat -c %s -- "$1" 2>/dev/null || wc -c <"$1"; }

quiet_of() { # $1: a file. Seconds since it was written to, by this machine's clock
    written=$(stat -c %Y -- "$1" 2>/dev/null) && printf '%s\n' $(($(date +%s) - written)) || echo -
}

# --- processes -----------------------------------------------------------------------------------

owned() { # $1: pid of a process of our own user
    [ -O "/proc/$1" ]
}

marked() { # $1: run id. Prints the pids that carry it in their environment, on this host.
    # Not -F: busybox' stops at the first NUL then.
    grep -l "DLPERF_RUN_ID=$1" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ pid _; do
            owned "$pid" || continue
            environment=$(variables "$pid" | grep -E '^DLPERF_(RUN_ID|HOST)=')
            # A process with another host's name shares our /proc but not our run.
            case "
$environment
" in
            *"
DLPERF_HOST=$host
"*) ;;
            *"
DLPERF_HOST="*) continue ;;
            esac
            case "
$environment
" in
            *"
DLPERF_RUN_ID=$1
"*) printf '%s ' "$pid" ;;
            esac
        done
}

# The processes of a run: all descendants of its supervisor and all that carry its marker. The
# supervisor's own session is left out: it holds the supervisor and its helpers, and nothing that
# the script starts can join it. Zombies are left out: they are gone.
#
# With $3, the pids that have had TERM, and $4, the tick from which on what is new may be their work:
# such a process is printed with a ":" behind its pid as long as one of those lives above it.
members() { # $1: run id, $2: pid of the living supervisor or ""
    cat /proc/[0-9]*/stat 2>/dev/null |
        awk -v root="$2" -v marked="$(marked "$1")" -v termed="${3-}" -v since="${4-0}" '
        {
            text = (text == "" ? $0 : text "\n" $0)
            fields = text
            sub(/.*\) /, "", fields)
            if (split(fields, field, " ") < 40) next # a newline in the name: the line goes on
            pid = text + 0
            state[pid] = field[1]; parent[pid] = field[2]; session[pid] = field[4]
            started[pid] = field[20]
            text = ""
        }
        function of_a_handler(pid,   above, depth) {
            if (pid in told || started[pid] < since + 0) return 0
            above = parent[pid]
            for (depth = 0; depth < 10000 && above > 1 && above != root; depth++) {
                if (above in told) return 1
                above = parent[above]
            }
            return 0
        }
        END {
            count = split(marked, list, " ")
            for (i = 1; i <= count; i++) ours[list[i]] = 1
            count = split(termed, list, " ")
            for (i = 1; i <= count; i++) told[list[i]] = 1
            for (pid in parent) {
                if (state[pid] == "Z" || state[pid] == "X") continue
                if (root != "" && session[pid] == session[root]) continue
                found = pid in ours
                if (root != "") {
                    ancestor = parent[pid]
                    for (depth = 0; depth < 10000 && ancestor > 1 && ancestor != root; depth++)
                        ancestor = parent[ancestor]
                    if (ancestor == root) found = 1
                }
                if (found && of_a_handler(pid)) print pid ":"
                else if (found) print pid
            }
        }'
}

# Everything gets TERM once, and what its handlers start is let be as long as they live, until the
# grace is over. What was forked in the moment of the signal, from what ended by it, gets its own.
# A supervisor whose script is being ended by "cancel" finds here how far that has come.
end_processes() { # $1: run id, $2: supervisor or "", $3: grace in 1/100 s. Sets killed and left.
    left=0 kill_until='' told=' '
    clock
    term_until=$((now + $3))
    if { read -r over_at since_ had_term <"$run/ending"; } 2>/dev/null && [ "$over_at" -gt "$now" ]; then
        [ "$over_at" -ge "$term_until" ] || term_until=$over_at
        since=$since_
        for pid in $had_term; do
            case $signalled in *" $pid "*) ;; *) signalled="$signalled$pid " told="$told$pid " ;; esac
        done
    fi
    while :; do
        # Parents first: their exit status tells more.
        pids=$(members "$1" "$2" "$signalled" "${since-}" | sort -n)
        [ -n "$pids" ] || return 0
        clock
        signal=TERM
        if [ "$now" -ge "$term_until" ]; then
            signal=KILL
            [ -n "$kill_until" ] || kill_until=$((now + 500))
            if [ "$now" -ge "$kill_until" ]; then
                for pid in $pids; do left=$((left + 1)); done
                return 1
            fi
        fi
        [ -n "${since-}" ] || since=$(inspect self && printf '%s' "$ticks") # of a process of now
        before=$signalled
        for pid in $pids; do
            case $pid in *:) [ $signal = KILL ] || continue ;; esac
            pid=${pid%:}
            case $told in # by somebody else
            *" $pid "*) killed=$((killed + 1)) told=${told%%" $pid "*}' '${told#*" $pid "} ;;
            esac
            case $signalled in
            *" $pid "*) [ $signal = TERM ] || kill -KILL "$pid" 2>/dev/null ;;
            *) kill -$signal "$pid" 2>/dev/null && killed=$((killed + 1)) signalled="$signalled$pid " ;;
            esac
        done
        [ "$signalled" = "$before" ] ||
            { printf '%s %s %s\n' "$term_until" "${since:-0}" "$signalled" >"$run/ending"; } 2>/dev/null
        nap 0.03
    done
}

end_container() { # $1: grace in 1/100 s
    container=
    { read -r container <"$run/container"; } 2>/dev/null
    [ -n "$container" ] || return 0
    for runtime in docker podman; do
        command -v $runtime >/dev/null 2>&1 || continue
        [ "$1" -eq 0 ] || $runtime stop -t $((($1 + 99) / 100)) "$container" >/dev/null 2>&1
        $runtime rm -f "$container" >/dev/null 2>&1
    done
    # What enroot unpacked: what runs there is ended like any other process, and before.
    [ "$1" -ne 0 ] || ! command -v enroot >/dev/null 2>&1 ||
        enroot remove --force "$container" >/dev/null 2>&1
    return 0
}

# --- what is known about a run -------------------------------------------------------------------

open_run() { # $1: run id. Sets run, run_id.
    safe "$1"
    run_id=$1 run=$work_dir/runs/$1.$host
    ours "$work_dir/runs"
    ours "$run"
}

read_supervisor() { # sets sup_pid, sup_ticks, sup_boot, sup_started; fails where there is none yet
    { read -r sup_pid sup_ticks sup_boot sup_started _ <"$run/supervisor"; } 2>/dev/null
}

read_exit() { # sets code, ended, timed_out, leftovers, exit_left, cancelled, hidden, oom
    { read -r code ended timed_out leftovers exit_left cancelled hidden oom _ <"$run/exit"; } \
        2>/dev/null || return 1
    [ -n "$hidden" ] || { [ -e "$run/reaper" ] && hidden=- || hidden='?'; } # an older version's
}

runs_elsewhere() { # whether another machine, a node of a job, has the run
    boot_id
    [ "$sup_boot" != "$boot" ] && [ ! -e "$run/exit" ] && [ -z "${DLPERF_JOB_OVER-}" ] &&
        { read -r there _ <"$run/in_job"; } 2>/dev/null && [ "$there" = running ]
}

await_directory() { # $1: seconds. NFS tells late what another machine made; to list it asks anew.
    clock
    until_=$((now + $1 * 100))
    until [ -f "$run/supervisor" ] || [ -f "$run/exit" ] || [ "$now" -ge "$until_" ]; do
        ls "$work_dir/runs" "$run" >/dev/null 2>&1
        nap 0.1
        clock
    done
}

look() { # sets phase and everything that answer prints
    sup_pid=- sup_ticks=- sup_boot=- sup_started=-
    code=- ended=- timed_out=0 leftovers=0 exit_left=0 cancelled=0 hidden=- oom=0
    boot_id
    if read_exit; then
        phase=exited
        read_supervisor
    elif ! read_supervisor; then
        phase=absent sup_boot=$boot
    elif alive "$sup_pid" "$sup_ticks" "$sup_boot" || runs_elsewhere; then
        phase=running
    elif read_exit; then # it ended while we looked
        phase=exited
    else
        phase=lost hidden='?'
        [ ! -e "$run/cancelled" ] || cancelled=1
    fi
    same_boot=0
    [ "$sup_boot" != "$boot" ] || [ -n "${DLPERF_JOB_OVER-}" ] || same_boot=1
    [ $same_boot = 1 ] || hidden=- # a reboot ended everything, and so did the end of its job
    size=0
    [ ! -f "$run/output.log" ] || size=$(size_of "$run/output.log")
}

answer() {
    look
    quiet=-
    [ $phase$same_boot != running1 ] || quiet=$(quiet_of "$run/output.log")
    [ ! -e "$run/in_job" ] || same_boot=1 # of the node; this may be another machine
    printf '@status phase=%s pid=%s boot=%s same_boot=%s size=%s code=%s started=%s ended=%s timed_out=%s leftovers=%s left=%s cancelled=%s orphans=%s oom=%s quiet=%s\n' \
        "$phase" "$sup_pid" "$sup_boot" "$same_boot" "$size" "$code" "$sup_started" "$ended" \
        "$timed_out" "$leftovers" "$exit_left" "$cancelled" "$hidden" "${oom:-0}" "$quiet"
}

starting() { # somebody prepares this run at this moment
    for prepared in "$run"/prepared.*; do
        [ -d "$prepared" ] || continue
        starter=${prepared##*.}
        inspect "$starter" && [ "$state" != Z ] && return 0
    done
    [ -d "$run/claimed" ] && [ ! -f "$run/supervisor" ] && [ ! -f "$run/exit" ]
}

await_supervisor() { # $1: 1/100 s. Waits for a start in progress to name its supervisor.
    clock
    until_=$((now + $1))
    while [ ! -f "$run/supervisor" ] && [ ! -f "$run/exit" ]; do
        clock
        [ "$now" -lt "$until_" ] || return 1
        nap 0.004
    done
}

# --- the lease: see lease.sh ---------------------------------------------------------------------

verb_lease() { # LEASE_DIR [GROUP]
    look_at_lease "$1" "${2-}" || fail "$trouble"
}

# --- start ---------------------------------------------------------------------------------------

# Run by python3 where there is one: makes the supervisor a subreaper ("reap"; it survives execve),
# or gives the script its own session ("lead"), with the signals as a login would have them: sh
# makes background commands ignore SIGINT and SIGQUIT, python ignores SIGPIPE and SIGXFSZ, and who
# started all this may have been below nohup.
shim='
import os, signal, sys
action, had_ctype = sys.argv[1:3]
argv = sys.argv[3:]
if not had_ctype:
    os.environ.pop("LC_CTYPE", None)
for number in signal.valid_signals():
    if signal.getsignal(number) in (signal.SIG_IGN, signal.default_int_handler):
        signal.signal(number, signal.SIG_DFL)
if action == "lead":
    os.setsid()
else:
    try:
        import ctypes
        argv.append("1" if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0 else "0")
    except Exception:
        argv.append("0")
os.execvp(argv[0], argv)
'

find_python() { # sets python: a working interpreter past any version manager, or ""
    python=
    known=${0%/*}/python.$host
    { read -r python <"$known"; } 2>/dev/null
    if [ -z "$python" ] || [ ! -x "$python" ]; then
        python=$(python3 -I -S -c 'import ctypes, sys; ctypes.CDLL(None).prctl; print(sys.executable)' \
            2>/dev/null </dev/null)
        if [ -n "$python" ]; then
            printf '%s\n' "$python" >"$known.$$" && mv -f "$known.$$" "$known"
        fi
    fi
}

# No sh can take back that a signal is ignored; without python3 the env of coreutils 8.31 does.
# Where neither is there, what is ignored stays so.
find_defaults() { # sets defaults: what a command is started with for it, or ""
    defaults=
    [ -n "$python" ] || ! env --default-signal true 2>/dev/null || defaults='env --default-signal'
}

# RUN BYTES TIMEOUT GRACE LEASE_DIR WHO SHARE CONTAINER TICKET [DIGEST...], the script on stdin
# SHARE: "GROUP DEVICE[,DEVICE...]" of a run that shares the host with others of its group, else ""
verb_start() {
    [ $# -ge 9 ] || fail 'start: too few arguments' 64
    open_run "$1"
    bytes=$2 timeout=$3 grace=$4 lease_dir=$5 who=$6 sharing=$7 container=$8 ticket=$9
    shift 9
    case $sharing in *[!A-Za-z0-9._,\ -]*) fail "not a group and devices: $sharing" 64 ;; esac
    if [ -d "$run/claimed" ]; then
        await_supervisor 1000
        answer
        exit 0
    fi
    for digest in "$@"; do
        safe "$digest"
        ours "$work_dir/stage"
        ours "$work_dir/stage/$digest"
        [ -d "$work_dir/stage/$digest" ] || { printf '@stage %s\n' "$digest"; exit 78; }
    done
    if [ "$ticket" = - ]; then
        mkdir -p "$run" && ticket=$(mktemp -d "$run/ticket.XXXXXXXXXX") || fail "cannot write to $run"
        printf '@ticket %s\n' "${ticket##*/ticket.}"
        exit 80
    fi
    safe "$ticket"
    # Everything is made ready apart and moved in by the supervisor that wins the claim, so a start
    # that is sent again never touches the files of one that went through. A ticket is good once.
    prepared=$run/prepared.$$
    [ ! -e "$prepared" ] || rm -rf "$prepared"
    mv "$run/ticket.$ticket" "$prepared" 2>/dev/null || fail "too late: run $run_id was removed"
    lease=- locked=0
    abandon() {
        [ $locked = 0 ] || release
        rm -rf "$prepared"
        [ "${2-}" != 75 ] || rm -rf "$run"/ticket.* # the caller goes elsewhere, with all of its starts
        rmdir "$run" 2>/dev/null
        fail "$@"
    }
    mkdir "$prepared/work" || abandon "cannot make $prepared/work"
    cat >"$prepared/script.sh" || abandon 'cannot store the script'
    [ "$(size_of "$prepared/script.sh")" -eq "$bytes" ] || abandon 'the script arrived incomplete'
    for digest in "$@"; do
        cp -Rp "$work_dir/stage/$digest/." "$prepared/work/" || abandon 'cannot copy the staged files'
    done
    # Room for the records is taken now: they must be written when the disk is full, too.
    printf '%255s\n' '' >"$prepared/.supervisor" && printf '%255s\n' '' >"$prepared/.exit" &&
        printf '%s\n' "$container" >"$prepared/container" &&
        printf '%s\n' "$who" >"$prepared/who" && : >"$prepared/note" &&
        printf '%s\n' "$sharing" >"$prepared/sharing" &&
        : >"$prepared/output.log" ||
        abandon 'cannot write the run directory'

    if [ -n "$who" ]; then
        tries=0
        until take_lease "$lease_dir" "$who" "$sharing"; do
            [ -z "$trouble" ] || abandon "$trouble"
            tries=$((tries + 1)) # somebody may only be looking
            find_lease "$lease_dir"
            open_lease || abandon "$trouble"
            read_holder
            # Our own start of a moment ago, whose answer was lost.
            if [ "$holder_run" = "$run_id" ] && await_supervisor 300; then
                rm -rf "$prepared"
                answer
                exit 0
            fi
            # Where nobody has a claim, it has just become free, or somebody is about to say so.
            most=12
            [ "$holder_run" = - ] || most=4
            [ $nobody = 0 ] || ! befriended || most=250 # one of our group is about to share it
            if [ $tries -ge $most ]; then
                tell_holder
                abandon 'the host is held by another run' 75
            fi
            exec 9<&-
            nap 0.02
        done
        locked=1 lease=$notes
        printf '%s\n' "$note" >"$prepared/note" || abandon 'cannot write the run directory'
    fi

    find_python
    find_defaults
    post=$work_dir/jobs/${DLPERF_POST:-${SLURM_JOB_ID-}}.$host
    if [ -d "$post" ]; then
        printf '%s\n' "$run_id" "$prepared" "$timeout" "$grace" "$lease" "$umask_before" "$python" \
            >"$post/.start" && mv "$post/.start" "$post/start" || abandon "cannot write to $post"
    elif [ -n "${DLPERF_POST-}${DLPERF_JOB_OVER-}" ]; then # here nothing outlives this command
        abandon 'the step that waited for the run has ended'
    elif command -v setsid >/dev/null 2>&1; then
        setsid $defaults sh "$0" guard "$host" "$run_id" "$prepared" "$timeout" "$grace" "$lease" \
            "$umask_before" "$python" </dev/null >/dev/null 2>&1 &
    elif [ -n "$python" ]; then
        "$python" -I -S -c "$shim" lead "${LC_CTYPE+set}" sh "$0" guard "$host" "$run_id" \
            "$prepared" "$timeout" "$grace" "$lease" "$umask_before" "$python" \
            </dev/null >/dev/null 2>&1 &
    else
        abandon 'needs setsid (util-linux) or python3'
    fi
    exec 9<&-
    await_supervisor 1000 || fail 'the supervisor did not start'
    answer
}

# Waits for the supervisor, so that it never stays behind as a zombie where nobody reaps orphans.
verb_guard() { # RUN PREPARED TIMEOUT GRACE LEASE UMASK PYTHON
    find_adopter
    printf '%s\n' "$adopter" >"$2/adopter"
    sh "$0" supervise "$host" "$@" &
    supervisor=$!
    exec 9<&-
    wait $supervisor
    while kill -0 $supervisor 2>/dev/null; do wait $supervisor; done # a signal cut the wait short
    open_run "$1"
    look
    if [ $phase = lost ] && [ "$sup_pid" = $supervisor ]; then # killed: what it ran has the host
        notes=$5
        look_for_orphans 0
        hand_over "$(members "$run_id" '')"
    fi
}

verb_serve() { # JOB PATIENCE
    safe "$1"
    job=$1
    ours "$work_dir/jobs"
    post=$work_dir/jobs/$job.$host
    ours "$post"
    trap 'rm -rf "$post"; exit 143' TERM INT HUP
    rm -rf "$post" # of the same job before it was requeued
    mkdir -p "$post" || fail "cannot make $post"
    clock
    until_=$((now + $2 * 100))
    until [ -f "$post/start" ]; do
        nap 0.05
        [ -d "$post" ] || exit 0 # nothing will be started any more
        clock
        [ "$now" -lt "$until_" ] || { rm -rf "$post"; fail "nothing was started within $2 s" 75; }
    done
    {
        read -r id && read -r prepared && read -r timeout && read -r grace && read -r lease &&
            read -r umask_before && read -r python
    } <"$post/start"
    trap : TERM INT HUP # a job that is ended tells all of its processes, and the supervisor acts
    open_run "$id"
    printf 'running %s\n' "$job" >"$run/in_job"
    verb_guard "$id" "$prepared" "$timeout" "$grace" "$lease" "$umask_before" "$python"
    boot_id
    [ -e "$run/exit" ] || { read_supervisor && alive "$sup_pid" "$sup_ticks" "$boot"; } ||
        printf 'lost %s\n' "$job" >"$run/in_job"
    clock
    until_=$((now + 1000))
    while [ -d "$run" ] && [ "$now" -lt "$until_" ]; do # who looks through a step may still look
        nap 0.2
        clock
    done
    rm -rf "$post"
}

verb_supervise() { # RUN PREPARED TIMEOUT GRACE LEASE UMASK PYTHON; LEASE: where its notes are, or -
    open_run "$1"
    [ -d "$2" ] && mkdir "$run/claimed" 2>/dev/null || { rm -rf "$2"; exit 0; }
    # The run was removed in this moment, and the claim may be in another's way, who begins anew.
    [ -d "$2" ] || { rmdir "$run/claimed"; exit 0; }
    inspect $$
    boot_id
    { read -r note <"$2/note"; } 2>/dev/null
    if [ -n "$note" ]; then # from here on this process has the host
        notes=$5 can_note=1
        read -r who <"$2/who"
        read -r share <"$2/sharing"
        announce "$$:$ticks" "$who" && printf '%s\n' "$note" >"$2/note" && rm -f -- "$was"
        share= # what it leaves behind shares with nobody
        inspect $$
    fi
    rm -f "$2/sharing"
    mv "$2/script.sh" "$2/work" "$2/output.log" "$2/container" "$2/who" "$2/note" "$2/adopter" \
        "$2/.exit" "$2/.supervisor" "$run/" || exit 1
    printf '%s %s %s %s\n' $$ "$ticks" "$boot" "$(date +%s.%N)" 1<>"$run/.supervisor"
    mv "$run/.supervisor" "$run/supervisor"
    rmdir "$2" # and no other: a start that was sent again may be preparing its own
    shift 2
    if [ -n "$5" ]; then
        exec "$5" -I -S -c "$shim" reap "${LC_CTYPE+set}" sh "$0" attend "$host" "$run_id" "$@"
    fi
    verb_attend "$run_id" "$@" 0
}

oom_kills() { # sets ooms: processes that the kernel ended in our own cgroup for its limit of memory
    ooms=0
    while IFS=: read -r number kinds path; do
        case $number:$kinds in
        *:memory) counts=/sys/fs/cgroup/memory$path/memory.oom_control ;;
        0:) counts=/sys/fs/cgroup$path/memory.events ;;
        *) continue ;;
        esac
        while read -r name count; do
            [ "$name" != oom_kill ] || ooms=$((ooms + count))
        done <"$counts"
    done </proc/self/cgroup
} 2>/dev/null

verb_attend() { # RUN TIMEOUT GRACE LEASE UMASK PYTHON SUBREAPER
    open_run "$1"
    timeout=$2 grace=$3 lease=$4 umask_before=$5 python=$6
    [ "$7" = 0 ] || : >"$run/reaper"
    asked='' timed_out=0 cancelled=0 killed=0 signalled=' ' timer=''
    inspect $$
    own_ticks=$ticks
    trap 'asked=timeout' USR1
    trap 'asked=cancel' TERM INT HUP
    oom_kills
    ooms_before=$ooms
    cd "$run/work" || finish 126
    [ ! -e "$run/cancelled" ] || { cancelled=1; finish 143; }
    umask "$umask_before"
    if [ -n "$python" ]; then
        DLPERF_RUN_ID=$run_id DLPERF_HOST=$host "$python" -I -S -c "$shim" lead \
            "${LC_CTYPE+set}" sh "$run/script.sh" </dev/null >>"$run/output.log" 2>&1 &
    else
        find_defaults
        DLPERF_RUN_ID=$run_id DLPERF_HOST=$host setsid $defaults \
            sh "$run/script.sh" </dev/null >>"$run/output.log" 2>&1 &
    fi
    main=$!
    umask 077
    if [ "$timeout" != - ]; then
        # Marked, so that it is found should the supervisor be killed.
        # By KILL: a signal that comes before its sleep is one is lost, and that goes on.
        DLPERF_RUN_ID=$run_id DLPERF_HOST=$host sh -c 'trap "kill -KILL \$!; exit" TERM
            sleep "$1" &
            wait $!
            read -r line <"/proc/$2/stat" && set -- "$2" "$3" ${line##*) } &&
                [ "${22}" = "$2" ] && kill -USR1 "$1"' \
            sh "$timeout" $$ "$own_ticks" </dev/null >/dev/null 2>&1 9<&- &
        timer=$!
        inspect "$timer" && timer_ticks=$ticks
    fi
    wait $main
    code=$?
    while [ -n "$asked" ]; do # a signal cut the wait short
        [ "$asked" = timeout ] && timed_out=1 || cancelled=1
        asked=
        end_container "$grace"
        end_processes "$run_id" $$ "$grace"
        before=$code
        wait $main
        code=$?
        [ $code -ne 127 ] || code=$before
    done
    trap '' USR1 TERM INT HUP
    [ -z "$timer" ] || kill "$timer" 2>/dev/null
    [ ! -e "$run/cancelled" ] || cancelled=1
    finish "$code"
}

end_timer() { # For the same reason told until it is gone, and what it has started is by then.
    boot_id
    while [ -n "$timer" ] && alive "$timer" "${timer_ticks--}" "$boot"; do
        kill "$timer" 2>/dev/null
        nap 0.01
    done
}

finish() { # $1: exit code. Ends what the script left behind, frees the lease, writes the record.
    leftovers=0 left=0
    killed=0
    end_container 0
    clock
    settle_until=$((now + 20)) # workers that are just ending are no leftovers
    pids=$(members "$run_id" $$)
    while [ -n "$pids" ] && [ "$now" -lt "$settle_until" ]; do
        nap 0.02
        clock
        pids=$(members "$run_id" $$)
    done
    if [ -n "$pids" ]; then
        end_processes "$run_id" $$ "$grace"
        leftovers=$killed
    fi
    end_timer
    hidden=-
    [ -e "$run/reaper" ] || look_for_orphans 50
    # Before the record: who sees the end may start the next run.
    if [ "$left" -eq 0 ] && [ "$hidden" = - ]; then
        { read -r note <"$run/note"; } 2>/dev/null
        release
    else
        notes=$lease
        hand_over "$(members "$run_id" $$)"
    fi
    oom_kills
    printf '%s %s %s %s %s %s %s %s\n' "$1" "$(date +%s.%N)" "$timed_out" "$leftovers" "$left" \
        "$cancelled" "$hidden" $((ooms - ooms_before)) 1<>"$run/.exit"
    mv "$run/.exit" "$run/exit"
    exit 0
}

# --- follow --------------------------------------------------------------------------------------

verb_follow() { # RUN OFFSET [SECONDS]. The log's bytes from OFFSET on stdout until the run has ended.
    open_run "$1"
    offset=$2
    [ -z "${3-}" ] || await_directory "$3"
    if [ ! -f "$run/supervisor" ] && [ ! -f "$run/exit" ]; then
        starting && await_supervisor 1000 || { answer >&2; exit 77; }
    fi
    log=$run/output.log
    size=$(size_of "$log") || fail "no log: $log"
    [ "$offset" -le "$size" ] || fail "offset $offset is beyond the end, $size" 76
    read_supervisor || sup_pid=
    if [ -n "$sup_pid" ] && runs_elsewhere; then
        (while runs_elsewhere; do nap 0.5; done) </dev/null >/dev/null 2>&1 &
        inspect $!
        sup_pid=$! sup_ticks=$ticks sup_boot=$boot # ends with the run, and so stands for it here
    fi
    if [ -z "$sup_pid" ] || ! alive "$sup_pid" "$sup_ticks" "$sup_boot"; then
        tail -c +$((offset + 1)) "$log" || exit 70
    elif tail ---disable-inotify --pid=1 -s 0.1 --version >/dev/null 2>&1; then
        # Looking 10 times a second costs both ends far less than a message per line.
        # Should somebody end it, the answer below says "running" and the console asks again.
        tail -c +$((offset + 1)) -f --pid="$sup_pid" -s 0.1 ---disable-inotify "$log" 2>/dev/null
    else
        running=1
        while [ $running = 1 ]; do
            alive "$sup_pid" "$sup_ticks" "$sup_boot" || running=0 # first: the last bytes count
            size=$(size_of "$log")
            if [ "$size" -gt "$offset" ]; then
                tail -c +$((offset + 1)) "$log" | head -c $((size - offset)) || exit 70
                offset=$size
            elif [ $running = 1 ]; then
                nap 0.1
            fi
        done
    fi
    answer >&2
}

verb_status() { # RUN
    open_run "$1"
    answer
}

sha256() { # of stdin; prints nothing where there is no tool for it
    for tool in sha256sum 'shasum -a 256' 'openssl dgst -sha256 -r'; do
        command -v "${tool%% *}" >/dev/null 2>&1 || continue
        sum=$($tool 2>/dev/null)
        printf '%s' "${sum%% *}"
        return
    done
}

verb_digest() { # RUN [BYTES]. To compare with what was fetched.
    open_run "$1"
    log=$run/output.log
    [ -f "$log" ] || exit 77
    size=$(size_of "$log")
    bytes=${2-$size}
    [ "$bytes" -le "$size" ] || fail "$bytes bytes are more than there are, $size" 76
    sum=$(head -c "$bytes" "$log" | sha256)
    printf '@digest %s %s\n' "${sum:--}" "$bytes"
}

# --- end -----------------------------------------------------------------------------------------

verb_cancel() { # RUN GRACE
    open_run "$1"
    grace=$2 killed=0 left=0 signalled=' '
    if [ -d "$run" ]; then
        : >"$run/cancelled" 2>/dev/null
        [ -f "$run/supervisor" ] || ! starting || await_supervisor 300
    fi
    look
    case $phase in
    running)
        end_container "$grace"
        # Its supervisor may be about to start the script, or to clean up after it: until it is gone.
        clock
        until_=$((now + grace + 1000))
        while alive "$sup_pid" "$sup_ticks" "$sup_boot" && [ "$now" -lt "$until_" ]; do
            end_processes "$run_id" "$sup_pid" "$grace" || break
            nap 0.02
            clock
        done
        look
        [ "$exit_left" -eq 0 ] || left=$exit_left
        [ "$phase" != lost ] || look_for_orphans 50 # it was killed meanwhile
        ;;
    lost)
        end_container "$grace"
        end_processes "$run_id" '' "$grace"
        end_container 0
        [ "$hidden" = - ] || look_for_orphans 50
        ;;
    *) # over, or never started here: ranks that another host's mpirun started carry the marker
        end_processes "$run_id" '' "$grace"
        [ "$hidden" = - ] || look_for_orphans 0
        ;;
    esac
    # Nobody watched its children where its supervisor was killed.
    [ "$phase" != lost ] || [ "$same_boot" -eq 0 ] || left=-
    [ "$hidden" = - ] || left=-
    printf '@cancel killed=%s left=%s phase=%s orphans=%s\n' "$killed" "$left" "$phase" "$hidden"
}

verb_remove() { # RUN [SIZE SHA256 | discard] [verified]
    open_run "$1"
    case $* in *' verified') verified=1 ;; *) verified=0 ;; esac
    [ -d "$run" ] || exit 0
    ! starting || await_supervisor 300
    look
    [ "$phase" != running ] || fail "run $run_id has not ended"
    # The one place where a log is deleted: not before the caller has shown that it has the same.
    if [ "$size" -gt 0 ] && [ "${2-}" != discard ]; then
        [ "${2-}" = "$size" ] || fail "the log of $run_id is not kept elsewhere" 79
        sum=$(sha256 <"$run/output.log")
        [ -z "$sum" ] || [ "$sum" = "${3-}" ] || fail "the log of $run_id is not kept elsewhere" 79
    fi
    if [ "$phase" = exited ] && [ "$hidden" != - ] && [ $verified = 0 ]; then
        look_for_orphans 50
        [ "$hidden" = - ] || fail "run $run_id may have left processes: $hidden"
    fi
    { read -r note <"$run/note"; } 2>/dev/null # of a supervisor that was killed, or of what it left
    ! read_note "${note:--}" || { [ $verified = 0 ] && note_lives "$note"; } || rm -f -- "$note"
    job=
    { read -r _ job <"$run/in_job"; } 2>/dev/null
    case $job in '' | *[!A-Za-z0-9_]*) ;; *) rm -rf "$work_dir/jobs/$job.$host" ;; esac
    rm -rf "$run" 2>/dev/null || { chmod -R u+rwX "$run" && rm -rf "$run"; } ||
        fail "cannot remove $run"
}

verb_sweep() { # all that is ours on this host: running, orphaned processes, files
    seen=' '
    for run in "$work_dir"/runs/*."$host"; do
        [ -d "$run" ] || continue
        name=${run##*/}
        run_id=${name%."$host"}
        case $run_id in [!A-Za-z0-9_]* | *[!A-Za-z0-9._-]*) continue ;; esac
        seen="$seen$run_id "
        look
        root=
        [ "$phase" != running ] || root=$sup_pid
        count=0
        for pid in $(members "$run_id" "$root"); do count=$((count + 1)); done
        [ "$hidden" = - ] || look_for_orphans 50
        who=
        { read -r who <"$run/who"; } 2>/dev/null
        printf '@leftover run=%s phase=%s started=%s processes=%s size=%s orphans=%s who=%s\n' \
            "$run_id" "$phase" "$sup_started" "$count" "$size" "$hidden" "$who"
    done
    grep -l 'DLPERF_RUN_ID=' /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ pid _; do
            owned "$pid" || continue
            variables "$pid" | sed -n 's/^DLPERF_RUN_ID=//p'
        done | sort -u |
        while read -r run_id; do
            case $run_id in '' | [!A-Za-z0-9_]* | *[!A-Za-z0-9._-]*) continue ;; esac
            case $seen in *" $run_id "*) continue ;; esac
            count=0
            for pid in $(members "$run_id" ''); do count=$((count + 1)); done
            [ $count -eq 0 ] ||
                printf '@leftover run=%s phase=absent started=- processes=%s\n' "$run_id" "$count"
        done
}

# --- the rest ------------------------------------------------------------------------------------

verb_port() { # A free port below the range that outgoing connections take theirs from.
    # cat, because sh reads byte by byte, and this file has only one read to give.
    range=$(cat /proc/sys/net/ipv4/ip_local_port_range 2>/dev/null)
    low=${range%%[!0-9]*}
    [ -n "$low" ] || low=32768
    [ "$low" -gt 20100 ] && first=$((low - 8192)) count=8192 || first=61000 count=4500
    [ "$first" -ge 10000 ] || first=10000 count=$((low - 10000))
    seed=$(od -An -N3 -tu4 /dev/urandom)
    port=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk -v first="$first" -v count="$count" -v seed="$((seed))" '
            function number(text,   value, i) {
                value = 0
                for (i = 1; i <= length(text); i++)
                    value = value * 16 + index("0123456789ABCDEF", substr(text, i, 1)) - 1
                return value
            }
            $2 ~ /:/ { sub(/.*:/, "", $2); used[number($2)] = 1 }
            END {
                for (i = 0; i < count; i++) {
                    port = first + (seed + i * 7) % count
                    if (!(port in used)) { print port; exit }
                }
            }')
    [ -n "$port" ] || fail 'no free port'
    printf '@port %s\n' "$port"
}

verb_stage() { # DIGEST BYTES, a tar archive on stdin
    safe "$1"
    ours "$work_dir/stage"
    ours "$work_dir/stage/$1"
    stage=$work_dir/stage/$1 incoming=$work_dir/stage/.$1.$host.$$
    if [ -d "$stage" ]; then
        cat >/dev/null
        exit 0
    fi
    rm -rf "$incoming"
    mkdir -p "$incoming/files" || fail "cannot make $incoming"
    give_up() { rm -rf "$incoming"; fail "$1"; }
    cat >"$incoming/tar" || give_up 'cannot store the files'
    [ "$(size_of "$incoming/tar")" -eq "$2" ] || give_up 'the files arrived incomplete'
    (umask "$umask_before" && tar -xf "$incoming/tar" -C "$incoming/files") ||
        give_up 'cannot unpack the files'
    mv -T "$incoming/files" "$stage" 2>/dev/null || [ -d "$stage" ] ||
        mv "$incoming/files" "$stage" || give_up "cannot make $stage"
    rm -rf "$incoming"
}

safe "$host"
case $verb in
start | serve | guard | supervise | attend | follow | status | cancel | remove | sweep | diagnose | digest | lease | port | stage)
    "verb_$verb" "$@"
    ;;
*) fail "no such verb: $verb" 64 ;;
esac
