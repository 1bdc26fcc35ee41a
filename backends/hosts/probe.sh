# One probe of one host: sh -s -- WORK_DIR LEASE_DIR [nogpu] < trust.sh + lease.sh + probe.sh
# Prints "@@dlperf:SECTION" lines, each followed by that section's text. A tool that is missing, fails
# or hangs leaves its section empty; nothing here writes to the host.

LC_ALL=C
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
export LC_ALL PATH
unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc would believe them

section() { printf '\n@@dlperf:%s\n' "$1"; }

have() { command -v "$1" >/dev/null 2>&1; }

if timeout -k 1 5 true >/dev/null 2>&1; then
    bounded() { timeout -k 1 5 "$@"; }
elif have timeout; then # busybox
    bounded() { timeout 5 "$@"; }
else
    bounded() { "$@"; }
fi

existing_parent() { # of a path that may start with ~
    dir=$1
    case $dir in
    '~') dir=$HOME ;;
    '~/'*) dir=$HOME/${dir#'~/'} ;;
    esac
    case $dir in /*) ;; *) dir=/ ;; esac # without a leading / the loop would have no end
    while [ -n "$dir" ] && [ ! -d "$dir" ]; do dir=${dir%/*}; done
    printf '%s\n' "${dir:-/}"
}

system() {
    section os
    sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null || uname -s
    section kernel
    uname -r
    section architecture
    uname -m
    section hostname
    uname -n
    section boot
    cat /proc/sys/kernel/random/boot_id
    section cpu-model
    if grep -q '^model name' /proc/cpuinfo; then
        sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1
    elif have lscpu; then
        bounded lscpu | sed -n 's/^Model name: *//p' | head -n 1
    fi
    section cpus
    nproc || getconf _NPROCESSORS_ONLN
    section numa
    ls -d /sys/devices/system/node/node[0-9]* | wc -l
    section memory
    grep -E '^(MemTotal|MemAvailable|MemFree):' /proc/meminfo
    section load
    cat /proc/loadavg
    section users
    have who && bounded who | awk '{ print $1 }' | sort -u
    section python
    have python3 && bounded python3 --version
    section containers
    for runtime in docker podman apptainer singularity; do
        have "$runtime" && echo "$runtime"
    done
    section disk
    bounded df -Pk "$(existing_parent "$1")" | tail -n 1
    section interconnects
    for port in /sys/class/infiniband/*/ports/*; do
        [ -r "$port/rate" ] || continue
        device=${port#/sys/class/infiniband/}
        echo "${device%%/*} $(cat "$port/rate") $(cat "$port/state")"
    done
}

query_gpus() {
    fields=index,name,uuid,pci.bus_id,driver_version,memory.total,memory.used,utilization.gpu
    fields=$fields,power.draw,power.limit,temperature.gpu,clocks.current.sm
    fields=$fields,ecc.errors.uncorrected.volatile.total
    # Newest names first; a driver refuses the whole query for one field that it does not know.
    for more in ,mig.mode.current,clocks_event_reasons.active \
        ,mig.mode.current,clocks_throttle_reasons.active ,clocks_throttle_reasons.active ''; do
        answer=$(bounded nvidia-smi "--query-gpu=$fields$more" --format=csv 2>&1)
        status=$?
        # 2: a field is unknown to it. Anything else will not get better by asking differently.
        [ $status -eq 2 ] || break
    done
    printf '%s\n' "$answer"
    section gpu-status
    echo $status
    return $status
}

gpu_processes() {
    section gpu-processes
    answer=$(bounded nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name \
        --format=csv 2>/dev/null)
    printf '%s\n' "$answer"
    section gpu-owners # pid, our run id or -, user, command
    printf '%s\n' "$answer" | awk -F', *' 'NR > 1 && $2 ~ /^[0-9]+$/ { print $2 }' | sort -u |
        while read -r pid; do
            [ -d "/proc/$pid" ] || continue
            run=$(variables "$pid" | sed -n 's/^DLPERF_RUN_ID=//p' | head -n 1)
            user=$(stat -c %U "/proc/$pid" || ps -o user= -p "$pid")
            args=$(tr '\0\n' '  ' <"/proc/$pid/cmdline" | cut -c 1-200)
            echo "$pid ${run:--} ${user:-?} $args"
        done
}

gpus() {
    have nvidia-smi || return 0
    section gpus
    query_gpus || return 0
    gpu_processes
    section cuda
    bounded nvidia-smi | sed -n 's/.*CUDA[A-Za-z ]*Version *: *\([0-9.]*\).*/\1/p' | head -n 1
    section topology
    bounded nvidia-smi topo -m
}

{
    section begin
    date +%s.%N
    system "$1"
    [ "$3" = nogpu ] || gpus
    section lease # last: a bystander's lock may take its time to be named
    (look_at_lease "$2" || printf '@trouble %s\n' "$trouble")
    section end
    date +%s.%N
} 2>/dev/null </dev/null
