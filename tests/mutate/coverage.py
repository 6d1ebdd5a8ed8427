# SPDX-License-Identifier: BSD-2-Clause
"""Which tests execute a line: from one build in which each basic block tells that it was
executed (cover.c), remembered for each state of src, tools and tests."""
import bisect
import hashlib
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import builds

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 240


def state():
    """A number of the source as it is."""
    names = builds.run(["git", "-C", builds.TOP, "ls-files", "-z", "src", "tools", "tests",
                        "include"]).stdout.split("\0")[:-1]
    digest = hashlib.sha256()
    for name in names:
        path = os.path.join(builds.TOP, name)
        if name.startswith(("tests/mutate/", "tests/mutants/")) or not os.path.exists(path):
            continue
        digest.update(name.encode() + b"\0")
        with open(path, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:16]


def lines_of(module, addresses, tree):
    """For each address in @module, the places in the source, inlined ones too."""
    if not addresses:
        return {}
    asked = "\n".join(hex(a) for a in addresses)
    out = subprocess.run(["addr2line", "-a", "-i", "-e", module], input=asked,
                         capture_output=True, text=True, check=True).stdout
    found, at = {}, None
    for line in out.splitlines():
        if line.startswith("0x"):
            at = int(line, 16)
            found[at] = []
            continue
        path, _, number = line.split(" (")[0].rpartition(":")
        path = os.path.relpath(os.path.normpath(path), tree)
        if number.isdigit() and not path.startswith(".."):
            found[at].append((path, int(number)))
    return found


def points_of(module):
    """The addresses of all basic blocks of @module, as cover.c counts them."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", module], capture_output=True,
                         text=True, check=True).stdout
    points, called = [], False
    for line in out.splitlines():
        m = re.match(r"\s*([0-9a-f]+):\t(.*)", line)
        if not m:
            continue
        if called:
            points.append(int(m.group(1), 16) - 1)
        called = "<__sanitizer_cov_trace_pc" in m.group(2)
    return points


class Coverage:
    """tests: name -> seconds; blocks: path -> sorted lines at which blocks begin;
    executed: path -> line -> names of tests."""

    def __init__(self, data):
        self.tests = data["tests"]
        self.blocks = data["blocks"]
        self.executed = data["executed"]
        self.failed = set(data["failed"])

    def of(self, path, line):
        """The names of the tests that execute the line, quickest first."""
        blocks = self.blocks.get(path, [])
        at = bisect.bisect_right(blocks, line)
        if not at:
            return []
        names = self.executed.get(path, {}).get(str(blocks[at - 1]), [])
        return sorted((n for n in names if n not in self.failed),
                      key=lambda n: self.tests[n])


def measure(build, jobs):
    """Run all tests of @build, and return what Coverage is made of."""
    tests = build.tests()
    data = {"tests": {}, "blocks": {}, "executed": {}, "failed": []}
    modules = {os.path.basename(f): os.path.join(build.dir, f)
               for t in build.introspect("targets") for f in t["filename"]}
    folder = os.path.join(builds.ROOT, "executed")
    shutil.rmtree(folder, ignore_errors=True)

    def run_one(test):
        out = os.path.join(folder, test.name)
        os.makedirs(out)
        status, took = test.start(LIMIT_S, {"WEFT_COVER": out, "WEFT_WATCHDOG_S": str(LIMIT_S)})
        data["tests"][test.name] = round(took, 3)
        if status not in (0, 77):
            data["failed"].append(test.name)
        print("  %-44s %6.1f s%s" % (test.name, took,
                                     "" if status in (0, 77) else "  (left out: fails)"),
              flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run_one, [t for t in tests if not t.alone]))
    for test in tests:
        if test.alone:
            run_one(test)
    hits = {}
    for name in data["tests"]:
        out = os.path.join(folder, name)
        for module in os.listdir(out):
            with open(os.path.join(out, module), "rb") as f:
                content = f.read()
            for m in re.finditer(b"\x01", content):
                hits.setdefault(module, {}).setdefault(m.start(), []).append(name)
    for module, by_address in hits.items():
        # libfabric.so.1 is a link to the file.
        path = modules.get(module) or next(
            (p for n, p in modules.items() if module in (n, re.sub(r"(\.so\.\d+).*", r"\1", n))),
            None)
        if not path:
            continue
        for address, places in lines_of(path, sorted(by_address), build.tree).items():
            for file, line in places:
                known = data["executed"].setdefault(file, {}).setdefault(str(line), [])
                known.extend(n for n in by_address[address] if n not in known)
    shutil.rmtree(folder, ignore_errors=True)
    whole = [p for n, p in modules.items()
             if n.startswith("libfabric.so") or "/tools/" in p and not n.endswith(".a")]
    blocks = {}
    for path in whole:
        for places in lines_of(path, points_of(path), build.tree).values():
            for file, line in places:
                blocks.setdefault(file, set()).add(line)
    for file, lines in data["executed"].items():
        blocks.setdefault(file, set()).update(int(n) for n in lines)
    data["blocks"] = {f: sorted(n) for f, n in blocks.items()}
    return data


def get(jobs):
    path = os.path.join(builds.ROOT, "coverage-%s.json" % state())
    if not os.path.exists(path):
        print("building and running all tests once, to see which lines each one executes",
              flush=True)
        os.makedirs(builds.ROOT, exist_ok=True)
        runtime = os.path.join(builds.ROOT, "cover.o")
        subprocess.check_call(["gcc", "-O2", "-fPIC", "-D_GNU_SOURCE", "-c", "-o", runtime,
                               os.path.join(HERE, "cover.c")])
        build = builds.Build("cover", ["-Doptimization=0",
                                       "-Dc_args=-fsanitize-coverage=trace-pc",
                                       "-Dc_link_args=" + runtime,
                                       "-Dcpp_link_args=" + runtime])
        build.copy()
        build.prepare()
        failed = build.ninja(jobs=jobs)
        if failed:
            raise SystemExit(failed)
        data = measure(build, jobs)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(data, f)
    with open(path, encoding="utf-8") as f:
        return Coverage(json.load(f))
