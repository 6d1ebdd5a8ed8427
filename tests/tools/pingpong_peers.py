#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fi_pingpong with a peer that the test plays: over udp, whose messages are plain
datagrams, and with the control connection as tools/pingpong/control.h has it.

Each case is one peer, which tells the truth, lies, or dies at some point, and what
fi_pingpong has to make of it: its exit status, the row that it prints, and what it says.
"""

import re
import select
import shutil
import socket
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "options"))

import rows  # noqa: E402

LETTERS = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
FI_SOCKADDR_IN = 2
FIN = b"fin\0"
SIZE, ROUNDS = 64, 2
OPTIONS = f"-p udp -e dgram -c -I {ROUNDS} -S {SIZE}".split()


def message(number):
    """The data of a message, as -c sends and expects it."""
    start = 7 * number % len(LETTERS)
    return (LETTERS * 3)[start : start + SIZE]


class Peer:
    """One end that the test plays. What differs from the truth is in @lies."""

    def __init__(self, **lies):
        self.lies = lies
        self.data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.data.bind(("127.0.0.1", 0))
        self.control = None
        self.heard = {}

    def tell(self, what, truth):
        """Send this to the control connection, or the lie instead; None: leave. Returns
        whether the peer goes on."""
        words = self.lies.get(what, truth)
        if words is None:
            return False
        self.control.sendall(words)
        return True

    def hear(self, what, size):
        found = b""
        while len(found) < size:
            more = self.control.recv(size - len(found))
            if not more:
                raise EOFError
            found += more
        self.heard[what] = found
        return found

    def tell_name(self):
        address = struct.pack("=H", socket.AF_INET)
        address += struct.pack(">H", self.data.getsockname()[1])
        address += bytes([127, 0, 0, 1]) + bytes(8)
        head = struct.pack(">I", len(address)) + struct.pack("=I", FI_SOCKADDR_IN)
        # What told a lie here has nothing more to say.
        return self.tell("name", head + address) and "name" not in self.lies

    def hear_name(self):
        size, _ = struct.unpack(">II", self.hear("name", 8))
        address = self.hear("address", size)
        self.other = ("127.0.0.1", struct.unpack(">H", address[2:4])[0])

    def send(self, number):
        data = self.lies.get("data", message)(number)
        if data is not None:
            self.data.sendto(data, self.other)

    def receive(self, what):
        """A datagram, as long as fi_pingpong is there."""
        end = time.monotonic() + rows.limit_s(10)
        while not select.select([self.data], [], [], 0.01)[0]:
            talks = select.select([self.control], [], [], 0)[0]
            if talks and not self.control.recv(1, socket.MSG_PEEK):
                raise EOFError
            if time.monotonic() > end:
                raise EOFError
        self.heard[what] = self.data.recv(65536)

    def goodbye(self):
        if "fin" not in self.lies:
            self.data.sendto(FIN, self.other)
            self.receive("fin")

    def play(self, connection):
        self.control = connection
        self.control.settimeout(rows.limit_s(10))
        try:
            self.talk()
        except (EOFError, OSError):
            pass
        finally:
            self.control.close()
            self.data.close()


class Server(Peer):
    def talk(self):
        if not self.tell_name():
            return
        self.hear_name()
        self.hear("sync", 2)
        if not self.tell("sync", b"a\0"):
            return
        for number in range(ROUNDS):
            self.receive(f"message {number}")
            if self.lies.get("leaves after") == number:
                return
            self.send(number)
        self.hear("count", 10)
        if self.tell("count", b"cnt ok\0"):
            self.goodbye()


class Client(Peer):
    def talk(self):
        size, _ = struct.unpack(">II", self.hear("name", 8))
        address = self.hear("address", size)
        self.other = ("127.0.0.1", struct.unpack(">H", address[2:4])[0])
        if not self.tell_name() or not self.tell("sync", b"q\0"):
            return
        self.hear("sync", 2)
        for number in range(self.lies.get("messages", ROUNDS)):
            self.send(number)
            if self.lies.get("leaves after") == number:
                return
            self.receive(f"message {number}")
        if self.tell("count", (b"%d" % ROUNDS).ljust(10, b"\0")):
            self.hear("taken", 7)
            self.goodbye()


def with_client(peer, place):
    """fi_pingpong is the client."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(rows.limit_s(10))
        port = str(listener.getsockname()[1])
        process = place.start([*OPTIONS, "-P", port, "127.0.0.1"])
        connection = listener.accept()[0]
        peer.play(connection)
    return place.finish(process)


def with_server(peer, place):
    """fi_pingpong is the server."""
    # A port that was free may be taken before the server binds it.
    for _ in range(5):
        port = rows.free_port()
        process = place.start([*OPTIONS, "-B", str(port)])
        if rows.wait_until(lambda: rows.listening(port), process):
            peer.play(socket.create_connection(("127.0.0.1", port)))
            break
    return place.finish(process)


def name(size, sent):
    """A name that says so many bytes, and has others."""
    return struct.pack(">I", size) + struct.pack("=I", FI_SOCKADDR_IN) + bytes(sent)


def changed(at):
    """The second message has another byte there."""

    def data(number):
        good = bytearray(message(number))
        good[at] ^= number and 1
        return bytes(good)

    return data


LEFT = r"the peer left: -104 \(Connection reset by peer\)"
ASTRAY = "the peer is not at the same place: do all options agree\\?"

# Peer, exit status, the row's beginning (None: no table), what is said (None: nothing).
CASES = [
    (Server(), 0, "64      2       =2       256 ", None),
    (Server(name=None), 104, None, LEFT),
    (Server(name=name(0, 0)), 71, None, "the peer has an address of 0 bytes"),
    (Server(name=name(4097, 16)), 71, None, "the peer has an address of 4097 bytes"),
    (
        Server(name=name(0xFFFFFFFF, 16)),
        71,
        None,
        "the peer has an address of 4294967295 bytes",
    ),
    (Server(name=name(16, 16)[:4]), 104, None, LEFT),
    (Server(name=name(16, 15)), 104, None, LEFT),
    (Server(name=name(4096, 4096)), 61, None, "fi_getinfo: -61"),
    (Server(sync=None), 104, None, LEFT),
    (Server(sync=b"q\0"), 71, None, ASTRAY),
    (Server(sync=b"ab"), 71, None, ASTRAY),
    (
        Server(data=changed(63)),
        5,
        None,
        "data check failed: message 1 of 64 bytes, offset 63",
    ),
    (
        Server(data=changed(1)),
        5,
        None,
        "data check failed: message 1 of 64 bytes, offset 1",
    ),
    # Datagrams of another size were overtaken, and count as lost.
    (
        Server(data=lambda number: message(number)[:63]),
        110,
        None,
        "no answer to any message of 64 bytes",
    ),
    (
        Server(data=lambda number: message(number) if number else None),
        0,
        "64      2       +1       256 ",
        "1 of 2 messages of 64 bytes timed out",
    ),
    (Server(**{"leaves after": 0}), 104, None, LEFT),
    (Server(count=None), 104, None, LEFT),
    (Server(count=b"cnt no\0", fin=None), 71, None, ASTRAY),
    # All results are known: the last message may be missing.
    (Server(fin=None), 0, "64      2       =2       256 ", None),
    (Client(), 0, "64      2       =2       256 ", None),
    (Client(name=None), 104, None, LEFT),
    (Client(name=name(0, 0)), 71, None, "the peer has an address of 0 bytes"),
    (Client(name=name(4097, 16)), 71, None, "the peer has an address of 4097 bytes"),
    (Client(name=name(16, 8)), 104, None, LEFT),
    (Client(sync=None), 104, None, LEFT),
    (Client(sync=b"a\0"), 71, None, ASTRAY),
    (
        Client(data=changed(7)),
        5,
        None,
        "data check failed: message 1 of 64 bytes, offset 7",
    ),
    (Client(**{"leaves after": 0}), 104, None, LEFT),
    (Client(count=None), 104, None, LEFT),
    # What the client says is what came back, whatever was sent.
    (Client(count=b"1".ljust(10, b"\0")), 0, "64      2       +1       256 ", None),
    (Client(count=b"0000000010"), 0, "64      2       -8       256 ", None),
    (Client(count=b"none".ljust(10, b"\0")), 0, "64      2       +2       256 ", None),
    (Client(count=b"999999999\0"), 0, "64      2       -999m    256 ", None),
    (
        Client(messages=1, count=b"1".ljust(10, b"\0")),
        0,
        "64      1       =1       128 ",
        None,
    ),
    (Client(messages=0, count=b"0".ljust(10, b"\0")), 0, None, None),
    (Client(fin=None), 0, "64      2       =2       256 ", None),
]


def wrong(peer, result, status, row, says):
    """What is not as it has to be."""
    if result.status != status:
        yield f"exits with {result.status}, not {status}"
    first = (result.out.splitlines() + ["", ""])[1]
    if not first.startswith(row or "") or bool(row) != bool(first):
        yield f"the row is not '{row}'"
    if says and not re.search(f"^fi_pingpong: {says}", result.err, re.M):
        yield f"does not say '{says}'"
    if not says and result.err:
        yield "says something"
    if peer.lies:
        return
    server = isinstance(peer, Server)
    wanted = {f"message {i}": message(i) for i in range(ROUNDS)}
    if server:
        wanted |= {"sync": b"q\0", "count": b"2".ljust(10, b"\0")}
    else:
        wanted |= {"sync": b"a\0", "taken": b"cnt ok\0"}
    wanted |= {"fin": FIN}
    for what, words in wanted.items():
        if peer.heard.get(what) != words:
            yield f"{what} is {peer.heard.get(what)}, not {words}"


def run(case):
    peer, status, row, says = case
    place = rows.Place("fi_pingpong", {})
    play = with_client if isinstance(peer, Server) else with_server
    result = play(peer, place)
    shutil.rmtree(place.path)
    problems = list(wrong(peer, result, status, row, says))
    title = f"{type(peer).__name__.lower()} {peer.lies or 'that tells the truth'}"
    print(
        "\n".join([f"FAILED: {title}", *problems, str(result)]) if problems else title,
        flush=True,
    )
    return not problems


def main():
    with ThreadPoolExecutor(4) as pool:
        good = list(pool.map(run, CASES))
    print(f"{len(good)} peers, {good.count(False)} failed")
    sys.exit(not all(good))


main()
