# SPDX-License-Identifier: BSD-2-Clause
"""The test plays the monitored program: it writes samples with known numbers into a file as
src/providers/hook_monitor/format.h has it, and the output is compared byte by byte.
"""

import fcntl
import os
import signal
import struct
import threading
import time
from pathlib import Path

from rows import Row, err, exits, limit_s, refused, silent, usage, wait_until
from rows import whole_out, wrong_unless

NAMES = {}

# As scripts know them, in the order of the columns.
CALLS = "recv recvv recvmsg trecv trecvv trecvmsg send sendv sendmsg inject senddata"
CALLS += " injectdata"
CALLS += " tsend tsendv tsendmsg tinject tsenddata tinjectdata read readv readmsg write writev"
CALLS += " writemsg inject_write writedata inject_writedata mr_reg mr_regv mr_regattr cq_read"
CALLS += " cq_readfrom cq_readerr cq_sread cq_sreadfrom cq_ctx cq_msg_tx cq_msg_rx cq_data_tx"
CALLS += " cq_data_rx cq_tagged_tx cq_tagged_rx"
BUCKETS = "0_64 64_512 512_1K 1K_4K 4K_64K 64K_256K 256K_1M 1M_4M 4M_UP"
CELLS = [f"mon_{call}_{bucket}" for call in CALLS.split() for bucket in BUCKETS.split()]
HEADER = ",".join(f"{cell}_c,{cell}_s" for cell in CELLS) + "\n"

SAMPLE = struct.Struct(f"=QQQQ{2 * len(CELLS)}Q")
HEAD = struct.Struct("=8sIIIIQQ")
WANTED, ANSWERED = 24, 32


def numbers(sample):
    """A number of calls and of bytes for each cell; all of them differ."""
    return [sample * 10**12 + i * i + 7 for i in range(2 * len(CELLS))]


def csv(*samples):
    return "".join(",".join(map(str, numbers(i))) + "\n" for i in samples)


class Program:
    """A monitored program: it answers so many samples, then it ends with another one, or
    dies, or goes on without an answer."""

    def __init__(self, path, answers, then="ends", first_wanted=0):
        self.path, self.answers, self.then = path, answers, then
        self.asked_at, self.numbers = [], []
        self.go = threading.Event()
        size = HEAD.size + 2 * SAMPLE.size
        head = HEAD.pack(b"weftmon", 1, size, len(CELLS) // 9, 9, first_wanted, 0)
        # Whole before it is found in its directory.
        hidden = path.with_name("." + path.name)
        hidden.write_bytes(head + bytes(size - len(head)))
        self.fd = os.open(hidden, os.O_RDWR)
        fcntl.fcntl(self.fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        os.utime(hidden, (0, 0))
        hidden.rename(path)
        self.thread = threading.Thread(target=self.live, daemon=True)

    def word(self, at):
        return struct.unpack("=Q", os.pread(self.fd, 8, at))[0]

    def store(self, number, ended, sample):
        peers = (sample * 100 + 3, sample * 100 + 12)
        data = SAMPLE.pack(number, ended, *peers, *numbers(sample))
        os.pwrite(self.fd, data, HEAD.size + number % 2 * SAMPLE.size)
        os.pwrite(self.fd, struct.pack("=Q", number), ANSWERED)

    def live(self):
        # The sampler has written into the file, if only what was there.
        wait_until(lambda: os.fstat(self.fd).st_mtime or not self.answers)
        for sample in range(1, self.answers + 1):
            self.go.wait()
            if not wait_until(lambda: self.word(WANTED) != self.word(ANSWERED)):
                return
            self.asked_at.append(time.monotonic())
            self.numbers.append(self.word(WANTED))
            self.store(self.numbers[-1], 0, sample)
        if self.then == "ends":
            self.store(self.word(WANTED) + 1, 1, self.answers + 1)
        if self.then == "dies":
            os.close(self.fd)

    def start(self):
        self.go.set()
        self.thread.start()


class Sampled(Row):
    """The target is the file {here}/files/one, of the directory {here}/files. Behind it the
    files of the outputs are seen as {one}.csv and so forth."""

    def __init__(self, about, line, *checks, answers=1, then="ends", **kwargs):
        self.answers, self.then = answers, then
        self.others = kwargs.pop("others", ())
        self.after = kwargs.pop("after", None)
        self.first_wanted = kwargs.pop("first_wanted", 0)
        super().__init__(about, line, exits(kwargs.pop("status", 0)), *checks, **kwargs)

    def run_once(self, place, words):
        files = place.path / "files"
        files.mkdir()
        (place.path / "out").mkdir()
        programs = [
            Program(files / name, self.answers, self.then, self.first_wanted)
            for name in ("one", *self.others)
        ]
        for program in programs:
            program.start()
        begin = time.monotonic()
        process = place.start([place.fill(word) for word in words], self.env)
        if self.after:
            self.after(place, process, programs)
        result = place.finish(process)
        for program in programs:
            program.answers = 0
        result.numbers = programs[0].numbers
        result.waits = [at - begin for at in programs[0].asked_at]
        return result


def file_is(name, content):
    def check(r):
        path = r.place.path / "out" / name
        wrong_unless(path.exists(), f"there is no {name}")
        text = path.read_text("ascii")
        wrong_unless(
            text == content, f"{name} has {text[:300]} instead of {content[:300]}"
        )

    return check


def out_is(content):
    def check(r):
        wrong_unless(r.out == content, f"{r.out[:300]} instead of {content[:300]}")

    return check


def err_is(content):
    def check(r):
        wanted = r.place.fill(content)
        wrong_unless(r.err == wanted, f"says '{r.err}' instead of '{wanted}'")

    return check


def apart(number, seconds):
    """The sample of this number was asked for no sooner than so many seconds after the
    first one could be."""

    def check(r):
        wrong_unless(len(r.waits) >= number, f"{len(r.waits)} samples")
        waited = r.waits[number - 1]
        wrong_unless(waited >= seconds, f"sample {number} came after {waited:.3f} s")

    return check


def numbers_are(*wanted):
    """The numbers of the samples that were asked for."""

    def check(r):
        wrong_unless(r.numbers == list(wanted), f"{r.numbers}, not {wanted}")

    return check


def interrupt(sig, condition):
    """Sends a signal when the condition holds."""

    def act(place, process, programs):
        wait_until(lambda: condition(place, programs), process)
        process.send_signal(sig)

    return act


def has_file(name):
    return lambda place, _: (place.path / "out" / name).exists()


def was_asked(_, programs):
    return programs[0].word(WANTED) != 0


def add_program(place, process, programs):
    """Another program begins when the first one has been asked twice."""
    wait_until(lambda: len(programs[0].asked_at) > 1, process)
    late = Program(place.path / "files" / "late", 1)
    late.start()
    wait_until(lambda: late.asked_at, process)
    programs.append(late)


def append(place, process, programs):
    """The second run of the same sampler, whose file is there already."""
    wait_until(lambda: process.poll() is not None, None)
    again = place.run(["-o", str(place.path / "out"), str(programs[0].path)])
    wrong_unless(again.status == 0, f"the second run exits with {again.status}")




ONE = "{here}/files/one"
NOTES = "Writing sampled data to {here}/out/%s\nClosed {here}/out/%s\n"

ROWS = [
    Sampled("", ONE, out_is(HEADER + csv(1)), err_is("")),
    Sampled("-f", f"-f csv {ONE}", out_is(HEADER + csv(1)), err_is("")),
    Sampled("-f", f"-f peers {ONE}", out_is("shm,sockets\n103,112\n"), err_is("")),
    *[
        refused("-f", f"-f '{word}' {{here}}", 1, f"^Invalid format: {word}$")
        for word in ("xml", "CSV", "")
    ],
    # Again and again until the program ends; its last sample is the last row.
    Sampled(
        "-w", f"-w 0 {ONE}", out_is(HEADER + csv(1, 2, 3, 4)), err_is(""), answers=3
    ),
    Sampled(
        "-w",
        f"-w 150 {ONE}",
        out_is(HEADER + csv(1, 2, 3, 4)),
        apart(3, 0.3),
        answers=3,
    ),
    Sampled(
        "-w",
        f"-w 0 {ONE}",
        err_is("{here}/files/one: the process has died\n"),
        answers=2,
        then="dies",
    ),
    *[
        refused("-w", f"-w '{word}' {{here}}", 1, f"^Invalid interval: {word}$")
        for word in ("x", "-1", "", "10x", "2147483648", "99999999999999999999")
    ],
    Sampled(
        "-w -f",
        f"-w 0 -f peers {ONE}",
        out_is("shm,sockets\n103,112\n203,212\n303,312\n"),
        answers=2,
    ),
    Sampled(
        "-o",
        f"-o {{here}}/out {ONE}",
        silent,
        file_is("one.csv", HEADER + csv(1)),
        err_is(NOTES % ("one.csv", "one.csv")),
    ),
    Sampled(
        "-o -f",
        f"-o {{here}}/out -f peers {ONE}",
        silent,
        file_is("one.peers.csv", "shm,sockets\n103,112\n"),
        err_is(NOTES % ("one.peers.csv", "one.peers.csv")),
    ),
    # Appended, with one header.
    Sampled(
        "-o",
        f"-o {{here}}/out {ONE}",
        file_is("one.csv", HEADER + csv(1, 2)),
        after=append,
    ),
    # All files of a directory, but for hidden ones; with -w, also later ones.
    Sampled(
        "-o",
        "-o {here}/out {here}/files",
        file_is("one.csv", HEADER + csv(1)),
        file_is("two.csv", HEADER + csv(1)),
        lambda r: wrong_unless(len(os.listdir(r.place.path / "out")) == 2, "other files"),
        others=["two", ".hidden"],
    ),
    Sampled(
        "-o -w",
        "-w 5 -o {here}/out {here}/files",
        file_is("late.csv", HEADER + csv(1, 2)),
        after=add_program,
        answers=40,
    ),
    Sampled(
        "-o",
        "{here}/files",
        silent,
        err("^{here}/files: .*output directory, -o$"),
        status=1,
        refused=True,
    ),
    Sampled(
        "-o",
        f"-o {{here}}/none {ONE}",
        silent,
        err("^{here}/none/one.csv: No such file"),
        status=1,
        refused=True,
    ),
    Row("-h", "-h", exits(0), usage(), err(r"\A\Z")),
    Row("", "", exits(0), usage(), err("^No target: ")),
    Row(
        "",
        "{here} {here}",
        exits(1),
        usage(),
        err("^More than one target$"),
        refused=True,
    ),
    Row("", "-x {here}", exits(1), usage(), err("-- 'x'"), refused=True),
    *[
        Row(
            f"-{letter}", f"-{letter}", exits(1), usage(), err("argument"), refused=True
        )
        for letter in "wfo"
    ],
    refused("", "{here}/none", 1, "^{here}/none: No such file"),
    # Signals end a repeated sampling well, and a single sample not.
    *[
        Sampled(
            "-w -o",
            f"-w 1 -o {{here}}/out {ONE}",
            err("^Closed {here}/out/one.csv$"),
            answers=1000,
            after=interrupt(sig, has_file("one.csv")),
        )
        for sig in (signal.SIGINT, signal.SIGTERM)
    ],
    Sampled(
        "",
        f"{ONE}",
        out_is(HEADER),
        answers=0,
        then="lives",
        after=interrupt(signal.SIGTERM, was_asked),
        status=1,
    ),
    # What an earlier sampler asked for and did not wait for.
    Sampled("", ONE, out_is(HEADER + csv(1)), numbers_are(41), first_wanted=41),
    Sampled("-w", f"-w 0 {ONE}", numbers_are(1, 2, 3), answers=3),
    # A program that ended before, with a sample that was not taken, or was.
    Sampled("", ONE, out_is(HEADER + csv(1)), answers=0),
    Sampled(
        "",
        ONE,
        out_is(HEADER),
        err_is("{here}/files/one: the process has died\n"),
        answers=0,
        then="dies",
        status=1,
    ),
]
