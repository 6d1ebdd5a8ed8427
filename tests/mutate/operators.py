# SPDX-License-Identifier: BSD-2-Clause
"""The small faults that are put into the source, one at a time: each is one line that
is replaced. The source is formatted by clang-format, so lines tell what they are."""
import re

# A statement that is one line: a call whose result is not used, an assignment, a count.
CALL = re.compile(r"^(\t+)(\(void\)!?)?[a-z_]\w*(?:->\w+|\.\w+)*\(.*\);$")
ASSIGNMENT = re.compile(r"^(\t+)\*?[a-z_][\w.>\[\]()*-]* [|&+-]?= [^=].*;$")
COUNT = re.compile(r"^(\t+)(?:\+\+|--)?[a-z_][\w.>\[\]-]*(?:\+\+|--)?;$")
DECLARATION = re.compile(r"^\t+(?:const |static |struct |enum |unsigned |u?int\d+_t |int |char )")
CONDITION = re.compile(r"^(\t+(?:\} else )?)if \((.*)\)( \{)?$")
LOOP = re.compile(r"^(\t+)while \((.*)\)( \{)?$")
RELEASE = re.compile(
    r"unlock|wake|signal|unref|release|free|close|remove|unmap|give|done|end|drop|notify|fence"
)
CODES = re.compile(r"\bFI_E(?!P_|P\b|Q)[A-Z]{3,}\b")
FLAGS = [
    ("FI_REMOTE_READ", "FI_REMOTE_WRITE"), ("FI_SEND", "FI_RECV"), ("FI_MSG", "FI_TAGGED"),
    ("FI_READ", "FI_WRITE"), ("FI_TRANSMIT", "FI_RECV"), ("EPOLLIN", "EPOLLOUT"),
    ("FI_INJECT", "FI_COMPLETION"),
]


def code_of(line):
    """@line without texts and comments, of the same length."""
    blank = lambda m: m.group(0)[0] + " " * (len(m.group(0)) - 2) + m.group(0)[-1]
    line = re.sub(r'"(?:[^"\\]|\\.)*"', blank, line)
    line = re.sub(r"'(?:[^'\\]|\\.)*'", blank, line)
    return re.sub(r"/\*.*?(?:\*/|$)", lambda m: " " * len(m.group(0)), line)


def is_comment(line):
    return re.match(r"\s*(/\*|\*|//)", line) is not None


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def drops(line, code):
    """The statement is not executed."""
    if DECLARATION.match(code):
        return
    for pattern in (CALL, ASSIGNMENT, COUNT):
        m = pattern.match(code)
        if m and balanced(code):
            kind = "release dropped" if pattern is CALL and RELEASE.search(code) else "dropped"
            yield kind, m.group(1) + ";"
            return


def conditions(line, code):
    for pattern, word in ((CONDITION, "if"), (LOOP, "while")):
        m = pattern.match(code)
        if not m or not balanced(m.group(2)):
            continue
        inner = line[m.start(2):m.end(2)]
        tail = m.group(3) or ""
        if word == "if":
            yield "negated", "%sif (!(%s))%s" % (m.group(1), inner, tail)
        else:
            yield "retry dropped", "%sif (%s)%s" % (m.group(1), inner, tail)
        for op in ("&&", "||"):
            parts = split_top(inner, op)
            for i in range(len(parts) if len(parts) > 1 else 0):
                rest = (" %s " % op).join(parts[:i] + parts[i + 1:])
                yield "operand dropped", "%s%s (%s)%s" % (m.group(1), word, rest, tail)


def split_top(text, op):
    """The operands of @op in @text that are in no parentheses."""
    parts, depth, last, i = [], 0, 0, 0
    while i < len(text):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0 and text.startswith(op, i):
            parts.append(text[last:i].strip())
            last = i = i + len(op)
            continue
        i += 1
    parts.append(text[last:].strip())
    other = "||" if op == "&&" else "&&"
    return parts if all(parts) and not any(other in p for p in parts) else [text]


def replaced(line, m, text):
    return line[:m.start()] + text + line[m.end():]


def comparisons(line, code):
    moved = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ",
             " != ": " == "}
    for m in re.finditer(r" (?:<=|>=|==|!=|<|>) ", code):
        yield "comparison moved", replaced(line, m, moved[m.group(0)])


def arithmetic(line, code):
    swapped = {" + ": " - ", " - ": " + "}
    for m in re.finditer(r" [+-] ", code):
        yield "sign exchanged", replaced(line, m, swapped[m.group(0)])
    for m in re.finditer(r"(?<=[=(,] )\d+(?=[;,)])|(?<=return )\d+(?=;)", code):
        yield "moved by one", replaced(line, m, str(int(m.group(0)) + 1))
    for m in re.finditer(r"\b(?:true|false)\b", code):
        yield "exchanged", replaced(line, m, "false" if m.group(0) == "true" else "true")


def codes(line, code):
    for m in CODES.finditer(code):
        other = "FI_EIO" if m.group(0) != "FI_EIO" else "FI_EINVAL"
        yield "code exchanged", replaced(line, m, other)
    for pair in FLAGS:
        for a, b in (pair, pair[::-1]):
            for m in re.finditer(r"\b%s\b" % a, code):
                yield "flag exchanged", replaced(line, m, b)


def orders(line, code):
    for m in re.finditer(r"memory_order_(?:acquire|release|acq_rel|seq_cst)", code):
        if "atomic_thread_fence" in code or "atomic_signal_fence" in code:
            continue
        yield "order relaxed", replaced(line, m, "memory_order_relaxed")


OPERATORS = (drops, conditions, comparisons, arithmetic, codes, orders)


def mutations(text):
    """(number of the line from 0, kind, the line that replaces it) for each fault that can
    be put into the C source @text."""
    comment = inside = False
    for number, line in enumerate(text.split("\n")):
        was, comment = comment, ("/*" in line or comment) and "*/" not in line
        # A function begins and ends so; tables do not.
        inside = line == "{" or (inside and line != "}")
        if was or is_comment(line) or not inside or not line.startswith("\t"):
            continue
        if line.endswith("\\"):
            continue
        code = code_of(line)
        if "assert" in code or "_log(" in code or "FI_WARN" in code or "FI_LOG" in code:
            continue
        for operator in OPERATORS:
            for kind, new in operator(line, code):
                if new != line:
                    yield number, kind, new
