# shellcheck shell=sh
# What a run may have left although nothing in it says so. Part of host.sh.
#
# Where there is no python3, nobody adopts a run's orphans, and one that also dropped our marker is in
# no tree and no list. But the kernel gives every orphan to the process that adopts those of its
# ancestors: init, or a session manager above us. So whatever survives of a run descends from a
# process of our own user that has this parent and began after the run's supervisor. The rule misses
# only what became another user's (sudo). It may name processes that began meanwhile and are nobody's
# business of ours, so it never makes anybody signal anything: it says "unverified", and which.

find_adopter() { # sets adopter: "pid ticks session" of the process that adopts this one's orphans
    orphan='while read -r line <"/proc/$$/stat"; do
        set -- "$1" ${line##*) }
        [ "$3" = "$1" ] || { echo "$3"; exit; }
        sleep 0.01 2>/dev/null || sleep 1
    done'
    # Marked, so that nobody takes it for what another run has left.
    # shellcheck disable=SC2016
    adopter=$(DLPERF_RUN_ID=$run_id DLPERF_HOST=$host sh -c 'sh -c "$1" sh $$ &' sh "$orphan" 2>/dev/null)
    ticks=- session=-
    inspect "${adopter:--}"
    { read -r session </proc/self/sessionid; } 2>/dev/null
    adopter="${adopter:--} $ticks $session"
}

orphans() { # of the open run. Prints "pid:ticks " of each; fails where nobody can tell.
    { read -r adopter adopter_ticks session _ <"$run/adopter"; } 2>/dev/null || return 1
    { read -r _ since _ <"$run/supervisor"; } 2>/dev/null || return 1
    if [ "$adopter" != 1 ]; then # as long as it lives it adopts them, and after it somebody else
        inspect "$adopter" && [ "$ticks" = "$adopter_ticks" ] || return 1
    fi
    our_uid=$(id -u)
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v adopter="$adopter" -v since="$since" '
        {
            text = (text == "" ? $0 : text "\n" $0)
            fields = text
            sub(/.*\) /, "", fields)
            if (split(fields, field, " ") < 40) next # a newline in the name: the line goes on
            pid = text + 0
            text = ""
            if (field[1] == "Z" || field[1] == "X" || field[20] + 0 < since + 0) next
            if (field[2] + 0 == 1 || field[2] + 0 == adopter + 0) print pid ":" field[20]
        }' |
        while IFS=: read -r pid began; do
            innocent "$pid" || printf '%s ' "$pid:$began"
        done
}

innocent() { # $1: pid of an orphan. Whether it cannot be of the open run.
    # Not the owner of /proc/PID: that is root's for whoever hides its memory.
    grep -q "^Uid:[[:space:]]*$our_uid[[:space:]]" "/proc/$1/status" 2>/dev/null || return 0
    case $(tr '\000' '\012' 2>/dev/null <"/proc/$1/cmdline" | sed -n 2p) in
    */bin/*/host.sh) return 0 ;; # us
    esac
    # shellcheck disable=SC2046
    case $(set -- $(variables "$1" | sed -n 's/^DLPERF_\(RUN_ID\|HOST\)=/\1 /p' | sort); echo "$*") in
    '' | *"RUN_ID $run_id") ;;
    *RUN_ID*) return 0 ;; # another run's
    esac
    ! grep -q '/init\.scope$' "/proc/$1/cgroup" 2>/dev/null || return 0 # a user's service manager
    case $session in
    - | 4294967295) return 1 ;; # the kernel numbers no logins here
    esac
    { read -r other <"/proc/$1/sessionid"; } 2>/dev/null && [ "$other" != "$session" ]
}

look_for_orphans() { # $1: 1/100 s for those that are just ending. Sets hidden: "-": there are none,
    clock            # "?": nobody can tell, else pid:ticks[,pid:ticks...]
    orphans_until=$((now + $1))
    while :; do
        hidden='?'
        found=$(orphans) || return 0
        hidden=-
        [ -n "$found" ] || return 0
        hidden=$(printf '%s' "${found% }" | tr ' ' ',' | cut -d, -f-8)
        clock
        [ "$now" -lt "$orphans_until" ] || return 0
        nap 0.05
    done
}

hand_over() { # $1: pids of the run's own that do not end. The lease goes to those that are left.
    { read -r note <"$run/note"; } 2>/dev/null
    [ -n "${note-}" ] || return 0
    heirs=
    for pid in $1; do
        ! inspect "$pid" || heirs=$heirs,$pid:$ticks
    done
    case ${hidden:--} in
    -) ;;
    '?') inspect 1 && heirs=$heirs,1:$ticks ;; # until the machine is started anew, or somebody looks
    *) heirs=$heirs,$hidden ;;
    esac
    [ -n "$heirs" ] || return 0
    can_note=1 who=
    { read -r who <"$run/who"; } 2>/dev/null
    announce "${heirs#,}" "$who; it has ended and may have left processes" || return 0
    printf '%s\n' "$note" >"$run/note"
    rm -f -- "$was"
}
