#!/bin/sh
# alone.sh PYTHON ARGUMENT…: a worker of the tests that sees its own processes only, where root may
# make that so: no test meets, ends or waits for what another one runs on this machine.

if unshare --pid --fork --mount-proc --kill-child true 2>/dev/null; then
    # The shell is the first process there and collects those that nobody else waits for.
    exec unshare --pid --fork --mount-proc --kill-child sh -c '"$@"; exit $?' sh "$@"
fi
exec "$@"
