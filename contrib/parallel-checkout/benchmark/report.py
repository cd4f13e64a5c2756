# SPDX-License-Identifier: GPL-2.0-only
"""From rounds to medians, ratios and tables."""

import statistics

MEASURES = ("wall", "user", "sys", "main_user", "main_sys")


def spread(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values)}


def summarise(rounds):
    """Of a list of measurements: median, minimum, maximum of each."""
    return {key: spread([one[key] for one in rounds]) for key in MEASURES}


def ratio(result, name, against, stage=None):
    """The ratio of two contestants, taken round by round.

    Wall-clock time decides; CPU time is told beside it, for it suffers less
    from other load on the machine.
    """
    both = []
    for who in (name, against):
        entry = result["contestants"].get(who)
        if not entry or not entry["rounds"]:
            return None
        both.append([one["stages"][stage] if stage else one["total"]
                     for one in entry["rounds"]])
    pairs = list(zip(*both))

    def cpu(one):
        return one["user"] + one["sys"]

    out = {"a": name, "b": against}
    out.update(spread([a["wall"] / b["wall"] for a, b in pairs]))
    out["cpu"] = statistics.median(
        cpu(a) / cpu(b) if cpu(b) else 1.0 for a, b in pairs)
    out["pairs"] = [a["wall"] / b["wall"] for a, b in pairs]
    return out


def ratios(result, targets, workers):
    """All ratios that are worth telling, with the limits where there are."""
    limits = {}
    for name, against, limit in targets:
        limits[name.replace("N", str(workers[-1])),
               against.replace("N", str(workers[-1]))] = limit
    names = list(result["contestants"])
    kinds = []
    for name in names:
        kind = name.split(":")[0]
        if kind not in kinds:
            kinds.append(kind)
    wanted = list(limits)
    for name in names:
        kind, count = name.split(":")
        if kind == "base":
            continue
        for other in ("base", "gix"):
            pair = (name, "%s:%s" % (other, count))
            floor = kind in ("fs", "zlib", "libdeflate")
            if kind == other or (floor and other != "base"):
                continue
            if pair not in wanted:
                wanted.append(pair)
    # No configuration at all against the best that was configured.
    for name in names:
        kind, count = name.split(":")
        pair = (name, "%s:%s" % (kind, workers[-1]))
        if count == "auto" and pair not in wanted:
            wanted.append(pair)
    wanted.sort(key=lambda pair: (kinds.index(pair[0].split(":")[0])
                                  if pair[0].split(":")[0] in kinds else 99,
                                  pair))
    found = []
    for name, against in wanted:
        one = ratio(result, name, against)
        if not one:
            continue
        limit = limits.get((name, against))
        if limit is not None:
            one["limit"] = limit
            one["met"] = one["median"] <= limit
        found.append(one)
    return found


def _seconds(value):
    return "%.3f" % value if value < 10 else "%.2f" % value


def _peak(entry):
    """Resident memory of the largest process in MB, where it was watched."""
    if not entry["memory"]:
        return "-"
    return "%.0f" % (max(max(one["main_peak"], one["worker_peak"])
                         for one in entry["memory"]) / 1024)


def _rows(rows):
    """Columns of equal width, the first one to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows]


def table(case):
    """The lines to print for a finished case."""
    lines = ["", "%s: %s" % (case["name"], case["title"])]
    if "skipped" in case:
        return lines + ["  skipped: " + case["skipped"]]
    if "error" in case:
        return lines + ["  FAILED: " + case["error"]]
    data = case["input"]
    lines.append("  %s files, %.1f MB, pack of %.1f MB, on %s; rounds: %d" % (
        format(data["files"], ","), data["bytes"] / 1e6,
        data["pack_bytes"] / 1e6, case["filesystem"], case["rounds"]))
    rows = [("", "median s", "min", "max", "user", "sys", "files/s", "MB/s",
             "MB RSS")]
    for name, entry in case["contestants"].items():
        if not entry["rounds"]:
            continue
        total = entry["summary"]
        wall = total["wall"]["median"]
        # A floor program that inflates makes no files.
        made = name.split(":")[0] not in ("zlib", "libdeflate")
        rows.append((
            name, _seconds(wall), _seconds(total["wall"]["min"]),
            _seconds(total["wall"]["max"]),
            _seconds(total["user"]["median"]),
            _seconds(total["sys"]["median"]),
            "%.0f" % (data["files"] / wall) if made else "-",
            "%.0f" % (data["bytes"] / 1e6 / wall) if made else "-",
            _peak(entry)))
        if len(entry["stages"]) > 1:
            for stage, values in entry["stages"].items():
                rows.append(("  " + stage, _seconds(values["wall"]["median"]),
                             _seconds(values["wall"]["min"]),
                             _seconds(values["wall"]["max"]),
                             _seconds(values["user"]["median"]),
                             _seconds(values["sys"]["median"]),
                             "", "", ""))
    if len(rows) > 1:
        lines += _rows(rows)
    for name, count in case.get("counts", {}).items():
        if count != data["files"]:
            lines.append("  %s wrote %d of %d files" % (name, count,
                                                        data["files"]))
    if case["ratios"]:
        rows = [("ratio", "median", "min", "max", "CPU", "limit", "")]
        for one in case["ratios"]:
            rows.append((
                "%s / %s" % (one["a"], one["b"]), "%.3f" % one["median"],
                "%.3f" % one["min"], "%.3f" % one["max"],
                "%.3f" % one["cpu"],
                "%.2f" % one["limit"] if "limit" in one else "",
                {True: "met", False: "NOT met"}.get(one.get("met"), "")))
        lines += _rows(rows)
    memory = [(name, entry["memory"])
              for name, entry in case["contestants"].items()
              if entry["memory"]]
    if memory and case["tell_memory"]:
        rows = [("memory, MB", "main peak", "own", "worker peak", "own")]
        for name, rounds in memory:
            rows.append((name,) + tuple(
                "%.1f" % (max(one[key] for one in rounds) / 1024)
                for key in ("main_peak", "main_anonymous", "worker_peak",
                            "worker_anonymous")))
        lines += _rows(rows)
    for note in case.get("notes", ()):
        lines.append("  " + note)
    return lines


def memory_ratio(case, name, against, key="main_peak"):
    """Ratio of the largest values that memory rounds saw, or None."""
    values = []
    for who in (name, against):
        rounds = case["contestants"].get(who, {}).get("memory")
        if not rounds:
            return None
        values.append(max(one[key] for one in rounds))
    return values[0] / values[1] if values[1] else None


def time_per_file(cases, name):
    """How much longer a file takes among a million than among 100,000."""
    values = []
    for which in ("million", "100k"):
        case = cases.get(which, {})
        entry = case.get("contestants", {}).get(name)
        if not entry or not entry["rounds"]:
            return None
        values.append(entry["summary"]["wall"]["median"] /
                      case["input"]["files"])
    return values[0] / values[1]
