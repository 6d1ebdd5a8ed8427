#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Configure scripts find the version in rdma/fabric.h.

version_lines.py INCLUDE-DIR VERSION

They read the header as text: find modules of CMake by a regular expression with one
space between the words, autoconf macros by sed, awk and cut. Each way has to give
VERSION.
"""
import re
import subprocess
import sys

header = sys.argv[1] + "/rdma/fabric.h"
wanted = sys.argv[2].split(".")
names = ["FI_MAJOR_VERSION", "FI_MINOR_VERSION", "FI_REVISION_VERSION"]


def by_cmake(name):
    """file(STRINGS fabric.h REGEX ...), then string(REGEX REPLACE ...)."""
    with open(header, encoding="utf-8") as file:
        lines = [line for line in file if re.search(f"^#define {name} ", line)]
    return re.sub(f"^#define {name} ([0-9]+).*", r"\1", ";".join(lines)).strip()


def by_shell(command):
    return subprocess.run(["sh", "-c", command, "sh", header], check=True, text=True,
                          capture_output=True).stdout.strip()


WAYS = {
    "cmake": by_cmake,
    "sed": lambda name: by_shell(f"sed -n 's/^#define {name} \\([0-9]*\\)$/\\1/p' \"$1\""),
    "awk": lambda name: by_shell(f"awk '/^#define {name} /{{print $3}}' \"$1\""),
    "cut": lambda name: by_shell(f"grep '^#define {name}' \"$1\" | cut -d ' ' -f 3"),
}

failed = 0
for way, read in WAYS.items():
    got = [read(name) for name in names]
    if got != wanted:
        print(f"FAILED: {way} reads {got}, wanted {wanted}")
        failed += 1
print(f"{len(WAYS) - failed} ways of {len(WAYS)} read the version")
sys.exit(bool(failed))
