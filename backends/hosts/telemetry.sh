# What a host does while a run trains: sh -c SCRIPT telemetry gpu|nogpu [INDEX,...], until nobody reads
# any more; of those GPUs alone where indices are given.
# Prints what "nvidia-smi --query-gpu=... --format=csv,nounits -l 1" does and, in between, every five
# seconds, and in the first fifteen every second
#   host, EPOCH, CPUS, LOAD1, BUSY, TOTAL, SWAPPED   jiffies of all CPUs; KiB swapped in and out
#   other, EPOCH, GPU, PID                           on a GPU, and of no run of ours; every minute

LC_ALL=C
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
export LC_ALL PATH
unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc would believe them

host_line() {
    read -r load _ </proc/loadavg
    # shellcheck disable=SC2034 # the first word is "cpu"
    read -r _ user nice system idle wait hard soft stolen _ </proc/stat
    busy=$((user + nice + system + hard + soft + ${stolen:-0}))
    pages=$(awk '/^pswp(in|out) / { pages += $2 } END { print pages + 0 }' /proc/vmstat)
    now=$(date +%s)
    echo "host, $now, $cpus, $load, $busy, $((busy + idle + wait)), $((pages * page / 1024))"
} 2>/dev/null

others() {
    # shellcheck disable=SC2086 # two words, or none
    {
        nvidia-smi $chosen --query-gpu=index,uuid --format=csv,noheader
        nvidia-smi --query-compute-apps=gpu_uuid,pid --format=csv,noheader
    } 2>/dev/null | awk -F ', *' '
        $1 ~ /^[0-9]+$/ { gpu[$2] = $1; next }
        $1 in gpu { print gpu[$1], $2 }' | while read -r gpu pid; do
        [ -d "/proc/$pid" ] || continue # it has ended, or its number is another namespace's
        if [ -r "/proc/$pid/environ" ]; then # else it is somebody else's
            variables=$(tr '\0' '\n' <"/proc/$pid/environ")
            case $variables in '' | *DLPERF_RUN_ID=*) continue ;; esac # it is ending, or ours
        fi
        echo "other, $now, $gpu, $pid"
    done
}

cpus=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
page=$(getconf PAGESIZE 2>/dev/null || echo 4096)
smi=$$ chosen=${2:+-i $2}
# shellcheck disable=SC2086 # as above
if [ "$1" = gpu ]; then
    plain=timestamp,index,memory.used,utilization.gpu,power.draw,clocks.current.sm,temperature.gpu
    more=$plain,clocks.max.sm,ecc.errors.uncorrected.volatile.total
    counters=
    for reason in sw_power_cap sync_boost sw_thermal_slowdown hw_thermal_slowdown \
        hw_power_brake_slowdown; do
        counters=$counters,clocks_event_reasons_counters.$reason
    done
    # A driver refuses the whole query, with 2, for one field that it does not know.
    for fields in "$more$counters" "$more,clocks_event_reasons.active" \
        "$more,clocks_throttle_reasons.active" "$plain"; do
        nvidia-smi $chosen "--query-gpu=$fields" --format=csv,nounits >/dev/null 2>&1
        [ $? -eq 2 ] || break
    done
    nvidia-smi $chosen "--query-gpu=$fields" --format=csv,nounits -l 1 &
    smi=$!
fi
second=0
while kill -0 "$smi" 2>/dev/null; do
    if [ $second -lt 15 ] || [ $((second % 5)) -eq 0 ]; then
        host_line || exit
    fi
    [ "$1" = gpu ] && [ $((second % 60)) -eq 0 ] && others
    second=$((second + 1))
    sleep 1
    echo || exit # only who writes notices that nobody reads any more
done
