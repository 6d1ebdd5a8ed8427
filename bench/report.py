#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tables of docs/performance.md and plots of docs/plots, from the rows of bench/results.

report.py [--check | --show] [--page FILE] [CSV...]

The page says between comments what a table or a plot has; the words are those of the rows'
columns (bench/results/README.md), so that they pick the rows:

    <!-- figures: date=2026-11-27 machine=zen4 tool='fi_bench --vs' by=libfabric
         sizes='8 4k 1m' rows='shm: latency; tcp: rate' -->
    (the table)
    <!-- end of figures -->

    <!-- plot: date=2026-11-27 machine=zen4 tool='fi_bench --plot' tests='latency bandwidth'
         curves='shm; libfabric shm' -->
    ![shm](plots/zen4-shm.svg)

A row of a table is a provider and a test, a column a size (- for tests without one). A cell
has the best and the median (metrics='...' names others), and for each of by='A; B' how many
times as fast the provider is: the reciprocal of the ratio of times.

--check changes nothing and fails where the page or a plot is not what the rows give. --show
prints all rows of the files as tables. Without files all of bench/results are read.
"""
import argparse
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report_plot
import result_rows

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(TOP, "docs", "performance.md")
END = "<!-- end of figures -->"
TABLE = re.compile(r"(<!-- figures: (.*?) -->\n)(.*?)" + re.escape(END), re.S)
PLOT = re.compile(r"<!-- plot: (.*?) -->\n!\[[^]]*\]\(([^)]*)\)", re.S)
PICKS = ("date", "machine", "placement", "tool")
SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


# ---- what a comment asks for ----

def words(text):
    """{name: value} of a comment."""
    found = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if not equals:
            raise result_rows.Wrong(f"no NAME=VALUE in a comment of the page: {word}")
        found[name] = value
    return found


def items(text):
    return [item.strip() for item in text.split(";") if item.strip()]


def size_number(text):
    """8, 4k or 1m in bytes, as a row has it; - is no size."""
    if text == "-":
        return ""
    return str(int(text[:-1]) * SUFFIXES[text[-1]]) if text[-1] in SUFFIXES else text


def size_name(number):
    """A size in bytes as a reader wants it."""
    if number == "":
        return "no data"
    for suffix, name in (("g", "GiB"), ("m", "MiB"), ("k", "KiB")):
        if int(number) and int(number) % SUFFIXES[suffix] == 0:
            return f"{int(number) // SUFFIXES[suffix]} {name}"
    return f"{number} B"


def picked(rows, want):
    return [row for row in rows
            if all(getattr(row, name) == want[name] for name in PICKS if name in want)]


# ---- tables of the page ----

def times_as_fast(ratio):
    """The reciprocal of a ratio of times, in as many digits as it deserves."""
    factor = 1 / float(ratio)
    digits = 2 if factor < 1.1 else 1 if factor < 10 else 0
    return f"{factor:.{digits}f} x"


def cell(rows, metrics, by):
    """Best and median, and how many times as fast as the others."""
    values = {row.metric: row.value for row in rows if not row.compared_with}
    text = " / ".join(values[metric] for metric in metrics if metric in values)
    factors = []
    for other in by:
        factors += [times_as_fast(row.value) for row in rows
                    if row.metric == "time_ratio" and
                    (row.compared_with + " ").startswith(other + " ")]
    return ", ".join(part for part in (text, ", ".join(factors)) if part)


def table_row(rows, name, want):
    """A line of the table, or why there is none."""
    provider, _, test = (part.strip() for part in name.partition(":"))
    mine = [row for row in rows if (row.provider, row.test) == (provider, test)]
    if not mine:
        raise result_rows.Wrong(f"no figures of {name!r} with {want}")
    metrics = items(want.get("metrics", "best; median"))
    units = [row.unit for row in mine if not row.compared_with]
    cells = [cell([row for row in mine if row.size == size_number(size)], metrics,
                  items(want.get("by", "")))
             for size in want["sizes"].split()]
    title = ", ".join([provider, f"`{test}`" if "_" in test else test] + units[:1])
    return "| " + " | ".join([title] + cells) + " |"


def table(rows, want):
    rows = picked(rows, want)
    head = [size_name(size_number(size)) for size in want["sizes"].split()]
    lines = ["| | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    lines += [table_row(rows, name, want) for name in items(want["rows"])]
    return "\n".join(lines) + "\n"


def new_page(text, rows):
    return TABLE.sub(lambda match: match.group(1) + table(rows, words(match.group(2))) + END,
                     text)


def plots(text, rows):
    """(name of the file, text) of each plot of the page."""
    for match in PLOT.finditer(text):
        want = words(match.group(1))
        mine = picked(rows, want)
        curves = items(want["curves"])
        for curve in curves:
            if not any(row.provider == curve for row in mine):
                raise result_rows.Wrong(f"no figures of the curve {curve!r} with {want}")
        yield match.group(2), report_plot.draw(mine, want["tests"].split(), curves)


# ---- all rows of a file ----

def shown(rows):
    """Values of one provider, test and size."""
    values = [(row.metric, row.value) for row in rows]
    if [metric for metric, _ in values] in (["best", "median"], ["median"]):
        return " / ".join(value for _, value in values) + " " + rows[0].unit
    return ", ".join(f"{metric} {value}" for metric, value in values) + " " + rows[0].unit


def show(rows):
    """Each date, machine, placement and tool as a table."""
    groups = {}
    for row in rows:
        groups.setdefault((row.date, row.machine, row.placement, row.tool), []).append(row)
    for title, mine in groups.items():
        columns = list(dict.fromkeys((row.provider, row.compared_with) for row in mine))
        heads = [name + (f" by {by}" if by else "") for name, by in columns]
        print("\n" + ", ".join(title) + "\n")
        print("| | " + " | ".join(heads) + " |")
        print("|---" * (len(heads) + 1) + "|")
        for test, size in dict.fromkeys((row.test, row.size) for row in mine):
            line = [test + (f", {size_name(size)}" if size else "")]
            for column in columns:
                at = [row for row in mine if (row.test, row.size) == (test, size) and
                      (row.provider, row.compared_with) == column]
                line.append(shown(at) if at else "")
            print("| " + " | ".join(line) + " |")


# ---- the files ----

def content(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def differing(page, rows):
    """{path: what it should be} of the files that are not so."""
    text = content(page)
    wanted = {page: new_page(text, rows)}
    for name, plot in plots(text, rows):
        wanted[os.path.join(os.path.dirname(page), name)] = plot
    return {path: new for path, new in wanted.items() if content(path) != new}


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench report",
        description="Make the tables and plots of docs/performance.md from bench/results.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true",
                      help="change nothing; fail where they are not what the rows give")
    mode.add_argument("--show", action="store_true", help="print all rows as tables")
    parser.add_argument("--page", default=PAGE, help="instead of docs/performance.md")
    parser.add_argument("csv", nargs="*", help="instead of all files of bench/results")
    options = parser.parse_args()
    try:
        rows = [row for path in options.csv or result_rows.all_files()
                for row in result_rows.read(path)]
        if options.show:
            show(rows)
            return 0
        changes = differing(options.page, rows)
    except (OSError, result_rows.Wrong) as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in changes.items():
        name = os.path.relpath(path)
        if options.check:
            print(f"{name}: not what the rows give; ./dev bench report makes it anew",
                  file=sys.stderr)
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{name}: made anew")
    return 1 if options.check and changes else 0


if __name__ == "__main__":
    sys.exit(main())
