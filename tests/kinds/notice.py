#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""notice.py NAME [PATTERN]: does the test of each row of sources.txt notice its fault?

In a copy of the tracked files, with a build of its own at build/mutate/NAME, the fault of
each row that has PATTERN is put in: the wake-up is left out, or the condition with
-FI_EAGAIN is turned round, or another code takes the place of that one. The test of the row
runs, and should fail. Rows whose test passes are printed. See docs/testing.md.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mutate")]
import builds
import check

CALL = re.compile(r"\b(?:wf_wait_signal(?:_slow)?|wf_fds_(?:add|del|follow|unfollow))\(")
# Those that return a result have succeeded, as far as their callers know.
RESULT = re.compile(r"\bwf_fds_(?:add|follow)\(")
LIMIT_S = 60


def end_of_call(text, at):
    """The position behind the parenthesis that closes the one before @at."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def without_call(text, start):
    """@text without the wake-up in the line that begins at @start."""
    found = CALL.search(text, start)
    end = end_of_call(text, found.end())
    call = text[found.start():end]
    return text[:found.start()] + ("0" if RESULT.match(call) else "(void)0") + text[end:]


def other_condition(text, start):
    """@text with the condition in that line turned round, or with another code there."""
    end = text.index("\n", start)
    line = text[start:end]
    for old, new in (("== -FI_EAGAIN", "!= -FI_EAGAIN"), ("!= -FI_EAGAIN", "== -FI_EAGAIN"),
                     ("-FI_EAGAIN", "-FI_EINVAL")):
        if old in line:
            return text[:start] + line.replace(old, new, 1) + text[end:]
    raise ValueError(line)


def faults(text, function, kind):
    """@text with each fault of that kind in @function, one at a time, and its line."""
    blank = check.COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    inside, start = None, 0
    for number, line in enumerate(blank.split("\n"), 1):
        head = check.FUNCTION.match(line)
        inside = head.group(1) if head else inside
        if inside == function and line.startswith("\t"):
            if kind == "wake" and check.WAKES.search(line):
                yield number, without_call(text, start)
            if kind == "full" and check.FULL.search(line):
                if "return" not in line or "==" in line:
                    yield number, other_condition(text, start)
        start += len(line) + 1


def try_fault(build, test, path, text):
    """None: the test has noticed the fault; else why it is not known, or that it passed."""
    with open(path, encoding="utf-8") as f:
        before = f.read()
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        failed = build.ninja(*test.targets, jobs=os.cpu_count())
        if failed:
            return "does not compile:\n%s" % failed
        status, _ = test.start(LIMIT_S)
        return None if status not in (0, 77) else "%s passes" % test.name
    finally:
        with open(path, "w", encoding="utf-8") as f:
            f.write(before)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    build = builds.Build(sys.argv[1])
    build.copy()
    build.prepare()
    tests = {test.name: test for test in build.tests()}
    tried = lost = 0
    for _, row in check.rows("sources.txt"):
        name, function, kind, test = row
        if pattern not in " ".join(row) or test not in tests:
            continue
        path = os.path.join(build.tree, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for number, faulty in faults(text, function, kind):
            tried += 1
            why = try_fault(build, tests[test], path, faulty)
            if why:
                lost += 1
                print("%s:%d: %s | %s: %s" % (name, number, function, kind, why), flush=True)
    print("%d faults, %d not noticed" % (tried, lost))
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
