# What a run that does not move does at this moment, for people and for the parsers in backends/hangs.
#
#     diagnose RUN    @diagnosis PHASE BYTES_OF_LOG, then for each piece of evidence
#                     @section NAME ARGUMENT STATUS SIZE, SIZE bytes as they were told, a line break
#
# STATUS is the exit status of what told it, "-" where that had not ended within the limit, or was cut.
# Everything is asked at once, nothing for longer than the limit, and nothing of the run is stopped or
# signalled: py-spy reads without pausing, and a flight recorder is asked through the pipe that it opened for it.
# What hangs here (nvidia-smi on a GPU that is lost, a file on a dead NFS) is not waited for.

evidence_limit=12 # s
evidence_bytes=65536
flight_bytes=2097152
answer_bytes=16000000
ranks_asked=32

# shellcheck disable=SC2016
ras_program='
import socket, sys, time
host, _, port = sys.argv[1].rpartition(":")
end = time.monotonic() + float(sys.argv[2])
answer = b""
try:
    client = socket.create_connection((host.strip("[]") or "localhost", int(port)), 3)
    client.sendall(b"verbose status\n")
    while time.monotonic() < end and len(answer) < 1 << 20:
        # The summary comes first, the communicators when all processes have told, warnings last.
        client.settimeout(1 if b"\nWarnings\n" in answer else max(0.1, end - time.monotonic()))
        try:
            data = client.recv(65536)
        except socket.timeout:
            break
        if not data:
            break
        answer += data
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
except (OSError, ValueError) as error:
    print(error)
    sys.exit(3)
sys.exit(0 if b"\nWarnings\n" in answer else 4)
'

tell() { # $1: name, $2: argument, $3: bytes at most, then what tells. In the background.
    piece=$told/$1.$2 most=$3
    shift 3
    : >"$piece.part"
    # Of nobody's terminal or channel: it may outlive us.
    ( { "$@"; echo $? >"$piece.status"; } 2>&1 | head -c "$most" >"$piece.part"
    [ "$(size_of "$piece.part")" -lt "$most" ] || rm -f "$piece.status" # what told may have ended all the same
    mv "$piece.part" "$piece.done" ) </dev/null >/dev/null 2>&1 &
}

variable() { # $1: pid, $2: name. The first line of its value.
    variables "$1" | sed -n "s/^$2=//p" | tr '\001' '\n' | head -n 1
}

cpu_ticks() { # $1: pid. Sets state, parent, and used: ticks of the CPU.
    line=
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086
    set -- ${line##*) }
    state=$1 parent=$2 used=$((${12} + ${13}))
}

# Of each process, behind a line "MARK PID NAME" its variables. Of Slurm's those are believed that a
# step within the run has set: all of a run inherits those of the step that the run itself is in.
# shellcheck disable=SC2016
ranks_program='
function whole(text) {
    sub(/\001.*/, "", text)
    return text != "" && length(text) < 8 && text !~ /[^0-9]/
}
function first(names,   count, name, i) {
    count = split(names, name, " ")
    for (i = 1; i <= count; i++)
        if (whole(value[name[i]]) && (name[i] !~ /^SLURM/ || in_a_step)) return value[name[i]] + 0
    return "-"
}
function tell() {
    if (pid == "") return
    in_a_step = own != "?" && value["SLURM_STEP_ID"] != "" && value["SLURM_STEP_ID"] != own
    # The name that a process gave itself, as processes that were forked have no other way.
    if (named != "") print pid, named, "-"
    else print pid, first("RANK OMPI_COMM_WORLD_RANK PMIX_RANK SLURM_PROCID"), \
        first("LOCAL_RANK OMPI_COMM_WORLD_LOCAL_RANK SLURM_LOCALID")
}
$1 == mark {
    tell()
    split("", value)
    pid = $2
    named = (NF == 4 && $3 == "rank" && whole($4)) ? $4 + 0 : ""
    next
}
{
    at = index($0, "=")
    name = substr($0, 1, at - 1)
    if (at && !(name in value)) value[name] = substr($0, at + 1)
}
END { tell() }
'

find_ranks() { # sets ranks: " PID:RANK:LOCAL ...", of each the process that is not below another of that rank
    ranks=' ' own_step='?'
    [ -z "$root" ] || own_step=$(variable "$root" SLURM_STEP_ID)
    for pid in $pids; do
        program=$(readlink "/proc/$pid/exe")
        case ${program##*/} in sh | bash | dash | busybox | env | timeout | taskset | numactl) continue ;; esac
        comm=
        { read -r comm <"/proc/$pid/comm"; } 2>/dev/null
        printf '%s %s %s\n' "$told" "$pid" "$comm" # a name that nobody else knew before
        variables "$pid"
    done | awk -v mark="$told" -v own="$own_step" "$ranks_program" >"$told/ranks"
    while read -r pid rank local_rank; do
        [ "$rank" != - ] && cpu_ticks "$pid" || continue
        case $ranks in *" $parent:$rank:"*) ;; *) ranks="$ranks$pid:$rank:$local_rank " ;; esac
    done <"$told/ranks"
}

list_processes() { # one line each, "key=value ..." and behind a tab its words
    for pid in $pids; do
        cpu_ticks "$pid" && printf '%s %s %s\n' "$pid" "$state" "$used"
    done >"$told/before"
    nap 1
    while read -r pid first_state first_used; do
        cpu_ticks "$pid" || continue
        rank=- local_rank=-
        case $ranks in *" $pid:"*)
            rank=${ranks#*" $pid:"}
            rank=${rank%% *}
            local_rank=${rank#*:} rank=${rank%:*}
            ;;
        esac
        waits=
        { read -r waits <"/proc/$pid/wchan"; } 2>/dev/null # which does not end its line
        case $waits in *[!A-Za-z0-9_.]* | 0) waits= ;; esac
        stuck=$(cat "/proc/$pid"/task/*/stat 2>/dev/null | grep -c ') D [0-9]')
        printf 'pid=%s parent=%s rank=%s local=%s state=%s before=%s cpu=%s stuck=%s wchan=%s\t' \
            "$pid" "$parent" "$rank" "$local_rank" "$state" "$first_state" $((used - first_used)) \
            "$stuck" "${waits:--}"
        tr '\000\n\t' '   ' 2>/dev/null <"/proc/$pid/cmdline" | head -c 400
        printf '\n'
    done <"$told/before"
}

find_py_spy() { # $1: pid. Sets py_spy: the one beside its Python, or on its PATH or ours.
    first=$(tr '\000' '\n' 2>/dev/null <"/proc/$1/cmdline" | head -n 1)
    case $first in /*) first=${first%/*} ;; *) first= ;; esac
    rest=$first:$(variable "$1" PATH):$PATH:
    while [ -n "$rest" ]; do
        py_spy=${rest%%:*}/py-spy rest=${rest#*:}
        case $py_spy in /py-spy) continue ;; /*) [ ! -x "$py_spy" ] || return 0 ;; esac
    done
    return 1
}

tell_stacks() { # of every rank; of every Python where nobody says its rank
    asked=0
    for pid in $pids; do
        case $ranks in ' ' | *" $pid:"*) ;; *) continue ;; esac
        case $(readlink "/proc/$pid/exe") in *[Pp]ython*) ;; *) continue ;; esac
        asked=$((asked + 1))
        [ $asked -le $ranks_asked ] || break
        if find_py_spy "$pid"; then
            # Without pausing it: a process that is stopped must stay so.
            tell py-spy "$pid" $evidence_bytes $limit "$py_spy" dump --nonblocking --pid "$pid"
        else
            tell py-spy "$pid" 200 sh -c 'echo "py-spy is not installed"; exit 127'
        fi
    done
}

ask_recorder() { # $1: pid, $2: rank. A flight recorder's dump, of after we asked where it can be asked.
    base=/proc/$1/cwd
    pipe=$(variable "$1" TORCH_NCCL_DEBUG_INFO_PIPE_FILE)$2.pipe
    dump=$(variable "$1" TORCH_FR_DUMP_TEMP_FILE)
    dump=${dump:-$(variable "$1" TORCH_NCCL_DEBUG_INFO_TEMP_FILE)}$2
    home=$(variable "$1" HOME) cache=$(variable "$1" XDG_CACHE_HOME)
    [ "$pipe" != "$2.pipe" ] || pipe=dlperf_flight_$2.pipe # as our workloads name it
    case $pipe in /*) ;; *) pipe=$base/$pipe ;; esac
    if [ -p "$pipe" ] && [ -O "$pipe" ]; then
        # shellcheck disable=SC2016
        $short sh -c 'printf 1 >"$1"' sh "$pipe"
        tries=50
    else
        tries=1
    fi
    while [ $tries -gt 0 ]; do
        for file in "$dump" "dlperf_flight_$2" "${cache:-$home/.cache}/torch/comm_lib_trace_rank_$2" \
            "/tmp/comm_lib_trace_rank_$2" "/tmp/nccl_trace_rank_$2"; do
            case $file in "$2") continue ;; /*) ;; *) file=$base/$file ;; esac
            newer=$told/asked
            [ $tries -gt 1 ] || newer=$run/supervisor # then an older one of this run
            [ -f "$file" ] && [ ! -L "$file" ] && [ -O "$file" ] && [ "$file" -nt "$newer" ] || continue
            size=$(size_of "$file")
            [ "$size" -le $flight_bytes ] || { echo "$size bytes: $file"; return 5; }
            nap 0.3 # it may be being written
            [ "$(size_of "$file")" = "$size" ] || { nap 1; size=$(size_of "$file"); }
            cat "$file"
            return 0
        done
        tries=$((tries - 1))
        [ $tries -le 0 ] || nap 0.1
    done
    echo 'no dump'
    return 6
}

told_lines() { # $1: bytes at most of the run's last lines
    tail -n 40 "$run/output.log" 2>/dev/null | tail -c "$1"
}

kernel_lines() {
    what='Xid|NVLink|nvlink|AER:|PCIe Bus Error|fallen off|hung_task|blocked for more than|[Oo]ut of memory|oom-kill|mlx5|[Ll]ink.*[Dd]own|I/O error|not responding'
    kernel=$($limit dmesg 2>&1) && { printf '%s\n' "$kernel" | grep -aE "$what" | tail -n 200; return 0; }
    printf '%s\n' "$kernel" | tail -n 1
    $limit journalctl -k -b -o short-monotonic --no-pager -n 4000 2>/dev/null |
        grep -aE "$what" | tail -n 200 | grep . && return 0
    return 1
}

network_counters() { # twice, a second apart: "1 NAME COUNTER VALUE"
    for sample in 1 2; do
        [ $sample = 1 ] || nap 1
        for port in /sys/class/infiniband/*/ports/*; do
            [ -d "$port" ] || continue
            device=${port%/ports/*}
            name=${device##*/}/${port##*/}
            for counter in state counters/port_xmit_data counters/port_rcv_data counters/link_downed \
                counters/symbol_error counters/port_rcv_errors counters/port_xmit_discards \
                counters/port_xmit_wait hw_counters/out_of_sequence hw_counters/packet_seq_err \
                hw_counters/local_ack_timeout_err hw_counters/roce_adp_retrans; do
                { read -r value <"$port/$counter"; } 2>/dev/null || continue
                printf '%s %s %s %s\n' $sample "$name" "${counter##*/}" "$value"
            done
        done
        sed -n 's/^ *\([^: ]*\): *\([0-9]*\) *\([0-9]*\) *\([0-9]*\) *\([0-9]*\)\( *[0-9]*\)\{4\} *\([0-9]*\) *[0-9]* *\([0-9]*\).*/\1 rx_bytes \2\n\1 rx_errors \4\n\1 tx_bytes \7\n\1 tx_errors \8/p' \
            /proc/net/dev | sed "s/^/$sample /"
    done
}

keep_evidence() { # Sets told, a directory that nobody else can enter, and is gone when we are.
    evidence=
    trap forget_evidence EXIT
    trap 'exit 143' HUP INT TERM PIPE # which dash ends by without what is to be done at the exit
    # In memory where there is a place: a disk that is full, or hangs, may be what it is about.
    evidence=$(mktemp -d /dev/shm/dlperf.XXXXXX 2>/dev/null || mktemp -d) || fail 'no room for evidence'
    told=$evidence/told
    mkdir "$told" || fail 'no room for evidence'
}

forget_evidence() { # What still tells writes by its name, and would make files while they are removed.
    [ -n "$evidence" ] || return 0
    mv "$told" "$evidence/forgotten" 2>/dev/null
    rm -rf "$evidence"
}

verb_diagnose() { # RUN
    open_run "$1"
    look
    LC_ALL=C
    export LC_ALL
    limit='' short=''
    if timeout -k 1 1 true 2>/dev/null; then
        limit="timeout -k 1 $((evidence_limit - 2))" short='timeout -k 1 2'
    elif command -v timeout >/dev/null 2>&1; then # that of an older busybox
        limit="timeout $((evidence_limit - 2))" short='timeout 2'
    fi
    root=
    [ "$phase" != running ] || root=$sup_pid
    pids=$(members "$run_id" "$root" | sort -n)
    keep_evidence
    clock
    until_=$((now + evidence_limit * 100))
    : >"$told/asked"
    find_ranks
    asked=0 ras=
    for one in $ranks; do
        pid=${one%%:*} rank=${one#*:} asked=$((asked + 1))
        rank=${rank%:*}
        [ $asked -le $ranks_asked ] || break
        tell flight "$rank" $flight_bytes ask_recorder "$pid" "$rank"
        [ -n "$ras" ] || ras=$(variable "$pid" NCCL_RAS_ADDR)
        # shellcheck disable=SC2016
        [ $asked -gt 1 ] || tell environment "$rank" 16384 sh -c \
            'tr "\000" "\n" <"/proc/$1/environ" | grep -aE "^(NCCL|TORCH|CUDA|GLOO|UCX|OMP)_" | sort' \
            sh "$pid"
    done
    tell processes - $evidence_bytes list_processes
    # shellcheck disable=SC2086
    [ -z "$pids" ] || tell ps - $evidence_bytes $limit \
        ps -ww -o pid,ppid,stat,etime,time,pcpu,rss,wchan:20,args -p "$(printf '%s' "$pids" | tr '\n' ',')"
    tell_stacks
    find_python
    [ -z "$python" ] ||
        tell ras - $evidence_bytes "$python" -I -S -c "$ras_program" \
            "${ras:-localhost:28028}" $((evidence_limit - 2))
    if command -v nvidia-smi >/dev/null 2>&1; then
        tell gpus - $evidence_bytes $limit nvidia-smi --format=csv --query-gpu=index,pci.bus_id,utilization.gpu,memory.used,power.draw,clocks.current.sm,temperature.gpu
        tell gpu-processes - $evidence_bytes $limit nvidia-smi --format=csv --query-compute-apps=pid,gpu_bus_id
        tell nvidia-smi - $evidence_bytes $limit nvidia-smi
    fi
    tell kernel - $evidence_bytes kernel_lines
    tell network - $evidence_bytes network_counters
    tell lines - 16384 told_lines 16384
    tell uptime - 64 cat /proc/uptime
    while clock && [ "$now" -lt "$until_" ] && ls "$told" | grep -q '\.part$'; do nap 0.1; done
    printf '@diagnosis %s %s\n' "$phase" "$size"
    for piece in "$told"/*.done "$told"/*.part; do
        [ -f "$piece" ] || continue
        name=${piece##*/}
        name=${name%.*}
        status=-
        { read -r status <"$told/$name.status"; } 2>/dev/null
        cp "$piece" "$told/copy" # what is still being told may grow
        size=$(size_of "$told/copy") answer_bytes=$((answer_bytes - size))
        [ $answer_bytes -ge 0 ] || break
        printf '@section %s %s %s %s\n' "${name%%.*}" "${name#*.}" "${status:--}" "$size"
        cat "$told/copy"
        printf '\n'
    done
}
