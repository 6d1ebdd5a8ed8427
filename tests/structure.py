#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""structure.py [LIBOBJECTS.A]: check that the arrows between rooms point down (docs/architecture.md).

A room's files may include only what the table allows, and inside objects only layers
below their own; one provider never includes another's files; an internal.h is
included in its own folder alone, also through another header; public headers include
only each other.
"""
import os
import re
import subprocess
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
below = {
    "sys": {"sys"},
    "match": {"match", "sys"},
    "core": {"core", "sys"},
    "objects": {"objects", "match", "sys"},
    "providers": {"objects", "match", "sys"},
}
# The layers inside objects, lowest first: a folder (or a file of its own) includes its
# own layer and those below.
layers = [
    {"provider", "param", "absent", "op"},
    {"atomic"},
    {"wait"},
    {"progress"},
    {"fabric", "eq", "mr", "info"},
    {"domain", "cntr", "trigger"},
    {"region", "av"},
    {"cq"},
    {"poll", "srx"},
    {"endpoint"},
    {"cm", "conn", "lower", "peer"},
    {"coll"},
    {"open"},
    {"local"},
]
level_of = {area: n for n, layer in enumerate(layers) for area in layer}
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


def area_of(path):
    """The folder of a file below objects/, or the name of a file that has none."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else os.path.splitext(parts[1])[0]


def check_layer(where, path, name):
    area, used = area_of(path), area_of(name)
    for unknown in {area, used} - level_of.keys():
        problem("%s: %s has no layer in tests/structure.py" % (where, unknown))
        return
    if level_of[used] > level_of[area]:
        problem("%s: objects/%s may not include %s" % (where, area, name))


def is_internal(name):
    return name.endswith("internal.h")


def shows_internal(path, seen):
    """The internal header that the header @path includes, itself or through others."""
    if path in seen or not os.path.exists(path):
        return None
    seen.add(path)
    for _, quote, name in includes(path):
        if quote == "<":
            continue
        if is_internal(name):
            return name
        shown = shows_internal(os.path.join(top, "src", name), seen)
        if shown:
            return shown
    return None


def check_internal(where, path, name):
    """An internal header is for the files of its own folder."""
    folder = os.path.dirname(path)
    target = os.path.join(top, "src", name)
    if not os.path.exists(target) or os.path.dirname(target) == folder:
        return
    shown = name if is_internal(name) else shows_internal(target, set())
    if shown and os.path.join(top, "src", os.path.dirname(shown)) != folder:
        problem("%s: %s is of another folder" % (where, shown))


def check_room(path, room, provider):
    for number, quote, name in includes(path):
        if quote == "<":
            continue
        head = name.split("/")[0] if "/" in name else None
        where = "%s:%d" % (os.path.relpath(path, top), number)
        if name == "config.h":
            continue
        check_internal(where, path, name)
        if head == "providers":
            if room != "providers" or name.split("/")[1] != provider:
                problem("%s: %s may not include %s" % (where, room, name))
        elif head is None and room == "providers":
            continue
        elif head not in below[room]:
            problem("%s: %s may not include %s" % (where, room, name))
        elif room == "objects" and head == "objects":
            check_layer(where, os.path.relpath(path, os.path.join(top, "src")), name)


def check_symbols(archive):
    """No object file of a lower layer asks for a symbol that a higher one defines."""
    out = subprocess.run(
        ["nm", "-g", "--format=posix", archive], capture_output=True, text=True, check=True
    ).stdout
    defined, wanted, area = {}, [], None
    for line in out.splitlines():
        m = re.search(r"\[([^]]+)\]:$", line)
        if m:
            # A member is called after its file: endpoint_done.c.o, fabric.c.o.
            area = re.split(r"[_.]", os.path.basename(m.group(1)), maxsplit=1)[0]
            continue
        fields = line.split()
        if len(fields) < 2:
            continue
        if fields[1] == "U":
            wanted.append((area, fields[0]))
        else:
            defined[fields[0]] = area
    if len(set(defined.values())) < len(layers):
        problem("%s: no objects of every layer" % archive)
    for area, symbol in wanted:
        used = defined.get(symbol)
        if used and level_of[used] > level_of[area]:
            problem("objects/%s may not call %s of objects/%s" % (area, symbol, used))


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

if len(sys.argv) > 1:
    check_symbols(sys.argv[1])
print("structure: %s" % ("ok" if not problems else "%d problems" % problems))
sys.exit(1 if problems else 0)
