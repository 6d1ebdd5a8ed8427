#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What ./dev bench report makes of rows, and how rows are kept (bench/report.py, bench/keep.py)."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(TOP, "bench")
sys.dont_write_bytecode = True
sys.path.insert(0, BENCH)
import keep
import report
import report_plot
import result_rows

HEAD = ",".join(result_rows.COLUMNS) + "\n"
ROWS = HEAD + """\
2026-11-27,zen4,near,fi_bench --vs,latency,shm,8,best,0.083,us,
2026-11-27,zen4,near,fi_bench --vs,latency,shm,8,median,0.134,us,
2026-11-27,zen4,near,fi_bench --vs,latency,shm,8,time_ratio,0.51,x,libfabric shm
2026-11-27,zen4,near,fi_bench --vs,latency,shm,4096,median,0.736,us,
2026-11-27,zen4,near,fi_bench --vs,latency,shm,4096,time_ratio,1.25,x,libfabric shm
2026-11-27,zen4,near,fi_bench --vs,latency,shm,4096,time_ratio,0.08,x,UCX shm
2026-11-27,zen4,near,fi_bench --vs,barrier,shm,,median,2.5,us,
2026-11-27,zen4,near,fi_bench --vs,fetch_add,shm,8,median,0.26,us,
2026-11-27,zen4,far,fi_bench --vs,latency,shm,8,median,0.4,us,
"""
PAGE = """\
# A page
<!-- figures: date=2026-11-27 machine=zen4 placement=near tool='fi_bench --vs' sizes='- 8 4k'
     by='libfabric; UCX' rows='shm: latency; shm: barrier; shm: fetch_add' -->
old
<!-- end of figures -->
text
"""
TABLE = """\
| | no data | 8 B | 4 KiB |
|---|---|---|---|
| shm, latency, us |  | 0.083 / 0.134, 2.0 x | 0.736, 0.80 x, 12 x |
| shm, barrier, us | 2.5 |  |  |
| shm, `fetch_add`, us |  | 0.26 |  |
"""
PLOTTED = HEAD + "".join(
    f"2026-11-27,zen4,near,plot,latency,{who},{size},{metric},{value},us,\n"
    for who, size, metric, value in (
        ("shm", 8, "median", 1), ("shm", 8, "p50", 1), ("shm", 8, "p99", 10),
        ("shm", 64, "median", 2), ("shm", 64, "p50", 2), ("shm", 64, "p99", 9),
        ("libfabric shm", 8, "median", 100)))
# What fi_bench --vs prints.
COMPARED = """\
# first: weft; /lib/libfabric.so.1
# 7 interleaved rounds; the ratio is the median of those of single rounds,

# latency, us
   bytes  first best      median second best      median    ratio  of best    quiet
       8       0.083       0.134       0.138       0.422    0.600    0.601    0.590
      4k       0.439       0.736           -           -

# rate, M/s
   bytes  first best      median second best      median    ratio  of best
      64      22.500       6.400       9.800       2.500    0.390    0.436
"""


class Folder(unittest.TestCase):
    """A test with files of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def rows(self, text):
        return result_rows.read(self.file("rows.csv", text))

    def report(self, *arguments):
        return subprocess.run([sys.executable, "-B", os.path.join(BENCH, "report.py"), *arguments],
                              capture_output=True, text=True, check=False)


class Format(Folder):
    def refused(self, line, reason):
        with self.assertRaisesRegex(result_rows.Wrong, reason):
            self.rows(HEAD + line + "\n")

    def test_reads(self):
        rows = self.rows(ROWS)
        self.assertEqual(len(rows), 9)
        self.assertEqual(rows[2].compared_with, "libfabric shm")

    def test_refuses(self):
        good = "2026-11-27,zen4,near,tool,test,shm,8,best,1.5,us,"
        self.rows(HEAD + good + "\n")
        self.refused("1.5", "1 columns")
        self.refused(good.replace("2026-11-27", "yesterday"), "no date")
        self.refused(good.replace(",8,", ",8 B,"), "no size")
        self.refused(good.replace("1.5", "1,5"), "12 columns")
        self.refused(good.replace("1.5", "fast"), "no number")
        self.refused(good.replace("zen4", ""), "no machine")
        self.refused(good.replace("best,1.5,us", "time_ratio,1.5,us"), "ratios")
        self.refused(good.replace("best", "time_ratio").replace("us", "x"), "ratios")
        self.refused(good + "libfabric", "ratios")
        self.refused(good + "\n" + good.replace("1.5", "2"), ":3: stands here twice")
        with self.assertRaisesRegex(result_rows.Wrong, "names of the columns"):
            self.rows(good + "\n")

    def test_append_replaces(self):
        path = self.file("rows.csv", ROWS)
        row = result_rows.read(path)[0]
        more = [row._replace(value="0.09"), row._replace(size="16")]
        result_rows.append(path, more)
        rows = result_rows.read(path)
        self.assertEqual(len(rows), 10)
        self.assertEqual([r.value for r in rows if result_rows.key(r) == result_rows.key(row)],
                         ["0.09"])

    def test_machines(self):
        def name(vendor, family, model):
            return result_rows.machine_of(
                f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n"
                "model name\t: some processor\n")
        self.assertEqual(name("AuthenticAMD", 25, 1), "zen3")
        self.assertEqual(name("AuthenticAMD", 25, 17), "zen4")
        self.assertEqual(name("AuthenticAMD", 26, 2), "zen5")
        self.assertEqual(name("GenuineIntel", 6, 207), "xeon-207")
        self.assertEqual(name("ARM", 8, 0), os.uname().machine)


class Tables(Folder):
    def test_table(self):
        page = report.new_page(PAGE, self.rows(ROWS))
        self.assertIn(TABLE + report.END, page)
        self.assertNotIn("old", page)
        self.assertEqual(page, report.new_page(page, self.rows(ROWS)))
        self.assertTrue(page.startswith("# A page\n") and page.endswith("\ntext\n"))

    def test_times_as_fast(self):
        for ratio, text in (("0.51", "2.0 x"), ("1", "1.00 x"), ("0.94", "1.06 x"),
                            ("1.33", "0.75 x"), ("0.05", "20 x")):
            self.assertEqual(report.times_as_fast(ratio), text)

    def test_row_without_figures(self):
        with self.assertRaisesRegex(result_rows.Wrong, "no figures of 'shm: bandwidth'"):
            report.new_page(PAGE.replace("barrier", "bandwidth"), self.rows(ROWS))

    def test_word_without_value(self):
        with self.assertRaisesRegex(result_rows.Wrong, "no NAME=VALUE"):
            report.new_page(PAGE.replace("machine=", "machine "), self.rows(ROWS))

    def test_check_and_write(self):
        csv, page = self.file("rows.csv", ROWS), self.file("page.md", PAGE)
        stale = self.report("--check", "--page", page, csv)
        self.assertEqual(stale.returncode, 1)
        self.assertIn("page.md: not what the rows give", stale.stderr)
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), PAGE)
        self.assertEqual(self.report("--page", page, csv).returncode, 0)
        self.assertEqual(self.report("--check", "--page", page, csv).returncode, 0)
        self.file("rows.csv", ROWS.replace("0.736", "0.737"))
        self.assertEqual(self.report("--check", "--page", page, csv).returncode, 1)
        self.assertEqual(self.report("--check", "--page", page, csv + "2").returncode, 1)

    def test_show(self):
        shown = self.report("--show", self.file("rows.csv", ROWS)).stdout
        self.assertIn("2026-11-27, zen4, near, fi_bench --vs\n", shown)
        self.assertIn("| | shm | shm by libfabric shm | shm by UCX shm |\n", shown)
        self.assertIn("| latency, 8 B | 0.083 / 0.134 us | time_ratio 0.51 x |  |\n", shown)
        self.assertIn("2026-11-27, zen4, far, fi_bench --vs\n", shown)


class Plots(Folder):
    def test_plot(self):
        svg = report_plot.draw(self.rows(PLOTTED), ["latency"], ["shm", "libfabric shm"])
        self.assertIn("time of a message, us", svg)
        self.assertNotIn("bandwidth, MB/s", svg)
        # Sizes reach from the left to the right; a value is in the middle of its decade.
        self.assertEqual(svg.count('points="80.0,'), 3)
        self.assertIn('<circle fill="#1f6fb4" cx="680.0"', svg)
        self.assertIn('<polygon fill="#1f6fb4"', svg)
        self.assertNotIn('<polygon fill="#d62728"', svg)
        self.assertIn(">libfabric shm</text>", svg)
        self.assertTrue(svg.endswith("</svg>\n"))

    def test_plot_of_the_page(self):
        page = ("<!-- plot: machine=zen4 tool=plot tests=latency curves='shm; libfabric shm' -->\n"
                "![shm](plot.svg)\n")
        csv, path = self.file("rows.csv", PLOTTED), self.file("page.md", page)
        self.assertEqual(self.report("--check", "--page", path, csv).returncode, 1)
        self.assertEqual(self.report("--page", path, csv).returncode, 0)
        self.assertEqual(self.report("--check", "--page", path, csv).returncode, 0)
        self.file("page.md", page.replace("libfabric shm", "UCX shm"))
        self.assertIn("no figures of the curve 'UCX shm'",
                      self.report("--check", "--page", path, csv).stderr)


@mock.patch.dict(os.environ, BENCH_MACHINE="zen9", BENCH_PLACEMENT="near")
class Kept(Folder):
    def test_names(self):
        self.assertEqual(keep.name_parts("shm_tagged_64"),
                         {"provider": "shm", "test": "tagged", "size": "64"})
        self.assertEqual(keep.name_parts("rdm_bw65536"),
                         {"provider": "rdm", "test": "bw", "size": "65536"})
        self.assertEqual(keep.name_parts("bare")["test"], "bare")
        self.assertEqual(keep.reference("shm_tagged_8", "bare_tagged_8"), "bare")
        self.assertEqual(keep.reference("ours_idle_8", "ours_tagged_8"), "ours_tagged_8")

    def test_figures(self):
        script = self.file("some.sh", f"""
            . "{BENCH}/figures.sh"
            round() {{ echo "$1 $2"; }}
            measure shm_tagged_64 round 11 13
            measure bare_tagged_64 round 20 26
            measure shm_tagged_64 round 10 12
            measure bare_tagged_64 round 21 26
            echo 'a log' >"$figures/log"
            quotient shm_tagged_64 bare_tagged_64 median
        """)
        path = os.path.join(self.folder, "new.csv")
        for _ in range(2):
            run = subprocess.run(["bash", script], env=dict(os.environ, BENCH_RESULTS=path),
                                 capture_output=True, text=True, check=True)
            self.assertEqual(run.stdout, "0.461538\n")
        rows = {(row.provider, row.metric): row for row in result_rows.read(path)}
        self.assertEqual(len(rows), 5)
        self.assertEqual(rows["shm", "best"].value, "10")
        self.assertEqual(rows["shm", "median"].value, "12")
        self.assertEqual(rows["shm", "time_ratio"].value, "0.4615")
        self.assertEqual(rows["shm", "time_ratio"].compared_with, "bare")
        self.assertEqual(rows["bare", "best"][1:7],
                         ("zen9", "near", "some.sh", "tagged", "bare", "64"))

    def test_nothing_is_kept_of_a_failure(self):
        script = self.file("some.sh", f"""
            . "{BENCH}/figures.sh"
            measure shm_tagged_64 echo 11 13
            exit 3
        """)
        path = os.path.join(self.folder, "new.csv")
        run = subprocess.run(["bash", script], env=dict(os.environ, BENCH_RESULTS=path),
                             check=False)
        self.assertEqual(run.returncode, 3)
        self.assertFalse(os.path.exists(path))

    def test_compared(self):
        path = os.path.join(self.folder, "new.csv")
        out = io.StringIO()
        arguments = ["keep.py", "compared", path, "fi_bench --vs-ucx", "shm", "UCX shm"]
        with mock.patch("sys.argv", arguments), mock.patch("sys.stdin", io.StringIO(COMPARED)), \
                contextlib.redirect_stdout(out):
            self.assertEqual(keep.main(), 0)
        self.assertEqual(out.getvalue(), COMPARED)
        rows = {(row.test, row.provider, row.size, row.metric): row
                for row in result_rows.read(path)}
        self.assertEqual(len(rows), 12)
        self.assertEqual(rows["latency, untouched", "shm", "8", "time_ratio"].value, "0.600")
        self.assertEqual(rows["rate, untouched", "UCX shm", "64", "median"].value, "2.500")
        self.assertEqual(rows["rate, untouched", "UCX shm", "64", "median"].unit, "M/s")


if __name__ == "__main__":
    unittest.main()
