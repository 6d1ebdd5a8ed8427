#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the public headers with the interface tables.

Three C files are generated and given to the compiler:

layout      one assertion to a line; the compiler's errors tell which lines are wrong
warnings    one use of each name to a line; just the deprecated ones may draw a warning
dispatch    a program that calls each inline function on an object whose tables hold
            traps, except for the one slot that the function should reach

Prints one line for each problem, then "N passed, M failed".
"""

import argparse
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

import tables

PRELUDE = """\
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
"""


class Source:
    """A C file of which each check owns some lines."""

    def __init__(self, name):
        self.name = name
        self.lines = PRELUDE.splitlines()
        self.lines += [f"#include <rdma/{header}>" for header in tables.headers()]
        self.owner = {}

    def add(self, text, check=None):
        for line in text.splitlines():
            self.lines.append(line)
            if check:
                self.owner[len(self.lines)] = check

    def require(self, condition, check):
        self.add(f'_Static_assert({condition}, "");', check)

    def checks(self):
        return dict.fromkeys(self.owner.values())


class Compiler:
    def __init__(self, command, include, folder):
        self.command = shlex.split(command) + ["-std=gnu11", f"-I{include}"]
        self.folder = Path(folder)

    def run(self, source, *options):
        path = self.folder / source.name
        path.write_text("\n".join(source.lines) + "\n", encoding="utf-8")
        result = subprocess.run(
            self.command + list(options) + [str(path)],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        return result.returncode, result.stderr

    def diagnose(self, source, kind, *options):
        """Lines of the source with a diagnostic of a kind, and what is not on a line."""
        status, output = self.run(source, "-fsyntax-only", *options)
        inside, outside = {}, []
        pattern = re.compile(rf"(.*?):(\d+):\d+: (?:fatal )?{kind}: (.*)")
        for line in output.splitlines():
            match = pattern.match(line)
            if not match:
                continue
            path, number, text = match.groups()
            # Where a macro is expanded, clang reports the macro's place as a note.
            if Path(path).name == source.name and int(number) in source.owner:
                inside.setdefault(source.owner[int(number)], text)
            elif kind == "error":
                outside.append(f"{path}:{number}: {text}")
        if status and not inside and not outside:
            outside.append(output.strip() or "the compiler failed")
        return inside, outside


# Layout: values, types, sizes, offsets and signatures.


def add_constants(source):
    for const in tables.constants():
        where = f"{const.header}: {const.name}"
        if const.kind.startswith("macro"):
            # Applications test macros with #ifdef.
            source.add(f"#ifndef {const.name}\n#error\n#endif", f"{where} is a macro")
        if const.kind in ("enum", "macro") and const.ctype != "string":
            source.require(
                f"({const.name}) == ({const.ctype}){const.value}",
                f"{where} is {const.value}",
            )
        if const.kind == "macro" and const.ctype == "string":
            source.require(
                f"!__builtin_strcmp({const.name}, {const.value})",
                f"{where} is {const.value}",
            )
        elif const.kind == "macro":
            # STR-016: a code of the system is named in the note, =ENOENT.
            if const.note.startswith("="):
                source.require(
                    f"({const.name}) == ({const.note[1:]})", f"{where} {const.note}"
                )
            source.require(
                f"__builtin_types_compatible_p(__typeof__({const.name}), {const.ctype})",
                f"{where} has type {const.ctype}",
            )
        if const.probe:
            add_probe(source, const, f"{where} is usable")


def add_probe(source, const, check):
    kind, _, text = const.probe.partition(": ")
    if kind == "decl":
        source.add(text, check)
    elif kind in ("expr", "stmt"):
        use = f"(void)({text});" if kind == "expr" else text
        arguments = "struct fi_ops *abi_ops_probe, struct fi_provider *abi_prov_probe"
        source.add(f"void use_{const.name}({arguments}) {{ {use} }}", check)
    else:
        source.require(const.probe, check)


def add_structs(source):
    structs, others = tables.structs()
    for row in others:
        if row[0] == "enum":
            source.require(f"sizeof(enum {row[2]}) == {row[3]}", f"size of enum {row[2]}")
        elif row[0] == "typedef":
            source.require(
                f"__builtin_types_compatible_p({row[2]}, {row[3]})", f"type {row[2]}"
            )
    for struct in structs:
        name = f"{struct.keyword} {struct.name}"
        where = f"{struct.header}: {name}"
        source.require(f"sizeof({name}) == {struct.size}", f"{where} has {struct.size} bytes")
        source.require(f"_Alignof({name}) == {struct.align}", f"{where} alignment")
        for field in struct.fields:
            member = f"(({name} *)0)->{field.name}"
            where = f"{struct.header}: {name}.{field.name}"
            source.require(
                f"offsetof({name}, {field.name}) == {field.offset}",
                f"{where} is at {field.offset}",
            )
            if not field.ctype.endswith("[]"):
                source.require(
                    f"sizeof({member}) == {field.size}", f"{where} has {field.size} bytes"
                )
            if "{" not in field.ctype:
                source.require(
                    f"__builtin_types_compatible_p(__typeof__({member}), {field.ctype})",
                    f"{where} is a {field.ctype}",
                )


def add_functions(source):
    for function in tables.functions():
        ret, parameters, _ = tables.signature(function)
        source.require(
            f"__builtin_types_compatible_p(__typeof__(&{function.name}), "
            f"{ret} (*)({', '.join(parameters)}))",
            f"{function.header}: {function.name} is {function.signature}",
        )


def check_layout(compiler, tally):
    source = Source("layout.c")
    add_constants(source)
    add_structs(source)
    add_functions(source)
    limit = "-fmax-errors=0" if is_gcc(compiler) else "-ferror-limit=0"
    wrong, outside = compiler.diagnose(
        source, "error", limit, "-Werror=implicit-function-declaration"
    )
    for check in source.checks():
        tally.check(check not in wrong, f"wrong: {check} ({wrong.get(check)})")
    for problem in outside:
        tally.check(False, problem)


def is_gcc(compiler):
    output = subprocess.run(
        compiler.command + ["-dM", "-E", "-x", "c", "/dev/null"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return "__clang__" not in output


# Names: the headers define no public macro that the tables lack, so what libfabric 2.0
# removed is gone: VER-025, CAP-031, MSG-020.


def check_names(compiler, tally):
    source = Source("names.c")
    path = compiler.folder / source.name
    path.write_text("\n".join(source.lines) + "\n", encoding="utf-8")
    result = subprocess.run(
        compiler.command + ["-dM", "-E", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    if result.returncode:
        tally.check(False, "the headers do not pass the preprocessor")
        return
    known = {const.name for const in tables.constants()}
    guard = re.compile(r"FI_\w+_H$")
    names = re.findall(r"^#define (FI_\w+|container_of|count_of)\b", result.stdout, re.M)
    for name in names:
        private = name.endswith("_") or guard.match(name)
        tally.check(private or name in known, f"unknown macro {name}")


# Warnings: deprecated names draw one where they are used, others do not (VER-026).


def check_warnings(compiler, tally):
    source = Source("warnings.c")
    deprecated = set()
    for const in tables.constants():
        if const.kind == "macro" and const.ctype != "string":
            source.add(f"{const.ctype} use_{const.name} = {const.name};", const.name)
            if const.note.startswith("deprecated"):
                deprecated.add(const.name)
    for function in tables.functions():
        ret, parameters, _ = tables.signature(function)
        pointer = f"{ret} (*use_{function.name})({', '.join(parameters)})"
        source.add(f"{pointer} = {function.name};", function.name)
        if "deprecated" in function.attrs:
            deprecated.add(function.name)
    found, _ = compiler.diagnose(source, "warning", "-Wall", "-Wno-unused")
    for name in source.checks():
        expected = "a" if name in deprecated else "no"
        tally.check((name in found) == (name in deprecated), f"{name}: expected {expected} warning")


# Dispatch: inline functions reach their slot with their arguments in order.

RECORDER = """
enum { RESULT = 77, SLOTS = 32 };
static int hits, traps, passed, failed;
static const char *current;
static uintptr_t seen[16];
static char memory[16][512] __attribute__((aligned(16)));

static long trap(void)
{
	traps++;
	return -1;
}

/* A table of @size bytes whose slots all lead to the trap. */
static void *trapped(size_t size)
{
	static uintptr_t words[SLOTS];

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = (uintptr_t)trap;
	words[0] = size;
	hits = traps = 0;
	memset(seen, 0, sizeof(seen));
	return words;
}

static void crashed(int signo)
{
	printf("wrong: %s ended by signal %d\\n", current, signo);
	fflush(stdout);
	_exit(1);
}

static void verdict(int ok, const char *what)
{
	if (ok)
		passed++;
	else
		printf("wrong: %s\\n", what), failed++;
}
"""

TARGET = re.compile(
    r"(?P<root>\w+)->(?P<path>(?:\w+(?:->|\.))*)(?P<slot>\w+)(?:\((?P<cmd>\w+),.*)?$"
)


def is_pointer(parameter):
    return "*" in parameter or parameter.startswith("fid_t ")


def add_dispatch(source, function):
    """A stub and a test for one function; False if it calls no slot directly."""
    match = TARGET.match(function.target)
    if function.linkage != "inline" or not match:
        return False
    root, slot, command = match["root"], match["slot"], match["cmd"]
    ret, parameters, names = tables.signature(function)
    table = f"{root}->{match['path']}".removesuffix("->")
    owner = parameters[0].removesuffix(names[0]).replace("const ", "").strip(" *")
    owner = "struct fid_ep" if owner == "fid_t" else owner
    name = function.name

    # Arguments are either places in memory or small numbers, all different.
    types, values = [], []
    for i, parameter in enumerate(parameters):
        function_pointer = "(*" in parameter
        type_ = "void *" if function_pointer else parameter.removesuffix(names[i]).strip()
        types.append(type_)
        values.append(f"({type_})memory[{i}]" if is_pointer(parameter) else f"({type_}){100 + i}")
    values[0] = f"({types[0]})memory[0]"
    call = f"{name}({', '.join(values)})"

    if command:
        head = f"static int stub_{name}(struct fid *fid, int command, void *arg)"
        notes = "seen[0] = (uintptr_t)fid; seen[1] = command; (void)arg;"
        result, expected = "return RESULT;", f"seen[1] == {command}"
    else:
        head = f"static {ret} stub_{name}({', '.join(parameters)})"
        notes = " ".join(f"seen[{i}] = (uintptr_t){n};" for i, n in enumerate(names))
        result = "" if ret == "void" else f"return ({ret})RESULT;"
        expected = " && ".join(
            ["1"] + [f"seen[{i}] == (uintptr_t){v}" for i, v in enumerate(values)]
        )
    source.add(f"{head}\n{{\n\thits++; {notes} {result}\n}}")

    source.add(f"static void test_{name}(void)\n{{")
    source.add(f"\t{owner} *{root} = ({owner} *)memory[0];")
    source.add("\tcurrent = __func__;\n\tmemset(memory, 0, sizeof(memory));")
    source.add(f"\t__typeof__({table}) table = trapped(sizeof(*table));")
    source.add(f"\t*(void **)&{table} = table;\n\ttable->{slot} = (void *)stub_{name};")
    if ret == "void":
        source.add(f"\t{call};")
    else:
        source.add(f'\tverdict((intptr_t){call} == RESULT, "{name} returns the result");')
    source.add(
        f'\tverdict(hits == 1 && !traps && seen[0] == (uintptr_t){root} && {expected}, '
        f'"{name} calls {function.target}");'
    )
    if "slot checked" in function.notes:
        answer = f"(intptr_t){call} == -FI_ENOSYS && !hits && !traps"
        source.add("\thits = 0;")
        source.add(f"\ttable->size = offsetof(__typeof__(*table), {slot});")
        source.add(f'\tverdict({answer}, "{name} respects the size of the table");')
        source.add(f"\ttable->size = sizeof(*table);\n\ttable->{slot} = NULL;")
        source.add(f'\tverdict({answer}, "{name} respects an empty slot");')
    source.add("}")
    return True


def check_dispatch(compiler, tally):
    source = Source("dispatch.c")
    source.add(RECORDER)
    tested = [f.name for f in tables.functions() if add_dispatch(source, f)]
    calls = "\n".join(f"\ttest_{name}();" for name in tested)
    source.add("int main(void)\n{\n\tsignal(SIGSEGV, crashed);")
    source.add(f'{calls}\n\tprintf("%d %d\\n", passed, failed);\n}}')
    program = compiler.folder / "dispatch"
    status, output = compiler.run(source, "-w", "-O0", "-o", str(program))
    if status:
        tally.check(False, f"the dispatch program does not compile:\n{output}")
        return
    result = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=False)
    lines = result.stdout.splitlines()
    if result.returncode:
        problem = f"the dispatch program ended with status {result.returncode}"
        tally.check(False, "\n".join(lines + [problem]))
        return
    for line in lines[:-1]:
        print(line)
    passed, failed = map(int, lines[-1].split())
    tally.passed += passed
    tally.failed += failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cc", help="compiler command, gcc or clang")
    parser.add_argument("include", help="folder that holds rdma/")
    args = parser.parse_args()
    tally = tables.Tally()
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(args.cc, args.include, folder)
        check_layout(compiler, tally)
        check_names(compiler, tally)
        check_warnings(compiler, tally)
        check_dispatch(compiler, tally)
    tally.finish()


if __name__ == "__main__":
    main()
