#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Has each parameter (environment variable) a page, and a test that shows its effect?

check.py [BUILD]

tests.txt has one row for each parameter that the man pages describe and no others, and the
source of each row names the parameter. With a build, the parameters are those that the
library of the build defines, the pages describe each of them, the tests of the rows exist
and are made of the sources of the rows.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "abi"))

import rows  # noqa: E402
import tables  # noqa: E402

NAME = r"\bFI_[A-Z0-9_]*[A-Z0-9]\b"
SECTIONS = r"^\.SH (?:ENVIRONMENT|PARAMETERS)\n(.*?)(?=^\.SH|\Z)"


def described():
    """The parameters that the man pages describe."""
    constants = {constant.name for constant in tables.constants()}
    text = "\n".join(
        section
        for page in sorted(ROOT.glob("man/man7/*.7"))
        for section in re.findall(SECTIONS, page.read_text("utf-8"), re.M | re.S)
    )
    return set(re.findall(NAME, text)) - constants


def defined(build):
    """The parameters that the library defines."""
    listed = subprocess.run(
        [build / "tools" / "fi_info", "-e"], stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    return set(re.findall(rf"^# ({NAME}): ", listed, re.M))


def sources_of_tests(build):
    """{SUITE/NAME: the files that the test is made of}"""
    info = build / "meson-info"
    targets = json.loads((info / "intro-targets.json").read_text("utf-8"))
    sources = {
        path: {source for group in target["target_sources"] for source in group.get("sources", [])}
        for target in targets
        for path in target["filename"]
    }
    found = {}
    for test in json.loads((info / "intro-tests.json").read_text("utf-8")):
        suite = test["suite"][0].partition(":")[2]
        parts = [str(build / part) for part in test["cmd"]]
        files = set(parts).union(*(sources.get(part, set()) for part in parts))
        found[f"{suite}/{test['name']}"] = files
    return found


def row_problems(row, tests):
    source = ROOT / row.source
    if not source.is_file():
        yield f"there is no {row.source}"
    elif not re.search(rf"\b{row.name}\b", source.read_text("utf-8")):
        yield f"{row.source} does not name it"
    if not re.search(r"\w", row.shows):
        yield "it is not told what the test shows"
    if tests is None:
        return
    if row.test not in tests:
        yield f"there is no test {row.test}"
    elif not any(Path(file).resolve() == source for file in tests[row.test]):
        yield f"{row.test} is not made of {row.source}"


def differences(one, other, text):
    return [f"{name}: {text}" for name in sorted(one - other)]


def main():
    build = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    table = rows.read()
    names = [row.name for row in table]
    pages = described()
    there = defined(build) if build else pages
    tests = sources_of_tests(build) if build else None

    problems = differences(there, set(names), "no row of tests.txt: no test shows its effect")
    problems += differences(set(names), there, "a row, and no such parameter")
    problems += differences(there, pages, "no man page describes it")
    problems += differences(pages, there, "a man page describes it, and the library has none")
    if names != sorted(set(names)):
        problems.append("tests.txt: the rows are not in the order of the names, each once")
    for row in table:
        problems += [f"{row.name}: {problem}" for problem in row_problems(row, tests)]
    for problem in problems:
        print(f"wrong: {problem}")
    print(f"{len(there)} parameters, {len(table)} rows, {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
