#!/usr/bin/env python3
"""How fast hosts send to each other over TCP. The Python standard library only (3.6 or newer).

One process per host. All of them stand in a ring: each sends to the next one and receives from the
one before, all at the same time, for --seconds; two send to each other. Rank 0 prints a line for
every link, as JSON behind a mark; ``value`` is what the receiver got, GB/s::

    precheck: {"from": 0, "metric": "exchange", "to": 1, "unit": "GB/s", "value": 1.173}

Rank 0 listens at --master-port and tells every one where the next one listens. A connection that
does not begin with the digest of --token is dropped. Whoever is missing after --timeout is named.
"""

import argparse
import contextlib
import hashlib
import json
import select
import socket
import struct
import sys
import time

PROGRAM = "precheck_exchange"
CHUNK = 1 << 18
SETTLE_S = 0.3  # of which nothing counts: TCP finds its pace
SLICES = 10
HELLO = struct.Struct("!32sII")  # digest, rank, port
FAREWELL_S = 10.0


class Failure(Exception):
    """One line for the operator."""


def digest(token):
    return hashlib.sha256(token.encode("utf-8")).digest()


def listener(port):
    """On every address of the host, of either family, as ranks listen."""
    try:
        sock = socket.socket(socket.AF_INET6)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        any_address = "::"
    except OSError:
        sock = socket.socket(socket.AF_INET)
        any_address = ""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((any_address, port))
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise Failure("cannot listen at port %d: %s" % (port, error.strerror or error)) from error
    return sock


def read_exactly(sock, size):
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise OSError(0, "it closed the connection")
        data += part
    return data


def accepted(sock, options, wanted, until):
    """Connections of the ranks ``wanted``, each with the port that it said, by rank."""
    found = {}
    while set(found) != wanted:
        left = until - time.monotonic()
        if left <= 0:
            missing = ", ".join(str(rank) for rank in sorted(wanted - set(found)))
            raise Failure("rank %s did not connect to rank %d" % (missing, options.rank))
        sock.settimeout(left)
        try:
            peer, _ = sock.accept()
        except socket.timeout:
            continue
        try:
            peer.settimeout(min(left, 5.0))
            theirs, rank, port = HELLO.unpack(read_exactly(peer, HELLO.size))
        except OSError:
            peer.close()
            continue
        if theirs != digest(options.token) or rank not in wanted or rank in found:
            peer.close()
            continue
        found[rank] = (peer, port)
    return found


def connected(address, port, options, own_port, until):
    """A connection to a listener that may not be there yet."""
    while True:
        left = until - time.monotonic()
        try:
            peer = socket.create_connection((address, port), timeout=max(0.1, min(5.0, left)))
        except OSError as error:
            if time.monotonic() + 0.1 >= until:
                reason = error.strerror or error
                raise Failure(
                    "rank %d cannot reach %s port %d: %s" % (options.rank, address, port, reason)
                ) from error
            time.sleep(0.1)
            continue
        peer.settimeout(max(1.0, until - time.monotonic()))
        peer.sendall(HELLO.pack(digest(options.token), options.rank, own_port))
        return peer


def meet(options, addresses):
    """(what to send to, what to receive from, connections to the others: rank 0 has all by rank,
    others have rank 0's as 0)."""
    until = time.monotonic() + options.timeout
    ranks = len(addresses)
    own = listener(options.master_port if options.rank == 0 else 0)
    own_port = own.getsockname()[1]
    following = (options.rank + 1) % ranks
    before = (options.rank - 1) % ranks
    if options.rank == 0:
        joined = accepted(own, options, set(range(1, ranks)), until)
        ports = [own_port] + [joined[rank][1] for rank in range(1, ranks)]
        table = struct.pack("!%dI" % ranks, *ports)
        for peer, _ in joined.values():
            peer.sendall(table)
        stars = {rank: peer for rank, (peer, _) in joined.items()}
    else:
        star = connected(addresses[0], options.master_port, options, own_port, until)
        ports = struct.unpack("!%dI" % ranks, read_exactly(star, 4 * ranks))
        stars = {0: star}
    outgoing = connected(addresses[following], ports[following], options, own_port, until)
    incoming = accepted(own, options, {before}, until)[before][0]
    own.close()
    return outgoing, incoming, stars


def barrier(options, stars, seconds):
    """Until all are here."""
    for peer in stars.values():
        peer.settimeout(seconds)
    if options.rank == 0:
        for peer in stars.values():
            read_exactly(peer, 1)
        for peer in stars.values():
            peer.sendall(b"g")
    else:
        stars[0].sendall(b"r")
        read_exactly(stars[0], 1)


def exchange(outgoing, incoming, seconds):
    """GB/s received: the median of SLICES parts of the time."""
    outgoing.setblocking(False)
    incoming.setblocking(False)
    block = bytes(CHUNK)
    buffer = bytearray(CHUNK)
    begin = time.monotonic() + SETTLE_S
    counts = [0] * SLICES
    while True:
        now = time.monotonic()
        place = int((now - begin) * SLICES / seconds)
        if place >= SLICES:
            break
        readable, writable, _ = select.select([incoming], [outgoing], [], 0.05)
        if readable:
            try:
                got = incoming.recv_into(buffer)
            except (BlockingIOError, InterruptedError):
                got = -1
            if got == 0:
                raise Failure("the rank before closed the connection")
            if got > 0 and now >= begin:
                counts[place] += got
        if writable:
            with contextlib.suppress(BlockingIOError, InterruptedError):
                outgoing.send(block)
    ordered = sorted(counts)
    middle = (ordered[(SLICES - 1) // 2] + ordered[SLICES // 2]) / 2
    return middle * SLICES / seconds / 1e9


def main():
    parser = argparse.ArgumentParser(
        prog=PROGRAM + ".py", description="How fast hosts send to each other over TCP."
    )
    add = parser.add_argument
    add("--rank", type=int, required=True)
    add("--addresses", required=True, help="of all ranks, by rank: 10.0.0.1,10.0.0.2")
    add("--master-port", type=int, required=True, help="at which rank 0 listens")
    add("--token", required=True, help="what all of them know")
    add("--seconds", type=float, default=1.5, help="of sending (1.5)")
    add("--timeout", type=float, default=20.0, help="for all to be there (20)")
    options = parser.parse_args()
    addresses = options.addresses.split(",")
    if len(addresses) < 2 or not 0 <= options.rank < len(addresses):
        parser.error("two addresses or more, and a rank among them")
    outgoing, incoming, stars = meet(options, addresses)
    barrier(options, stars, options.timeout)
    rate = exchange(outgoing, incoming, options.seconds)
    for peer in stars.values():
        peer.settimeout(FAREWELL_S + options.seconds)
    if options.rank:
        stars[0].sendall(struct.pack("!d", rate))
        read_exactly(stars[0], 1)  # rank 0 has them all: nobody closes what somebody still reads
        return
    rates = {0: rate}
    for rank, peer in sorted(stars.items()):
        rates[rank] = struct.unpack("!d", read_exactly(peer, 8))[0]
    for peer in stars.values():
        peer.sendall(b"e")
    for rank, value in sorted(rates.items()):
        before = (rank - 1) % len(addresses)
        fact = {"metric": "exchange", "from": before, "to": rank, "unit": "GB/s"}
        fact["value"] = round(value, 6)
        print("precheck: " + json.dumps(fact, sort_keys=True), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit("%s: %s" % (PROGRAM, failure))
    except OSError as error:
        sys.exit("%s: %s" % (PROGRAM, error.strerror or error))
