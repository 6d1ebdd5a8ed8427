#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compile each public header alone, without a warning.

    headers_alone.py COMPILER STANDARD INCLUDE

STANDARD is that of the -std option, such as c11 or c++17, and decides the language.
Prints what the compiler says about headers that fail, then "N passed, M failed".
"""

import shlex
import subprocess
import sys
from pathlib import Path

import tables

# Headers that are not of libfabric's interface of any version.
OWN = ["providers/fi_peer_coll.h"]


def complaints(compiler, standard, include, header):
    """What the compiler says about a header that is included twice, alone."""
    language = "c++" if "++" in standard else "c"
    pedantic = [] if language == "c++" else ["-Wpedantic"]
    command = shlex.split(compiler) + [f"-std={standard}", "-Wall", "-Wextra", "-Werror"]
    command += pedantic + ["-fsyntax-only", f"-I{include}", "-x", language, "-"]
    text = f"#include <rdma/{header}>\n" * 2
    result = subprocess.run(
        command, input=text, stderr=subprocess.PIPE, text=True, check=False
    )
    return result.stderr.strip() or ("" if result.returncode == 0 else "no message")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    compiler, standard, include = sys.argv[1:]
    tally = tables.Tally()
    present = {str(path.relative_to(include)) for path in Path(include).rglob("*.h")}
    headers = tables.headers() + OWN
    expected = {f"rdma/{header}" for header in headers}
    for header in sorted(present ^ expected):
        tally.check(False, f"{header}: only in {'the tables' if header in expected else include}")
    for header in headers:
        problem = complaints(compiler, standard, include, header)
        tally.check(not problem, f"rdma/{header} as {standard}:\n{problem}")
    tally.finish()


if __name__ == "__main__":
    main()
