# SPDX-License-Identifier: BSD-2-Clause
"""Checks files that fi_bench wrote.

results.py csv FILE TEST,TEST,...   there is a row for each test, and its numbers fit
results.py json FILE TEST,...       the same; histograms are sorted and complete
results.py svg FILE CURVES          well-formed, with so many curves within panels
"""

import csv
import json
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
TIMES = ["best_ns", "median_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"]


def check_row(row):
    name = f"{row['test']} of {row['bytes']} bytes"
    if row.get("part"):
        name += f", messages {row['part']}"
    best, median, *percentiles = [float(row[time]) for time in TIMES]
    assert 0 < best <= median, f"{name}: best {best}, median {median}"
    if any(percentiles):
        assert percentiles == sorted(percentiles), f"{name}: {percentiles}"
    assert int(row["messages"]) > 0, name
    messages = {"bidirectional": 2, "exchange": 2, "burst": 2 * int(row["window"])}
    bandwidth = int(row["bytes"]) * 1e3 / median * messages.get(row["test"], 1)
    assert abs(float(row["megabytes_per_s"]) - bandwidth) <= 0.01 * bandwidth + 0.01, name


def check_parts(rows):
    """Each size of a ramp has the same parts, which fit together."""
    parts = {}
    for row in rows:
        assert bool(row["part"]) == (row["test"] == "ramp"), f"{row['test']}: {row['part']}"
        if row["part"]:
            first, last = map(int, row["part"].split("-"))
            parts.setdefault(row["bytes"], []).append((first, last))
            assert int(row["messages"]) % (2 * (last - first + 1)) == 0, row["messages"]
    for found in parts.values():
        length = max(last for first, last in found)
        wanted = [(1, 10**n) for n in range(20) if 10**n <= length]
        if length >= 200:
            wanted += [(length // 2 + 1, length), (2, 100)]
        assert found == wanted, f"parts {found} instead of {wanted}"


def check_tests(rows, tests):
    found = list(dict.fromkeys(row["test"] for row in rows))
    assert sorted(found) == sorted(tests), f"tests {found} instead of {tests}"
    for row in rows:
        check_row(row)
    check_parts(rows)


def check_json(path, tests):
    result = json.load(open(path, encoding="utf-8"))
    check_tests(result["rows"], tests)
    for row in result["rows"]:
        assert row["failed"] is False, row["test"]
        times = [time for time, count in row["histogram"]]
        assert times == sorted(times) and len(set(times)) == len(times), row["test"]
        assert sum(count for time, count in row["histogram"]) > 0, row["test"]


def check_svg(path, curves):
    root = tree.parse(path).getroot()
    assert root.tag == SVG + "svg", root.tag
    frames = [
        [float(rect.get(name)) for name in ("x", "y", "width", "height")]
        for rect in root.findall(SVG + "rect")
        if rect.get("stroke")
    ]
    lines = root.findall(SVG + "polyline")
    assert len(lines) == curves, f"{len(lines)} curves instead of {curves}"
    for line in lines + root.findall(SVG + "polygon"):
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert any(
                0 <= x - left <= width and 0 <= y - top <= height
                for left, top, width, height in frames
            ), f"{point} is in no panel"


def main():
    kind, path, what = sys.argv[1:]
    if kind == "csv":
        with open(path, encoding="utf-8") as file:
            check_tests(list(csv.DictReader(file)), what.split(","))
    elif kind == "json":
        check_json(path, what.split(","))
    else:
        check_svg(path, int(what))


main()
