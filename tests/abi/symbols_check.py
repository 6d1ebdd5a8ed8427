#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare a library's dynamic symbols with symbols.tsv.

    symbols_check.py LIBRARY

Checks the soname, the chain of version nodes, and that exactly the listed symbols are
exported, each at its version and with the right one as default. Prints one line for each
problem, then "N passed, M failed".
"""

import os
import re
import subprocess
import sys

import tables


def readelf(*arguments):
    environment = dict(os.environ, LC_ALL="C")
    return subprocess.run(
        ["readelf", "--wide", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    ).stdout


def soname(library):
    match = re.search(r"\(SONAME\).*\[(.*)\]", readelf("--dynamic", library))
    return match.group(1) if match else None


def version_nodes(library):
    """Parent of each version node, "-" for none."""
    nodes, current, defining = {}, None, False
    for line in readelf("--version-info", library).splitlines():
        if line.startswith("Version "):
            defining = line.startswith("Version definition")
        elif not defining:
            continue
        elif match := re.search(r"Flags: (\S+).*Name: (\S+)", line):
            base = match.group(1) == "BASE"
            current = None if base else match.group(2)
            if current:
                nodes[current] = "-"
        elif match := re.search(r"Parent \d+: (\S+)", line):
            nodes[current] = match.group(1)
    return nodes


def exported(library, nodes):
    """{(symbol, version): is default} of what the library defines."""
    symbols = {}
    for line in readelf("--dyn-syms", library).splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].rstrip(":").isdigit():
            continue
        binding, visibility, section, name = columns[4], columns[5], columns[6], columns[7]
        if section == "UND" or binding == "LOCAL" or visibility == "HIDDEN":
            continue
        name, at, version = name.partition("@")
        if section == "ABS" and name in nodes:
            continue  # stands for the version node itself
        symbols[name, version.lstrip("@")] = at == "" or version.startswith("@")
    return symbols


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    library = sys.argv[1]
    tally = tables.Tally()
    expected_soname, expected_nodes, expected_symbols = None, {}, {}
    for row in tables.rows("symbols.tsv"):
        if row[0] == "soname":
            expected_soname = row[1]
        elif row[0] == "node":
            expected_nodes[row[1]] = row[2]
        elif row[0] == "symbol":
            expected_symbols[row[1], row[2]] = row[3] == "yes"

    name = soname(library)
    tally.check(name == expected_soname, f"soname is {name}, not {expected_soname}")

    nodes = version_nodes(library)
    for node, parent in expected_nodes.items():
        found = nodes.get(node)
        tally.check(found is not None, f"no version node {node}")
        if found is not None:
            tally.check(found == parent, f"{node} inherits from {found}, not {parent}")
    for node in nodes.keys() - expected_nodes.keys():
        tally.check(False, f"unknown version node {node}")

    symbols = exported(library, nodes)
    for (symbol, version), default in expected_symbols.items():
        found = symbols.get((symbol, version))
        tally.check(found is not None, f"no {symbol}@{version}")
        if found is not None:
            wanted = "is not" if default else "should not be"
            tally.check(found == default, f"{symbol}@{version} {wanted} the default")
    for symbol, version in sorted(symbols.keys() - expected_symbols.keys()):
        tally.check(False, f"unknown symbol {symbol}@{version}")
    tally.finish()


if __name__ == "__main__":
    main()
