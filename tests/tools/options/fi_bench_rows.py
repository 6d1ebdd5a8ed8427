# SPDX-License-Identifier: BSD-2-Clause
"""The hook "told" (told_calls.c) writes down the calls of each process. Numbers of messages
are small: nothing is measured.
"""

import csv
import io
import json
import os
import re
import shutil
import signal

from rows import BUILD, TOLD, Row, err, exits, free_port, listening, may_listen, out, read_calls
from rows import refused, silent, usage, wait_until, whole_out, wrong_unless

NAMES = {
    "build": os.path.realpath(BUILD),
    "cpu": min(os.sched_getaffinity(0)),
    "last": max(os.sched_getaffinity(0)),
}
DEFAULT_PORT = 47593
DAMAGE = {"LD_PRELOAD": os.environ.get("WEFT_DAMAGE", ""), "FI_TCP_LOCAL": "tcp"}

MESSAGES = "latency bandwidth bidirectional rate exchange burst".split()
RMA = "write_latency write_bandwidth read_latency read_bandwidth".split()
ATOMICS = "fetch_add compare_swap add_rate".split()
ENDPOINTS = "connect ramp".split()
GROUPS = "barrier broadcast allreduce allgather alltoall reduce+broadcast".split()


# ---- runs ----


class Bench(Row):
    def run_once(self, place, words):
        process = place.start([place.fill(word) for word in words], self.env)
        result = place.finish(process)
        calls = read_calls(place)
        result.main = calls.pop(process.pid, [])
        result.peers = list(calls.values())
        return result


class Served(Bench):
    """A server, and a client with the line."""

    def __init__(self, about, line, *checks, server="-S -P", port=None, **kwargs):
        self.server, self.port = server, port
        super().__init__(about, line, *checks, **kwargs)

    def run_once(self, place, words):
        port = self.port or free_port()
        if not may_listen(port):
            print(f"skipped: port {port} is in use")
            return None
        place.names["port"] = port
        options = self.server.split() + ([] if self.port else [str(port)])
        server = place.start(options, self.env)
        wait_until(lambda: listening(port), server)
        result = super().run_once(place, words)
        if result.status:
            server.kill()
        served = place.finish(server)
        wrong_unless(served.status == 0, f"the server: {served}")
        wrong_unless(f"waiting for a client at port {port}" in served.err, f"{served}")
        return result

    def run(self, place, words):
        self.checks = [lambda r, c=check: r and c(r) for check in self.checks]
        super().run(place, words)


class Stopped(Bench):
    """A peer that stops while it is measured."""

    def run_once(self, place, words):
        process = place.start([place.fill(word) for word in words], self.env)
        place.process = process

        def peer():
            path = f"/proc/{process.pid}/task/{process.pid}/children"
            with open(path, encoding="ascii") as file:
                return [int(word) for word in file.read().split()]

        def is_measured():
            return any(b"tsend" in p.read_bytes() for p in place.path.glob("calls.*"))

        wait_until(is_measured, process)
        for pid in peer():
            os.kill(pid, signal.SIGSTOP)
        result = place.finish(process, 14)
        result.main, result.peers = [], []
        return result


# ---- what must be seen ----


def count(calls, *names, **fields):
    wanted = {key: str(value) for key, value in fields.items()}
    return sum(
        call in names and wanted.items() <= found.items() for _, call, found in calls
    )


def values(calls, name, field):
    return [found[field] for _, call, found in calls if call == name and field in found]


def calls_are(who, number, *names, **fields):
    """One process, the one that measures ("main"), or each of its peers, made so many of
    these calls."""

    def check(r):
        for calls in [r.main] if who == "main" else r.peers:
            found = count(calls, *names, **fields)
            good = found == number if number is not None else found > 0
            wrong_unless(good, f"{who}: {found} calls {names} {fields}, not {number}")

    return check


def none_of(*names, **fields):
    def check(r):
        for calls in [r.main, *r.peers]:
            found = count(calls, *names, **fields)
            wrong_unless(not found, f"{found} calls {names} {fields}")

    return check


def processes(number):
    def check(r):
        found = 1 + len(r.peers)
        wrong_unless(r.main and found == number, f"{found} processes, not {number}")

    return check


def all_have(name, **fields):
    """The objects of all processes."""

    def check(r):
        for calls in [r.main, *r.peers]:
            for field, wanted in fields.items():
                found = set(values(calls, name, field))
                wrong_unless(
                    found == {r.place.fill(wanted)}, f"{name} {field}: {found}"
                )

    return check


def in_flight(calls):
    """The number of incomplete messages at each send of a message with data."""
    flying, found = 0, []
    for _, call, fields in calls:
        if call in ("tsend", "write", "read") and fields["len"] != "0":
            found.append(flying)
            flying += 1
        elif call == "cq_read":
            flying -= int(fields["sent"])
    return found


def window_is(number):
    def check(r):
        most = max(in_flight(r.main)) + 1
        wrong_unless(most == number, f"{most} in flight, not {number}")

    return check


def bursts_of(number, wanted):
    """Is each window complete before the next one begins?"""

    def check(r):
        found = in_flight(r.main)
        steps = [i % number for i in range(len(found))]
        wrong_unless((found == steps) is wanted, f"in flight: {found}")

    return check


def buffers_are(number):
    def check(r):
        bufs = {f["buf"] for _, call, f in r.main if call == "tsend" and f["len"] != "0"}
        wrong_unless(len(bufs) == number, f"{len(bufs)} buffers, not {number}")

    return check


def words_differ(wanted):
    def check(r):
        words = {f["word"] for _, call, f in r.main if call == "tsend" and f["len"] != "0"}
        wrong_unless((len(words) > 4) is wanted, f"buffers begin with {words}")

    return check


def target_reads(wanted):
    """Does the target read its queue between the first and the last write?"""

    def check(r):
        # The first one makes the contact.
        times = [at for at, call, _ in r.main if call in ("write", "read")][1:]
        inside = [
            at
            for at, call, _ in r.peers[0]
            if call.startswith("cq_") and times[0] < at < times[-1]
        ]
        wrong_unless(bool(inside) is wanted, f"{len(inside)} reads by the target")

    return check


def cores_are(*wanted):
    """The processors of the threads of this process, then those of its peer."""

    def check(r):
        for calls, cores in zip([r.main, r.peers[0]], wanted):
            found = set(values(calls, "thread", "core"))
            wrong_unless(set(values(calls, "thread", "cores")) == {"1"}, "not pinned")
            cores = {r.place.fill(core) for core in cores.split()}
            wrong_unless(found == cores, f"cores {found}, not {cores}")

    return check


def csv_rows(*wanted, **fields):
    """The CSV on the standard output has these rows, by test and bytes."""

    def check(r):
        rows = list(csv.DictReader(io.StringIO(r.out)))
        found = [f"{row['test']} {row['bytes']}" for row in rows]
        wrong_unless(not wanted or found == list(wanted), f"rows {found}, not {wanted}")
        wrong_unless(rows, "no rows")
        for row in rows:
            for field, value in fields.items():
                good = value(row[field]) if callable(value) else row[field] == value
                wrong_unless(good, f"{field} is {row[field]}")

    return check


def tests_are(*wanted):
    def check(r):
        rows = csv.DictReader(io.StringIO(r.out))
        found = list(dict.fromkeys(row["test"] for row in rows))
        wrong_unless(found == list(wanted), f"tests {found}, not {wanted}")

    return check


def table(*sizes):
    """The bytes of the rows of the table."""

    def check(r):
        found = re.findall(r"^ +(\d+[kmg]?) +[\d-]+ ", r.out, re.M)
        wrong_unless(found == list(sizes), f"rows of {found}, not {sizes}")

    return check


def file_fits(name, check_text):
    def check(r):
        path = r.place.path / name
        wrong_unless(path.exists(), f"there is no {name}")
        wrong_unless(
            check_text(path.read_text("utf-8")), f"{name} is {path.read_text()}"
        )

    return check


def is_json(**fields):
    def check(text):
        found = json.loads(text)
        return fields.items() <= found.items() and found["rows"]

    return check


def curves(number):
    return lambda text: text.count("<polyline") == number and text.endswith("</svg>\n")


def csv_has(text):
    return lambda content: content.startswith("label,provider,") and text in content


# ---- the table ----

# 8 messages of warm-up, three trials of 8, and 16 in batches of 8.
FEW = "-n 16 --batch 8 -W 8 --timeout 60"
# 4 of warm-up, three trials of 4, and twice 8: those with and without stamps.
LATENCY = "-p tcp -t latency -s 8 -n 8 --batch 4 -W 4 --timeout 60"
PINGS = 4 + 3 * 4 + 2 * 8
STREAM = f"-p tcp -t bandwidth -s 64 -w 8 {FEW}"
CSV = "--csv -"


def bench(about, line, *checks, **kwargs):
    return Bench(about, line, exits(0), *checks, env=kwargs.pop("env", TOLD), **kwargs)


def latency(about, line, *checks, **kwargs):
    return bench(about, f"{LATENCY} {line}", *checks, **kwargs)


def stream(about, line, *checks, **kwargs):
    return bench(about, f"{STREAM} {line}", *checks, **kwargs)


def usage_error(about, line, pattern):
    return refused(
        about, line, 2, rf"fi_bench: {pattern}(.*\n)+fi_bench --help lists all options$"
    )


def wrong_values(short, long, *words):
    return [
        usage_error(
            short, f"{short} '{word}'", f"{long}: '{re.escape(word)}' is not understood"
        )
        for word in words
    ]


def failed(about, line, pattern):
    return Row(about, line, exits(1), err(pattern), refused=True)


def other_library(place):
    """A copy of the library, in a folder of its own."""
    folder = place.path / "other"
    folder.mkdir()
    shutil.copy(BUILD / "src" / "libfabric.so.1", folder)


class With(Bench):
    """With CSV files of earlier runs: three curves, and one of another label."""

    def run_once(self, place, words):
        names = "label,provider,domain,endpoint,version,library,test,bytes,threads,window"
        names += ",messages,lost,best_ns,median_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns"
        names += ",megabytes_per_s,megamessages_per_s,part"
        row = "{},tcp,lo,rdm,2.6,/lib,{},8,1,1,10,0,1,2,1,2,3,4,5,8,1,"
        three = [row.format("old", test) for test in ("latency", "bandwidth", "rate")]
        (place.path / "old.csv").write_text("\n".join([names, *three, ""]), "ascii")
        other = f"{names}\n{row.format('other', 'rate')}\n"
        (place.path / "other.csv").write_text(other, "ascii")
        return super().run_once(place, words)


class WithUcx(Bench):
    """An ucx_perftest of the test: it tells its options, and what the real one tells at
    its end."""

    def run_once(self, place, words):
        program = place.path / "ucx_perftest"
        program.write_text(
            "#!/bin/sh\n"
            f'echo "$UCX_TLS $*" >>"{place.path}/asked"\n'
            "echo '100,1.0,2.0,3.5,4.0,5.0,6.0,7.0'\n",
            "ascii",
        )
        program.chmod(0o755)
        place.names["path"] = f"{place.path}:{os.environ['PATH']}"
        return super().run_once(place, words)


def ucx_asked(*patterns):
    def check(r):
        lines = (r.place.path / "asked").read_text("ascii").splitlines()
        lines = sorted(re.sub(r"-p \d+", "-p PORT", line) for line in lines)
        wrong_unless(set(lines) == set(patterns), f"ucx_perftest was asked {lines}")

    return check


class Compared(Bench):
    def run_once(self, place, words):
        other_library(place)
        result = super().run_once(place, words)
        result.runs = len(result.peers)
        return result


def runs_are(number):
    def check(r):
        wrong_unless(r.runs == number, f"{r.runs} processes, not {number}")

    return check


NUMBERS = ("x", "-1", "1x", "", "1.5")

ROWS = [
    latency("-p --provider", "", out("^# tcp, domain lo, endpoints rdm,")),
    bench(
        "-p --provider",
        f"-p shm -t latency -s 8 {FEW}",
        out("^# shm, domain shm, endpoints rdm,"),
        env={},
    ),
    failed("-p --provider", "-p bogus", "no endpoint of provider bogus fits"),
    *wrong_values("-p", "--provider", "", "x" * 128),
    bench(
        "-d --domain",
        f"-d shm -t latency -s 8 {FEW}",
        out("^# shm, domain shm, "),
        env={},
    ),
    bench("-d --domain", f"-d lo -t latency -s 8 {FEW}", out("^# tcp, domain lo, ")),
    failed("-d --domain", "-d bogus", "no endpoint of provider any fits"),
    bench(
        "-f --fabric",
        f"-f shm -t latency -s 8 {FEW}",
        out("^# shm, domain shm, "),
        env={},
    ),
    bench(
        "-f --fabric",
        f"-f 127.0.0.1/32 -t latency -s 8 {FEW}",
        out("^# tcp, domain lo, "),
    ),
    failed("-f --fabric", "-f bogus", "no endpoint of provider any fits"),
    latency(
        "-e --endpoint",
        "-e msg",
        all_have("endpoint", type="FI_EP_MSG"),
        out("endpoints msg,"),
    ),
    latency("-e --endpoint", "-e rdm", all_have("endpoint", type="FI_EP_RDM")),
    bench(
        "-e --endpoint",
        f"-p udp -e dgram -t latency -s 8 {FEW}",
        out("^# udp, domain lo, endpoints dgram,"),
    ),
    *wrong_values("-e", "--endpoint", "stream", "RDM", ""),
    latency("-a --address", "-a 127.0.0.2", all_have("endpoint", source="127.0.0.2")),
    latency("-a --address", "", all_have("endpoint", source="127.0.0.1")),
    failed(
        "-a --address",
        "-p tcp -t latency -a 192.0.2.77",
        "Cannot assign requested address",
    ),
    # Tests, and the calls that each makes.
    latency(
        "-t --test", "", out("^# latency: "), calls_are("main", PINGS, "tsend", len=8)
    ),
    bench("-t --test", f"-p tcp -s 8 {FEW} {CSV}", tests_are("latency", "bandwidth")),
    bench(
        "-t --test",
        f"-p tcp -s 8 {FEW} -t exchange,burst,latency {CSV}",
        tests_are("latency", "exchange", "burst"),
    ),
    *[
        bench(
            "-t --test", f"-p tcp -s 64 {FEW} -t {test} {CSV}", tests_are(test), *checks
        )
        for test, *checks in [
            ("bandwidth", calls_are("peers", 0, "tsend", len=64)),
            ("bidirectional", calls_are("peers", None, "tsend", len=64)),
            ("rate", calls_are("peers", 0, "tsend", len=64)),
            ("exchange", calls_are("peers", 64, "tsend", len=64)),
            ("burst", calls_are("peers", 16 * 64, "tsend", len=64)),
            ("write_latency", calls_are("peers", 64, "write", len=64)),
            ("write_bandwidth", calls_are("main", None, "write", len=64)),
            ("read_latency", calls_are("main", 64, "read", len=64)),
            ("read_bandwidth", calls_are("main", None, "read", len=64)),
            *[(test,) for test in ATOMICS],
        ]
    ],
    bench(
        "-t --test",
        f"-p tcp -t connect {FEW} {CSV}",
        tests_are("connect"),
        calls_are("main", 1 + 64, "endpoint"),
    ),
    bench(
        "-t --test",
        f"-p tcp -t ramp -s 8 -n 10 -D 0.001 {CSV}",
        tests_are("ramp"),
        calls_are("main", 6, "fabric"),
    ),
    bench(
        "-t --test",
        f"-p shm -s 8 -b 8 {FEW} -t {','.join(GROUPS)} {CSV}",
        tests_are(*GROUPS),
        env={},
    ),
    bench(
        "-t --test",
        f"-p tcp -e msg -t all -s 8 -D 0.001 {FEW} {CSV}",
        tests_are(*MESSAGES, *RMA, *ATOMICS, *ENDPOINTS),
        env={},
    ),
    *wrong_values("-t", "--test", "bogus", "latency,", "", "Latency"),
    bench(
        "-s --size",
        f"-p tcp -t latency {FEW} -s 3,1k {CSV}",
        csv_rows("latency 3", "latency 1024"),
    ),
    bench(
        "-s --size",
        f"-p tcp -t latency {FEW} -s 8:40,2K",
        table("8", "16", "32", "2k"),
        calls_are("main", 64, "tsend", len=32),
    ),
    *wrong_values("-s", "--size", "0", "8z", "16:8", "x", "", "8,", "2048g"),
    latency("--call", "--call tagged", none_of("send")),
    latency(
        "--call",
        "--call msg",
        none_of("tsend"),
        calls_are("main", PINGS, "send", len=8),
    ),
    *wrong_values("--call", "--call", "Msg", "any", ""),
    latency(
        "--inject",
        "--inject",
        calls_are("main", PINGS, "tinject", len=8),
        none_of("tsend", len=8),
    ),
    latency(
        "--inject",
        "--inject --call msg",
        calls_are("main", PINGS, "inject", len=8),
        none_of("send", len=8),
    ),
    Row("--inject", "--inject=yes", exits(2), err("argument"), refused=True),
    bench(
        "-m --members",
        f"-p tcp -t barrier {FEW} -m 3",
        processes(3),
        out("^# 3 processes, "),
    ),
    latency("-m --members", "", processes(2), out("^# 2 processes, ")),
    *wrong_values("-m", "--members", *NUMBERS, "4294967296"),
    *[
        usage_error("-m --members", f"-m {n} -t barrier", "members: from 2 to 256")
        for n in (0, 1, 257)
    ],
    latency(
        "-T --threads",
        f"-T 2 {CSV}",
        calls_are("main", 2, "endpoint"),
        csv_rows(threads="2"),
    ),
    latency(
        "-T --threads",
        "-T 2",
        all_have("domain", threading="FI_THREAD_COMPLETION"),
        out("threads of each: 2;"),
    ),
    *wrong_values("-T", "--threads", *NUMBERS),
    *[
        usage_error("-T --threads", f"-T {n}", "threads: from 1 to 256")
        for n in (0, 257)
    ],
    latency("--threading", "", all_have("domain", threading="FI_THREAD_DOMAIN")),
    *[
        latency(
            "--threading",
            f"--threading {level}",
            all_have("domain", threading=f"FI_THREAD_{level.upper()}"),
        )
        for level in ("safe", "domain", "completion")
    ],
    *wrong_values("--threading", "--threading", "fid", "SAFE", ""),
    latency(
        "-i --idle",
        "-i 3",
        calls_are("peers", 4, "endpoint"),
        calls_are("main", 1, "endpoint"),
    ),
    latency(
        "-i --idle",
        "-i 3 -e msg",
        calls_are("peers", 4, "endpoint"),
        calls_are("main", 4, "endpoint"),
    ),
    *wrong_values("-i", "--idle", *NUMBERS),
    usage_error("-i --idle", "-i 1048577", "idle peers: at most 1048576"),
    stream("-w --window", f"-w 4 {CSV}", window_is(4), csv_rows(window="4")),
    stream("-w --window", CSV, window_is(8), csv_rows(window="8")),
    bench(
        "-w --window",
        f"-p tcp -t burst -s 8 {FEW} -w 3 {CSV}",
        csv_rows(window="3"),
        window_is(3),
    ),
    *wrong_values("-w", "--window", "0", *NUMBERS),
    usage_error("-w --window", "-w 4097", "window: at most 4096"),
    # 24 messages in a batch are three windows; a queue read takes 16 entries at most.
    stream(
        "--flow", "-w 32 -n 128 --batch 128 -W 128 --flow burst", bursts_of(32, True)
    ),
    stream(
        "--flow", "-w 32 -n 128 --batch 128 -W 128 --flow slide", bursts_of(32, False)
    ),
    stream("--flow", "--batch 16 -W 16 --flow answer", bursts_of(8, True)),
    *wrong_values("--flow", "--flow", "Burst", "none", ""),
    latency("--touch", "", words_differ(True), out("written and read each time")),
    latency("--touch", "--touch yes", words_differ(True)),
    latency(
        "--touch",
        "--touch no",
        words_differ(False),
        buffers_are(1),
        out("buffers not touched"),
    ),
    *wrong_values("--touch", "--touch", "maybe", "Yes", ""),
    latency("--memory", "--memory shared", all_have("memory", kind="shared")),
    latency("--memory", "--memory private", all_have("memory", kind="private")),
    latency("--memory", "", all_have("memory", kind="private")),
    *wrong_values("--memory", "--memory", "anonymous", "Shared", ""),
    stream("-b --buffers", "-b 16", buffers_are(16)),
    stream("-b --buffers", "-b 9", buffers_are(16)),
    stream("-b --buffers", "", buffers_are(8)),
    stream("-b --buffers", "-b 3 --touch no", buffers_are(3)),
    *wrong_values("-b", "--buffers", "0", *NUMBERS),
    usage_error("-b --buffers", "-b 1048577", "buffers: at most 1048576"),
    usage_error("-b --buffers", "-b 1", "one buffer for all messages"),
    # Only -c notices what arrives damaged.
    Row(
        "-c --verify",
        f"-p tcp -t latency -s 64k {FEW} -c",
        exits(3),
        err("arrived damaged"),
        env=DAMAGE,
    ),
    latency("-c --verify", "-c", out(", verified$")),
    latency("-c --verify", "", out("verified", 0)),
    latency(
        "--sleep",
        "--sleep",
        none_of("cq_read"),
        all_have("cq", wait="some"),
        out("; blocking reads$"),
    ),
    latency("--sleep", "", none_of("cq_sread"), all_have("cq", wait="none")),
    bench(
        "--silent",
        f"-p tcp -t write_latency -s 8 {FEW} --progress auto --silent",
        target_reads(False),
        all_have("endpoint", delivery="1"),
        out("^# targets make no calls"),
    ),
    bench(
        "--silent",
        f"-p tcp -t read_latency -s 8 -n 400 -W 8 --batch 400 --progress auto",
        target_reads(True),
        all_have("endpoint", delivery="0"),
    ),
    *[
        latency(
            "--progress",
            f"--progress {model}",
            all_have("domain", progress=f"FI_PROGRESS_{model.upper()}"),
        )
        for model in ("auto", "manual")
    ],
    latency("--progress", "", all_have("domain", progress="FI_PROGRESS_MANUAL")),
    *wrong_values("--progress", "--progress", "always", "Auto", ""),
    latency("-C --cores", "-C {last}:{cpu}", cores_are("{last}", "{cpu}")),
    latency("-C --cores", "-C {cpu}:{last}", cores_are("{cpu}", "{last}")),
    latency("-C --cores", "-C {cpu},{last} -T 2", cores_are("{cpu} {last}")),
    *wrong_values("-C", "--cores", "x", "3-1", "0:", ":0", "1024", "", "0,"),
    failed("-C --cores", f"{LATENCY} -C 1023", "no pinning to core 1023"),
    # At least five batches, and more in a longer time.
    bench(
        "-D --duration",
        f"-p tcp -t latency -s 8 --batch 8 -D 0.000001 {CSV}",
        csv_rows(messages="160"),
    ),
    bench(
        "-D --duration",
        f"-p tcp -t latency -s 8 --batch 8 -D .05 {CSV}",
        csv_rows(messages=lambda n: int(n) > 160),
    ),
    *wrong_values("-D", "--duration", "0", "x", "-1", "86401", "", "1s"),
    latency(
        "-n --count",
        f"-n 24 {CSV}",
        calls_are("main", 4 + 12 + 48, "tsend", len=8),
        csv_rows(messages="96"),
    ),
    stream(
        "-n --count",
        f"-n 24 {CSV}",
        calls_are("main", 8 + 24 + 24, "tsend", len=64),
        csv_rows(messages="24"),
    ),
    *wrong_values("-n", "--count", "0", *NUMBERS),
    usage_error("-n --count", "-n 1099511627777", "count, batch and warm-up: at most"),
    latency("--batch", "--batch 2", calls_are("main", 4 + 6 + 16, "tsend", len=8)),
    stream("--batch", "--batch 16", calls_are("main", 8 + 48 + 16, "tsend", len=64)),
    *wrong_values("--batch", "--batch", "0", *NUMBERS),
    usage_error(
        "--batch", "--batch 1099511627777", "count, batch and warm-up: at most"
    ),
    latency("-W --warmup", "-W 3", calls_are("main", 3 + 12 + 16, "tsend", len=8)),
    *wrong_values("-W", "--warmup", "0", *NUMBERS),
    usage_error("-W --warmup", "-W 1099511627777", "count, batch and warm-up: at most"),
    latency(
        "--percentiles",
        f"--percentiles no {CSV}",
        calls_are("main", 4 + 12 + 8, "tsend", len=8),
        csv_rows(p50_ns="0.0", max_ns="0.0", messages="16"),
    ),
    latency(
        "--percentiles",
        f"--percentiles yes {CSV}",
        csv_rows(p50_ns=lambda ns: float(ns) > 0, messages="32"),
    ),
    *wrong_values("--percentiles", "--percentiles", "some", "No", ""),
    Stopped(
        "--timeout",
        "-p tcp -t latency -s 8 -D 100 --timeout 1",
        exits(1),
        err("nothing moves any more|no word of the peer within the timeout"),
        env=TOLD,
    ),
    *wrong_values("--timeout", "--timeout", *NUMBERS),
    *[
        usage_error("--timeout", f"--timeout {n}", "timeout: from 1 to 86400")
        for n in (0, 86401)
    ],
    Served(
        "-S --server -P --port",
        f"{LATENCY} -P {{port}} 127.0.0.1",
        exits(0),
        table("8"),
        processes(2),
        env=TOLD,
    ),
    Served(
        "-S --server",
        f"{LATENCY} 127.0.0.1",
        exits(0),
        table("8"),
        server="-S",
        port=DEFAULT_PORT,
        env=TOLD,
    ),
    Served(
        "-S --server",
        f"{LATENCY} -P {{port}} 127.0.0.1",
        exits(0),
        table("8"),
        server="--server --port",
        env=TOLD,
    ),
    failed(
        "-P --port",
        "-P {free} 127.0.0.1",
        "connecting to 127.0.0.1 port {free}: Connection refused",
    ),
    *wrong_values("-P", "--port", "0", "65536", "ssh", ""),
    latency("--label", f"--label 'a, b' {CSV}", csv_rows(label="a, b")),
    latency(
        "--label",
        CSV,
        csv_rows(label=lambda text: text.startswith("tcp rdm, libfabric 2.6")),
    ),
    latency(
        "--csv", "--csv c.csv", table("8"), file_fits("c.csv", csv_has(",latency,8,"))
    ),
    latency(
        "--csv", CSV, lambda r: wrong_unless(csv_has(",latency,8,")(r.out), "no CSV")
    ),
    failed("--csv", f"{LATENCY} --csv {{here}}/none/c.csv", "No such file"),
    failed("--csv", f"{LATENCY} --csv /dev/full", "/dev/full: No space left on device"),
    latency(
        "--json",
        "--json c.json --label 'a\"b'",
        table("8"),
        file_fits("c.json", is_json(label='a"b', endpoint="rdm")),
    ),
    latency(
        "--json",
        "--json -",
        lambda r: wrong_unless(is_json(provider="tcp")(r.out), "no JSON"),
    ),
    failed("--json", f"{LATENCY} --json {{here}}/none/c.json", "No such file"),
    failed("--json", f"{LATENCY} --json /dev/full", "/dev/full: No space left on device"),
    latency("--plot", "--plot c.svg", table("8"), file_fits("c.svg", curves(1))),
    failed("--plot", f"{LATENCY} --plot {{here}}/none/c.svg", "No such file"),
    With(
        "--with",
        "--plot c.svg --with old.csv",
        exits(0),
        silent,
        file_fits("c.svg", curves(3)),
    ),
    With(
        "--with",
        f"{LATENCY} -q --plot c.svg --with old.csv",
        exits(0),
        silent,
        file_fits("c.svg", curves(4)),
    ),
    With(
        "--with",
        "--plot c.svg --with old.csv --with other.csv",
        exits(0),
        silent,
        file_fits("c.svg", curves(4)),
    ),
    failed("--with", "--plot c.svg --with none.csv", "none.csv: No such file"),
    usage_error(
        "--with", f"--plot c.svg {'--with x ' * 17}", "--with: 'x' is not understood"
    ),
    latency("--histogram", "--histogram", out(r"^ +[\d.]+ us +\d+ #+$")),
    latency("--histogram", "", out("#####", 0)),
    latency(
        "-q --quiet",
        "-q --csv c.csv",
        silent,
        file_fits("c.csv", csv_has(",latency,8,")),
    ),
    Compared(
        "--vs --rounds",
        f"{LATENCY} --vs {{here}}/other --rounds 2",
        exits(0),
        runs_are(8),
        out("^# first: .*{build}"),
        out("^# second: .*{here}/other/"),
        out("^# 2 interleaved rounds; "),
        env=TOLD,
    ),
    Compared(
        "--rounds",
        f"{LATENCY} --vs {{here}}/other",
        exits(0),
        out("^# 5 interleaved rounds; "),
    ),
    Compared(
        "--vs",
        "-p tcp -t latency,rate -s 8,16 -D 0.005 --vs {here}/other --rounds 1",
        exits(0),
        out("^# latency, us\n.*\n +8 .*\n +16 .*\n\n# rate, M/s\n.*\n +8 .*\n +16 "),
    ),
    failed("--vs", "--vs {here}", "{here}/libfabric.so.1: No such file"),
    *wrong_values("--rounds", "--rounds", "0", "1001", *NUMBERS),
    WithUcx(
        "--vs-ucx",
        f"{LATENCY} -n 200 --vs-ucx --rounds 1",
        exits(0),
        out("^# second: UCX"),
        out(r"^       8 .* 3\.500 +3\.500 "),
        ucx_asked(
            "tcp -p PORT", "tcp localhost -p PORT -t tag_lat -s 8 -n 200 -w 21 -f -v"
        ),
        env={"PATH": "{path}"},
    ),
    refused(
        "--vs-ucx", "--vs-ucx -t exchange", 2, "ucx_perftest has none of these tests"
    ),
    Bench(
        "-h --help",
        "-h",
        exits(0),
        usage(),
        err(r"\A\Z"),
        *[
            out(rf"^  {re.escape(test)} +\w")
            for test in MESSAGES + RMA + ATOMICS + ENDPOINTS + GROUPS
        ],
    ),
    Bench(
        "--version",
        "--version",
        exits(0),
        whole_out(
            r"fi_bench: \d+\.\d+\.\d+\nlibfabric api: 2\.6\nlibfabric: {build}/src/libfabric\.so\.1.*\n",
        ),
        err(r"\A\Z"),
    ),
    # What makes no sense together.
    *[
        usage_error("", f"-S {more}", "a server does what its client asks")
        for more in ("host", "--vs x", "--vs-ucx", "--csv x", "--json x", "--plot x")
    ],
    *[
        usage_error(
            "", f"{more} host", "comparisons run between processes of one machine"
        )
        for more in ("--vs x", "--vs-ucx")
    ],
    *[
        usage_error("", f"--vs x {more}", "comparisons have no histograms")
        for more in ("--json x", "--histogram")
    ],
    *[
        usage_error("--vs-ucx", f"--vs-ucx {more}", "ucx_perftest runs one thread")
        for more in ("-c", "-T 2", "--inject", "--sleep")
    ],
    usage_error("--vs --vs-ucx", "--vs x --vs-ucx", "one comparison at a time"),
    usage_error("--with", "--with c.csv -s 8", "--with adds to a plot"),
    usage_error("-m", "-m 3 -t barrier host", "members are processes of one machine"),
    usage_error("", "--csv - --json -", "only one of CSV and JSON"),
    usage_error("", "a b", "more than one server"),
    *[
        usage_error(
            "-t",
            f"-t {test} -m 3",
            "more than two members take part in collectives only",
        )
        for test in ("latency", "ramp", "add_rate,barrier")
    ],
    usage_error("", "-t barrier -e msg", "collectives have endpoints of type rdm"),
    usage_error("", "-t allreduce -s 12", "collectives move doubles"),
    usage_error("", "-t barrier -T 2", "collectives run in one thread"),
    *[
        usage_error("", f"-e dgram -t latency {more}", "datagrams, which may be lost")
        for more in ("-i 1", "-c", "--call tagged", "-t exchange")
    ],
    *[
        usage_error("", more, "new endpoints, idle peers and datagrams: one thread")
        for more in ("-T 2 -t connect", "-T 2 -t ramp", "-T 2 -i 1", "-T 2 -e dgram -t rate")
    ],
    *[
        usage_error("", f"--sleep -t {test}", "blocking reads: tests of messages only")
        for test in ("write_latency", "connect", "barrier")
    ],
    *[
        usage_error("", f"--inject -c -t {test}", "injected writes are not verified")
        for test in ("write_latency", "add_rate")
    ],
    *[
        usage_error("--silent", f"--silent -t {test}", "a silent target: tests of RMA")
        for test in ("latency", "ramp", "write_latency,barrier")
    ],
    usage_error(
        "", "--silent -t write_latency --inject", "a silent target: not with --inject"
    ),
    usage_error("", "--silent -t write_latency -T 2", "a silent target: one thread"),
    Row(
        "",
        "--bogus",
        exits(2),
        err("unrecognized option"),
        err("^fi_bench --help lists all options$"),
        silent,
        refused=True,
    ),
    Row(
        "",
        "-x",
        exits(2),
        err("invalid option"),
        err("^fi_bench --help lists all options$"),
        silent,
        refused=True,
    ),
]
