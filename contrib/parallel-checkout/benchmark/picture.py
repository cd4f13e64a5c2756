# SPDX-License-Identifier: GPL-2.0-only
"""Panels of bars, one above the other, drawn with gnuplot."""

import json
import os
import shutil
import subprocess
import sys

COLOURS = {"base": "#888888", "ours": "#1f77b4", "auto": "#6baed6",
           "gix": "#d98c21"}
ROW = 26  # pixels


def die(message):
    sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), message))


def check(prefix):
    """End the program if it cannot draw PREFIX.svg."""
    if not shutil.which("gnuplot"):
        die("gnuplot not found; install it (Debian: gnuplot-nox)")
    folder = os.path.dirname(os.path.abspath(prefix))
    if not os.access(folder, os.W_OK):
        die("cannot write to '%s'" % folder)


def read(path):
    """What bench --json wrote; or end the program."""
    try:
        with open(path) as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        die("cannot read '%s': %s" % (path, error))
    if not isinstance(data, dict) or data.get("schema") != 1 or \
            not {"machine", "cases"} <= data.keys():
        die("'%s' is not what bench --json writes" % path)
    return data


def foot(about):
    """The machine, in a line."""
    return "%s, %d cores; %s; %s" % (about["cpu"], about["cores"],
                                     about["kernel"], about["distribution"])


def quote(text):
    for raw, safe in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = text.replace(raw, safe)
    return '"%s"' % text


def bars(rows, title, unit, limit_title=None, at_least=0, mark=None):
    """The gnuplot text of a panel.

    rows: (label, value, low, high, colour, text, limit or None) from the top
    at_least: how far the axis goes; mark: where a dashed line is
    """
    top = len(rows)
    peak = max(row[3] for row in rows)
    lines = ["set title %s" % quote(title),
             "set xlabel %s" % quote(unit),
             "set xrange [0:%g]" % max(peak * 1.32, at_least),
             "unset arrow" if mark is None else
             "set arrow 1 from %g, graph 0 to %g, graph 1 nohead dt 2 "
             "lc rgb '#333333'" % (mark, mark),
             "set yrange [0.3:%g]" % (top + 0.7),
             "set ytics (%s)" % ", ".join(
                 "%s %d" % (quote(row[0]), top - i)
                 for i, row in enumerate(rows))]
    plots = []
    blocks = []
    for number, shade in enumerate(sorted({row[4] for row in rows})):
        name = "$bars%d" % number
        blocks.append("%s << END" % name)
        for i, row in enumerate(rows):
            if row[4] == shade:
                y = top - i
                blocks.append("%g %d 0 %g %g %g" % (
                    row[1] / 2, y, row[1], y - 0.36, y + 0.36))
        blocks.append("END")
        plots.append("%s using 1:2:3:4:5:6 with boxxyerror fs solid 0.9 "
                     "noborder lc rgb '%s' notitle" % (name, shade))
    blocks.append("$spread << END")
    for i, row in enumerate(rows):
        blocks.append("%g %d %g %g" % (row[1], top - i, row[2], row[3]))
    blocks.append("END")
    plots.append("$spread using 1:2:3:4 with xerrorbars lc rgb '#333333' "
                 "pt 0 notitle")
    limits = [(i, row) for i, row in enumerate(rows) if row[6]]
    if limits:
        blocks.append("$limits << END")
        for i, row in limits:
            blocks.append("%g %g 0 0.8" % (row[6], top - i - 0.4))
        blocks.append("END")
        plots.append("$limits using 1:2:3:4 with vectors nohead lw 3 "
                     "lc rgb '#c02020' title %s" % quote(limit_title))
    blocks.append("$words << END")
    for i, row in enumerate(rows):
        blocks.append('%g %d "%s"' % (
            max(row[3], row[6] or 0) + peak * 0.012, top - i, row[5]))
    blocks.append("END")
    plots.append("$words using 1:2:3 with labels left font ',10' notitle")
    return "\n".join(blocks + lines + ["plot " + ", \\\n     ".join(plots)])


def draw(panels, line, prefix):
    """Write PREFIX.svg and PREFIX.png.

    panels: (rows, what bars() returned) from the top; line: the last one
    """
    heights = [rows * ROW + 140 for rows, _ in panels]
    height = sum(heights) + 30
    body = ["set multiplot", "unset key", "set grid x lc rgb '#dddddd'",
            "set border 3", "set tics nomirror", "set lmargin at screen 0.30",
            "set rmargin at screen 0.97",
            "set label 1 %s at screen 0.5, screen %g center font ',9' "
            "tc rgb '#555555' noenhanced" % (quote(line), 12 / height)]
    top = height
    for number, ((_, text), size) in enumerate(zip(panels, heights)):
        body += ["set tmargin at screen %g" % ((top - 52) / height),
                 "set bmargin at screen %g" % ((top - size + 62) / height)]
        if number:
            # Below the axis, where nothing else is.
            body += ["unset label 1", "set key at screen 0.97, screen %g "
                     "right bottom" % ((top - size + 14) / height)]
        body.append(text)
        top -= size
    body.append("unset multiplot")
    for terminal, suffix in (("svg", "svg"), ("pngcairo", "png")):
        script = "set terminal %s size 1100,%d font 'sans,11' enhanced " \
            "background rgb 'white'\nset output %s\n%s\n" % (
                terminal, height, quote(prefix + "." + suffix),
                "\n".join(body))
        done = subprocess.run(["gnuplot"], input=script.encode(),
                              stderr=subprocess.PIPE)
        if done.returncode:
            die("gnuplot failed: " + done.stderr.decode(errors="replace"))
        print("%s.%s" % (prefix, suffix))
