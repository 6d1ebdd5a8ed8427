#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare docs/requirements.md with the requirement numbers that tests cite.

requirements.py [--uncited]

A citation is a whole number, a group's letters, a hyphen and its digits, anywhere in a
file under tests/: in the string of a conformance case, in a comment, in a table. Of
a range only the two ends are citations. Sources and documents may cite numbers as well,
which then have to exist, but only tests count.

It fails when a cited number is not in the page, when a number that no test cites has no
reason in the page's section "Not tested", and when a number stands there that a test
cites after all. The numbers that no test cites are printed, with --uncited alone.
"""

import collections
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "requirements.md"
NUMBER = r"[A-Z]{1,3}-\d{2,3}"
TEXT = {".build", ".c", ".h", ".inl", ".md", ".py", ".sh", ".tsv"}
CITING = ["tests", "src", "include", "tools", "bench", "docs"]


def read_page(text):
    """The numbers of the page, the reasons by number, and what is wrong with them."""
    items, _, reasons = text.partition("\n## Not tested\n")
    numbers = re.findall(rf"^- ({NUMBER}) ", items, re.M)
    problems = [
        f"{number} stands twice in the page"
        for number, count in collections.Counter(numbers).items()
        if count > 1
    ]
    stated = {}
    for line in re.findall(r"^- (.*)$", reasons, re.M):
        match = re.fullmatch(rf"({NUMBER}(?:, {NUMBER})*): (.*\w.*)", line)
        if not match:
            problems.append(f'"Not tested": no numbers with a reason: {line}')
            continue
        for number in match.group(1).split(", "):
            if number in stated:
                problems.append(f'"Not tested": {number} stands twice')
            stated[number] = match.group(2)
    return numbers, stated, problems


def citations(folder, groups):
    """{number: first place that cites it} of the files below a folder."""
    pattern = re.compile(rf"\b(?:{'|'.join(groups)})-\d{{2,3}}\b")
    found = {}
    for path in sorted((ROOT / folder).rglob("*")):
        if path == PAGE or path.suffix not in TEXT or not path.is_file():
            continue
        for i, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for number in pattern.findall(line):
                found.setdefault(number, f"{path.relative_to(ROOT)}:{i}")
    return found


def main():
    numbers, stated, problems = read_page(PAGE.read_text("utf-8"))
    groups = sorted({number.partition("-")[0] for number in numbers})
    cited = {folder: citations(folder, groups) for folder in CITING}
    uncited = [number for number in numbers if number not in cited["tests"]]

    if "--uncited" in sys.argv[1:]:
        print(*uncited, sep="\n")
        return
    for places in cited.values():
        for number, place in places.items():
            if number not in numbers:
                problems.append(f"{place}: there is no {number}")
    for number in stated:
        if number not in numbers:
            problems.append(f'"Not tested": there is no {number}')
        elif number not in uncited:
            place = cited["tests"][number]
            problems.append(f'"Not tested": {number} is cited: {place}')
    for number in uncited:
        print(f"{number} is not tested: {stated.get(number, 'NO REASON')}")
        if number not in stated:
            problems.append(f"{number}: no test cites it and no reason is stated")

    for problem in problems:
        print(f"wrong: {problem}")
    print(
        f"{len(numbers)} requirements, {len(numbers) - len(uncited)} cited, "
        f"{len(uncited)} not tested, {len(problems)} problems"
    )
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
