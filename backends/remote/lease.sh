# shellcheck shell=sh
# The lease: one run at a time on a machine, whoever starts it. Part of host.sh and of the probe.
#
# The lock is flock, on a descriptor that the supervisor and all that the script starts inherit: the
# kernel frees it when the last of them is gone, however they end. It is taken on the network
# namespace, /proc/self/ns/net, which every user can open and nobody can prepare, replace, remove or
# age. Where the inventory names a lease_dir, and for one of several hosts on loopback, it is a file,
# LEASE_DIR/KEY.lock. Its owner or a cleaner may replace that one, so the runs that claim the host
# are looked for as well.
#
# Who has it is told by notes, PREFIX.note.PID.XXXXXXXXXX: "since run boot pid:ticks[,pid:ticks...] who".
# Nobody can foresee their names (mktemp), and what one says is worth what its owner's word is worth.
# PID announces: an empty note is its, who may be stopped just there, and says nothing yet.
# Where there is neither flock nor python3 the notes are the lock: announce, then look; whoever sees
# no other has the host.
#
# Runs of one campaign may share it, on devices of their own: a second line of their notes says "share
# GROUP DEVICE[,DEVICE...]", and their lock is a shared one. The first takes the lock as anybody does,
# announces, and only then makes it a shared one; another joins beside a note of its group, of our own
# user, whose supervisor lives and whose devices are others. Having joined it looks whether anybody
# else has come in between, and goes if so. Whoever knows nothing of this sees a lock that is held;
# what a run leaves behind shares with nobody. Each lock ends with its own run's last process.

newline='
'

nap() { sleep "$1" 2>/dev/null || sleep 1; }

inspect() { # $1: pid. Sets state and ticks; fails where there is no such process.
    line=
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    # The name in parentheses may hold anything; the fields begin after the last ")".
    # shellcheck disable=SC2086
    set -- ${line##*) }
    state=$1 ticks=${20}
}

boot_id() { # sets boot
    boot=-
    { read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
}

alive() { # $1: pid, $2: its start ticks, $3: the boot it belongs to
    boot_id
    [ "$3" = "$boot" ] && inspect "$1" && [ "$ticks" = "$2" ] || return 1
    case $state in Z | X) return 1 ;; esac
}

lease_key() { # sets key, and apart where several "hosts" on loopback are one machine
    key=$(readlink /proc/self/ns/net) || key=machine
    key=${key#net:\[}
    key=${key%\]}
    apart=
    # shellcheck disable=SC2086
    set -- ${SSH_CONNECTION-}
    case ${3-}:${4-} in
    127.0.0.1:22 | *[!0-9.:]*) ;;
    127.*) apart=$3-$4 key=$key-$3-$4 ;;
    esac
}

find_lease() { # $1: lease_dir or "". Sets lock_path, and notes: where they are, as a prefix.
    trouble='' note='' can_note=1
    lease_key
    notes=/tmp/dlperf-tui.$key
    [ -z "$1" ] || notes=$1/$key
    place=${notes%/*} lock_path=$notes.lock
    if [ -z "$1$apart" ] && (: </proc/self/ns/net) 2>/dev/null; then
        lock_path=/proc/self/ns/net
    fi
}

open_lease() { # the one that was found. Opens descriptor 9; else sets trouble
    if on_file; then
        open_place && open_lock_file || return 1
    else
        open_place || can_note=0 trouble=''
    fi
    exec 9<"$lock_path"
}

on_file() { [ "$lock_path" != /proc/self/ns/net ]; }

open_place() { # where notes and lock files may lie: no symlink, and nobody removes another's files
    if ! look_at "$place"; then
        (umask 022 && mkdir -p -- "${place%/*}" && mkdir -m 1777 -- "$place") 2>/dev/null
        look_at "$place" || { trouble="cannot make the lease_dir $place"; return 1; }
    fi
    case $mode in
    d*) ;;
    *) trouble="the lease_dir $place is no directory, it belongs to $(owner_name "$place")" ;;
    esac
    # The first user makes it for all, sticky as /tmp is.
    if [ -z "$trouble" ] && ! sticky && { stranger || others_write; }; then
        trouble="the lease_dir $place is not safe: it belongs to $(owner_name "$place") with mode $mode"
    fi
    [ -z "$trouble" ]
}

open_lock_file() {
    # Opened read-only: fs.protected_regular forbids O_CREAT on another user's file in such a place.
    [ -e "$lock_path" ] || [ -L "$lock_path" ] ||
        (umask 022 && set -C && : >"$lock_path") 2>/dev/null
    if [ -L "$lock_path" ] || [ ! -f "$lock_path" ] || [ ! -r "$lock_path" ]; then
        trouble="cannot open $lock_path, it belongs to $(owner_name "$lock_path")"
        return 1
    fi
}

lock() { # flock on descriptor 9; $1: "-s" to look. 0: taken, 1: held, 2: no tool for it, else failed
    if command -v flock >/dev/null 2>&1; then
        flock -n ${1+"$1"} 9 2>/dev/null
        case $? in 2) return 70 ;; *) return $? ;; esac
    elif command -v python3 >/dev/null 2>&1; then
        python3 -I -S -c 'import fcntl, sys
try:
    fcntl.flock(9, (fcntl.LOCK_SH if sys.argv[1:] else fcntl.LOCK_EX) | fcntl.LOCK_NB)
except OSError as error:
    sys.exit(1 if isinstance(error, BlockingIOError) else 70)' "$@" 2>/dev/null
    else
        return 2
    fi
}

# $1: lease_dir, $2: who, $3: "GROUP DEVICES" of a run that shares it, else "".
# 0: ours, with a note; 1: held; 2: impossible, trouble says why
take_lease() {
    share=$3
    find_lease "$1"
    open_lease || return 2
    joined=0
    lock
    case $? in
    0) on_file && others=claimed || others=beside ;;
    1) others=held ;;
    2) open_place && others=claimed || others=unsafe ;;
    *) trouble="cannot lock $lock_path" others=unsafe ;;
    esac
    if [ $others = held ] && befriended && lock -s; then
        others=claimed joined=1
    fi
    case $others in
    held | unsafe)
        exec 9<&-
        [ $others = held ] && return 1 || return 2
        ;;
    esac
    if on_file && ! [ "$lock_path" -ef /proc/self/fd/9 ]; then # replaced while we took it
        exec 9<&-
        return 1
    fi
    inspect $$
    if ! announce "$$:$ticks" "$2"; then
        exec 9<&-
        trouble="cannot write to $place, it belongs to $(owner_name "$place")"
        return 2
    fi
    # What is not announced can be joined by nobody, and nobody would see that it is shared.
    alone $others && { [ -z "$share" ] || [ $joined = 1 ] || [ -z "$note" ] || share_lock; } ||
        { release; return 1; }
}

share_lock() { # that this process has alone
    lock -s
    case $? in 0 | 2) return 0 ;; esac
    return 1 # somebody came in between
}

befriended() { # whether a run lives here with which this one may share the host
    [ -n "$share" ] && [ "$can_note" = 1 ] || return 1
    for claim in "$notes".note.*; do
        read_note "$claim" && note_lives "$claim" && friend && return 0
    done
    return 1
}

friend() { # whether this run may share the host with the one whose note was read and lives
    [ -n "${share-}" ] && [ -n "$found_pid" ] && [ -n "$note_share" ] && [ -O "$claim" ] || return 1
    [ "${note_share%% *}" = "${share%% *}" ] || return 1
    taken=,${note_share#* },
    wanted=${share#* },
    while [ -n "$wanted" ]; do
        case $taken in *",${wanted%%,*},"*) return 1 ;; esac
        wanted=${wanted#*,}
    done
}

alone() { # $1: claimed or beside. Whether nobody has such a claim but who shares the host with us.
    looks=0
    while $1; do
        # Of several that announce at once, the one with the smallest pid stays until the others went.
        # Who has the lock announces alone: a note beside it may be one that is just being removed.
        case $1:$found_pid in claimed:?*) [ "$found_pid" -gt $$ ] || return 1 ;; esac
        looks=$((looks + 1))
        [ $looks -lt 30 ] || return 1
        nap 0.01
    done
}

announce() { # $1: pid:ticks of what holds the host, $2: who. Leaves a new note: sets note, was.
    was=${note-}
    [ $can_note = 1 ] || return 0
    note=$(mktemp "$notes.note.$$.XXXXXXXXXX" 2>/dev/null) || { note=$was; return 1; }
    boot_id
    # In one write, and readable for others only when it is whole.
    if printf '%s %s %s %s %s\n%s' "$(date +%s)" "$run_id" "$boot" "$1" "$2" \
        "${share:+share $share
}" >"$note" 2>/dev/null && chmod 644 "$note"; then
        forget_the_dead
        return 0
    fi
    rm -f -- "$note"
    note=$was
    return 1
}

forget_the_dead() { # our own notes of processes that are gone
    for old in "$notes".note.*; do
        [ "$old" != "$note" ] && [ -O "$old" ] || continue
        if read_note "$old"; then
            note_lives "$old" && continue
        else
            never_written "$old" || continue
        fi
        rm -f -- "$old"
    done
}

never_written() { # $1: path of a note. Whether it is empty, and who was to write it is gone.
    [ -f "$1" ] && [ ! -L "$1" ] && [ ! -s "$1" ] || return 1
    writer=${1#"$notes".note.}
    case $writer in *.*) ;; *) return 1 ;; esac
    case ${writer%%.*} in '' | *[!0-9]*) return 1 ;; esac
    [ ! -e "/proc/${writer%%.*}" ]
}

release() { # of a lease that this process holds
    exec 9<&-
    [ -z "${note-}" ] || rm -f -- "$note"
    note=
}

read_note() { # $1: path. Sets note_since, note_run, note_boot, note_pids, note_who, note_share.
    [ -s "$1" ] && [ -f "$1" ] && [ ! -L "$1" ] && [ -r "$1" ] || return 1
    text=$(head -c 1000 "$1" 2>/dev/null | tr -d '\000' | head -n 2)
    note_share=
    case $text in
    *"$newline"*) note_share=${text#*"$newline"} text=${text%%"$newline"*} ;;
    esac
    case $note_share in 'share '*) note_share=${note_share#share } ;; *) note_share= ;; esac
    case $note_share in *[!A-Za-z0-9._,\ -]*) note_share= ;; esac
    set -f
    # shellcheck disable=SC2086
    set -- $text
    set +f
    [ $# -ge 4 ] || return 1
    note_since=$1 note_run=$2 note_boot=$3 note_pids=$4
    shift 4
    note_who=$*
    case $note_since in *[!0-9]* | ????????????*) return 1 ;; esac
    case $note_run in *[!A-Za-z0-9._-]*) return 1 ;; esac
    case $note_pids in *[!0-9:,]*) return 1 ;; esac
}

note_lives() { # $1: path of the note that was read. Sets found_pid, "" where its supervisor is gone.
    list=$note_pids,
    while [ -n "$list" ]; do
        found_pid=${list%%:*}
        process=${list%%,*}
        list=${list#*,}
        ! alive "$found_pid" "${process#*:}" "$note_boot" || return 0
        # /proc may hide the processes of others (hidepid).
        [ "$note_boot" = "$boot" ] && [ ! -e "/proc/$found_pid" ] || continue
        case $(LC_ALL=C; export LC_ALL; kill -0 "$found_pid" 2>&1) in *ermitted*) return 0 ;; esac
    done
    found_pid=
    # Its supervisor was killed, and not all of its processes.
    [ -O "$1" ] && carried "$note_run"
}

variables() { # $1: pid. Its environment, each variable on a line of its own whatever is in it.
    tr '\000\012' '\012\001' 2>/dev/null <"/proc/$1/environ"
}

carried() { # $1: run id. Whether a process of ours has it in its environment.
    # Not -F: busybox' stops at the first NUL then.
    for environ in $(grep -ls "DLPERF_RUN_ID=$1" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${environ#/proc/}
        variables "${pid%/*}" | grep -qxF "DLPERF_RUN_ID=$1" && return 0
    done
    return 1
}

beside() { # whether processes that a run left behind live here, by the word of their own user
    [ "$can_note" = 1 ] || return 1
    for claim in "$notes".note.*; do
        [ "$claim" != "${note-}" ] && read_note "$claim" && note_lives "$claim" || continue
        ! friend && [ -n "$found_pid" ] && look_at "$claim" &&
            grep -q "^Uid:[[:space:]]*$uid[[:space:]]" "/proc/$found_pid/status" 2>/dev/null &&
            return 0
    done
    return 1
}

claimed() { # whether a run that lives, and does not share the host with us, claims it. Sets what
    # read_note sets, claim, found_pid.
    friends=' '
    for claim in "$notes".note.*; do
        [ "$claim" != "${note-}" ] && read_note "$claim" && note_lives "$claim" || continue
        friend || return 0
        friends="$friends$note_run "
    done
    # Its note may be gone, and the lock's file with it; the command line of its supervisor is not.
    for claim in $(grep -ls -e attend -e supervise /proc/[0-9]*/cmdline 2>/dev/null); do
        tr '\0' '\n' 2>/dev/null <"$claim" | grep -qxF -- "$notes" || continue
        note_run=$(tr '\0' '\n' 2>/dev/null <"$claim" |
            awk '/^(supervise|attend)$/ { getline; getline; print; exit }')
        case $note_run in '' | *[!A-Za-z0-9._-]*) continue ;; esac
        case $friends in *" $note_run "*) continue ;; esac
        claim=${claim%/cmdline}
        note_since=0 note_who='a run whose note was removed' found_pid=''
        return 0
    done
    return 1
}

read_holder() { # sets holder_since, holder_run, holder_who, holder_owner, claim; nobody: 1: no claim
    nobody=0
    if ! claimed; then
        claim='' nobody=1
        lock_taker || last_note || {
            note_since=0 note_run=- note_who='somebody who left no note' claim=$lock_path
        }
    fi
    holder_since=$note_since holder_run=$note_run holder_who=$note_who
    holder_owner=-
    [ "$claim" = /proc/self/ns/net ] || holder_owner=$(owner_name "$claim")
}

lock_taker() { # the process that took the lock, where it lives and left no note
    # shellcheck disable=SC2012
    inode=$(ls -Lid /proc/self/fd/9 2>/dev/null) || return 1
    inode=${inode%%/*}
    pid=$(awk -v inode=":${inode%% *}" '$2 == "FLOCK" && substr($6, length($6) - length(inode) + 1) == inode {
        print $5
        exit
    }' /proc/locks 2>/dev/null)
    [ -n "$pid" ] && inspect "$pid" || return 1
    claim=/proc/$pid note_since=0 note_run=-
    note_who="process $pid ($(head -c 60 "/proc/$pid/comm" 2>/dev/null)), which is no run of ours"
}

last_note() { # the newest one of those whose process is gone
    newest=-1
    for old in "$notes".note.*; do
        read_note "$old" && [ "$note_since" -gt "$newest" ] || continue
        newest=$note_since claim=$old
    done
    [ -n "$claim" ] && read_note "$claim"
}

tell_holder() {
    read_holder
    printf '@lease held since=%s run=%s who=%s\n' "$holder_since" "$holder_run" "$holder_who"
    printf '@claim owner=%s path=%s\n' "$holder_owner" "$claim"
}

look_at_lease() { # $1: lease_dir, $2: GROUP or "". Says on stdout who holds the host, other than runs
    # with which one of that group might share it; fails with trouble.
    share=${2:+$2 }
    find_lease "$1"
    if on_file && [ ! -e "$lock_path" ] && [ ! -L "$lock_path" ]; then # nothing is made by looking
        ! look_at "$place" || open_place || return 1
        if lasting_claim; then tell_holder; else printf '@lease free\n'; fi
        return
    fi
    open_lease || return 1
    lock -s
    case $? in
    0)
        # A supervisor that has just freed its lease removes its note in a moment.
        if { on_file && lasting_claim; } || { beside && nap 0.1 && beside; }; then
            tell_holder
        else
            printf '@lease free\n'
        fi
        ;;
    1) tell_holder ;;
    2) if lasting_claim; then tell_holder; else printf '@lease free\n'; fi ;;
    *) trouble="cannot lock $lock_path"; return 1 ;;
    esac
}

lasting_claim() { # a supervisor that has just freed its lease takes a moment to end
    claimed && { [ -n "$found_pid" ] || { nap 0.1 && claimed; }; }
}
