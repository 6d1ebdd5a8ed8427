#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mutate.py [--seed N] [--count M] [--jobs J] [--budget S] [--headers] [PATH...]: put M
small faults into the source below the paths (src and tools), one at a time, and see which
tests notice. See docs/testing.md.

For each fault: what does not compile is replaced by another one; what gives the same object
code is equivalent; else the tests that execute the line run, quickest first, as long as they
took S seconds together before. The same seed gives the same faults for the same source.
"""
import argparse
import hashlib
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import builds
import coverage
import operators

VERDICTS = os.path.join(builds.TOP, "tests", "mutants", "verdicts.txt")


class Mutant:
    def __init__(self, path, number, kind, old, new):
        self.path, self.number, self.kind, self.old, self.new = path, number, kind, old, new

    def key(self):
        """As in tests/mutants/verdicts.txt: it does not depend on the number of the line."""
        return " | ".join((self.path, self.old.strip(), self.new.strip()))

    def __str__(self):
        return "%s:%d: %s\n    - %s\n    + %s" % (
            self.path, self.number + 1, self.kind, self.old.strip(), self.new.strip())


def candidates(paths, headers):
    """All faults by kind."""
    endings = (".c", ".h") if headers else (".c",)
    names = builds.run(["git", "-C", builds.TOP, "ls-files", "-z", "--", *paths]).stdout
    kinds = {}
    for name in sorted(names.split("\0")[:-1]):
        if not name.endswith(endings):
            continue
        with open(os.path.join(builds.TOP, name), encoding="utf-8") as f:
            text = f.read()
        lines = text.split("\n")
        for number, kind, new in operators.mutations(text):
            kinds.setdefault(kind, []).append(Mutant(name, number, kind, lines[number], new))
    return kinds


def drawn(kinds, seed):
    """Faults in random order, none twice. Rare kinds come more often than they are."""
    rng = random.Random(seed)
    left = {kind: rng.sample(list_, len(list_)) for kind, list_ in sorted(kinds.items())}
    while any(left.values()):
        names = [k for k in left if left[k]]
        kind = rng.choices(names, [math.sqrt(len(left[k])) for k in names])[0]
        yield left[kind].pop()


def known_verdicts():
    """The faults of which somebody has written down that they have no effect."""
    try:
        with open(VERDICTS, encoding="utf-8") as f:
            lines = [line.rstrip("\n") for line in f]
    except FileNotFoundError:
        return set()
    return {" | ".join(line.split(" | ")[:3]) for line in lines
            if " | no effect" in line and not line.startswith("#")}


def code_hash(path):
    """Of the object file @path, without what is for debuggers."""
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        subprocess.check_call(["objcopy", "--strip-debug", path, out.name])
        with open(out.name, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()


class Worker:
    """A build in which one fault after the other is tried."""

    def __init__(self, number, cover, budget):
        self.build = builds.Build(str(number))
        self.sanitized = builds.Build(str(number), builds.SANITIZER, "sanitized")
        self.cover, self.budget = cover, budget

    def prepare(self, jobs):
        self.build.copy()
        for build in (self.build, self.sanitized):
            build.prepare()
            failed = build.ninja(jobs=jobs)
            if failed:
                raise SystemExit(failed)
        self.objects = self.build.objects()
        self.tests = {t.name: (self.build, t) for t in self.build.tests()}
        for test in self.sanitized.tests():
            if test.suite in builds.SANITIZED:
                self.tests[test.name] = self.sanitized, test

    def write(self, mutant, line):
        path = os.path.join(self.build.tree, mutant.path)
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        lines[mutant.number] = line
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))

    def hashes(self, mutant):
        return [code_hash(os.path.join(self.build.dir, o))
                for o in self.objects.get(mutant.path, [])]

    def try_one(self, mutant):
        """What became of the fault, and details: invalid, equivalent, noticed, unnoticed."""
        objects = self.objects.get(mutant.path, [])
        failed = self.build.ninja(*objects)
        if failed:
            return "invalid", "the state before does not compile"
        before = self.hashes(mutant)
        self.write(mutant, mutant.new)
        try:
            if self.build.ninja(*objects):
                return "invalid", "does not compile"
            if objects and self.hashes(mutant) == before:
                return "equivalent", "the same object code"
            return self.run_tests(mutant)
        finally:
            self.write(mutant, mutant.old)

    def run_tests(self, mutant):
        names = [n for n in self.cover.of(mutant.path, mutant.number + 1) if n in self.tests]
        spent, count, begun = 0.0, 0, time.monotonic()
        for name in names:
            took = self.cover.tests[name]
            if count and spent + took > self.budget:
                break
            spent += took
            count += 1
            build, test = self.tests[name]
            if build.ninja(*test.targets):
                return "invalid", "does not link"
            status, _ = test.start(20 + 5 * took, builds.SANITIZER_ENV)
            if status not in (0, 77):
                return "noticed", "by %s%s after %.1f s" % (
                    name, " (hangs)" if status is None else "", time.monotonic() - begun)
        if not names:
            return "unnoticed", "no test executes the line"
        return "unnoticed", "%d of %d tests, %.1f s" % (
            count, len(names), time.monotonic() - begun)


class Campaign:
    """Workers share the list of faults; @lock guards it and the results."""

    def __init__(self, mutants, count):
        self.mutants, self.left = mutants, count
        self.lock = threading.Lock()
        self.known = known_verdicts()
        self.counts = dict.fromkeys(("noticed", "unnoticed", "equivalent"), 0)
        self.rooms, self.times, self.lost = {}, [], []

    def next(self):
        with self.lock:
            if self.left <= 0:
                return None
            self.left -= 1
            return next(self.mutants, None)

    def tell(self, mutant, what, details):
        with self.lock:
            if what == "invalid":
                self.left += 1
                return
            if what == "unnoticed" and mutant.key() in self.known:
                what, details = "equivalent", "no effect, as was written down"
            self.counts[what] += 1
            room = "/".join(mutant.path.split("/")[:3 if "providers" in mutant.path else 2])
            of_room = self.rooms.setdefault(room, dict.fromkeys(self.counts, 0))
            of_room[what] += 1
            if what == "unnoticed":
                self.lost.append(mutant)
            if what == "noticed":
                self.times.append(float(details.split(" after ")[1].split()[0]))
            print("%s\n    %s %s" % (
                mutant, what.upper() if what == "unnoticed" else what, details), flush=True)

    def work(self, worker):
        while True:
            mutant = self.next()
            if not mutant:
                return
            self.tell(mutant, *worker.try_one(mutant))

    def close(self):
        print("\n%-28s %8s %10s %11s" % ("room", "noticed", "unnoticed", "equivalent"))
        for room, of_room in sorted(self.rooms.items()):
            print("%-28s %8d %10d %11d" % (room, of_room["noticed"], of_room["unnoticed"],
                                           of_room["equivalent"]))
        if self.times:
            self.times.sort()
            print("half of those noticed within %.1f s" % self.times[len(self.times) // 2])
        for mutant in self.lost:
            print("%s | " % mutant.key())
        print("%d mutants: %d noticed, %d unnoticed, %d equivalent" % (
            sum(self.counts.values()), self.counts["noticed"], self.counts["unnoticed"],
            self.counts["equivalent"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--budget", type=float, default=60, metavar="S")
    parser.add_argument("--headers", action="store_true", help="inline functions, too")
    parser.add_argument("paths", nargs="*", default=[])
    args = parser.parse_args()
    cover = coverage.get(args.jobs)
    workers = [Worker(n + 1, cover, args.budget) for n in range(args.jobs)]
    for worker in workers:
        worker.prepare(args.jobs)
    campaign = Campaign(
        drawn(candidates(args.paths or ["src", "tools"], args.headers), args.seed), args.count)
    threads = [threading.Thread(target=campaign.work, args=(w,)) for w in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    campaign.close()


if __name__ == "__main__":
    main()
