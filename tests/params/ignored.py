#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do the tests of tests.txt notice that a parameter is ignored?

ignored.py BUILD [NAME...]

For each row (or those of the parameters NAME), the test runs while the variable seems not
to be set to its programs (ignored.c), and has to fail. Rows of parameters without effect
are left out. A test that does not end counts as one that fails. Some minutes; the build has to be
complete.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mutate"))
import builds  # noqa: E402
import rows  # noqa: E402

LIMIT_S = 30


def tests_of(build_dir):
    build = builds.Build("")
    build.dir = os.path.abspath(build_dir)
    return {test.name: test for test in build.tests()}


def passes(test, name):
    env = {"WEFT_IGNORED": name, "LD_PRELOAD": "%s/tests/params/params_ignored.so" % test.build}
    status, _ = test.start(LIMIT_S, env)
    return status in (0, 77)


def main():
    tests = tests_of(sys.argv[1])
    names = sys.argv[2:]
    problems = 0
    for row in rows.read():
        if not row.has_effect or names and row.name not in names:
            continue
        noticed = not passes(tests[row.test], row.name)
        problems += not noticed
        print("%-44s %-28s %s" % (row.name, row.test, "" if noticed else "NOT NOTICED"), flush=True)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
