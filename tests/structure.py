#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Check that the arrows between rooms point down (docs/architecture.md).

A room's files may include only what the table allows; one provider never includes
another's files; public headers include only each other.
"""
import os
import re
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
below = {
    "sys": {"sys"},
    "match": {"match", "sys"},
    "core": {"core", "sys"},
    "objects": {"objects", "match", "sys"},
    "providers": {"objects", "match", "sys"},
}
problems = 0


def problem(text):
    global problems
    problems += 1
    print(text)


def includes(path):
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*([<"])([^">]+)[">]', line)
            if m:
                yield number, m.group(1), m.group(2)


def check_room(path, room, provider):
    for number, quote, name in includes(path):
        if quote == "<":
            continue
        head = name.split("/")[0] if "/" in name else None
        where = "%s:%d" % (os.path.relpath(path, top), number)
        if name == "config.h":
            continue
        if head == "providers":
            if room != "providers" or name.split("/")[1] != provider:
                problem("%s: %s may not include %s" % (where, room, name))
        elif head is None and room == "providers":
            continue
        elif head not in below[room]:
            problem("%s: %s may not include %s" % (where, room, name))


for folder, _, files in os.walk(os.path.join(top, "src")):
    parts = os.path.relpath(folder, os.path.join(top, "src")).split(os.sep)
    if parts[0] not in below:
        continue
    for name in files:
        if name.endswith((".c", ".h", ".in")):
            provider = parts[1] if parts[0] == "providers" and len(parts) > 1 else None
            check_room(os.path.join(folder, name), parts[0], provider)

# The example is a provider, and one that needs nothing that its reader may not use.
example = os.path.join(top, "examples", "provider")
for name in sorted(os.listdir(example)):
    if name.endswith((".c", ".h")):
        check_room(os.path.join(example, name), "providers", None)
        for number, _, included in includes(os.path.join(example, name)):
            if included.endswith("internal.h"):
                problem("%s:%d: the example includes %s" % (name, number, included))

for folder, _, files in os.walk(os.path.join(top, "include")):
    for name in files:
        for number, quote, included in includes(os.path.join(folder, name)):
            if quote == '"':
                problem("%s:%d: public headers include with <>" % (name, number))

print("structure: %s" % ("ok" if not problems else "%d problems" % problems))
sys.exit(1 if problems else 0)
