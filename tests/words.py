#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""words.py [FOLDER...]: check comments and names in the sources for words that explain nothing.

A comment names its subject: a word such as "whoever" or "somebody" stands for a noun
that the reader has to guess. A name is a term of the field (docs/glossary.md):
"turn" or "place" says nothing to a newcomer.
"""
import os
import re
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
folders = sys.argv[1:] or [
    "src", "include", "tools", "bench", "examples",
]  # fmt: skip

# In comments, as whole words or phrases.
in_comments = [
    (r"who(ever|soever)|whom|those who|one who|he|she|his|him|her", "name the subject"),
    (r"(some|any|every|no)(body|one)", "name the subject"),
    (r"whichever|what(so)?ever(?! (?:its|the|their) )", "name the cases"),
    (r"and the like|and such|and so on|stuff", "name the others"),
    (r"stow|rouse|book|tight|thin|nearer|far end|near end", "use the glossary's word"),
]
# In names: words between underscores.
in_names = {
    "turn", "turns", "place", "places", "look", "looks", "rouse", "stow", "stowed",
    "room", "rooms", "thin", "book", "quick", "quickly", "tight", "whoever", "somebody",
    "thing", "things", "stuff", "beside", "way", "ways", "heat", "cool", "poke", "near",
    "rests", "rested", "apart", "told", "crowd", "crowded",
}  # fmt: skip
# In names of providers: words that have another meaning in the rooms below.
in_provider_names = {"claim", "claims", "claimed"}
terms = re.compile("look_up|in_place|give_way")
# The standard library and the interface of libfabric have these.
not_ours = re.compile(r"^(FI_|fi_|F_|O_|PTHREAD_|EPOLL)")
problems = 0


def problem(path, number, text):
    global problems
    problems += 1
    print("%s:%d: %s" % (os.path.relpath(path, top), number, text))


def sources():
    for folder in folders:
        for root, _, files in os.walk(os.path.join(top, folder)):
            for name in sorted(files):
                if name.endswith((".c", ".h", ".inl", ".c.in")):
                    yield os.path.join(root, name)


comment = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
string = re.compile(r'"(?:\\.|[^"\\\n])*"')
rules = [(re.compile(r"\b(?:%s)\b" % words, re.I), advice) for words, advice in in_comments]

for path in sources():
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for m in comment.finditer(text):
        flat = re.sub(r"[\s*]+", " ", m.group())
        number = text.count("\n", 0, m.start()) + 1
        for rule, advice in rules:
            for word in rule.findall(flat):
                problem(path, number, 'comment with "%s": %s' % (rule.search(flat).group(), advice))
                break
    code = string.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    code = comment.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), code)
    seen = set()
    for number, line in enumerate(code.split("\n"), 1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            if name in seen or not_ours.match(name):
                continue
            seen.add(name)
            words = terms.sub("", name.lower()).split("_")
            bad = in_names.intersection(words)
            if "src/providers/" in path:
                bad |= in_provider_names.intersection(words)
            if bad:
                problem(path, number, 'name %s: "%s" is no term' % (name, bad.pop()))

print("words: %s" % ("ok" if not problems else "%d problems" % problems))
sys.exit(1 if problems else 0)
