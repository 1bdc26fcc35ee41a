# shellcheck shell=sh
# Whether nobody but root and ourselves can change what lies at a path: the rule of sshd's
# StrictModes. Part of what is sent to a host, in front of the script that asks.

look_at() { # $1: path, itself and not what it points to. Sets mode, uid, gid; fails where it is not.
    entry=$(LC_ALL=C ls -ldn -- "$1" 2>/dev/null) || return 1
    set -f
    # shellcheck disable=SC2086
    set -- $entry
    set +f
    mode=$1 uid=$3 gid=$4
}

owner_name() { # $1: path. The number where the user has no name. (ls -l may cut names short.)
    # shellcheck disable=SC2012
    owner=$(LC_ALL=C ls -ldn -- "$1" 2>/dev/null | { read -r _ _ owner _ && printf '%s' "$owner"; })
    known=$(getent passwd "$owner" 2>/dev/null || grep "^[^:]*:[^:]*:$owner:" /etc/passwd 2>/dev/null)
    known=${known%%:*}
    printf '%s' "${known:-$owner}"
}

sticky() { case $mode in ?????????[tT]*) ;; *) return 1 ;; esac }

others_write() { # whether mode lets others write; our own group of one, as useradd makes it, is us
    case $mode in
    ????????w*) ;;
    ?????w*) [ "$gid" != 0 ] && ! { [ "$gid" = "$(id -g)" ] && [ "$(id -gn)" = "$(id -un)" ]; } ;;
    *) return 1 ;;
    esac
}

stranger() { # whether uid is neither ours nor root's, nor whoever / belongs to (in a user namespace)
    [ "$uid" != 0 ] && [ "$uid" != "$(id -u)" ] || return 1
    # shellcheck disable=SC2046
    [ "$uid" != "$(set -- $(LC_ALL=C ls -ldn /); printf '%s' "$3")" ]
}

distrust() { # $1: absolute path. Sets doubt to the first reason not to trust what is there, or to "".
    doubt='' way=$1 rest=${1#/} at='' links=0
    while :; do
        look_at "${at:-/}" || break # what is not there yet, nobody prepared
        if stranger; then
            doubt="${at:-/} belongs to $(owner_name "${at:-/}")"
            return
        fi
        case $mode in
        l*) links=1 ;;
        *)
            if others_write && ! sticky; then
                doubt="${at:-/} can be written by others (belongs to $(owner_name "${at:-/}"))"
                return
            fi
            ;;
        esac
        [ -n "$rest" ] || break
        at=$at/${rest%%/*}
        case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
    done
    [ $links = 1 ] && [ -d "$way" ] || return 0
    physical=$(cd -P -- "$way" && pwd -P) || { doubt="$way cannot be entered"; return; }
    distrust "$physical" # no links in there
}
