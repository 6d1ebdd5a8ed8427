#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Has each option of each tool a row in the tests, a line in its help, and an item in its
manual page, and are there none of options that do not exist?

The rows are those of tests/tools/options/<tool>.py, which run.py runs.
"""

import importlib
import sys

import tool_options


def forms(options):
    return {form for option in options for form in option}


def differences(tool, place, wanted, found):
    for form in sorted(wanted - found):
        yield f"{tool}: {form} is not in {place}"
    for form in sorted(found - wanted):
        yield f"{tool}: {place} has {form}, which is no option"


def check(tool):
    options = tool_options.parsed(tool)
    wanted = forms(options)
    rows = importlib.import_module(f"{tool}_rows").ROWS
    if not wanted:
        yield f"{tool}: no options were found in {tool_options.SOURCES[tool]}"
    for place, found in (
        ("its help text", tool_options.helped(tool)),
        ("its manual page", tool_options.documented(tool)),
        ("the rows of its tests", {form for row in rows for form in row.about.split()}),
    ):
        yield from differences(tool, place, wanted, found)
    for option, takes_argument in options.items():
        own = [row for row in rows if option & set(row.about.split())]
        if own and all(row.refused for row in own):
            yield f"{tool}: no row has {' '.join(sorted(option))} at work"
        # A label may be any text.
        if "--label" in option:
            continue
        if own and takes_argument and not any(row.refused for row in own):
            yield f"{tool}: no row has a value that {' '.join(sorted(option))} refuses"


def main():
    problems = [line for tool in tool_options.SOURCES for line in check(tool)]
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
