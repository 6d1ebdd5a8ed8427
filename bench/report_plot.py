# SPDX-License-Identifier: BSD-2-Clause
"""Plots of rows as SVG, drawn as fi_bench --plot draws them (tools/bench/svg.c): a panel for
each unit, logarithmic axes, lines of medians, and bands from p50 to p99."""
import html
import math

WIDTH, PANEL = 960, 430
LEFT, RIGHT, TOP, BOTTOM = 80, 680, 45, 380  # the legend is beyond RIGHT
LEGEND_STEP, X_LABELS = 18, 12
TITLES = {
    "us": "time of a message, us",
    "MB/s": "bandwidth, MB/s",
    "M/s": "rate, millions of messages in a second",
}
COLORS = ["#1f6fb4", "#d62728", "#2a8a2a", "#8a5cb8", "#c77700", "#0a8f8f", "#7f4f3a",
          "#c2449a"]
DASHES = ["none", "7 3", "2 3", "9 3 2 3", "12 4", "4 4"]
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}">
<style>text {{ font: 12px sans-serif; }} .title {{ font-weight: bold; }} \
.grid {{ stroke: #e4e4e4; }}</style>
<rect width="100%" height="100%" fill="white"/>
"""


def bytes_text(size):
    for shift, letter in ((30, "g"), (20, "m"), (10, "k")):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{letter}"
    return str(size)


class Panel:
    """One panel: all curves of a unit."""

    def __init__(self, unit, top, curves):
        self.unit, self.top, self.legend, self.out = unit, top, 0, []
        sizes = [size for curve in curves for size in curve["points"]]
        values = [value for curve in curves for point in curve["points"].values()
                  for value in point.values() if value > 0]
        self.x_low, self.x_high = max(1, min(sizes)), max(1, max(sizes))
        if self.x_low == self.x_high:  # one size is in the middle
            self.x_low, self.x_high = self.x_low / 2, self.x_high * 2
        self.y_low, self.y_high = min(values) * 0.8, max(values) * 1.25

    def x(self, size):
        part = math.log(max(1, size) / self.x_low) / math.log(self.x_high / self.x_low)
        return LEFT + (RIGHT - LEFT) * part

    def y(self, value):
        value = min(max(value, self.y_low), self.y_high)
        part = math.log(value / self.y_low) / math.log(self.y_high / self.y_low)
        return self.top + BOTTOM - (BOTTOM - TOP) * part

    def line(self, x1, y1, x2, y2, label, x, y, anchor):
        self.out.append(f'<line class="grid" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
                        f'<text x="{x}" y="{y}" text-anchor="{anchor}">{label}</text>')

    def frame(self):
        self.out += [
            f'<text class="title" x="{LEFT}" y="{self.top + TOP - 14}">'
            f'{TITLES.get(self.unit, self.unit)}</text>',
            f'<rect x="{LEFT}" y="{self.top + TOP}" width="{RIGHT - LEFT}" '
            f'height="{BOTTOM - TOP}" fill="none" stroke="#999"/>']
        steps = int(math.log2(self.x_high / self.x_low) + 0.001)
        step = max(1, -(-steps // X_LABELS))
        while steps // step > X_LABELS:
            step += 1
        for i in range(0, steps + 1, step):
            size = self.x_low * 2 ** i
            x = f"{self.x(size):.1f}"
            self.line(x, self.top + TOP, x, self.top + BOTTOM, bytes_text(int(size)), x,
                      self.top + BOTTOM + 16, "middle")
        self.out.append(f'<text x="{(LEFT + RIGHT) // 2}" y="{self.top + BOTTOM + 34}" '
                        'text-anchor="middle">bytes</text>')
        for exponent in range(math.floor(math.log10(self.y_low)),
                              math.floor(math.log10(self.y_high)) + 1):
            for part in (1, 2, 5):
                value = part * 10.0 ** exponent
                if self.y_low <= value <= self.y_high:
                    y = self.y(value)
                    self.line(LEFT, f"{y:.1f}", RIGHT, f"{y:.1f}", f"{value:g}", LEFT - 6,
                              f"{y + 4:.1f}", "end")

    def points(self, curve, metric, sizes):
        return " ".join(f"{self.x(size):.1f},{self.y(curve['points'][size][metric]):.1f}"
                        for size in sizes)

    def curve(self, curve, color, dash):
        sizes = sorted(size for size, point in curve["points"].items() if "median" in point)
        banded = [size for size in sizes if {"p50", "p99"} <= curve["points"][size].keys()]
        if len(banded) > 1:
            there = self.points(curve, "p50", banded)
            back = self.points(curve, "p99", banded[::-1])
            self.out.append(f'<polygon fill="{color}" fill-opacity="0.13" '
                            f'points="{there} {back}"/>')
        self.out.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.8" '
                        f'stroke-dasharray="{dash}" '
                        f'points="{self.points(curve, "median", sizes)}"/>')
        for size in sizes:
            self.out.append(f'<circle fill="{color}" cx="{self.x(size):.1f}" '
                            f'cy="{self.y(curve["points"][size]["median"]):.1f}" r="2.2"/>')
        y = self.top + TOP + 8 + self.legend * 2 * LEGEND_STEP
        self.legend += 1
        self.out.append(
            f'<line stroke="{color}" stroke-width="1.8" stroke-dasharray="{dash}" '
            f'x1="{RIGHT + 12}" y1="{y}" x2="{RIGHT + 40}" y2="{y}"/>'
            f'<text x="{RIGHT + 46}" y="{y + 4}">{html.escape(curve["test"])}</text>'
            f'<text x="{RIGHT + 46}" y="{y + LEGEND_STEP}">'
            f'{html.escape(curve["provider"])}</text>')


def curves_of(rows, tests, providers):
    """A curve for each provider and test: {size: {metric: value}}."""
    curves = []
    for provider in providers:
        for test in tests:
            curve = {"provider": provider, "test": test, "unit": "", "points": {}}
            for row in rows:
                if (row.provider, row.test) == (provider, test) and \
                        row.metric in ("median", "p50", "p99"):
                    curve["unit"] = row.unit
                    point = curve["points"].setdefault(int(row.size), {})
                    point[row.metric] = float(row.value)
            if curve["points"]:
                curves.append(curve)
    return curves


def draw(rows, tests, providers):
    """The text of the plot."""
    curves = curves_of(rows, tests, providers)
    units = [unit for unit in TITLES if any(curve["unit"] == unit for curve in curves)]
    out = [HEAD.format(w=WIDTH, h=PANEL * len(units))]
    for number, unit in enumerate(units):
        mine = [curve for curve in curves if curve["unit"] == unit]
        panel = Panel(unit, number * PANEL, mine)
        panel.frame()
        count = {}
        for curve in mine:
            provider = curve["provider"]
            dash = count.get(provider, 0)
            count[provider] = dash + 1
            panel.curve(curve, COLORS[providers.index(provider) % len(COLORS)],
                        DASHES[dash % len(DASHES)])
        out.append("\n".join(panel.out) + "\n")
    return "".join(out) + "</svg>\n"
