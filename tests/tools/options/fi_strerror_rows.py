# SPDX-License-Identifier: BSD-2-Clause
from rows import Row, exits, out, refused, silent, usage, whole_out  # noqa: F401

NAMES = {}


def text(code, wanted):
    return Row("", code, exits(0), whole_out(f"{wanted}\n"))


def complains(code, wanted):
    """Complaints are on the standard output, with the usage."""
    wanted = rf"ERROR: {wanted}\n\nUsage: "
    return Row("", code, exits(1), out(rf"\A{wanted}"), refused=True)


ROWS = [
    Row("-h --help", "-h", exits(0), usage()),
    text("0", "Success"),
    text("1", "Operation not permitted"),
    text("-11", "Resource temporarily unavailable"),
    text("+11", "Resource temporarily unavailable"),
    text("11", "Resource temporarily unavailable"),
    text("0xb", "Resource temporarily unavailable"),
    text("013", "Resource temporarily unavailable"),
    text("259", "Error available"),
    text("-0x103", "Error available"),
    text("2147483647", "Unspecified error"),
    text("-2147483647", "Unspecified error"),
    complains("2147483648", "'2147483648' is out of range"),
    complains("-2147483648", "'-2147483648' is out of range"),
    complains("99999999999999999999", "'99999999999999999999' is out of range"),
    complains("-99999999999999999999", "'-99999999999999999999' is out of range"),
    complains("12x", "unable to parse '12x'"),
    complains("''", "unable to parse ''"),
    complains("08", "unable to parse '08'"),
    complains("-x", "unable to parse '-x'"),
    complains("--helpful", "unable to parse '--helpful'"),
    Row("", "", exits(1), out(r"\AUsage: "), refused=True),
    Row("", "1 2", exits(1), out(r"\AUsage: "), refused=True),
    Row("", "-h 2", exits(1), out(r"\AUsage: "), refused=True),
]
