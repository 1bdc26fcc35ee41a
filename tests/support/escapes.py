"""The ways in which a child gets away from those who look for it, as shell commands.

Each prints its process id to ``$PIDS`` and then sleeps for 10 minutes.
"""

from __future__ import annotations

_SLEEP = (
    "import os, time; "
    "print(os.getpid(), file=open(os.environ.get('PIDS', 'pids'), 'a'), flush=True); "
)

# setproctitle writes over argv in the process's own memory, and so over what lies behind it: the
# environment that /proc shows.
_OVERWRITE = (
    "import ctypes, re; "
    "stat = open('/proc/self/stat').read().rsplit(') ', 1)[1].split(); "
    "start, end = int(stat[45]), int(stat[48]); "
    "ctypes.memset(start, 0, end - start); "
)

ESCAPES = {
    "setsid": f'setsid python3 -c "{_SLEEP} time.sleep(600)"',
    "double fork": (
        f'python3 -c "import os; os.fork() and os._exit(0); os.setsid(); '
        f'os.fork() and os._exit(0); {_SLEEP} time.sleep(600)"; sleep 600'
    ),
    "env -i": f'env -i PATH="$PATH" PIDS="$PIDS" setsid python3 -c "{_SLEEP} time.sleep(600)"',
    "env -i and double fork": (
        'env -i PATH="$PATH" PIDS="$PIDS" python3 -c "import os; os.fork() and os._exit(0); '
        f"os.setsid(); os.fork() and os._exit(0); {_SLEEP} os.closerange(0, 100); "
        'time.sleep(600)"; sleep 600'
    ),
    "overwritten argv and environment": f'python3 -c "{_OVERWRITE} {_SLEEP} time.sleep(600)"',
    "nohup &": f'nohup python3 -c "{_SLEEP} time.sleep(600)" >/dev/null 2>&1 & sleep 600',
    "start_new_session": (
        'python3 -c "import subprocess, sys; '
        "subprocess.Popen([sys.executable, '-c', \\\"" + _SLEEP + 'time.sleep(600)\\"], '
        'start_new_session=True).wait()"'
    ),
    "deaf to TERM": (
        'python3 -c "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); '
        f'{_SLEEP} time.sleep(600)"'
    ),
}
