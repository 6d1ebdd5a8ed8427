#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Has each call, field, source of events and full queue a test that notices when it fails?

check.py [BUILD]

pairs.txt has what each call of the interface leaves behind and what takes it back,
entries.txt the fields of entries, sources.txt the places where the library wakes a thread
that sleeps, or is told that a queue is full (-FI_EAGAIN). A call, field or place without a
row is a problem, and so is a row without one. The cases that rows name exist; with a build,
so do its tests.
"""
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests" / "kinds"
# A thread that sleeps is woken, or hears of a descriptor.
WAKES = re.compile(r"\bwf_wait_signal(?:_slow)?\(|\bwf_fds_(?:add|del|follow|unfollow)\(")
# A post of a provider was refused for want of space, or refuses for that reason.
FULL = re.compile(r"-FI_EAGAIN\b")
FUNCTION = re.compile(r"^[a-z][^;={}]*?\b(\w+)\((?:[^;]*)$")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
problems = []


def problem(text):
    problems.append(text)


def rows(name):
    """The fields of the rows of the table @name."""
    for number, line in enumerate((HERE / name).read_text("utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            yield "%s:%d" % (name, number), [part.strip() for part in line.split(" | ")]


def check_case(where, text):
    """@text: a file, and the case of it which is meant, if not all of them are."""
    path, _, case = text.partition(" ")
    if not (ROOT / path).is_file():
        problem("%s: there is no %s" % (where, path))
    elif case and not re.search(r"\b%s\b" % case, (ROOT / path).read_text("utf-8")):
        problem("%s: %s has no case %s" % (where, path, case))


def compare(what, wanted, found):
    for name in sorted(wanted - found):
        problem("%s has no row: %s" % (name, what))
    for name in sorted(found - wanted):
        problem("%s has a row and is not there: %s" % (name, what))


def abi(name):
    text = (ROOT / "tests" / "abi" / name).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def check_pairs():
    calls = {line[2] for line in abi("functions.tsv")}
    found = set()
    for where, row in rows("pairs.txt"):
        for name in row[0].split():
            matching = {name}
            if name.endswith("*"):
                matching = {call for call in calls if call.startswith(name[:-1])}
            twice = found & matching if not name.endswith("*") else set()
            for call in twice:
                problem("%s: %s has two rows" % (where, call))
            found |= matching
        if len(row) > 2:
            check_case(where, row[2])
        elif not row[1].startswith("nothing: "):
            problem("%s: no case" % where)
    compare("what takes it back (pairs.txt)", calls, found)


def check_entries():
    fields, entry = set(), None
    for line in abi("structs.tsv"):
        if line[0] == "struct":
            entry = line[2] if re.fullmatch(r"fi_(cq|eq)_(\w+_)?entry", line[2]) else None
        elif line[0] == "field" and entry:
            fields.add("%s %s" % (entry, line[1]))
    found = set()
    for where, row in rows("entries.txt"):
        entry, *names = row[0].split()
        found |= {"%s %s" % (entry, name) for name in names}
        check_case(where, row[1])
    compare("the case that compares it (entries.txt)", fields, found)


def places():
    """(file, function, kind) of each place that wakes or meets a full queue."""
    for path in sorted((ROOT / "src").rglob("*.c")):
        name = str(path.relative_to(ROOT))
        text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text("utf-8"))
        function = None
        for line in text.splitlines():
            head = FUNCTION.match(line)
            if head:
                function = head.group(1)
            if not line.startswith("\t"):
                continue
            if WAKES.search(line):
                yield name, function, "wake"
            if "/providers/" in name and FULL.search(line):
                if "return" not in line or "==" in line:
                    yield name, function, "full"


def tests_of(build):
    found = set()
    for test in json.loads((build / "meson-info" / "intro-tests.json").read_text("utf-8")):
        found.add("%s/%s" % (test["suite"][0].partition(":")[2], test["name"]))
    return found


def check_sources(tests):
    found = set()
    for where, row in rows("sources.txt"):
        if len(row) != 4:
            problem("%s: not four fields" % where)
            continue
        found.add(" ".join(row[:3]))
        if row[3].startswith("no effect: "):
            continue
        if tests is not None and row[3] not in tests:
            problem("%s: there is no test %s" % (where, row[3]))
        elif not (ROOT / "tests" / row[3].split("/")[0]).is_dir():
            problem("%s: there is no suite %s" % (where, row[3]))
    compare("the test that notices (sources.txt)", {" ".join(p) for p in places()}, found)


def main():
    build = Path(os.path.abspath(sys.argv[1])) if len(sys.argv) > 1 else None
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    check_pairs()
    check_entries()
    check_sources(tests_of(build) if build else None)
    for text in problems:
        print(text)
    print("kinds: %s" % ("%d problems" % len(problems) if problems else "ok"))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
