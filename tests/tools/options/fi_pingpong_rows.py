# SPDX-License-Identifier: BSD-2-Clause
"""Pairs of processes on the loopback interface, and processes whose peer the test plays."""

import os
import re
import shlex
import socket
from pathlib import Path

from rows import TOLD, Result, Row, Wrong, err, exits, free_port, limit_s, listening, may_listen
from rows import read_calls, refused, silent, usage, wait_until, wrong_unless

NAMES = {}
DEFAULT_PORT = 47592
HEADER = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec"


class Pair(Row):
    """A server and a client with the same line, and what only one of them has. The checks
    are those of each side's result."""

    def __init__(self, about, line, *checks, server="", client="", **kwargs):
        self.sides = {"server": server, "client": client}
        self.address = kwargs.pop("address", "127.0.0.1")
        self.client_env = kwargs.pop("client_env", None)
        super().__init__(about, line, *checks, **kwargs)

    def run(self, place, words):
        # A port that was free may be taken before the server binds it.
        for _ in range(3):
            server, client = self.run_pair(place, words)
            if "Address already in use" not in server.err:
                break
        for name, result in (("server", server), ("client", client)):
            for check in self.checks:
                try:
                    check(result)
                except Wrong as wrong:
                    raise Wrong(f"{name}: {wrong}\n{server}\n{client}") from None

    def run_pair(self, place, words):
        port = str(free_port())
        words = [place.fill(word) for word in words]
        more = {side: shlex.split(place.fill(text)) for side, text in self.sides.items()}
        server = place.start(["-B", port, *words, *more["server"]], self.env)
        wait_until(lambda: listening(int(port)), server)
        client = place.start(
            ["-P", port, *words, *more["client"], self.address],
            {**(self.env or {}), **(self.client_env or {})},
        )
        result = place.finish(client)
        # A client that failed early leaves a server that waits for another one.
        if result.status and listening(int(port)):
            server.terminate()
        return place.finish(server), result


class Played(Row):
    """A client whose server is the test: it accepts, and closes the connection."""

    def __init__(self, about, line, *checks, port=None, host="127.0.0.1", **kwargs):
        self.port, self.host = port, host
        super(
            ).__init__(about, line, *checks, exits(104), err("the peer left"), **kwargs
        )

    def run_once(self, place, words):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((self.host, self.port or 0))
            except OSError as error:
                return Skipped(f"port {self.port}: {error}")
            listener.listen()
            listener.settimeout(limit_s(10))
            place.names["port"] = listener.getsockname()[1]
            client = place.start([*map(place.fill, words), self.host], self.env)
            try:
                connection, source = listener.accept()
                connection.close()
            except TimeoutError:
                client.kill()
                source = ("no connection", 0)
        result = place.finish(client)
        result.source = source
        return result


class Listening(Row):
    """A server that is ended when it listens. The checks see at which ports of which
    families."""

    def __init__(self, about, line, *checks, port=None, **kwargs):
        self.port = port
        super().__init__(about, line, *checks, **kwargs)

    def run_once(self, place, words):
        port = self.port or place.names["free"]
        if not may_listen(port):
            return Skipped(f"port {port} is in use")
        server = place.start([*map(place.fill, words)], self.env)
        wait_until(lambda: listening(port), server)
        families = listening(port)
        server.terminate()
        result = place.finish(server)
        if self.port and not families:
            return Skipped(f"port {port}: {result.err}")
        result.families = families
        return result


class Taken(Row):
    """With a listener of another program."""

    def run_once(self, place, words):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            place.names["taken"] = listener.getsockname()[1]
            return place.run([*map(place.fill, words)], self.env)


class Skipped(Result):
    def __init__(self, why):
        super().__init__(0, "", "")
        print(f"skipped: {why}")


def unless_skipped(check):
    return lambda r: None if isinstance(r, Skipped) else check(r)


def connects_from(name):
    """The client's port is the one of this name."""

    def check(r):
        wanted = r.place.names[name]
        wrong_unless(r.source[1] == wanted, f"from port {r.source[1]}, not {wanted}")

    return check


def listens(*families):
    def check(r):
        wrong_unless(
            r.families == list(families), f"listens: {r.families}, not {families}"
        )

    return check


def rows(*sizes, sent="2"):
    """The table has the header, once, and a row for each of these sizes."""

    def check(r):
        lines = r.out.splitlines()
        wrong_unless(lines and lines[0] == HEADER, "the header")
        found = [tuple(line.split()[:3]) for line in lines[1:]]
        wanted = [(size, sent, f"={sent}") for size in sizes]
        wrong_unless(found == wanted, f"rows {found}, not {wanted}")

    return check


def interface(**fields):
    """The interface that -v tells."""

    def check(r):
        for name, pattern in fields.items():
            wrong_unless(
                re.search(rf"^ +{name}: {pattern}$", r.err, re.M), f"{name}: not {pattern}"
            )

    return check


def pair(about, line, *checks, **kwargs):
    return Pair(about, f"-v -I 2 {line}", exits(0), *checks, **kwargs)


def usage_error(about, line, pattern):
    return Row(about, line, exits(1), usage("err"), err(pattern), silent, refused=True)


def exits_in(*statuses):
    return lambda r: wrong_unless(r.status in statuses, f"exits with {r.status}")


def sends_word(word):
    """Messages of both sides begin with these eight bytes, as a number."""

    def check(r):
        for calls in read_calls(r.place).values():
            found = {f["word"] for _, call, f in calls if call == "send" and f["len"] != "4"}
            wrong_unless(found == {word}, f"messages begin with {found}, not {word}")

    return check


ALL_SIZES = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "6",
    "8",
    "12",
    "16",
    "24",
    "32",
    "48",
    "64",
    "96",
]
ALL_SIZES += ["128", "192", "256", "384", "512", "768"]
ALL_SIZES += "1k 1.5k 2k 3k 4k 6k 8k 12k 16k 24k 32k 48k 64k 96k 128k 192k".split()
ALL_SIZES += "256k 384k 512k 768k 1m 1.5m 2m 3m 4m 6m".split()
USUAL_SIZES = ["64", "256", "1k", "4k", "64k", "1m"]
DAMAGE = {
    "LD_PRELOAD": os.environ.get("WEFT_DAMAGE", ""),
    "FI_TCP_LOCAL": "tcp",
}
RDM = "-p tcp -e rdm"
has_ipv6 = Path("/proc/net/if_inet6").exists() and "0" * 31 + "1 " in Path(
    "/proc/net/if_inet6"
).read_text("ascii")
played = "-e dgram -p udp -P {port}"

ROWS = [
    # Of both ends: where the server listens, and from where the client connects.
    Listening("-B", "-B {free} -e dgram", listens("tcp")),
    Listening("-B", "-e dgram", unless_skipped(listens("tcp")), port=DEFAULT_PORT),
    Played("-B -P", f"{played} -B {{free}}", connects_from("free")),
    Played("-P", f"{played}", lambda r: wrong_unless(r.source[1], "no connection")),
    Taken(
        "-B",
        "-B {taken}",
        exits(98),
        err("port {taken}: Address already in use"),
        refused=True,
    ),
    refused(
        "-P", "-e dgram -P {free} 127.0.0.1", 111, "port {free}: Connection refused"
    ),
    *[
        usage_error(
            option,
            f"{option} {value}",
            f"port: '{value}' is not a number from 1 to 65535",
        )
        for option in ("-B", "-P")
        for value in ("0", "65536", "ssh", "12x", "-1")
    ],
    pair("-p", "-p udp", interface(prov_name="udp")),
    pair("-p", "-p tcp -e msg", interface(prov_name="tcp")),
    refused("-p", "-p nosuch", 61, r"fi_getinfo: -61 \(No data available\)"),
    pair("-d", "-p udp -d lo", interface(name="lo")),
    refused("-d", "-p udp -d nosuch", 61, "domain_attr.name: asked nosuch"),
    pair("-f", "-p udp -f 127.0.0.1/32", interface(name=r"127\.0\.0\.1/32")),
    refused("-f", "-p udp -f nosuch", 61, "fabric_attr.name: asked nosuch"),
    # The client's own options count, too.
    *[
        Pair(
            option, "-p udp -e dgram", exits_in(61, 104, -15), client=f"{option} nosuch"
        )
        for option in ("-d", "-f")
    ],
    pair(
        "-s",
        "-p udp -e dgram -s 127.0.0.2",
        interface(src_addr=r"fi_sockaddr_in://127\.0\.0\.2:\d+"),
    ),
    refused("-s", "-p udp -s no.such.host.invalid", 61, "node"),
    pair("-e", "-p udp -e dgram", interface(type="FI_EP_DGRAM")),
    pair("-e", "-p tcp -e RDM", interface(type="FI_EP_RDM")),
    pair("-e", "-p tcp -e msg", interface(type="FI_EP_MSG")),
    pair("-e", "", interface(type="FI_EP_DGRAM")),
    pair("-e", "-p shm -S 8", interface(type="FI_EP_RDM")),
    usage_error("-e", "-e stream", "unknown endpoint type 'stream'"),
    pair("-I", f"{RDM} -S 8 -I 7", rows("8", sent="7")),
    pair("-I", f"{RDM} -S 8 -I 1", rows("8", sent="1")),
    Pair("-I", f"{RDM} -S 8", exits(0), rows("8", sent="10")),
    *[
        usage_error(
            "-I",
            f"-I {value}",
            f"iterations: '{value}' is not a number from 1 to 999999999",
        )
        for value in ("0", "1000000000", "x", "3x", "-1")
    ],
    pair("-S", f"{RDM} -S 100", rows("100")),
    pair("-S", f"{RDM} -S 0", rows("0")),
    pair("-S", f"{RDM} -S all", rows(*ALL_SIZES)),
    pair("-S", RDM, rows(*USUAL_SIZES)),
    pair("-S", "-p udp -e dgram", rows(*USUAL_SIZES[:4])),
    *[
        usage_error("-S", f"-S {value}", f"size: '{value}' is neither")
        for value in ("x", "1k", "-1", "ALL", "2147483648")
    ],
    usage_error("-S", "-S ''", "size: '' is neither"),
    # The client learns of it when the server leaves.
    Pair("-S", "-p udp -S 100000", exits_in(61, 104), silent, refused=True),
    # Only -c notices what arrives damaged.
    pair("-c", f"{RDM} -S 65536 -c", rows("64k")),
    pair("-c", "-p udp -e dgram -S all -c"),
    pair("-c", f"{RDM} -S 65536 -I 1", sends_word("0"), env=TOLD),
    pair("-c", f"{RDM} -S 65536 -I 1 -c", sends_word(b"76543210".hex()), env=TOLD),
    Pair("-c", f"{RDM} -S 65536 -I 1 -c", exits_in(5, 104), env=DAMAGE, refused=True),
    pair("-m", f"{RDM} -S 8 -m msg", interface(caps=r"\[ FI_MSG, .*\]")),
    pair("-m", f"{RDM} -S 8 -m MSG", interface(caps=r"\[ FI_MSG, .*\]")),
    pair("-m", f"{RDM} -S 8", interface(caps=r"\[ FI_MSG, .*\]")),
    pair(
        "-m", f"{RDM} -S 8 -m tagged", interface(caps=r"\[ FI_TAGGED, .*\]"), rows("8")
    ),
    refused("-m", "-p udp -m tagged", 61, "FI_TAGGED"),
    # All is told, and nothing without the option.
    pair("-v", "-p udp -S 8", err(r"^\[debug\] "), interface(type="FI_EP_DGRAM")),
    Pair("-v", "-p udp -S 8", exits(0), err(r"\A\Z")),
    Row("-h", "-h", exits(1), usage("err"), silent),
    usage_error("", "-x", "x"),
    usage_error("", "--bogus", "-"),
    *[usage_error(f"-{letter}", f"-{letter}", "argument") for letter in "BPdfpseISm"],
    usage_error("", "127.0.0.1 127.0.0.2", "more than one server address"),
]
if has_ipv6:
    ROWS += [
        Listening("-6", "-6 -B {free} -e dgram", listens("tcp6")),
        Played(
            "-6",
            f"-6 {played}",
            lambda r: wrong_unless(r.source[1], "no connection"),
            host="::1",
        ),
        pair("-6", "-6 -p udp -S 8", rows("8"), address="::1"),
    ]
