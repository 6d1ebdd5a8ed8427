#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""structure.py [LIBOBJECTS.A LIBRARY.A...]: check that the arrows between rooms point down
(docs/architecture.md).

A room's files may include only what the table allows, and inside objects only layers
below their own, and inside a provider with floors only floors below; one provider never
includes another's files; an internal.h is
included in its own folder alone, also through another header; public headers include
only each other. Of the static libraries, no object file but that of sys/calls.c calls a
function that is a cancellation point, no file of a floor calls one of a higher floor, and
no more files than the table says call each other in a circle.
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
    {"provider", "notice", "param", "absent", "op"},
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
# The floors inside providers, lowest first. A folder that is a floor includes and calls
# itself, lower floors, and files outside of all floors that call no higher one; what
# connections need of the floors above they call through a table of functions.
floors = {
    "shm": ["wire", "conn", "copy", "proto"],
}
# The most files of a library that may call each other in a circle.
circles = {
    "coll": 14, "hook_monitor": 3, "lnx": 10, "rxd": 10, "rxm": 25, "shm": 7, "tcp": 19,
    "udp": 6, "verbs": 27, "objects": 20, "core": 13, "sys": 2,
}
# What glibc or musl make cancellation points. Of others that POSIX permits to be some, neither
# library makes any: opendir, access, ioctl, fcntl but for its wait for a lock.
cancellation_points = set("""
    accept accept4 clock_nanosleep close cnd_timedwait cnd_wait connect copy_file_range creat
    dprintf epoll_pwait epoll_pwait2 epoll_wait eventfd_read eventfd_write fallocate fclose fdatasync fflush fgets fopen
    fprintf fputs fread fsync fwrite getaddrinfo getline getnameinfo getrandom lockf
    msgrcv msgsnd msync nanosleep open openat pause perror poll posix_fallocate ppoll pread preadv
    preadv2 printf pselect pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait
    pthread_join pthread_testcancel pthread_timedjoin_np puts pwrite pwritev pwritev2 read readv
    recv recvfrom recvmmsg recvmsg select sem_timedwait sem_wait send sendfile sendmmsg sendmsg
    sendto sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice sync_file_range system tee
    thrd_join thrd_sleep usleep vfprintf vmsplice wait waitid waitpid write writev
    """.split())
# The object files that may call some of them: the calls without cancellation, the sleep in which
# a thread may be cancelled, and files that are read with mode "c" of fopen (no cancellation).
may_be_cancelled = {
    "calls.c.o": cancellation_points,
    "wait_wait.c.o": {
        "epoll_wait", "pthread_cond_clockwait", "pthread_cond_wait", "pthread_testcancel",
    },
    "mapping.c.o": {"fopen", "fclose", "getline"},
    "params_conf.c.o": {"fopen", "fclose", "getline"},
}
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


def floor_of(provider, parts):
    """The number of the floor that the folder of a file is; -1: it is outside of floors."""
    names = floors.get(provider, [])
    return names.index(parts[0]) if len(parts) > 1 and parts[0] in names else -1


def check_floor(where, provider, path, name):
    """A file of a floor includes no header of a higher one."""
    base = os.path.join("src", "providers", provider)
    own = floor_of(provider, os.path.relpath(path, os.path.join(top, base)).split(os.sep))
    used = floor_of(provider, name.split("/")[2:])
    if own >= 0 and used > own:
        problem("%s: floor %s of %s may not include %s"
                % (where, floors[provider][own], provider, name))


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
            else:
                check_floor(where, provider, path, name)
        elif head is None and room == "providers":
            continue
        elif head not in below[room]:
            problem("%s: %s may not include %s" % (where, room, name))
        elif room == "objects" and head == "objects":
            check_layer(where, os.path.relpath(path, os.path.join(top, "src")), name)


def symbols(archive):
    """The file, name and type of each external symbol of the files of @archive."""
    out = subprocess.run(
        ["nm", "-g", "--format=posix", archive], capture_output=True, text=True, check=True
    ).stdout
    member = None
    for line in out.splitlines():
        m = re.search(r"\[([^]]+)\]:$", line)
        if m:
            member = os.path.basename(m.group(1))
            continue
        fields = line.split()
        if len(fields) >= 2:
            yield member, fields[0], fields[1]


def plain_name(symbol):
    """The function that a header replaced: __read_chk is read, pread64 is pread."""
    m = re.fullmatch(r"_*(\w+?)(64)?(_chk|_time64)?", symbol.split("@")[0])
    return m.group(1) if m else symbol


def check_cancellation(archive):
    """No object file calls a cancellation point, except as @may_be_cancelled says."""
    wanted = 0
    for member, symbol, kind in symbols(archive):
        name = plain_name(symbol)
        if kind != "U" or name not in cancellation_points:
            continue
        wanted += 1
        if name not in may_be_cancelled.get(member, set()):
            problem("%s: %s calls %s, a cancellation point; sys/calls.h has one that is none"
                    % (os.path.basename(archive), member, symbol))
    return wanted


def check_symbols(archive):
    """No object file of a lower layer asks for a symbol that a higher one defines."""
    defined, wanted = {}, []
    for member, name, kind in symbols(archive):
        # A member is called after its file: endpoint_done.c.o, fabric.c.o.
        area = re.split(r"[_.]", member, maxsplit=1)[0]
        if kind == "U":
            wanted.append((area, name))
        else:
            defined[name] = area
    if len(set(defined.values())) < len(layers):
        problem("%s: no objects of every layer" % archive)
    for area, symbol in wanted:
        used = defined.get(symbol)
        if used and level_of[used] > level_of[area]:
            problem("objects/%s may not call %s of objects/%s" % (area, symbol, used))


def calls_of(archive):
    """For each object file of @archive, the functions that it calls in others, by file."""
    defined, wanted = {}, {}
    for member, name, kind in symbols(archive):
        if kind == "U":
            wanted.setdefault(member, []).append(name)
        else:
            wanted.setdefault(member, [])
            if kind in "TtWi":
                defined[name] = member
    return {
        member: {
            defined[name]: name for name in names if defined.get(name, member) != member
        }
        for member, names in wanted.items()
    }


def largest_circle(calls):
    """The largest set of files each of which calls each other one, through others or not."""
    reach = {}
    for member in calls:
        seen, todo = set(), [member]
        while todo:
            for used in calls[todo.pop()]:
                if used not in seen:
                    seen.add(used)
                    todo.append(used)
        reach[member] = seen
    return max(
        ([used for used in reach[member] if member in reach[used]] for member in calls),
        key=len,
        default=[],
    )


def check_calls(archive):
    """No calls to higher floors, and no large circles, among the files of @archive."""
    library = os.path.basename(archive)[len("lib"):-len(".a")]
    calls = calls_of(archive)
    circle = largest_circle(calls)
    if len(circle) > circles.get(library, 1):
        problem("%s: %d files call each other in a circle, at most %d may: %s"
                % (library, len(circle), circles.get(library, 1), " ".join(sorted(circle))))
    for member in calls:
        # A member is called after its file: shm_wire_writer.c.o.
        own = floor_of(library, member.split("_")[1:])
        for used, name in calls[member].items():
            theirs = floor_of(library, used.split("_")[1:])
            if 0 <= own < theirs:
                problem("%s: %s may not call %s of %s" % (library, member, name, used))
            if own >= 0 > theirs and any(
                floor_of(library, x.split("_")[1:]) > own for x in calls[used]
            ):
                problem("%s: %s may not call %s, which calls higher floors"
                        % (library, member, used))


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
    for archive in sys.argv[1:]:
        check_calls(archive)
    if not sum(check_cancellation(archive) for archive in sys.argv[1:]):
        problem("no cancellation points are found: are these the libraries of all rooms?")
print("structure: %s" % ("ok" if not problems else "%d problems" % problems))
sys.exit(1 if problems else 0)
