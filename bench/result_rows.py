# SPDX-License-Identifier: BSD-2-Clause
"""Rows of bench/results: how they are read, checked, found and added.

bench/results/README.md tells what the columns mean.
"""
import collections
import csv
import datetime
import os
import re

COLUMNS = ["date", "machine", "placement", "tool", "test", "provider", "size", "metric",
           "value", "unit", "compared-with"]
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")

Row = collections.namedtuple("Row", [name.replace("-", "_") for name in COLUMNS])


class Wrong(Exception):
    """A file that is not as the format says; the message names the line."""


def key(row):
    """What two rows may not have in common: all but the value and its unit."""
    return row._replace(value="", unit="")


def check_row(row):
    """Why @row is no row of the format, or None."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", row.date):
        return f"no date: {row.date!r}"
    if row.size and not row.size.isdigit():
        return f"no size in bytes: {row.size!r}"
    if not re.fullmatch(r"\d+(\.\d+)?", row.value):
        return f"no number: {row.value!r}"
    for name in ("machine", "tool", "test", "metric", "unit"):
        if not getattr(row, name):
            return f"no {name}"
    if len({"ratio" in row.metric, row.unit == "x", row.compared_with != ""}) > 1:
        return "ratios, and they alone, are compared with something and have the unit x"
    return None


def read(path):
    """The rows of a file. Raises Wrong."""
    rows, seen = [], set()
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if next(lines, None) != COLUMNS:
            raise Wrong(f"{path}: does not begin with the names of the columns")
        for fields in lines:
            where = f"{path}:{lines.line_num}"
            if len(fields) != len(COLUMNS):
                raise Wrong(f"{where}: {len(fields)} columns instead of {len(COLUMNS)}")
            row = Row(*fields)
            problem = check_row(row)
            if not problem and key(row) in seen:
                problem = "stands here twice"
            if problem:
                raise Wrong(f"{where}: {problem}")
            seen.add(key(row))
            rows.append(row)
    return rows


def all_files(folder=RESULTS):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder)
                  if name.endswith(".csv"))


def append(path, rows):
    """Add rows to a file, which begins here where there is none. A row of the same key that
    the file has, of an earlier run of the day, is replaced."""
    new = {key(row): row for row in rows}
    if not new:
        return
    old = read(path) if os.path.exists(path) else []
    kept = [row for row in old if key(row) not in new]
    with open(path + ".new", "w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(COLUMNS)
        lines.writerows(kept + list(new.values()))
    os.replace(path + ".new", path)


def machine_of(cpuinfo):
    """The name of a machine by the text of /proc/cpuinfo: zen5, xeon-207."""
    def field(name):
        match = re.search(rf"^{name}\s*: (.*)$", cpuinfo, re.M)
        return match.group(1) if match else ""
    vendor, family, model = field("vendor_id"), field("cpu family"), field("model")
    if vendor == "GenuineIntel":
        return f"xeon-{model}"
    if vendor != "AuthenticAMD":
        return os.uname().machine
    if family == "25":
        return "zen3" if int(model) < 16 or 32 <= int(model) < 96 else "zen4"
    return {"23": "zen2", "26": "zen5"}.get(family, f"amd-{family}")


def this_machine():
    """BENCH_MACHINE, or a name by the processor."""
    if os.environ.get("BENCH_MACHINE"):
        return os.environ["BENCH_MACHINE"]
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return machine_of(file.read())


def new_row(machine, **fields):
    """A row of today, on two pinned cores where BENCH_PLACEMENT says nothing else."""
    placement = os.environ.get("BENCH_PLACEMENT") or "cores %s:%s" % (
        os.environ.get("BENCH_CORE0", "0"), os.environ.get("BENCH_CORE1", "1"))
    empty = dict.fromkeys(Row._fields, "")
    return Row(**dict(empty, date=datetime.date.today().isoformat(), machine=machine,
                      placement=placement, **fields))
