#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""keep.py: add what was measured to a file of bench/results.

keep.py figures FILE TOOL FOLDER    what figures.sh has in FOLDER: a file NAME with the best
                                    and the median of each round, and ratios
keep.py compared FILE TOOL PROVIDER OTHER <OUTPUT
                                    the table that fi_bench --vs or --vs-ucx prints, which
                                    is passed on
keep.py machine                     the name of this machine

NAME is WHO_TEST_SIZE: the first word is the provider, a number at the end the size.
BENCH_MACHINE and BENCH_PLACEMENT name the machine and where the processes ran.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import result_rows

SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def number(value):
    return f"{value:.4f}".rstrip("0").rstrip(".")


def median(values):
    return sorted(values)[(len(values) - 1) // 2]


def name_parts(name):
    """Provider, test and size of a figure's name: shm_tagged_64."""
    provider, _, rest = name.partition("_")
    match = re.fullmatch(r"(.*?)_?(\d*)", rest)
    return {"provider": provider, "test": match.group(1) or provider, "size": match.group(2)}


def reference(name, other):
    """What the figure @name is compared with: the provider of @other where the rest is the
    same, else its whole name."""
    provider, _, rest = other.partition("_")
    return provider if rest and rest == name.partition("_")[2] else other


def rounds_of(path):
    """(best, median) of each round, or None where the file has something else."""
    try:
        with open(path, encoding="utf-8") as file:
            pairs = [tuple(float(word) for word in line.split()) for line in file]
    except (ValueError, IsADirectoryError):
        return None
    return pairs if pairs and all(len(pair) == 2 for pair in pairs) else None


def figures(folder, tool, machine):
    """Rows of a folder of figures.sh."""
    for name in sorted(os.listdir(folder)):
        rounds = rounds_of(os.path.join(folder, name))
        if not rounds or name == "ratios":
            continue
        parts = dict(name_parts(name), tool=tool, unit="ns")
        best, middle = min(pair[0] for pair in rounds), median([pair[1] for pair in rounds])
        yield result_rows.new_row(machine, metric="best", value=number(best), **parts)
        yield result_rows.new_row(machine, metric="median", value=number(middle), **parts)
    ratios = os.path.join(folder, "ratios")
    if not os.path.exists(ratios):
        return
    with open(ratios, encoding="utf-8") as file:
        for line in file:
            name, other, kind, value = line.split()
            yield result_rows.new_row(
                machine, tool=tool, metric="time_ratio" + (" best" if kind == "best" else ""),
                value=number(float(value)), unit="x", compared_with=reference(name, other),
                **name_parts(name))


def size_of(text):
    return str(int(text[:-1]) * SUFFIXES[text[-1]] if text[-1] in SUFFIXES else int(text))


def compared(lines, tool, provider, other, machine):
    """Rows of a table of fi_bench --vs."""
    test = unit = None
    for line in lines:
        match = re.match(r"# (\w+), (us|MB/s|M/s)$", line)
        if match:
            test, unit = match.groups()
            # ucx_perftest writes and reads no buffers, so neither side does.
            test += ", untouched" if "--vs-ucx" in tool else ""
            continue
        words = line.split()
        if not test or len(words) < 7 or not re.fullmatch(r"\d+[kmg]?", words[0]):
            continue
        if "-" in words[1:7] or not re.fullmatch(r"[\d.]+", words[1]):
            continue
        parts = {"tool": tool, "test": test, "size": size_of(words[0])}
        for who, metric, value in zip((provider, provider, other, other),
                                      ("best", "median") * 2, words[1:5]):
            yield result_rows.new_row(machine, provider=who, metric=metric, value=value,
                                      unit=unit, **parts)
        for metric, value in zip(("time_ratio", "time_ratio best"), words[5:7]):
            yield result_rows.new_row(machine, provider=provider, metric=metric, value=value,
                                      unit="x", compared_with=other, **parts)


def main():
    command, *args = sys.argv[1:] or ["machine"]
    machine = result_rows.this_machine()
    if command == "machine" and not args:
        print(machine)
    elif command == "figures" and len(args) == 3:
        path, tool, folder = args
        result_rows.append(path, figures(folder, tool, machine))
    elif command == "compared" and len(args) == 4:
        path, tool, provider, other = args
        lines = []
        for line in sys.stdin:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
        result_rows.append(path, compared(lines, tool, provider, other, machine))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except result_rows.Wrong as problem:
        sys.exit(str(problem))
