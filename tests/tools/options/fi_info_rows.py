# SPDX-License-Identifier: BSD-2-Clause
"""The provider "told" (told_asks.c) says on the standard error what it is asked for."""

import os
import re

from rows import Row, err, exits, out, refused, silent, usage, whole_out, wrong_unless

NAMES = {}
TOLD = {"FI_PROVIDER_PATH": f"+{os.environ.get('WEFT_TOLD')}/libasks-fi.so"}

# All arguments and hints of a query without options.
PLAIN = {
    "version": "2.6",
    "node": "nothing",
    "service": "nothing",
    "source": "no",
    "hints": "nothing",
}
# Those of hints, which all options that set one of them give.
HINTS = {
    "hints": "some",
    "caps": "nothing",
    "mode": "all",
    "domain mode": "all",
    "mr_mode": "0xfffffffc",
    "type": "FI_EP_UNSPEC",
    "format": "FI_FORMAT_UNSPEC",
    "domain": "nothing",
    "fabric": "nothing",
    "provider": "nothing",
}


def asked(**fields):
    """The provider was asked for this, and for nothing else."""
    wanted = {name.replace("_mode", " mode"): value for name, value in fields.items()}
    hinted = any(name in HINTS for name in wanted)
    wanted = {**PLAIN, **(HINTS if hinted else {}), **wanted}

    def check(r):
        found = dict(re.findall(r"^told: ([\w ]+): (.*)$", r.err, re.M))
        for name in wanted | found:
            wrong_unless(
                found.get(name) == wanted.get(name),
                f"{name} is '{found.get(name)}', not '{wanted.get(name)}'",
            )

    return check


def row(about, line, *checks, **kwargs):
    return Row(about, line, exits(0), *checks, env=TOLD, **kwargs)


def words(kind, value):
    return 22, f"\\Aerror: Unrecognized {kind}: {re.escape(value)}\\n\\Z"


def wrong_usage(about, line, pattern):
    return Row(about, line, exits(1), usage(), err(pattern), refused=True)


# The blocks of the short output, whole.
EASY = r"provider: told\n    fabric: told\n    domain: easy\n    version: 7\.3\n"
EASY += r"    type: FI_EP_RDM\n    protocol: FI_PROTO_UNSPEC\n"
STRICT = EASY.replace("easy", "strict")

# Of the outputs, which one it is: the first character of each kind of line.
LONG = r"\A---\nfi_info:\n(    .*\n|---\nfi_info:\n)*\Z"
VARIABLES = r"\A(# FI_[A-Z0-9_]+: .*\n# .*\n(FI_.*=.*\n)?\n)+\Z"
LIST = r"\A([\w;]+:\n    version: \d+\.\d+\n)+\Z"
WHY = r"\A(told: 2 matching|provider: \w+)$"

ROWS = [
    row("", "", asked(), out("^provider: (udp|tcp)$"), out("^provider: told$", 2)),
    row("-p --provider", "-p told", asked(provider="told"), whole_out(EASY + STRICT)),
    row(
        "-p --provider",
        "-p udp",
        out("^provider: udp$"),
        out("told", 0),
        err("told", 0),
    ),
    refused(
        "-p --provider", "-p nosuch", 61, r"^fi_getinfo: -61 \(No data available\)$"
    ),
    row("-s --src_addr", "-s 127.0.0.1", asked(node="127.0.0.1", source="yes")),
    row(
        "-s --src_addr",
        "-s 127.0.0.1 -p udp -v",
        out(r"^    src_addr: fi_sockaddr_in://127\.0\.0\.1:0$"),
        out(r"^    dest_addr: \(null\)$"),
    ),
    refused("-s --src_addr", "-p udp -s no.such.host.invalid", 61, "node"),
    row("-n --node", "-n 127.0.0.1", asked(node="127.0.0.1")),
    row(
        "-n --node",
        "-n 127.0.0.1 -p udp -v",
        out(r"^    dest_addr: fi_sockaddr_in://127\.0\.0\.1:0$"),
    ),
    refused("-n --node", "-p udp -n no.such.host.invalid", 61, "node"),
    row("-P --port", "-n 127.0.0.1 -P 4711", asked(node="127.0.0.1", service="4711")),
    row("-P --port", "-P 4711", asked(service="4711")),
    row(
        "-P --port",
        "-p udp -s 127.0.0.1 -P 4711 -v",
        out(r"^    src_addr: fi_sockaddr_in://127\.0\.0\.1:4711$"),
    ),
    refused("-P --port", "-p udp -n 127.0.0.1 -P no/such/port", 61, "no/such/port"),
    row("-c --caps", "-c FI_MSG", asked(caps="FI_MSG")),
    row(
        "-c --caps",
        "-c 'fi_msg|FI_RMA' -c FI_TAGGED",
        asked(caps="FI_MSG, FI_RMA, FI_TAGGED"),
    ),
    row("-c --caps", "-c FI_TAGGED", out("^provider: udp$", 0), out("^provider: tcp$")),
    refused("-c --caps", "-c FI_MSG,FI_RMA", *words("capability", "FI_MSG,FI_RMA")),
    refused("-c --caps", "-c 'FI_MSG|FI_CONTEXT'", *words("capability", "FI_CONTEXT")),
    # Of the two domains, "strict" needs FI_CONTEXT.
    row(
        "-m --mode",
        "-p told -m FI_CONTEXT2",
        asked(provider="told", mode="FI_CONTEXT2", domain_mode="FI_CONTEXT2"),
        whole_out(EASY),
    ),
    row(
        "-m --mode",
        "-p told -m FI_CONTEXT -m 'fi_msg_prefix|FI_RX_CQ_DATA'",
        asked(
            provider="told",
            mode="FI_CONTEXT, FI_MSG_PREFIX, FI_RX_CQ_DATA",
            domain_mode="FI_CONTEXT, FI_MSG_PREFIX, FI_RX_CQ_DATA",
        ),
        whole_out(EASY + STRICT),
    ),
    row(
        "-m --mode",
        "-p told -m ''",
        asked(provider="told", mode="nothing", domain_mode="nothing"),
    ),
    refused("-m --mode", "-m FI_MSG", *words("mode", "FI_MSG")),
    row("-t --ep_type", "-t FI_EP_RDM", asked(type="FI_EP_RDM")),
    row("-t --ep_type", "-t fi_ep_msg", asked(type="FI_EP_MSG")),
    row("-t --ep_type", "-t FI_EP_UNSPEC", asked(type="FI_EP_UNSPEC")),
    row(
        "-t --ep_type",
        "-t FI_EP_DGRAM",
        asked(type="FI_EP_DGRAM"),
        out("^provider: udp$"),
        out("^    type: FI_EP_(MSG|RDM)$", 2),  # those of told, which does not filter
    ),
    refused("-t --ep_type", "-t rdm", *words("endpoint type", "rdm")),
    refused(
        "-t --ep_type",
        "-t 'FI_EP_MSG|FI_EP_RDM'",
        *words("endpoint type", "FI_EP_MSG|FI_EP_RDM"),
    ),
    row("-a --addr_format", "-a FI_ADDR_STR", asked(format="FI_ADDR_STR")),
    row(
        "-a --addr_format",
        "-a fi_sockaddr_in6",
        asked(format="FI_SOCKADDR_IN6"),
    ),
    refused(
        "-a --addr_format",
        "-a FI_SOCKADDR_IPX",
        *words("address format", "FI_SOCKADDR_IPX"),
    ),
    row("-d --domain", "-d easy", asked(domain="easy")),
    row("-d --domain", "-d other -d lo", asked(domain="lo"), out("^    domain: lo$")),
    refused("-d --domain", "-p udp -d nosuch", 61, "domain_attr.name: asked nosuch"),
    row("-f --fabric", "-f told", asked(fabric="told")),
    refused("-f --fabric", "-p udp -f nosuch", 61, "fabric_attr.name: asked nosuch"),
    row(
        "-e --env",
        "-e",
        out(VARIABLES),
        out("^# FI_UDP_IFACE: "),
        out("^# FI_LOG_LEVEL: "),
    ),
    row("-e --env", "-e -p udp", out(VARIABLES), out("^FI_UDP_IFACE=lo$")),
    refused("-e --env", "-e -p nosuch", 61, "No data"),
    row(
        "-g --getenv",
        "-g udp_IFACE",
        whole_out("# FI_UDP_IFACE: String\n# .*\nFI_UDP_IFACE=lo\n\n"),
    ),
    row(
        "-g --getenv",
        "-g IFACE",
        out(VARIABLES),
        out("^# FI_(UDP|TCP)_IFACE: ", 2),
        out("LOG", 0),
    ),
    row("-g --getenv", "-g no_such_variable", whole_out("")),
    refused("-g --getenv", "-g IFACE -p nosuch", 61, "No data"),
    row("-v --verbose", "-v -p told", out(LONG), out("^---$", 2), out("^    caps: ")),
    refused("-v --verbose", "-v -p nosuch", 61, "No data"),
    row(
        "-i --info",
        "-p told -i 'NAME: strict'",
        out(LONG),
        out("^---$", 1),
        out("name: strict$"),
    ),
    row("-i --info", "-p told -i 'no such text'", whole_out("")),
    refused("-i --info", "-i x -p nosuch", 61, "No data"),
    row(
        "-l --list",
        "-l",
        out(LIST),
        out("^told:\n    version: 7.3$"),
        out("^ofi_hook_monitor:$"),
    ),
    row("-l --list", "-l -s 127.0.0.1", out(LIST), out("^tcp:$")),
    row("--why", "--why", out(WHY), out("^tcp: \\d+ matching$")),
    row("--why", "--why -p udp", out("^udp: \\d+ matching$"), out("^provider: tcp$")),
    row("--why", "--why -p nosuch", out("there is no provider nosuch here")),
    # The first of several outputs counts.
    row("--why -e", "-e --why", out(WHY)),
    row("--why -v", "-v --why", out(WHY)),
    row("--why -l", "-l --why", out(WHY)),
    row("-e -v", "-v -e", out(VARIABLES)),
    row("-e -l", "-l -e", out(VARIABLES)),
    row("-v -l", "-l -v -p told", out(LONG)),
    Row("-h --help", "-h", exits(1), usage(), err(r"\A\Z")),
    row(
        "--version",
        "--version",
        whole_out(r"fi_info: (\d+\.\d+\.\d+)\nlibfabric: \1\nlibfabric api: 2\.6\n"),
        err(r"\A\Z"),
    ),
    wrong_usage("", "--no-such-option", "no-such-option"),
    wrong_usage("", "-x", "x"),
    wrong_usage("-p --provider", "-p", "argument"),
    wrong_usage("-l --list", "--list=all", "argument"),
    wrong_usage("", "tcp", "not an option: 'tcp'"),
    wrong_usage("-s -n", "-s 127.0.0.1 -n 127.0.0.1", "-s and -n"),
    wrong_usage("-s -n", "-n 127.0.0.1 -s 127.0.0.1", "-s and -n"),
]
