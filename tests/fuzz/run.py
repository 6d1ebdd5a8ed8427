#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run the libFuzzer targets of a build, as many at once as there are processors.

Seeds come from tests/fuzz/corpus/<target>/; what is found stays in the build folder.
Exit status 1 when a target crashed, leaked or hung.
"""
import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

here = os.path.dirname(os.path.abspath(__file__))
ap = argparse.ArgumentParser()
ap.add_argument("--build", required=True)
ap.add_argument("--seconds", default="60")
ap.add_argument("--live-seconds", help="for targets that drive endpoints (default: as --seconds)")
ap.add_argument("--target")
ap.add_argument("--junit", help="write the results there as well")
args = ap.parse_args()

# Targets that drive endpoints: a run of theirs takes a thousand times as long as one of a
# decoder, and long inputs make it rarer still.
live = {"tcp_live": ["-max_len=800"], "shm_lane": [], "lnx_live": ["-max_len=800"]}

folder = os.path.join(args.build, "tests", "fuzz")


def name_of(exe):
    return os.path.basename(exe)[: -len("_fuzz")]


def run(exe):
    name = name_of(exe)
    corpus = os.path.join(folder, "corpus-" + name)
    os.makedirs(corpus, exist_ok=True)
    seconds = args.live_seconds or args.seconds if name in live else args.seconds
    command = [exe, "-max_total_time=" + seconds, "-timeout=20", "-rss_limit_mb=2048",
               *live.get(name, []), "-print_final_stats=1",
               "-artifact_prefix=" + corpus + "-crash-", corpus]
    seeds = os.path.join(here, "corpus", name)
    if os.path.isdir(seeds):
        command.append(seeds)
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")


targets = [exe for exe in sorted(glob.glob(os.path.join(folder, "*_fuzz")))
           if args.target in (None, name_of(exe))]
targets.sort(key=lambda exe: name_of(exe) not in live)  # the longest first
suite = ET.Element("testsuite", name="fuzz")
failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for exe, done in zip(targets, pool.map(run, targets)):
        name = name_of(exe)
        runs = [l.split()[-1] for l in done.stdout.splitlines()
                if "number_of_executed_units" in l]
        case = ET.SubElement(suite, "testcase", classname="fuzz", name=name)
        if done.returncode:
            failed += 1
            ET.SubElement(case, "failure").text = done.stdout[-4000:]
            print("%s: FAILED\n%s" % (name, done.stdout[-4000:]))
        else:
            print("%s: %s inputs, nothing found" % (name, runs[0] if runs else "?"))
        sys.stdout.flush()
if not len(suite):
    print("no fuzz target in " + folder)
    failed = 1
if args.junit:
    ET.ElementTree(suite).write(args.junit)
sys.exit(1 if failed else 0)
