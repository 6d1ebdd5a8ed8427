#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""static_names.py: check the names of static functions of the library and of the tools, and
of include guards.

A backtrace, a profile or a crash report shows a name and no file. So the name of a static
function begins with its subject: with a word of its file's name or of a folder above it
(bulk_take in bulk.c). No name stands in more than two files. An include guard is the path
(WF_MATCH_TABLE_H of src/match/table.h).
"""
import collections
import os
import re
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
definition = re.compile(r"^static\s[^;={}()#]*?\b([a-z]\w*)\((?![^;{]*;)", re.M)
# Comments and strings, which hold no definition.
text_only = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# Words that say a subject besides those of the path: the library, its interface, the
# shortened names of two folders.
subjects = {"wf", "fi", "mon", "pp"}
# Two files are templates by macro or by include: their names are those that the template calls.
templates = {
    "src/core/compat/old_srx.c": "the fields of the structures that its macros write",
    "src/objects/endpoint/calls/atomic.c": "start_plain is called by plain_atomic.inl",
    "src/objects/endpoint/alias/atomic.c": "start_plain is called by plain_atomic.inl",
    "src/match/table.c": "keys_of is called by table.inl",
}
not_names = {"sizeof", "offsetof", "typeof"}


def singular(word):
    """@word without the s of a plural: "ranges" and "range" are one subject."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def sources():
    for folder in ("src", "tools"):
        for root, _, files in os.walk(os.path.join(top, folder)):
            for name in sorted(files):
                if name.endswith(".c"):
                    yield os.path.relpath(os.path.join(root, name), top)


def guard_of(path):
    """The include guard of the header @path."""
    return re.sub(r"[^A-Z0-9]", "_", re.sub(r"^src/(providers/)?", "WF_", path).upper())


def guards():
    """What is wrong with the guards of headers but those of the interface."""
    for folder in ("src", "tools", "tests", "bench", "examples"):
        for root, _, files in os.walk(os.path.join(top, folder)):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(root, name), top)
                if not name.endswith(".h"):
                    continue
                with open(os.path.join(top, path), encoding="utf-8") as f:
                    text = f.read()
                guard = guard_of(path)
                if "#ifndef %s\n#define %s\n" % (guard, guard) not in text:
                    yield "%s: its guard is not %s" % (path, guard)


def main():
    problems = list(guards())
    where = collections.defaultdict(set)
    for path in sources():
        with open(os.path.join(top, path), encoding="utf-8") as f:
            text = text_only.sub(lambda m: "\n" * m.group().count("\n"), f.read())
        known = {singular(w) for w in re.split(r"[/_]", path[:-2])} | subjects
        for m in definition.finditer(text):
            name = m.group(1)
            if name in not_names:
                continue
            where[name].add(path)
            if path not in templates and singular(name.split("_")[0]) not in known:
                line = text.count("\n", 0, m.start(1)) + 1
                problems.append("%s:%d: static %s does not name its subject" % (path, line, name))
    for name, files in sorted(where.items()):
        if len(files) > 2:
            problems.append("static %s stands in %s" % (name, ", ".join(sorted(files))))
    print("\n".join(problems + ["static names: %s" % (
        "%d problems" % len(problems) if problems else "ok, %d" % len(where))]))
    return 1 if problems else 0


sys.exit(main())
