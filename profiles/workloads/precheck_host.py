#!/usr/bin/env python3
"""How fast a host is by itself: CPU, memory, disk. The Python standard library only (3.6 or newer).

Every figure is a line of JSON behind a mark, so that it is found in a log whatever else is in it::

    precheck: {"metric": "cpu_one", "value": 1412.3, "unit": "MB/s"}

``cpu_one``  SHA-256 of one process, MB/s; ``load1``: the load of the minute before, as it begins
``cpu_all``  of one process per CPU that may be used
``memory``   a copy of 64 MiB by one process, GB/s read and written
``disk_write``, ``disk_read``  64 MiB in the run's directory, MB/s; synced, and read from the disk
``cpu_clock``  mean of all CPUs while they work, MHz, where the kernel tells it

A rate is the 90th percentile of short measurements: what the host can do, not what somebody
else left of it for a moment.
"""

import argparse
import hashlib
import json
import os
import sys
import time

BLOCK = 1 << 20
COPY = 64 << 20
SLICE_S = 0.2  # longer than the period of a CPU quota, which is 0.1 s by default
MOST_PROCESSES = 512


def say(metric, value, unit, **more):
    fact = dict(more, metric=metric, value=round(value, 3), unit=unit)
    print("precheck: " + json.dumps(fact, sort_keys=True), flush=True)


def upper(values):
    """The 90th percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, (9 * len(ordered)) // 10)]


def hash_rate(seconds):
    """MB/s of SHA-256 in this process."""
    block = b"\x5a" * BLOCK
    rates = []
    end = time.perf_counter() + seconds
    while True:
        began = time.perf_counter()
        if began >= end and rates:
            return upper(rates)
        done = 0
        while time.perf_counter() - began < SLICE_S:
            hashlib.sha256(block).digest()
            done += BLOCK
        rates.append(done / 1e6 / (time.perf_counter() - began))


def usable_cpus():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def hash_rate_of_all(seconds, processes):
    """MB/s of all together: the sum of what each had in the same seconds."""
    pipes = []
    start = time.time() + 0.3  # by when every one is there
    for _ in range(processes):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            time.sleep(max(0.0, start - time.time()))
            os.write(writer, ("%.3f" % hash_rate(seconds)).encode())
            os._exit(0)
        os.close(writer)
        pipes.append((child, reader))
    time.sleep(max(0.0, start - time.time()) + seconds / 2)
    clock = clock_mhz()
    total = 0.0
    for child, reader in pipes:
        said = os.read(reader, 100)
        os.close(reader)
        _, status = os.waitpid(child, 0)
        if status or not said:
            sys.exit("precheck_host: a process of %d was ended: status %d" % (processes, status))
        total += float(said)
    return total, clock


def clock_mhz():
    """Mean clock of the CPUs now; None where the kernel does not tell."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file if line.startswith("cpu MHz")]
        clocks = [float(line.partition(":")[2]) for line in lines]
    except (OSError, ValueError):
        return None
    return sum(clocks) / len(clocks) if clocks else None


def copy_rate(seconds):
    """GB/s, read and written."""
    source, target = bytearray(COPY), bytearray(COPY)
    view = memoryview(target)
    rates = []
    end = time.perf_counter() + seconds
    while not rates or time.perf_counter() < end:
        began = time.perf_counter()
        view[:] = source
        rates.append(2 * COPY / 1e9 / (time.perf_counter() - began))
    return upper(rates)


def disk_rates(size):
    """MB/s written and read here, and nothing is left of it."""
    name = "precheck.%d.tmp" % os.getpid()
    block = os.urandom(BLOCK)
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        began = time.perf_counter()
        for _ in range(size // BLOCK):
            os.write(file, block)
        os.fsync(file)
        written = size / 1e6 / (time.perf_counter() - began)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.lseek(file, 0, os.SEEK_SET)
        began = time.perf_counter()
        read = 0
        while True:
            data = os.read(file, BLOCK)
            if not data:
                break
            read += len(data)
            if data != block[: len(data)]:
                sys.exit("precheck_host: the disk gave back other bytes than were written")
        if read != size:
            sys.exit("precheck_host: %d of %d bytes came back from the disk" % (read, size))
        return written, read / 1e6 / (time.perf_counter() - began)
    finally:
        os.close(file)
        os.unlink(name)


def main():
    parser = argparse.ArgumentParser(
        prog="precheck_host.py", description="How fast CPU, memory and disk of this host are."
    )
    parser.add_argument("--seconds", type=float, default=1.5, help="of each figure (1.5)")
    parser.add_argument("--disk-mib", type=int, default=64, help="written and read (64); 0: none")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    say("cpu_one", hash_rate(options.seconds), "MB/s", load1=round(load, 2))
    processes = min(usable_cpus(), MOST_PROCESSES)
    together, clock = hash_rate_of_all(options.seconds, processes)
    say("cpu_all", together, "MB/s", processes=processes)
    if clock is not None:
        say("cpu_clock", clock, "MHz")
    say("memory", copy_rate(options.seconds), "GB/s")
    if options.disk_mib > 0:
        try:
            written, read = disk_rates(options.disk_mib << 20)
        except OSError as error:
            sys.exit("precheck_host: the disk of %s: %s" % (os.getcwd(), error.strerror))
        say("disk_write", written, "MB/s")
        say("disk_read", read, "MB/s")


if __name__ == "__main__":
    main()
