#!/usr/bin/env python3
"""Data-parallel training on CPUs with nothing but the Python standard library (3.6 or newer).

A small multilayer perceptron learns to tell eight classes of synthetic points apart. There is one
process per "device". Every iteration each process computes the gradient of its own batch, the
gradients are averaged over all processes of all nodes, and every process takes the same step, so
the parameters stay identical everywhere, as in PyTorch's DistributedDataParallel:

    device 1 ─┐                               ┌─ device 1
    device 2 ─┴─ device 0 of node 1 ── TCP ── device 0 of node 0 ─┴─ device 2

The batch size is per device, so the samples per second grow with the devices as long as there are
cores for them. Node 0 prints a line every quarter of a second or so::

    train: epoch 0, iter 20, loss: 2.015637, samples/s: 6288.088

where the loss is the mean over the global batches and samples/s is global: samples of all devices
over the wall time since the line before. The run stops after --seconds, or after --iterations.

Where there are several processes each of them prints, as often, how many milliseconds an iteration
took it but for averaging gradients. An iteration takes as long everywhere; this tells which process
the others wait for::

    own: rank 1, iter 20, ms: 9.482

With DLPERF_PROFILE=1 in the environment every process says at its end where its time went, in
seconds per iteration: computing, averaging gradients (which includes the wait for the slowest
process, and overlaps with nothing), and putting its batch together::

    profile: rank 1, steps 149, step 0.013775, compute 0.009213, communication 0.00455, input 0.0001

A process that dies, a node that is lost and SIGTERM end every process of every node, with one line
on stderr and status 1 (143 for SIGTERM, 130 for SIGINT).
"""
# ruff: noqa: B905 - zip(strict=) came with Python 3.10

import argparse
import array
import hashlib
import ipaddress
import math
import operator
import os
import platform
import random
import select
import signal
import socket
import struct
import sys
import time

FEATURES = 24
HIDDEN = 32
CLASSES = 8
DATASET_SIZE = 2048  # samples in an epoch
SEED = 20201103
NOISE = 2.5  # the classes overlap, so that the loss neither stays nor reaches zero
LEARNING_RATE = 0.02
MOMENTUM = 0.9
OWN_TIME = "own: rank %d, iter %d, ms: %.3f"
READINGS_PER_RUN = 32  # printed lines in a run of --seconds

MAGIC = b"cpusmoke"
HELLO = struct.Struct("!8s32sIIII")  # magic, digest of the token, node rank, nodes, devices, batch
HEADER = struct.Struct("!cI")  # kind, length of what follows
DATA = b"D"
ABORT = b"A"
MAX_FRAME = 16 * 1024 * 1024
HANDSHAKE_S = 5.0  # a connection that has not said hello by then is dropped


class Failure(Exception):
    """The run cannot go on; the text is one line for the operator."""


class ToldToEnd(Failure):
    """Another process of the run failed and said why."""


class Signalled(BaseException):
    """SIGTERM, SIGINT or SIGHUP arrived."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


# The model


def initial_parameters():
    """Return the parameters before training: weights uniform in ±1/sqrt(fan in), biases zero."""
    rng = random.Random(SEED)

    def matrix(rows, columns):
        bound = 1.0 / math.sqrt(columns)
        return [rng.uniform(-bound, bound) for _ in range(rows * columns)]

    first = matrix(HIDDEN, FEATURES) + [0.0] * HIDDEN
    return first + matrix(CLASSES, HIDDEN) + [0.0] * CLASSES


def synthetic_dataset():
    """Return DATASET_SIZE pairs (features, class): noisy points around one centre per class."""
    rng = random.Random(SEED + 1)
    centres = [[rng.uniform(-1.0, 1.0) for _ in range(FEATURES)] for _ in range(CLASSES)]
    dataset = []
    for index in range(DATASET_SIZE):
        label = index % CLASSES
        dataset.append(([c + rng.uniform(-NOISE, NOISE) for c in centres[label]], label))
    rng.shuffle(dataset)
    return dataset


def dot(a, b):
    return sum(map(operator.mul, a, b))


def rows_of(flat, start, count, width):
    return [flat[start + i * width : start + (i + 1) * width] for i in range(count)]


def loss_and_gradient(parameters, batch):
    """Return the cross-entropy loss and its gradient, both summed over ``batch``.

    The network is tanh(x W1' + b1) W2' + b2 with a softmax; the gradient has the order of
    ``parameters``: W1, b1, W2, b2, matrices row by row.
    """
    start_b1 = HIDDEN * FEATURES
    start_w2 = start_b1 + HIDDEN
    start_b2 = start_w2 + CLASSES * HIDDEN
    w1 = rows_of(parameters, 0, HIDDEN, FEATURES)
    b1 = parameters[start_b1:start_w2]
    w2 = rows_of(parameters, start_w2, CLASSES, HIDDEN)
    b2 = parameters[start_b2:]
    w2_columns = list(zip(*w2))
    tanh = math.tanh
    exp = math.exp

    loss = 0.0
    activations = []
    output_errors = []
    hidden_errors = []
    for features, label in batch:
        hidden = [tanh(dot(row, features) + bias) for row, bias in zip(w1, b1)]
        logits = [dot(row, hidden) + bias for row, bias in zip(w2, b2)]
        highest = max(logits)
        exponentials = [exp(value - highest) for value in logits]
        total = sum(exponentials)
        loss += math.log(total) + highest - logits[label]
        error = [value / total for value in exponentials]
        error[label] -= 1.0
        activations.append(hidden)
        output_errors.append(error)
        hidden_errors.append(
            [(1.0 - h * h) * dot(error, column) for h, column in zip(hidden, w2_columns)]
        )

    feature_columns = list(zip(*[features for features, _ in batch]))
    activation_columns = list(zip(*activations))
    output_columns = list(zip(*output_errors))
    hidden_columns = list(zip(*hidden_errors))
    gradient = [dot(error, column) for error in hidden_columns for column in feature_columns]
    gradient += [sum(error) for error in hidden_columns]
    gradient += [dot(error, column) for error in output_columns for column in activation_columns]
    gradient += [sum(error) for error in output_columns]
    return loss, gradient


def take_step(parameters, velocity, gradient, samples):
    """Return parameters and velocity after one step of SGD with momentum."""
    scale = 1.0 / samples
    velocity = [MOMENTUM * v + scale * g for v, g in zip(velocity, gradient)]
    parameters = [p - LEARNING_RATE * v for p, v in zip(parameters, velocity)]
    return parameters, velocity


# What processes say to each other


def encode(numbers):
    values = array.array("d", numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def decode(payload):
    values = array.array("d")
    values.frombytes(payload)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


class Channel:
    """A connected socket to ``peer`` (words for the operator) that carries lists of floats."""

    def __init__(self, sock, peer, timeout):
        self.sock = sock
        self.peer = peer
        sock.settimeout(timeout)

    def send(self, numbers):
        payload = encode(numbers)
        self.send_raw(HEADER.pack(DATA, len(payload)) + payload)

    def send_raw(self, data):
        try:
            self.sock.sendall(data)
        except socket.timeout:
            raise Failure(self._silent()) from None
        except OSError as error:
            # The peer may have said why before it went away.
            self._read_farewell()
            raise Failure(self._lost(error)) from error

    def receive(self):
        kind, length = HEADER.unpack(self._read(HEADER.size))
        if kind not in (DATA, ABORT) or length > MAX_FRAME:
            raise Failure("%s sent something that is not ours" % self.peer)
        payload = self._read(length)
        if kind == ABORT:
            raise ToldToEnd(payload.decode("utf-8", "replace"))
        return decode(payload)

    def abort(self, reason):
        """Tell the peer to end, as far as that is possible, and close."""
        try:
            self.sock.settimeout(0.2)
            payload = reason.encode("utf-8")
            self.sock.sendall(HEADER.pack(ABORT, len(payload)) + payload)
        except OSError:
            pass  # the peer is gone: then there is nobody to tell
        self.close()

    def close(self):
        self.sock.close()

    def _read(self, length):
        chunks = []
        missing = length
        while missing:
            try:
                chunk = self.sock.recv(missing)
            except socket.timeout:
                raise Failure(self._silent()) from None
            except OSError as error:
                raise Failure(self._lost(error)) from error
            if not chunk:
                raise Failure("lost %s (it closed the connection)" % self.peer)
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def _read_farewell(self):
        try:
            while True:
                self.receive()
        except ToldToEnd:
            raise
        except Failure:
            pass

    def _lost(self, error):
        return "lost %s (%s)" % (self.peer, error.strerror or error)

    def _silent(self):
        return "lost %s (silent for %g s)" % (self.peer, self.sock.gettimeout())


class Place:
    """Where this process stands in the tree that gradients are summed along.

    ``parent`` is None for device 0 of node 0, the root. Sums travel up, the total travels down.
    """

    def __init__(self, parent, children):
        self.parent = parent
        self.children = children

    def channels(self):
        return self.children + ([self.parent] if self.parent else [])

    def broadcast(self, numbers):
        """Return the root's ``numbers`` in every process."""
        if self.parent:
            numbers = self.parent.receive()
        for child in self.children:
            child.send(numbers)
        return numbers

    def all_reduce(self, numbers):
        """Return the element-wise sum over all processes, the same bits in each."""
        total = numbers
        for child in self.children:
            total = list(map(operator.add, total, child.receive()))
        if self.parent:
            self.parent.send(total)
        return self.broadcast(total)

    def abort(self, reason):
        for channel in self.channels():
            channel.abort(reason)


# Between nodes


def token_digest(token):
    return hashlib.sha256(token.encode("utf-8")).digest()


def listening_address(master_address, interface_address):
    """Return (family, address) to listen on: what was asked for, or where others will knock."""
    wanted = interface_address or master_address
    try:
        version = ipaddress.ip_address(wanted).version
    except ValueError:
        # A name may resolve to 127.0.1.1 on its own host, where no other node can reach it.
        return socket.AF_INET, ""
    return (socket.AF_INET6 if version == 6 else socket.AF_INET), wanted


def listen(options):
    family, address = listening_address(options.master_address, options.interface_address)
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        try:
            sock.bind((address, options.master_port))
        except OSError:
            if options.interface_address or not address:
                raise
            # The address others reach us by need not be one of ours: NAT, forwarded ports.
            sock.bind(("", options.master_port))
        sock.listen(options.nodes + 8)
    except OSError as error:
        sock.close()
        raise Failure(
            "cannot listen on %s port %d: %s"
            % (address or "any address", options.master_port, error.strerror or error)
        ) from error
    return sock


def refusal(hello, options, joined):
    """Return why the node that said ``hello`` cannot join, or an empty text."""
    magic, digest, rank, nodes, devices, batch = hello
    if magic != MAGIC or digest != token_digest(options.token):
        return "it belongs to another run"
    theirs = "%d nodes, %d devices, batch size %d" % (nodes, devices, batch)
    ours = "%d nodes, %d devices, batch size %d" % (
        options.nodes,
        options.devices,
        options.batch_size,
    )
    if theirs != ours:
        return "it has %s; node 0 has %s" % (theirs, ours)
    if not 0 < rank < nodes or rank in joined:
        return "node rank %d is taken or out of range" % rank
    return ""


def accept_nodes(listener, options, watched, deadline):
    """Wait until every other node has joined; return their channels in rank order.

    Whatever else connects (port scanners, a late node of an earlier run) is told why and dropped.
    ``watched`` are the sockets of this node's own devices: when one becomes readable before
    training has begun, its process has ended.
    """
    joined = {}
    pending = {}  # socket -> (bytes so far, when to give up)
    try:
        while len(joined) < options.nodes - 1:
            now = time.monotonic()
            if now > deadline:
                missing = [str(r) for r in range(1, options.nodes) if r not in joined]
                raise Failure("node %s did not connect in time" % ", ".join(missing))
            for sock in [s for s, (_, until) in pending.items() if now > until]:
                del pending[sock]
                sock.close()
            waiting = [listener, *pending, *joined.values(), *watched]
            readable = select.select(waiting, [], [], 0.2)[0]
            for sock in readable:
                if sock is listener:
                    connection, _ = listener.accept()
                    connection.setblocking(False)
                    pending[connection] = (b"", now + HANDSHAKE_S)
                elif sock in watched:
                    raise Failure("a device process of this node has ended")
                elif sock in pending:
                    read_hello(sock, pending, joined, options)
                else:
                    # A node that has joined is silent until it is welcomed, or it has ended.
                    rank = next(r for r, s in joined.items() if s is sock)
                    Channel(sock, "node %d" % rank, 1.0).receive()
                    raise Failure("node %d spoke out of turn" % rank)
    except BaseException:
        for sock in list(pending) + list(joined.values()):
            sock.close()
        raise
    for sock in pending:
        sock.close()
    welcome = HELLO.pack(MAGIC, token_digest(options.token), 0, 0, 0, 0)
    channels = []
    for rank, sock in sorted(joined.items()):
        channel = Channel(sock, "node %d" % rank, options.timeout)
        channel.send_raw(welcome)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channels.append(channel)
    return channels


def read_hello(sock, pending, joined, options):
    data, until = pending[sock]
    try:
        chunk = sock.recv(HELLO.size - len(data))
    except OSError:
        chunk = b""
    data += chunk
    if chunk and len(data) < HELLO.size and data[: len(MAGIC)] == MAGIC[: len(data)]:
        pending[sock] = (data, until)
        return
    del pending[sock]
    if len(data) < HELLO.size:
        sock.close()
        return
    hello = HELLO.unpack(data)
    reason = refusal(hello, options, joined)
    if reason:
        Channel(sock, "a stranger", 0.2).abort(reason)
        return
    joined[hello[2]] = sock


def join_master(options, watched, deadline):
    """Connect to node 0, again and again until ``deadline``; return the channel."""
    last = "no answer"
    source = (options.interface_address, 0) if options.interface_address else None
    master = (options.master_address, options.master_port)
    while time.monotonic() < deadline:
        sock = None
        try:
            sock = socket.create_connection(master, timeout=2.0, source_address=source)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(
                HELLO.pack(
                    MAGIC,
                    token_digest(options.token),
                    options.node_rank,
                    options.nodes,
                    options.devices,
                    options.batch_size,
                )
            )
            reason = await_welcome(sock, options, watched, deadline)
            if not reason:
                return Channel(sock, "node 0", options.timeout)
            last = reason
        except OSError as error:
            last = error.strerror or str(error)
        if sock is not None:
            sock.close()
        if select.select(watched, [], [], 0.1)[0]:
            raise Failure("a device process of this node has ended")
    raise Failure("cannot join node 0 at %s port %d: %s" % (*master, last))


def await_welcome(sock, options, watched, deadline):
    """Return an empty text once node 0 has let us in, or why it did not."""
    data = b""
    while len(data) < HELLO.size:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return "it waits for other nodes"
        readable = select.select([sock, *watched], [], [], remaining)[0]
        if any(s is not sock for s in readable):
            raise Failure("a device process of this node has ended")
        if not readable:
            continue
        chunk = sock.recv(HELLO.size - len(data))
        if not chunk:
            return "it closed the connection"
        data += chunk
        if data[:1] == ABORT and len(data) >= HEADER.size:
            length = min(HEADER.unpack(data[: HEADER.size])[1], 4096)
            sock.settimeout(1.0)
            while len(data) < HEADER.size + length:
                chunk = sock.recv(4096)
                if not chunk:
                    break
                data += chunk
            return "it refused us: " + data[HEADER.size :].decode("utf-8", "replace")
        if data[: len(MAGIC)] != MAGIC[: len(data)]:
            return "something else answers there"
    magic, digest = HELLO.unpack(data)[:2]
    if magic != MAGIC or digest != token_digest(options.token):
        return "another run answers there"
    return ""


# Between the devices of a node


def fork_devices(options):
    """Start the processes of devices 1 … n-1.

    Returns (device, channel to device 0 or None, {pid: (device, channel)}); it returns once in each
    process. Each child holds one end of one socket pair, so that a vanished process is noticed by
    its end of file, and by nothing that depends on the operating system.
    """
    started = {}
    for device in range(1, options.devices):
        mine, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            mine.close()
            for _, channel in started.values():
                channel.close()
            # Device 0 may wait for other nodes before it says the first word.
            patience = options.timeout + options.connect_timeout
            return device, Channel(theirs, "device 0 of this node", patience), {}
        theirs.close()
        started[pid] = (device, Channel(mine, "device %d of this node" % device, options.timeout))
    return 0, None, started


def reap(started, grace_s):
    """Wait for the children, end those that outlast ``grace_s``; empty ``started``.

    Returns the first device that ended by a signal that was not ours and the signal's number, or
    None.
    """
    deadline = time.monotonic() + grace_s
    numbers = [signal.SIGTERM, signal.SIGKILL]
    ours = set()
    victim = None
    while started:
        for pid in list(started):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                device = started.pop(pid)[0]
                if os.WIFSIGNALED(status) and pid not in ours and victim is None:
                    victim = (device, os.WTERMSIG(status))
        if started and numbers and time.monotonic() > deadline:
            number = numbers.pop(0)
            for pid in started:
                os.kill(pid, number)
                ours.add(pid)
            deadline = time.monotonic() + 0.3
        if started:
            time.sleep(0.005)
    return victim


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


# Training


def print_line(text, flush=True):
    """In one piece: print() may write a line and its end apart, and others between them."""
    sys.stdout.write(text + "\n")
    if flush:
        sys.stdout.flush()


def name_process(rank):
    """Be called "rank 3" by ps and top: processes that were forked differ in nothing else."""
    try:
        with open("/proc/self/comm", "w") as name:
            name.write("rank %d" % rank)
    except OSError:
        pass  # no Linux; nothing depends on it


def train(options, device, place, clock=time.monotonic, write=print_line):
    """Train until the root says that it is enough; return the samples that were learned from."""
    dataset = synthetic_dataset()
    world = options.nodes * options.devices
    rank = options.node_rank * options.devices + device
    name_process(rank)
    global_batch = options.batch_size * world
    parameters = place.broadcast(initial_parameters())
    velocity = [0.0] * len(parameters)
    for channel in place.channels():
        channel.sock.settimeout(options.timeout)  # from now on nobody has a reason to be silent

    is_root = place.parent is None
    interval = options.seconds / READINGS_PER_RUN
    started = printed = clock()
    printed_iteration = 0
    printed_loss = 0.0
    iteration = 0
    last = False
    computing = talking = waiting = 0.0
    told, own_before, iterations_before = started, 0.0, 0
    tick = time.perf_counter
    while not last:
        began = tick()
        first = iteration * global_batch + rank * options.batch_size
        batch = [dataset[(first + i) % DATASET_SIZE] for i in range(options.batch_size)]
        fetched = tick()
        loss, gradient = loss_and_gradient(parameters, batch)
        computed = tick()
        iteration += 1
        # Only the root decides when to stop, so that all stop after the same iteration.
        enough = 0.0
        if is_root and (
            iteration >= options.iterations
            if options.iterations
            else clock() - started >= options.seconds
        ):
            enough = 1.0
        totals = place.all_reduce([enough, loss, *gradient])
        averaged = tick()
        last = totals[0] > 0.0
        parameters, velocity = take_step(parameters, velocity, totals[2:], global_batch)
        waiting += fetched - began
        talking += averaged - computed
        computing += (computed - fetched) + (tick() - averaged)
        if world > 1:
            since = iteration - iterations_before
            # Every process by its own clock: nobody waits for a line.
            if since >= options.print_every if options.print_every else clock() - told >= interval:
                own = waiting + computing
                write(OWN_TIME % (rank, iteration, (own - own_before) / since * 1e3), flush=True)
                told, own_before, iterations_before = clock(), own, iteration
        if not is_root:
            continue
        printed_loss += totals[1] / global_batch
        now = clock()
        since = iteration - printed_iteration
        due = since >= options.print_every if options.print_every else now - printed >= interval
        if due:
            write(
                "train: epoch %d, iter %d, loss: %.6f, samples/s: %.3f"
                % (
                    iteration * global_batch // DATASET_SIZE,
                    iteration,
                    printed_loss / since,
                    since * global_batch / max(now - printed, 1e-9),
                ),
                flush=True,
            )
            printed, printed_iteration, printed_loss = now, iteration, 0.0
    if os.environ.get("DLPERF_PROFILE") == "1":
        parts = (computing, talking, waiting)
        spent = [seconds / iteration for seconds in (sum(parts), *parts)]
        write(
            "profile: rank %d, steps %d, step %.6f, compute %.6f, communication %.6f, input %.6f"
            % (rank, iteration, *spent),
            flush=True,
        )
    if is_root:
        wall = clock() - started
        write(
            "done: %d iterations, %d samples, %.3f s, mean %.3f per second"
            % (iteration, iteration * global_batch, wall, iteration * global_batch / wall),
            flush=True,
        )
    return iteration * global_batch


def run_node(options):
    """Run this node's devices; return the exit status of this process."""
    device, to_leader, started = fork_devices(options)
    watched = [channel.sock for _, channel in started.values()]
    children = [channel for _, channel in started.values()]
    place = Place(to_leader, children)
    try:
        if device == 0 and options.nodes > 1:
            deadline = time.monotonic() + options.connect_timeout
            if options.node_rank == 0:
                listener = listen(options)
                try:
                    place.children = children + accept_nodes(listener, options, watched, deadline)
                finally:
                    listener.close()
            else:
                place.parent = join_master(options, watched, deadline)
        train(options, device, place)
    except (Failure, OSError) as error:
        ignore_signals()
        give_up(options, device, place, started, error)
        return 1
    except Signalled as error:
        ignore_signals()
        reason = "ended by %s" % signal_name(error.number)
        who = "device %d of node %d" % (device, options.node_rank)
        place.abort("%s was %s" % (who if device else "node %d" % options.node_rank, reason))
        reap(started, 0.3)
        if device == 0:
            say(options, device, reason)
        return 128 + error.number
    ignore_signals()
    for channel in place.channels():
        channel.close()
    victim = reap(started, 5.0)
    if victim:
        say(options, device, "device %d was ended by %s" % (victim[0], signal_name(victim[1])))
    return 1 if victim else 0


def give_up(options, device, place, started, error):
    """End this node's processes after ``error``, tell the other nodes why, print the one line."""
    reason = str(error)
    own = [channel for _, channel in started.values()]
    for channel in own:
        channel.abort(reason)
    victim = reap(started, 0.3)
    me = "node %d" % options.node_rank
    if victim and not isinstance(error, ToldToEnd):
        # What took a device away says more than that it is gone.
        reason = "device %d of %s was ended by %s" % (victim[0], me, signal_name(victim[1]))
    reason = reason.replace("this node", me)
    place.children = [channel for channel in place.children if channel not in own]
    place.abort(reason if isinstance(error, ToldToEnd) or me in reason else me + ": " + reason)
    # Device 0 speaks for its node; another device only when device 0 is no longer there to do so.
    if device == 0 or not isinstance(error, ToldToEnd):
        say(options, device, reason)


def say(options, device, text):
    who = "node %d" % options.node_rank
    if device:
        who += " device %d" % device
    sys.stderr.write("cpu_smoke: %s: %s\n" % (who, " ".join(text.split())))
    sys.stderr.flush()


def handle_signals():
    def on_signal(number, frame):
        raise Signalled(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, on_signal)


def ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


# Command line


def at_least(minimum, kind):
    def convert(text):
        value = kind(text)
        if not minimum <= value < math.inf:
            raise argparse.ArgumentTypeError("%s is below %s" % (text, minimum))
        return value

    convert.__name__ = kind.__name__
    return convert


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(
        prog="cpu_smoke.py",
        description="Train a small network on CPUs, data-parallel over processes and nodes.",
    )
    add = parser.add_argument
    add("--nodes", type=at_least(1, int), default=1, help="number of nodes (1)")
    add("--node-rank", type=at_least(0, int), default=0, help="which of them this is, from 0 (0)")
    add("--devices", type=at_least(1, int), default=1, help="processes on this node (1)")
    add("--batch-size", type=at_least(1, int), default=32, help="samples per device (32)")
    add("--seconds", type=at_least(0.05, float), default=8.0, help="how long to train (8)")
    add("--iterations", type=at_least(0, int), default=0, help="stop after so many instead")
    add("--print-every", type=at_least(0, int), default=0, help="iterations between lines")
    add("--master-address", default="127.0.0.1", help="where node 0 can be reached (127.0.0.1)")
    add("--master-port", type=at_least(0, int), default=29500, help="and its TCP port (29500)")
    add("--interface-address", default="", help="this node's address for the traffic (any)")
    add(
        "--token",
        default=os.environ.get("DLPERF_RUN_ID", ""),
        help="only nodes with the same token join each other ($DLPERF_RUN_ID)",
    )
    add("--connect-timeout", type=at_least(0.05, float), default=60.0, help="s to find nodes (60)")
    add("--timeout", type=at_least(0.05, float), default=30.0, help="s a peer may be silent (30)")
    options = parser.parse_args(arguments)
    if options.node_rank >= options.nodes:
        parser.error("--node-rank must be below --nodes (%d)" % options.nodes)
    if options.master_port > 65535:
        parser.error("--master-port must be below 65536")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    handle_signals()
    if options.node_rank == 0:
        print(
            "environment: python %s, %s, %s, %d cpus, %d nodes, %d devices per node, batch size %d"
            % (
                platform.python_version(),
                platform.python_implementation(),
                platform.machine(),
                os.cpu_count() or 0,
                options.nodes,
                options.devices,
                options.batch_size,
            ),
            flush=True,
        )
    return run_node(options)


if __name__ == "__main__":
    try:
        status = main()
    except Signalled as signalled:
        status = 128 + signalled.number
    # No interpreter clean-up: all is printed, and a broken stdout must not change the status.
    os._exit(status)
