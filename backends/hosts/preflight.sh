# What must be in place on a host before its first run:
#     sh -s -- WORK_DIR [KIND VALUE]... < trust.sh + preflight.sh
# Prints "@@dlperf:check" lines, one for the work directory and one per check in order, each followed
# by "ok" or by what is wrong. Nothing here writes to the host.

LC_ALL=C
export LC_ALL

if timeout -k 1 20 true >/dev/null 2>&1; then
    bounded() { timeout -k 1 20 "$@"; }
else
    bounded() { "$@"; }
fi

in_home() { # a path that may start with ~
    case $1 in
    '~') printf '%s\n' "$HOME" ;;
    '~/'*) printf '%s\n' "$HOME/${1#'~/'}" ;;
    *) printf '%s\n' "$1" ;;
    esac
}

check_work() {
    path=$(in_home "$1")
    case $path in /*) ;; *) echo "$path is not an absolute path"; return ;; esac
    distrust "$path"
    [ -z "$doubt" ] || { echo "$doubt"; return; }
    while [ -n "$path" ] && [ ! -e "$path" ]; do path=${path%/*}; done
    path=${path:-/}
    if [ ! -d "$path" ]; then
        echo "$path is not a directory"
    elif [ ! -w "$path" ] || [ ! -x "$path" ]; then
        echo "$path is not writable for $(id -un)"
    else
        echo ok
    fi
}

absolute() { # runs start in a directory of their own, and nothing expands ~ for them
    case $1 in
    /*) return 0 ;;
    esac
    echo "is not an absolute path"
    return 1
}

check_workdir() {
    check_directory "$(in_home "$1")"
}

check_directory() {
    absolute "$1" || return
    if [ ! -e "$1" ]; then
        echo missing
    elif [ ! -d "$1" ]; then
        echo "is not a directory"
    elif [ ! -r "$1" ] || [ ! -x "$1" ]; then
        echo "is not readable for $(id -un)"
    else
        echo ok
    fi
}

check_file() {
    absolute "$1" || return
    if [ ! -e "$1" ]; then
        echo missing
    elif [ ! -f "$1" ]; then
        echo "is not a file"
    elif [ ! -r "$1" ]; then
        echo "is not readable for $(id -un)"
    else
        echo ok
    fi
}

check_executable() {
    case $1 in
    */*)
        absolute "$1" || return
        if [ ! -e "$1" ]; then
            echo missing
        elif [ ! -f "$1" ] || [ ! -x "$1" ]; then
            echo "is not executable for $(id -un)"
        else
            echo ok
        fi
        ;;
    *) if command -v "$1" >/dev/null 2>&1; then echo ok; else echo missing; fi ;;
    esac
}

check_image() { # "RUNTIME IMAGE"
    runtime=${1%% *}
    image=${1#* }
    if ! command -v "$runtime" >/dev/null 2>&1; then
        echo no-runtime
        return
    fi
    case $runtime in
    docker | podman)
        said=$(bounded "$runtime" image inspect "$image" 2>&1 >/dev/null) && echo ok && return
        case $said in
        *[Nn]o\ such\ image* | *image\ not\ known*) echo missing ;;
        *) printf '%s\n' "${said:-no answer}" | head -n 1 ;;
        esac
        ;;
    *)
        case $image in
        *://*) echo fetched ;;
        *) check_file "$image" ;;
        esac
        ;;
    esac
}

check_interface() { # as NCCL_SOCKET_IFNAME: a comma list of prefixes, = for exact names
    list=$1
    exact=
    case $list in
    =*) exact=yes list=${list#=} ;;
    esac
    while [ -n "$list" ]; do
        name=${list%%,*}
        for found in "/sys/class/net/$name"*; do
            [ -e "$found" ] || continue
            [ -z "$exact" ] || [ "$found" = "/sys/class/net/$name" ] || continue
            case $(cat "$found/operstate") in
            down) state=down ;;
            *) echo ok && return ;; # loopback and tunnels say "unknown"
            esac
        done
        case $list in
        *,*) list=${list#*,} ;;
        *) list= ;;
        esac
    done
    echo "${state:-missing} $(ls /sys/class/net | tr '\n' ' ')"
}

check_ssh() { # mpirun starts the other nodes' ranks so
    said=$(bounded ssh -o BatchMode=yes -o ConnectTimeout=5 "$1" true 2>&1) && echo ok && return
    printf '%s\n' "${said:-no answer}" | tail -n 1
}

{
    echo "@@dlperf:check"
    check_work "$1"
    shift
    while [ $# -ge 2 ]; do
        echo "@@dlperf:check"
        case $1 in
        directory | workdir | file | executable | image | interface | ssh) "check_$1" "$2" ;;
        *) echo "unknown check" ;;
        esac
        shift 2
    done
    echo "@@dlperf:end"
} 2>/dev/null </dev/null
