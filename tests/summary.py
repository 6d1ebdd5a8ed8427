#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""summary.py RESULT.xml... : count the test cases of JUnit files.

Names every failed case and the tests that took longest, and closes with
"N passed, N failed, N skipped".
Exit status 1 when a case failed or nothing was run.
"""
import os
import sys
import xml.etree.ElementTree as ET

passed = failed = skipped = 0
times = []
for path in sys.argv[1:]:
    build = os.path.splitext(os.path.basename(path))[0]
    root = ET.parse(path).getroot()
    # A test is a suite of its own where its cases are listed, else a case of one.
    for test in root.iter():
        if test.get("time") and (test.tag == "testcase" or test.get("name") != "weft"):
            name = test.get("name").replace("weft:", "").replace("weft.", "")
            times.append((float(test.get("time")), "%s: %s" % (build, name)))
    for case in root.iter("testcase"):
        name = "%s: %s / %s" % (build, case.get("classname", "?"), case.get("name", "?"))
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            print("FAILED " + name)
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
print("longest:")
for seconds, name in sorted(times, reverse=True)[:10]:
    print("  %6.1f s  %s" % (seconds, name))
print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
sys.exit(1 if failed or not passed else 0)
