# SPDX-License-Identifier: BSD-2-Clause
"""The interface tables of this folder, and what the checks that read them share.

constants.tsv   enum constants and macros: value, type, and how to probe other macros
structs.tsv     layouts; rows "field" belong to the struct above them
functions.tsv   signatures, and for inline functions the table slot they call
symbols.tsv     the library's dynamic symbols and version nodes

A "since" column holds the interface version that introduced a name. Sizes and offsets
are in bytes and for LP64 systems.
"""

import re
import sys
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent

Constant = namedtuple("Constant", "header kind name value ctype enum since note probe")
Field = namedtuple("Field", "name ctype offset size since")
Struct = namedtuple("Struct", "keyword header name size align since fields")
Function = namedtuple("Function", "header linkage name signature target notes attrs since")


def rows(name):
    """Rows of a table as lists of columns, without comments."""
    with open(HERE / name, encoding="utf-8") as table:
        for line in table:
            if not line.startswith("#") and line.strip():
                yield line.rstrip("\n").split("\t")


def constants():
    return [Constant(*(row + [""] * 9)[:9]) for row in rows("constants.tsv")]


def functions():
    return [Function(*row) for row in rows("functions.tsv")]


def structs():
    """Structs with their fields, and the rows of other kinds."""
    found, others = [], []
    for row in rows("structs.tsv"):
        if row[0] in ("struct", "union"):
            found.append(Struct(*row, []))
        elif row[0] == "field":
            found[-1].fields.append(Field(*row[1:]))
        else:
            others.append(row)
    return found, others


def headers():
    """Every header of the tables, once, in their order."""
    names = [c.header for c in constants()] + [f.header for f in functions()]
    return list(dict.fromkeys(names + [s.header for s in structs()[0]]))


def split_parameters(text):
    """Split at the commas that are not within parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


def signature(function):
    """(return type, parameter declarations, parameter names)"""
    ret, rest = function.signature.split(function.name + "(", 1)
    parameters = split_parameters(rest[:-1])
    names = []
    for parameter in parameters:
        match = re.search(r"\(\*(\w+)\)\(", parameter) or re.search(r"(\w+)$", parameter)
        names.append(match.group(1) if match else None)
    return ret.strip(), parameters, names


class Tally:
    """Counts checks and prints the ones that fail."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, ok, problem):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(problem)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)
