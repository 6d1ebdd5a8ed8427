# SPDX-License-Identifier: BSD-2-Clause
"""Do the manual pages describe the interface that the tables of tests/abi hold?

Every public function has its prototype in the SYNOPSIS of exactly one page of section
3, the NAME section names it, and the table of aliases in man/man3/meson.build leads
from its name to that page. Constants, structs and pages that a page mentions exist.
man(1) formats all pages without a warning.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAN3 = ROOT / "man" / "man3"
sys.path.insert(0, str(ROOT / "tests" / "abi"))

import tables  # noqa: E402

# For device code, which has no manual pages.
NOT_DOCUMENTED = "fi_xpu_device.h"
MAX_COLUMNS = 88


def section(text, name):
    """The lines of one section."""
    match = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH|\Z)", text, re.M | re.S)
    return match.group(1).splitlines() if match else []


def unmarked(line):
    """A line as it is printed: without a request's name, quotes and font changes."""
    if line.startswith("."):
        request, _, rest = line.partition(" ")
        glue = "" if len(request) == 3 else " "
        words = re.findall(r'"([^"]*)"|(\S+)', rest)
        line = glue.join(quoted or plain for quoted, plain in words)
    return re.sub(r"\\f.", "", line).replace("\\-", "-")


def packed(text):
    """Without the white space that means nothing."""
    return re.sub(r"\s*([*(),])\s*", r"\1", " ".join(text.split()))


def prototypes(text):
    lines = [unmarked(line) for line in section(text, "SYNOPSIS")]
    code = " ".join(line for line in lines if not line.startswith("#include"))
    return [packed(part) for part in code.split(";") if "(" in part]


def check_synopsis(tally, pages, functions):
    """Returns the page of each function."""
    found = {}
    for name, text in pages.items():
        for prototype in prototypes(text):
            call = re.search(r"(\w+)\(", prototype)
            function = functions.get(call.group(1)) if call else None
            tally.check(function, f"{name}: not a public function: {prototype}")
            if not function:
                continue
            tally.check(
                prototype == packed(function.signature),
                f"{name}: {prototype}\n  is declared as {function.signature}",
            )
            found.setdefault(function.name, []).append(name)
    for name in functions:
        places = found.get(name, [])
        tally.check(
            len(places) == 1, f"{name} is in the SYNOPSIS of {places or 'no page'}"
        )
    return {name: places[0] for name, places in found.items()}


def aliases():
    """The table in meson.build, whose syntax is Python's as well."""
    text = (MAN3 / "meson.build").read_text(encoding="utf-8")
    return ast.literal_eval(re.search(r"man3_aliases = (\{.*?\n\})", text, re.S)[1])


def check_names(tally, pages, page_of):
    table = aliases()
    for name, page in page_of.items():
        names = re.findall(r"\w+", " ".join(section(pages[page], "NAME")))
        tally.check(name in names, f"{page}: NAME lacks {name}")
        if name != page:
            tally.check(name in table.get(page, []), f"meson.build: no alias {name}")
    for page, names in table.items():
        for name in names:
            tally.check(
                page_of.get(name) == page, f"meson.build: {name} is not in {page}"
            )


def check_words(tally, pages, page_of):
    sevens = {page.stem: page.read_text("utf-8") for page in ROOT.glob("man/man7/*.7")}
    constants = {constant.name for constant in tables.constants()}
    # Environment variables are described there.
    constants |= set(re.findall(r"\bFI_[A-Z0-9_]+\b", " ".join(sevens.values())))
    structs, others = tables.structs()
    structs = {struct.name for struct in structs} | {row[2] for row in others}
    known = {"3": set(pages) | set(page_of), "7": set(sevens)}
    for name, text in pages.items():
        text = re.sub(r"^\.TH.*", "", text, flags=re.M)
        for word in set(re.findall(r"\bFI_[A-Z0-9_]*[A-Z0-9]\b", text)):
            tally.check(word in constants, f"{name}: {word} does not exist")
        for word in set(re.findall(r"\b(?:struct|union) (fid?_\w*[a-z0-9])\b", text)):
            tally.check(word in structs, f"{name}: struct {word} does not exist")
        for word, number in set(re.findall(r"^\.BR (f\w+) \((\d)\)", text, re.M)):
            if number in known:
                tally.check(
                    word in known[number], f"{name}: no page {word}({number})"
                )
        for i, line in enumerate(text.splitlines(), 1):
            # A request cannot be broken.
            if len(line) > MAX_COLUMNS and not line.startswith("."):
                tally.check(False, f"{name}:{i}: more than {MAX_COLUMNS} columns")


def check_examples(tally, pages):
    """Code of an example is that of the program that the section names."""
    for name, text in pages.items():
        example = "\n".join(section(text, "EXAMPLE"))
        program = re.search(r"\bexamples/\w+\.c\b", example)
        if not program:
            continue
        source = (ROOT / program.group()).read_text("utf-8")
        for code in re.findall(r"^\.nf\n(.*?)^\.fi", example, re.M | re.S):
            code = code.replace("\\-", "-").replace("\\e", "\\")
            tally.check(
                code in source, f"{name}: the example differs from {program.group()}"
            )


def check_format(tally):
    if not shutil.which("man"):
        print("man(1) is missing: how the pages are formatted was not checked")
        return
    for page in sorted(ROOT.glob("man/man?/*.[1-9]")):
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-l", page],
            env={**os.environ, "MANWIDTH": "80"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
            text=True,
        )
        tally.check(
            not done.returncode and not done.stderr, f"{page.name}: {done.stderr}"
        )


def main():
    tally = tables.Tally()
    functions = {
        function.name: function
        for function in tables.functions()
        if function.header != NOT_DOCUMENTED
    }
    pages = {page.stem: page.read_text("utf-8") for page in sorted(MAN3.glob("*.3"))}
    page_of = check_synopsis(tally, pages, functions)
    check_names(tally, pages, page_of)
    check_words(tally, pages, page_of)
    check_examples(tally, pages)
    check_format(tally)
    tally.finish()


if __name__ == "__main__":
    main()
