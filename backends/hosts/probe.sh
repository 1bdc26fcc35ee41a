# One probe of one host: sh -s -- WORK_DIR LEASE_DIR gpu|nogpu [KIND VALUE]… < trust.sh + lease.sh +
# probe.sh. KIND VALUE: software to look at: image "RUNTIME IMAGE", python PROGRAM, git DIRECTORY.
# Prints "@@dlperf:SECTION" lines, each followed by that section's text. A tool that is missing, fails
# or hangs leaves its section empty; nothing here writes to the host.

LC_ALL=C
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
export LC_ALL PATH
unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc would believe them

newline='
'
section() { printf '\n@@dlperf:%s\n' "$1"; }

have() { command -v "$1" >/dev/null 2>&1; }

begin() { # The clock, and how a tool is kept from hanging: one process tells both.
    section begin
    limited=yes
    if timeout -k 1 5 date +%s.%N; then
        bounded() { timeout -k 1 5 "$@"; }
    elif timeout 5 date +%s.%N; then # busybox
        bounded() { timeout 5 "$@"; }
    else
        limited=''
        bounded() { "$@"; }
        date +%s.%N
    fi
}

in_home() { # a path that may start with ~
    case $1 in
    '~') printf '%s\n' "$HOME" ;;
    '~/'*) printf '%s\n' "$HOME/${1#'~/'}" ;;
    *) printf '%s\n' "$1" ;;
    esac
}

existing_parent() { # of a path that may start with ~; sets parent
    case $1 in
    '~' | '~/'*) parent=$HOME${1#'~'} ;;
    /*) parent=$1 ;;
    *) parent= ;; # without a leading / the loop would have no end
    esac
    while [ -n "$parent" ] && [ ! -d "$parent" ]; do parent=${parent%/*}; done
    parent=${parent:-/}
}

# What the shell can read itself costs no process, and processes are what a probe takes its time for.

first_lines() { # $1: how many, $2: of which file
    [ -r "$2" ] || return
    # shellcheck disable=SC2034
    for number in $1; do
        read -r line || break
        printf '%s\n' "$line"
    done <"$2"
}

value() { # $1: pattern of a line, $2: file, $3: the line after which there is none. What = or : leads to.
    [ -r "$2" ] || return
    while read -r line && [ "$line" != "${3-@}" ]; do
        # shellcheck disable=SC2254
        case $line in
        $1)
            printf '%s\n' "${line#*[=:]}"
            return
            ;;
        esac
    done <"$2"
    return 1
}

number_of() { # of files: a pattern that found none stands for itself
    [ ! -e "$1" ] || echo $#
}

system() {
    section os
    value 'PRETTY_NAME=*' /etc/os-release || uname -s
    section kernel
    first_lines 1 /proc/sys/kernel/osrelease
    section architecture
    first_lines 1 /proc/sys/kernel/arch || uname -m
    section hostname
    first_lines 1 /proc/sys/kernel/hostname
    section machine
    first_lines 1 /etc/machine-id
    section boot
    first_lines 1 /proc/sys/kernel/random/boot_id
    section cpu-model
    value 'model name*' /proc/cpuinfo '' ||
        { have lscpu && bounded lscpu | sed -n 's/^Model name: *//p' | head -n 1; }
    section cpu-list
    value 'Cpus_allowed_list:*' /proc/self/status || { section cpus && nproc; } ||
        getconf _NPROCESSORS_ONLN
    section numa
    number_of /sys/devices/system/node/node[0-9]*
    section memory
    first_lines '1 2 3' /proc/meminfo # MemTotal, MemFree, MemAvailable
    section load
    first_lines 1 /proc/loadavg
    section users
    have who && who
    section python
    have python3 && bounded python3 --version
    section containers
    for runtime in docker podman apptainer singularity enroot; do
        have "$runtime" && echo "$runtime"
    done
    section disk
    existing_parent "$1"
    bounded df -Pk "$parent"
    section interconnects
    for port in /sys/class/infiniband/*/ports/*; do
        [ -r "$port/rate" ] || continue
        device=${port#/sys/class/infiniband/}
        echo "${device%%/*} $(first_lines 1 "$port/rate") $(first_lines 1 "$port/state")"
    done
}

own_variables() { # What a run finds set here before anybody sets more; by these names, and no other.
    [ -r "/proc/$$/environ" ] || return
    section variables
    libraries='NCCL|NVSHMEM|UCX|GLOO|CUDA|CUBLAS|CUDNN|TORCH|PYTORCH|XLA|TF|OMP|KMP|MKL'
    terraform='CLI|VAR|LOG|INPUT|DATA_DIR|WORKSPACE|IN_AUTOMATION|REGISTRY|IGNORE|PLUGIN|TOKEN'
    wanted="^(($libraries)_[A-Z0-9_]+|NVIDIA_TF32_OVERRIDE)="
    variables $$ | LC_ALL=C sed -nE "/^TF_($terraform)[_=]/d; /$wanted/p" | sort
}

query_gpus() {
    fields=index,name,uuid,pci.bus_id,driver_version,memory.total,memory.used,utilization.gpu
    fields=$fields,power.draw,power.limit,temperature.gpu,clocks.current.sm
    fields=$fields,ecc.errors.uncorrected.volatile.total,ecc.mode.current,persistence_mode
    more=,clocks.applications.graphics,clocks.applications.memory,mig.mode.current
    reasons=,clocks_event_reasons.active
    for _ in 1 2 3 4 5 6; do # one more than there are fields that it may not know
        answer=$(bounded nvidia-smi "--query-gpu=$fields$more$reasons" --format=csv 2>&1)
        status=$?
        # 2: it refuses the whole query for one field that it does not know, and names that one.
        # Anything else will not get better by asking differently.
        [ $status -eq 2 ] || break
        unknown=${answer#*\"}
        unknown=${unknown%%\"*}
        case $unknown$more, in
        clocks_event_reasons.active*) reasons=,clocks_throttle_reasons.active ;; # its old name
        clocks_throttle_reasons.active*) reasons='' ;;
        ?*",$unknown,"*) more=${more%%,"$unknown"*}${more#*,"$unknown"} ;;
        *) more='' reasons='' ;;
        esac
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

fact() { # KIND WHERE NAME VERSION
    [ -z "$4" ] || printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4"
}

image_facts() { # "RUNTIME IMAGE"
    runtime=${1%% *}
    image=${1#* }
    case $runtime in
    enroot | pyxis) # the head of a squashfs tells when it was made, of how much
        file=$(in_home "$image")
        case $file in /*) ;; *) return ;; esac
        [ -f "$file" ] || return
        number=$(head -c 96 "$file" | bounded sha256sum)
        fact image "$1" id "${number:+sqsh:}${number%% *}"
        return
        ;;
    esac
    have "$runtime" || return
    case $runtime in
    docker | podman)
        # Not println: podman's templates know it only where nothing stands before it.
        form='id={{.Id}}{{"\n"}}{{range .RepoDigests}}digest={{.}}{{"\n"}}{{end}}'
        form=$form'{{range .Config.Env}}{{.}}{{"\n"}}{{end}}'
        bounded "$runtime" image inspect --format "$form" "$image" |
            while IFS= read -r line; do
                case $line in
                id=sha256:*) fact image "$1" id "${line#id=}" ;;
                id=?*) fact image "$1" id "sha256:${line#id=}" ;; # podman
                digest=*) fact image "$1" digest "${line#digest=}" ;;
                *NCCL*_VERSION=* | *CUD*_VERSION=* | *TORCH*_VERSION=* | *TENSORFLOW*_VERSION=* | \
                    *MXNET*_VERSION=* | *PADDLE*_VERSION=* | *ONEFLOW*_VERSION=* | *JAX*_VERSION=*)
                    fact image "$1" "${line%%=*}" "${line#*=}"
                    ;;
                esac
            done
        ;;
    *) # the id that a SIF file was built with; an image that is fetched has none here
        file=$(in_home "$image")
        case $file in /*) ;; *) return ;; esac
        [ -f "$file" ] || return
        number=$(bounded "$runtime" sif header "$file" | sed -n 's/^ *ID: *//p')
        fact image "$1" id "${number:+sif:}$number"
        ;;
    esac
}

doubtful() { # whether others can change what runs when $1, an absolute path, is started
    for path in "${1%/*}" "$(readlink -f "$1")"; do
        distrust "$path"
        [ -z "$doubt" ] || return 0
    done
    return 1
}

python_facts() { # a Python, or a script that one runs
    python=$(command -v "$(in_home "$1")") || return
    case ${python##*/} in
    python*) ;;
    *)
        python=$(head -c 300 "$python" | sed -n '1s/^#! *//p' | tr -d '\0')
        python=${python#*/env }
        python=$(command -v "${python%% *}") || return
        ;;
    esac
    case $python in /*/python*) ;; *) return ;; esac
    if doubtful "$python"; then
        fact python "$1" packages "unknown, $doubt"
        return
    fi
    # The names of installed packages alone: importing a framework takes seconds, and a GPU's memory.
    packages=$(bounded env CUDA_VISIBLE_DEVICES= PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import os, re, sys
names = "torch|tensorflow(_gpu|_cpu)?|jax|jaxlib|mxnet(_cu[0-9]+[a-z]*)?|paddlepaddle(_gpu)?|oneflow"
names += "|horovod|deepspeed|apex|transformer_engine|megatron_core|nvidia_(nccl|cudnn)_cu[0-9]+"
form = re.compile("(?P<name>%s)-(?P<version>[^-]+)(-.*)?[.](dist|egg)-info$" % names, re.I)
seen = set()
for place in [place for place in sys.path if os.path.isdir(place)]:
    for match in filter(None, map(form.match, sorted(os.listdir(place)))):
        name = match.group("name").lower()
        if name not in seen:
            seen.add(name)
            print(name + " " + match.group("version"))
if not seen:
    print("packages none")
') || return
    printf '%s\n' "$packages" | while read -r name version; do
        fact python "$1" "$name" "$version"
    done
}

asked_git() { # without what a repository's configuration may have it run, fetch or write
    bounded env GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0 \
        git -c core.fsmonitor=false -C "$directory" "$@"
}

git_facts() { # a directory, which may be none of git
    have git || return
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
    directory=$(in_home "$1")
    # Of an owner that git does not trust it says nothing.
    revision=$(asked_git rev-parse HEAD) || return
    fact git "$1" revision "$revision"
    fact git "$1" changes "$(git_changes || echo unknown)"
}

git_changes() { # Comparing runs the filters of a repository's configuration: of our own alone.
    for path in --show-toplevel --absolute-git-dir; do
        path=$(asked_git rev-parse "$path") || return
        distrust "$path"
        [ -z "$doubt" ] || { echo "unknown, $doubt" && return; }
    done
    asked_git diff --quiet --no-ext-diff HEAD
    case $? in
    0) echo none ;;
    1)
        told=$({
            { asked_git diff --full-index --no-ext-diff --no-textconv HEAD || echo failed >&4; } |
                bounded git hash-object --stdin
        } 4>&1)
        case $told in *failed* | '') return 1 ;; esac
        echo "$told"
        ;;
    *) return 1 ;;
    esac
}

software() { # [KIND VALUE]…, all at once
    section nccl
    library=$(ldconfig -p)
    case $library in
    *libnccl.so*)
        library=${library#*libnccl.so*=> }
        readlink -f "${library%%"$newline"*}" |
            sed -n 's/.*libnccl\.so\.\([0-9]*\.[0-9.]*\)$/\1/p'
        ;;
    esac
    section software
    [ -n "$limited" ] || return 0 # a tool that hangs would hold up everything
    cd / || return 0              # nothing is imported from where a login begins
    while [ $# -ge 2 ]; do
        case $1 in
        image | python | git) "$1_facts" "$2" & ;;
        esac
        shift 2
    done
    wait
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
    begin
    system "$1"
    own_variables
    [ "$3" = nogpu ] || gpus
    (
        [ $# -ge 3 ] || exit
        shift 3
        software "$@"
    )
    section lease # last: a bystander's lock may take its time to be named
    (look_at_lease "$2" || printf '@trouble %s\n' "$trouble")
    section end
    date +%s.%N
} 2>/dev/null </dev/null
