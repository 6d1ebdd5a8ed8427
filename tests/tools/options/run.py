#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run.py TOOL [PATTERN | I/N]: run the rows of TOOL, those whose options or line have PATTERN,
or part I of N.

WEFT_BUILD is the build root, WEFT_TOLD the folder of the told_*.c modules.
"""

import importlib
import re
import shlex
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import rows


def run_row(tool, names, row, words):
    place = rows.Place(tool, {"free": rows.free_port(), **names})
    begin = time.monotonic()
    try:
        row.run(place, words)
    except rows.Wrong as wrong:
        print(f"FAILED: {tool} {shlex.join(words)}\n{wrong}", flush=True)
        return False
    finally:
        shutil.rmtree(place.path)
    print(f"{tool} {shlex.join(words)}: {row.about} ({time.monotonic() - begin:.2f} s)")
    return True


def main():
    tool, pattern = sys.argv[1], (sys.argv[2:] or [""])[0]
    part, parts = 1, 1
    if re.fullmatch(r"\d/\d", pattern):
        part, parts = map(int, pattern.split("/"))
        pattern = ""
    module = importlib.import_module(f"{tool}_rows")
    known = set()
    todo = [
        (row, words)
        for row in module.ROWS
        if re.search(pattern, f"{row.about} {row.line}")
        for words in rows.variants(tool, row, known)
    ][part - 1 :: parts]
    # Processes of fi_bench poll, all others wait most of the time.
    with ThreadPoolExecutor(1 if tool == "fi_bench" else 4) as pool:
        good = list(pool.map(lambda at: run_row(tool, module.NAMES, *at), todo))
    print(f"{len(good)} command lines, {good.count(False)} failed")
    sys.exit(not good or not all(good))


main()
