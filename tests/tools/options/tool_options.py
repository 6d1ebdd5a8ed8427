# SPDX-License-Identifier: BSD-2-Clause
"""The options of each tool, as its source, its help text and its manual page have them.

An option is a frozenset of its forms, such as {"-p", "--provider"}.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# The file that parses the command line. fi_strerror compares words and has no table.
SOURCES = {
    "fi_bench": "tools/bench/options.c",
    "fi_info": "tools/info/options.c",
    "fi_mon_sampler": "tools/mon_sampler/options.c",
    "fi_pingpong": "tools/pingpong/options.c",
    "fi_strerror": "tools/strerror.c",
}

FORM = r"(?<![\w-])(--[a-z][\w-]*\w|-\w)(?![\w-])"


def source_of(tool):
    return (ROOT / SOURCES[tool]).read_text("utf-8")


def letters(text):
    """{letter: takes an argument} of the call of getopt or getopt_long."""
    match = re.search(r'getopt(?:_long)?\(\s*argc, argv,\s*(?:"([^"]+)"|(\w+))', text)
    if not match:
        return {}
    word = match[1] or re.search(rf'{match[2]}\[\] = "([^"]+)"', text)[1]
    return {letter: bool(colon) for letter, colon in re.findall(r"(\w)(:?)", word)}


def parsed(tool):
    """{option: takes an argument} of the source."""
    text = source_of(tool)
    short = letters(text)
    found = {}
    for name, kind, value in re.findall(
        r'\{ "([\w-]+)", (\w+)_argument, NULL, (\'\w\'|\w+) \}', text
    ):
        forms = {f"--{name}"}
        if value.startswith("'"):
            letter = value.strip("'")
            forms.add(f"-{letter}")
            if short.pop(letter, None) is not (kind == "required"):
                raise SystemExit(f"{tool}: -{letter} and --{name} differ")
        found[frozenset(forms)] = kind == "required"
    found.update({frozenset({f"-{k}"}): v for k, v in short.items()})
    compared = re.findall(r'strcmp\(argv\[1\], "(-[\w-]+)"\)', text)
    if compared:
        found[frozenset(compared)] = False
    return found


def strings(text):
    return "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', text)).replace("\\n", "\n")


def helped(tool):
    """The forms of the help text. Its lines begin with blanks where they tell of an option,
    and another one may follow behind a semicolon."""
    text = source_of(tool)
    found = set()
    if "help_rows" in text:
        table = re.search(r"help_rows\[\] = \{(.*?)\n\};", text, re.S)[1]
        lines = [first for first, _ in re.findall(r'\{ "(.*?)",\s*"(.*?)" \}', table)]
    else:
        lines = re.findall(r"^ {2,}(-.*|.*; -.*)$", strings(text), re.M)
    for line in lines:
        for part in line.split("; "):
            head = re.match(rf"\s*{FORM}((, | \S+, ){FORM})*", part)
            found |= set(re.findall(FORM, head[0])) if head else set()
    return found


def documented(tool):
    """The forms that the manual page has as items of its lists."""
    page = (ROOT / "man" / "man1" / f"{tool}.1").read_text("utf-8").replace("\\\n", "")
    found = set()
    for line in re.findall(r"^\.TP(?: \d+)?\n(.*)$", page, re.M):
        line = re.sub(r"\\f.", "", line.replace("\\-", "-")).replace(" =", "=")
        words = re.sub(r'["|,;]', " ", re.sub(r"^\.[BIR]+ ", "", line))
        found |= set(re.findall(FORM, words))
    return found
