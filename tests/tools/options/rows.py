# SPDX-License-Identifier: BSD-2-Clause
"""What the tables of <tool>_rows.py are made of: rows, and what must be seen.

A row has the options that it is about, a command line without the tool's name, and checks
of the result. {names} in the line and in patterns are those of Place. The first row of each
option is run with both of its forms.
"""

import contextlib
import os
import random
import re
import shlex
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import tool_options

BUILD = Path(os.environ.get("WEFT_BUILD", "build"))


TOLD = {
    "FI_PROVIDER_PATH": f"+{os.environ.get('WEFT_TOLD')}/libcalls-fi.so",
    "FI_HOOK": "told",
    "TOLD_CALLS": "{here}/calls",
    # The shared memory beneath would be called, too.
    "FI_TCP_LOCAL": "tcp",
}


def limit_s(seconds):
    """As in tests/limits.sh."""
    load = float(os.environ.get("WEFT_LOAD") or 0)
    if not load:
        load = 1 + int(os.getloadavg()[0]) // os.cpu_count()
    return seconds * min(load, 8)


class Wrong(Exception):
    pass


def wrong_unless(condition, text):
    if not condition:
        raise Wrong(text)


# ---- results ----


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        self.place = None

    def __str__(self):
        return f"status {self.status}\n--- out\n{self.out[:3000]}--- err\n{self.err[:3000]}"


class Place:
    """A directory of files for one run, and the environment."""

    def __init__(self, tool, names):
        self.tool = tool
        self.path = Path(tempfile.mkdtemp(prefix="options-"))
        self.names = {"here": str(self.path), **names}

    def fill(self, text):
        return re.sub(r"\{(\w+)\}", lambda m: str(self.names.get(m[1], m[0])), text)

    def environment(self, extra=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FI_")}
        env.pop("LD_PRELOAD", None)
        env["LD_LIBRARY_PATH"] = str(BUILD / "src")
        # Loopback alone, whatever else the machine has.
        env["FI_TCP_IFACE"] = env["FI_UDP_IFACE"] = "lo"
        for name, value in (extra or {}).items():
            env[name] = self.fill(value)
        return env

    def start(self, words, env=None, **kwargs):
        return subprocess.Popen(
            [BUILD / "tools" / self.tool, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd=self.path,
            env=self.environment(env),
            **kwargs,
        )

    def finish(self, process, seconds=15):
        try:
            out, err = process.communicate(timeout=limit_s(seconds))
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\n(killed: it did not end in time)"
        result = Result(
            process.returncode, out.decode(), err.decode("utf-8", "replace")
        )
        result.place = self
        return result

    def run(self, words, env=None):
        return self.finish(self.start(words, env))


def read_calls(place):
    """For each process: its calls, as (time, call, {field: value})."""
    found = {}
    for path in place.path.glob("calls.*"):
        lines = [line.split() for line in path.read_text("ascii").splitlines()]
        found[int(path.suffix[1:])] = [
            (int(at), call, dict(word.split("=") for word in words))
            for at, call, *words in lines
        ]
    return found


def free_port(family=socket.AF_INET):
    """Below the ports that the kernel hands out: nobody gets it before the tool does."""
    while True:
        with socket.socket(family) as s:
            with contextlib.suppress(OSError):
                s.bind(("", random.randrange(20000, 30000)))
                return s.getsockname()[1]


def may_listen(port):
    """Nobody listens at the port, and no connection of another program had it of late."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("", port))
            s.listen()
        except OSError:
            return False
    return True


def wait_until(condition, process=None, seconds=10):
    end = time.monotonic() + limit_s(seconds)
    while not condition():
        if time.monotonic() > end or (process and process.poll() is not None):
            return False
        time.sleep(0.005)
    return True


def listening(port, files=("tcp", "tcp6")):
    """Which of these files of /proc/net have a listener at the port."""
    found = []
    for name in files:
        text = Path(f"/proc/net/{name}").read_text("ascii")
        if re.search(rf": [0-9A-F]*:{port:04X} [0-9A-F]*:0000 0A ", text):
            found.append(name)
    return found


# ---- rows ----


class Row:
    def __init__(self, about, line, *checks, env=None, refused=False):
        self.about, self.line, self.checks = about, line, checks
        self.env, self.refused = env, refused

    def run_once(self, place, words):
        return place.run([place.fill(word) for word in words], self.env)

    def run(self, place, words):
        result = self.run_once(place, words)
        for check in self.checks:
            try:
                check(result)
            except Wrong as wrong:
                raise Wrong(f"{wrong}\n{result}") from None


def variants(tool, row, known):
    """The words of the row's line; of the first row that has an option at work, also those
    with the other form of it. @known: the options that had such a row."""
    words = shlex.split(row.line)
    lines = [words]
    for option, takes_argument in tool_options.parsed(tool).items():
        short, long = min(option, key=len), max(option, key=len)
        if row.refused or option in known or not option & set(row.about.split()):
            continue
        known.add(option)
        lines.append(other_form(words, short, long, takes_argument))
    return [line for i, line in enumerate(lines) if line not in lines[:i]]


def other_form(words, short, long, takes_argument):
    if short == long:
        return words
    new = []
    words = list(words)
    while words:
        word = words.pop(0)
        if word == short and takes_argument and words:
            new.append(f"{long}={words.pop(0)}")
        elif word == short:
            new.append(long)
        elif word == long and takes_argument and words:
            new += [short, words.pop(0)]
        elif word == long:
            new.append(short)
        else:
            new.append(word)
    return new


def refused(about, line, status, pattern, **kwargs):
    """It ends with this status, prints nothing of a result, and says why."""
    return Row(about, line, exits(status), err(pattern), silent, refused=True, **kwargs)


# ---- what must be seen ----


def exits(status):
    def check(r):
        wrong_unless(r.status == status, f"exits with {r.status}, not {status}")

    return check


def silent(r):
    wrong_unless(not r.out, "prints something on the standard output")


def _matches(r, stream, pattern):
    pattern = r.place.fill(pattern)
    return len(re.findall(pattern, getattr(r, stream), re.M))


def _seen(stream, pattern, number):
    def check(r):
        found = _matches(r, stream, pattern)
        good = found > 0 if number is None else found == number
        wrong_unless(good, f"{found} times '{pattern}' in {stream}, wanted: {number}")

    return check


def out(pattern, number=None):
    """The standard output has the pattern, so many times."""
    return _seen("out", pattern, number)


def err(pattern, number=None):
    return _seen("err", pattern, number)


def whole_out(pattern):
    """The whole standard output fits the pattern."""

    def check(r):
        wanted = r.place.fill(pattern)
        wrong_unless(re.fullmatch(wanted, r.out), f"the output is not '{wanted}'")

    return check


def usage(stream="out"):
    """The help text, with each option of the tool."""

    def check(r):
        text = getattr(r, stream)
        wrong_unless(re.search("^[Uu]sage:", text, re.M), f"no usage in {stream}")
        for option in tool_options.parsed(r.place.tool):
            for form in option:
                found = re.search(rf"(?<![\w-]){form}(?![\w-])", text)
                wrong_unless(found, f"the usage lacks {form}")

    return check
