# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks' command lines have in common.

All that can be known to be wrong is refused before anything is measured.
"""

import argparse
import json
import os
import sys


def at_least(low):
    """A whole number, for add_argument(type=...)."""
    def convert(value):
        try:
            number = int(value)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(
                "'%s' is no number of at least %d" % (value, low))
        return number
    return convert


def positive(value):
    """A number above 0, for add_argument(type=...)."""
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("'%s' is no number above 0" % value)
    return number


def add_rounds(parser, warmup=3):
    parser.add_argument("--rounds", type=at_least(1), metavar="N",
                        help="counted rounds (default: 7)")
    parser.add_argument("--warmup", "--warmups", type=at_least(0),
                        metavar="N",
                        help="rounds before that (default: %d)" % warmup)


def choose(parser, text, names):
    """The names in the value of --cases, in the order of the cases."""
    wanted = text.split(",")
    for name in wanted:
        if name not in names:
            parser.error("--cases: no case '%s'; there are: %s" %
                         (name, ", ".join(names)))
    return [name for name in names if name in wanted]


def check_folders(parser, args, *options):
    """Each of these options, where given, has to name a folder."""
    for option in options:
        path = getattr(args, option.replace("-", "_"))
        if path and not os.path.isdir(path):
            parser.error("--%s: '%s' is no folder" % (option, path))


def check_writable(parser, option, path):
    if not os.path.isdir(path):
        parser.error("--%s: '%s' is no folder" % (option, path))
    if not os.access(path, os.W_OK | os.X_OK):
        parser.error("--%s: cannot write to '%s'" % (option, path))


def check_json(parser, name):
    """- is stdout."""
    if name is None or name == "-":
        return
    if not name or os.path.isdir(name):
        parser.error("--json: '%s' is no name for a file" % name)
    check_writable(parser, "json", os.path.dirname(os.path.abspath(name)))


def write_json(name, data):
    """Replace the file at once, so that it is never half a file."""
    if name == "-":
        json.dump(data, sys.stdout, indent=1)
        print()
        return
    with open(name + ".tmp", "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    os.rename(name + ".tmp", name)


def default_workdir():
    """A tmpfs if there is one, for the sake of the disk and of the times."""
    if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK):
        return "/dev/shm"
    return os.environ.get("TMPDIR", "/tmp")
