# SPDX-License-Identifier: BSD-2-Clause
"""The rows of tests.txt."""

from collections import namedtuple
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "tests.txt"


class Row(namedtuple("Row", "name test source shows")):
    @property
    def has_effect(self):
        return not self.shows.startswith("no effect")


def read():
    lines = PAGE.read_text("utf-8").splitlines()
    return [Row(*line.split(" | ")) for line in lines if line and not line.startswith("#")]
