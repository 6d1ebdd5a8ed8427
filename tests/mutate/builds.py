# SPDX-License-Identifier: BSD-2-Clause
"""Copies of the source with builds of their own, and the tests in them."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOT = os.path.join(TOP, "build", "mutate")
# What these suites test is not the library's code, or they take minutes and find nothing
# that others do not.
# The suites that run with AddressSanitizer, which notices what is not given back; others
# have programs that were not built with it.
SANITIZED = {"conformance", "fault", "lnx", "params", "peer", "personas", "rxd", "rxm", "tcp",
             "udp", "unit"}
SANITIZER = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}
LEFT_OUT = {"abi", "compat", "lifetime", "loadable", "man", "mpi", "readme", "requirements",
            "structure", "versions"}


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", **options)


class Test:
    """A test, with the times of its last run."""

    def __init__(self, build, entry, targets):
        self.build = build
        self.suite = entry["suite"][0].split(":")[1]
        self.name = "%s/%s" % (self.suite, entry["name"])
        self.command = entry["cmd"]
        self.env = entry["env"]
        self.alone = not entry["is_parallel"]
        self.targets = sorted({f for d in entry["depends"] for f in targets.get(d, [])})

    def start(self, limit, env=None):
        """Run it with a time limit in seconds. Returns its exit status, None if it ran into
        the limit, and the seconds that it took."""
        begun = time.monotonic()
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(
                self.command, cwd=self.build, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "MALLOC_PERTURB_": "4", **self.env, **(env or {})},
            )
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            out.seek(0)
            text = out.read().decode(errors="replace")
        # Programs with TAP end with 0 where Meson counts the lines.
        if status == 0 and any(line.startswith("not ok") for line in text.splitlines()):
            status = 1
        return status, time.monotonic() - begun


class Build:
    """A copy of the tracked files at ROOT/NAME/tree, and a build of it at ROOT/NAME/KIND."""

    def __init__(self, name, options=(), kind="build"):
        self.tree = os.path.join(ROOT, name, "tree")
        self.dir = os.path.join(ROOT, name, kind)
        self.options = list(options)

    def prepare(self):
        if not os.path.exists(os.path.join(self.dir, "build.ninja")):
            shutil.rmtree(self.dir, ignore_errors=True)
            done = run(["meson", "setup", "-Dunit_tests=enabled", "-Doptimization=1",
                        "-Dbench=false", *self.options, self.dir, self.tree])
            if done.returncode:
                raise SystemExit(done.stdout[-2000:])

    def copy(self):
        """Copy files that differ from those of the repository, and remove others."""
        left = {os.path.relpath(os.path.join(d, f), self.tree)
                for d, _, files in os.walk(self.tree) for f in files}
        names = run(["git", "-C", TOP, "ls-files", "-z"]).stdout.split("\0")[:-1]
        for name in names:
            source, to = os.path.join(TOP, name), os.path.join(self.tree, name)
            if not os.path.exists(source):
                continue
            os.makedirs(os.path.dirname(to), exist_ok=True)
            with open(source, "rb") as f:
                content = f.read()
            if os.path.exists(to):
                with open(to, "rb") as f:
                    if f.read() == content:
                        continue
            shutil.copy(source, to)
        for name in left - set(names):
            os.remove(os.path.join(self.tree, name))

    def ninja(self, *targets, jobs=1):
        """None, or the last lines of the errors."""
        done = run(["ninja", "-C", self.dir, "-j", str(jobs), *targets])
        return done.stdout[-3000:] if done.returncode else None

    def introspect(self, what):
        return json.loads(subprocess.check_output(
            ["meson", "introspect", "--" + what, self.dir], stderr=subprocess.DEVNULL))

    def tests(self):
        targets = {
            t["id"]: [os.path.relpath(f, self.dir) for f in t["filename"]]
            for t in self.introspect("targets")
        }
        tests = [Test(self.dir, e, targets) for e in self.introspect("tests")]
        return [t for t in tests if t.suite not in LEFT_OUT]

    def objects(self):
        """The object files of each source file, relative to the build."""
        with open(os.path.join(self.dir, "compile_commands.json"), encoding="utf-8") as f:
            commands = json.load(f)
        found = {}
        for c in commands:
            path = os.path.normpath(os.path.join(self.dir, c["file"]))
            found.setdefault(os.path.relpath(path, self.tree), []).append(c["output"])
        return found
