#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""documents.py: check what the documents refer to, and how long they are.

- A link in a document leads to a file, and its #anchor to a heading there.
- A document of docs/ that any source, test or page names exists.
- A file that a document names in `backquotes` exists: its path, or the end of one.
- A document that is meant to be read in one go keeps to its limit.
"""
import os
import re
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Words. A reader takes ten minutes for 1,800.
word_limits = {"docs/architecture.md": 1800}
line_limits = {"docs/performance.md": 200}
# Documents that name files of earlier versions.
histories = {"docs/performance.md", "CHANGELOG.md"}
# Files that documents tell readers to make.
examples = {"mine_test.c"}
texts = (".md", ".c", ".h", ".inl", ".in", ".py", ".sh", ".build", ".txt", ".yml")
problems = 0


def problem(path, line, text):
    global problems
    problems += 1
    print("%s:%d: %s" % (path, line, text))


def files():
    """The files of the tree, relative to its top."""
    for root, folders, names in os.walk(top):
        hidden = [d for d in folders if d in (".git", ".cache", "__pycache__")]
        builds = [d for d in folders if root == top and d.startswith("build")]
        for folder in hidden + builds:
            folders.remove(folder)
        for name in names:
            yield os.path.relpath(os.path.join(root, name), top)


def read(path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        return file.read()


def without_code(text):
    """@text with what is code blanked: blocks, and words in backquotes."""
    text = re.sub(r"^(    |\t).*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), text)


def anchors(text):
    """The anchors of the headings of a document, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        yield words.strip().replace(" ", "-")


def check_links(path, text):
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = os.path.join(os.path.dirname(path), name) if name else path
            target = os.path.normpath(target)
            if not os.path.exists(os.path.join(top, target)):
                problem(path, number, "link to %s, which is not there" % link)
            elif anchor and anchor not in anchors(read(target)):
                problem(path, number, "link to %s: no such heading" % link)


def check_mentions(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.findall(r"(?<![\w/-])docs/[\w/-]+\.(?:md|c)\b", line):
            if not os.path.exists(os.path.join(top, name)):
                problem(path, number, "%s is not there" % name)


def check_names(path, text, ends):
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.findall(r"`([\w./-]+\.(?:c|h|py|sh|in|txt))`", line):
            if re.search(r"\b[A-Z]+\b", name) or os.path.basename(name) in examples:
                continue
            if name.lstrip("./") not in ends:
                problem(path, number, "no file is %s" % name)


def main():
    tree = sorted(files())
    ends = set()
    for path in tree:
        parts = path.split(os.sep)
        ends.update("/".join(parts[i:]) for i in range(len(parts)))
    for path in tree:
        if not path.endswith(texts) and path not in ("dev", ".ci/run"):
            continue
        text = read(path)
        check_mentions(path, text)
        if path.endswith(".md"):
            check_links(path, text)
            if path not in histories:
                check_names(path, text, ends)
    for path, limit in word_limits.items():
        count = len(read(path).split())
        if count > limit:
            problem(path, 1, "%d words, at most %d" % (count, limit))
    for path, limit in line_limits.items():
        count = len(read(path).splitlines())
        if count > limit:
            problem(path, 1, "%d lines, at most %d" % (count, limit))
    print("documents: %s" % ("ok" if not problems else "%d problems" % problems))
    sys.exit(1 if problems else 0)


main()
