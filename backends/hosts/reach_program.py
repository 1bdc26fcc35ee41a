"""Runs on hosts, with Python 3.6 or newer, as ``python3 -c``: listens, or connects to listeners.

``listen TOKEN SECONDS COUNT``: print a free port, then answer COUNT connections with the token.
``connect SECONDS [NAME ADDRESS PORT TOKEN]…``: print "NAME<tab>ok" or what went wrong, per name.
"""

# ruff: noqa: UP041 (Python 3.6 has no TimeoutError from sockets and no list[str])

import socket
import sys
import threading
import time


def listen(token: str, seconds: float, count: int) -> None:
    deadline = time.monotonic() + seconds
    try:  # what ranks do: every address of the host, of either family
        server = socket.socket(socket.AF_INET6)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", 0))
    except OSError:
        server = socket.socket(socket.AF_INET)
        server.bind(("", 0))
    server.listen(128)
    print("port", server.getsockname()[1], flush=True)
    while count > 0 and time.monotonic() < deadline:
        server.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            client, _ = server.accept()
        except socket.timeout:
            break
        client.sendall(f"{token}\n".encode())
        client.close()
        count -= 1


def connect(seconds: float, name: str, address: str, port: str, token: str) -> None:
    try:
        with socket.create_connection((address, int(port)), timeout=seconds) as peer:
            said = b""
            while b"\n" not in said and len(said) < 200:
                data = peer.recv(200)
                if not data:
                    break
                said += data
        result = "ok" if said.decode("utf-8", "replace").strip() == token else "wrong machine"
    except socket.gaierror:
        result = "unresolved"
    except socket.timeout:
        result = "timeout"
    except ConnectionRefusedError:
        result = "refused"
    except OSError as error:
        result = error.strerror or str(error)
    sys.stdout.write(f"{name}\t{result}\n")


def main(words: "list[str]") -> None:
    if words[0] == "listen":
        listen(words[1], float(words[2]), int(words[3]))
        return
    seconds = float(words[1])
    threads = [
        threading.Thread(target=connect, args=(seconds, *words[start : start + 4]))
        for start in range(2, len(words), 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
