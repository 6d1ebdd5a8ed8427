#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README's commands run as printed.

readme.py SOURCE BUILD

Every indented block of README.md is run, in one shell and in order, as a reader would
who pastes them. What is replaced: the prefix /opt/weft by a scratch directory, /dir by an
empty one, eth0 and eth1 by the loopback where there is no network namespace of our own to
have them in. ./dev install copies what BUILD holds instead of building again. Left out:
./dev demo and ./dev test, which are what runs this, and what needs a program of the
distribution that is not here, with a line that says so.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LEFT_OUT = re.compile(r"\./dev (demo|test)\b")
TIME_LIMIT_S = 120
MPI_PROGRAM = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	rank++;
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return sum != 3;
}
"""
NETWORK = """
ip link set lo up
ip link add eth0 type veth peer name eth1
ip addr add 10.77.0.1/24 dev eth0
ip addr add 10.77.1.1/24 dev eth1
ip link set eth0 up
ip link set eth1 up
"""
# On a machine that is busy a second may be too short for the server to start.
SERVER_LISTENS = "for n in {1..200}; do ss -ltn | grep -q :47592 && break; sleep 0.1; done"
# A connection of an earlier test may have had the port at its end, which keeps a server
# from it for a minute.
BIND = ("import socket; s = socket.socket(); s.bind(('', 47592)) if not "
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1) else 0")
PORT_IS_FREE = f'for n in {{1..140}}; do python3 -c "{BIND}" && break; sleep 0.5; done 2>/dev/null'


def blocks(text):
    """The indented blocks, each a list of commands, continued lines joined."""
    found = []
    for block in re.findall(r"(?:^    .*\n)+", text, re.M):
        lines = [line[4:] for line in block.splitlines()]
        joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).split("\n")
        found.append([line for line in joined if not line.lstrip().startswith("#")])
    return found


def own_network():
    """A command prefix for a network of our own, or nothing."""
    prefix = ["unshare", "--user", "--map-root-user", "--net"]
    if not shutil.which("unshare") or not shutil.which("ip"):
        return []
    probe = subprocess.run(prefix + ["bash", "-e", "-c", NETWORK], check=False,
                           capture_output=True)
    return [] if probe.returncode else prefix


def missing(command):
    """Why @command cannot run here, or None."""
    words = command.split()
    programs = [word for word in words if word.startswith("/usr/bin/")]
    if "mpirun" in words:
        programs += ["mpirun", "mpicc"]
    for program in programs:
        if not shutil.which(program):
            return f"{program} is not here"
    return None


def expected(command):
    """What the output has to show: hello names the provider that was picked."""
    if command.startswith("./collective"):
        return "the sum is 6"
    picked = re.match(r"FI_PROVIDER=(\w+) .*\./hello", command)
    return f"hello over {picked.group(1)}" if picked else ""


def script(commands, replace):
    """A shell script that runs @commands and reports each."""
    lines = ["declare -i failed=0"]
    for command in commands:
        run = command
        for old, new in replace:
            run = run.replace(old, new)
        lines += [
            f"printf '%s\\n' {shell_quote('== ' + command)}",
            # The trailing comment of the command ends with its line.
            f"{{ {run}\n}} >out 2>&1 </dev/null" if not background(run)
            else f"{PORT_IS_FREE}\n{{ {run}\n}} >background 2>&1 </dev/null",
            f"report $? {shell_quote(expected(command))}",
        ]
    lines += ["wait", "exit $failed"]
    return "\n".join(lines)


def background(command):
    return command.split("#")[0].rstrip().endswith("&")


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


REPORT = """
report() {
	if [ "$1" = 0 ] && { [ -z "$2" ] || grep -q "$2" out; }; then return; fi
	echo "FAILED: status $1${2:+, wanted \\"$2\\"}"
	head -40 out
	if [ -s background ]; then tail -n 5 background; fi
	failed+=1
}
"""


def prepare(source, scratch):
    """The files that the commands name."""
    for name in ("dev", "docs", "examples", "tests"):
        os.symlink(os.path.join(source, name), os.path.join(scratch, name))
    os.mkdir(os.path.join(scratch, "empty"))
    with open(os.path.join(scratch, "program.c"), "w", encoding="utf-8") as file:
        file.write(MPI_PROGRAM)
    if shutil.which("mpicc"):
        subprocess.run(["mpicc", "-o", "program", "program.c"], cwd=scratch, check=True)


def newest_is_ours(prefix, scratch):
    """Beside a library of the same soname, ldconfig has to prefer ours."""
    ldconfig = shutil.which("ldconfig", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
    if not ldconfig:
        print("skipped: ldconfig is not here")
        return True
    lib = os.path.join(prefix, "lib")
    other = os.path.join(scratch, "other.c")
    with open(other, "w", encoding="utf-8") as file:
        file.write("int other;\n")
    subprocess.run(["cc", "-shared", "-o", lib + "/libfabric.so.1.32.0", other,
                    "-Wl,-soname,libfabric.so.1"], check=True)
    os.remove(lib + "/libfabric.so.1")
    subprocess.run([ldconfig, "-n", lib], check=True)
    chosen = os.readlink(lib + "/libfabric.so.1")
    print(f"== ldconfig chooses {chosen}")
    return chosen != "libfabric.so.1.32.0"


def main():
    source, build = (os.path.abspath(arg) for arg in sys.argv[1:3])
    with open(os.path.join(source, "README.md"), encoding="utf-8") as file:
        commands = [line for block in blocks(file.read()) for line in block]
    runnable = []
    for command in commands:
        why = missing(command)
        if why:
            print(f"skipped: {why}: {command}")
        elif not LEFT_OUT.match(command):
            runnable.append(command)
    with tempfile.TemporaryDirectory() as scratch:
        prefix = os.path.join(scratch, "weft")
        prepare(source, scratch)
        network = own_network()
        replace = [("/opt/weft", prefix), ("=/dir", f"={scratch}/empty")]
        if shutil.which("ss"):
            replace.append(("sleep 1", SERVER_LISTENS))
        if not network:
            print("no network of our own: the loopback stands for eth0 and eth1")
            replace += [("eth0,eth1", "lo"), ("eth0", "lo")]
        text = (NETWORK if network else "") + REPORT + script(runnable, replace)
        env = dict(os.environ, WEFT_NO_INSTALL="1", WEFT_INSTALL_FROM=build,
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
        status = subprocess.run(network + ["timeout", "-k", "5", str(TIME_LIMIT_S),
                                           "bash", "-c", text],
                                cwd=scratch, env=env, check=False).returncode
        if status == 124:
            print("FAILED: took too long")
        ours = newest_is_ours(prefix, scratch)
    print(f"{len(runnable)} commands run, {status} failed")
    return 1 if status or not ours else 0


sys.exit(main())
