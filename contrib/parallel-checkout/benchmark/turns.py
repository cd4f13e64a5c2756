# SPDX-License-Identifier: GPL-2.0-only
"""The runner of benchmarks in which each build takes turns at one command.

The order of the turns is reversed in every other round.  Ratios are taken
round by round; the median of them is told.
"""

import os
import signal
import sys
import tempfile

from . import (BenchError, Skip, contestants, filesystems, machine, measure,
               options, report)
from .cases import remove

SCHEMA = 1
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 3))
MEMORY_LIMIT = 64 * 1024  # KiB above the baseline


def say(text):
    print(text, file=sys.stderr, flush=True)


class Case:
    """A command of which each build takes turns. Targets are upper limits of
    the ratio of a contestant to another."""

    memory = False
    kinds = ("base", "ours")
    most_rounds = most_warmups = None  # where a turn takes long

    def __init__(self, name, title, targets=None):
        self.name = name
        self.title = title
        self.targets = targets or {("ours", "base"): 1.0}

    def open(self, run):
        self.run = run

    def close(self):
        pass

    def prepare(self, who):
        """What is not timed. Return (argv, env, working directory)."""
        raise NotImplementedError

    def result(self, who):
        """What has to be the same for all, or None."""
        return None

    def count(self, who):
        """Names and numbers from a run that is not timed, or nothing."""
        return {}

    def path(self, name):
        return os.path.join(self.run.workdir, name)


class Run:
    """The builds, and what else the cases have in common."""

    def __init__(self, args, workdir):
        self.args = args
        self.workdir = workdir
        home = os.path.join(workdir, "home")
        os.mkdir(home)
        self.env = contestants.clean_environment(home)
        self.builds = {
            "base": contestants.Build("base", args.baseline, self.env),
            "ours": contestants.Build("ours", args.ours, self.env)}
        self.notes = []

    def note(self, text):
        self.notes.append(text)
        say(text)

    def describe(self):
        """What the JSON has beside the numbers."""
        return {}


def run_round(case, number, rounds, result):
    """One turn of each; negative numbers are warm-ups."""
    kinds = list(case.kinds)
    found = {}
    for who in kinds if number % 2 == 0 else kinds[::-1]:
        argv, env, cwd = case.prepare(who)
        taken, _ = measure.run(argv, env, cwd)
        found[who] = case.result(who)
        say("%s: %s %s: %.3f s" % (
            case.name, "round %d/%d" % (number + 1, rounds)
            if number >= 0 else "warm-up", who, taken["wall"]))
        if number >= 0:
            result["contestants"][who]["rounds"].append({"total": taken})
    for who, value in found.items():
        if value is not None and value != found["base"]:
            raise BenchError("the results are not the same: %s" % who)


def fewer(number, most):
    return number if most is None else min(number, most)


def run_case(case, run, args):
    rounds = fewer(args.rounds, case.most_rounds)
    warmups = fewer(args.warmup, case.most_warmups)
    result = {"name": case.name, "title": case.title, "rounds": rounds,
              "warmup": warmups}
    try:
        case.open(run)
        result["contestants"] = {kind: {"rounds": [], "memory": None}
                                 for kind in case.kinds}
        for number in range(-warmups, rounds):
            run_round(case, number, rounds, result)
        for who in case.kinds:
            counts = case.count(who)
            if counts:
                result["contestants"][who]["counts"] = counts
        for who in case.kinds if case.memory else ():
            argv, env, cwd = case.prepare(who)
            seen = measure.run_watching_memory(argv, env, cwd)
            result["contestants"][who]["memory"] = max(
                seen["main_peak"], seen["worker_peak"])
        for entry in result["contestants"].values():
            entry["total"] = report.summarise(
                [one["total"] for one in entry["rounds"]])
        result["ratios"] = []
        for (who, against), limit in case.targets.items():
            one = report.ratio(result, who, against)
            if one:
                if limit is not None and not args.tiny(case):
                    one["limit"] = limit
                    one["met"] = one["median"] <= limit
                result["ratios"].append(one)
    except Skip as reason:
        result["skipped"] = str(reason)
    except BenchError as error:
        result["error"] = str(error)
    finally:
        case.close()
    return result


def table(result):
    lines = ["", "%s: %s" % (result["name"], result["title"])]
    for word in ("skipped", "error"):
        if word in result:
            return lines + ["  %s: %s" % (word, result[word])]
    lines.append("  %-8s %8s %8s %8s %8s %8s   rounds: %d" % (
        "", "median", "min", "max", "CPU", "MB", result["rounds"]))
    for who, entry in result["contestants"].items():
        total = entry["total"]
        lines.append("  %-8s %8.3f %8.3f %8.3f %8.3f %8s" % (
            who, total["wall"]["median"], total["wall"]["min"],
            total["wall"]["max"],
            total["user"]["median"] + total["sys"]["median"],
            "%.0f" % (entry["memory"] / 1024) if entry["memory"] else "-"))
    for one in result["ratios"]:
        lines.append("  %s / %s: %.3f (%.3f to %.3f), CPU %.3f%s" % (
            one["a"], one["b"], one["median"], one["min"], one["max"],
            one["cpu"], "" if "limit" not in one else
            ", limit %.2f: %s" % (one["limit"],
                                  "met" if one["met"] else "NOT met")))
    for who, entry in result["contestants"].items():
        if "counts" in entry:
            lines.append("  %s: %s" % (who, ", ".join(
                "%d %s" % (number, what)
                for what, number in entry["counts"].items())))
    memory = [result["contestants"].get(who, {}).get("memory")
              for who in ("base", "ours")]
    if all(memory) and memory[1] - memory[0] > MEMORY_LIMIT:
        lines.append("  MEMORY: more than 64 MB above the baseline")
    return lines


def add_options(parser):
    build = os.path.join(ROOT, "build")
    parser.add_argument("--baseline", metavar="DIR",
                        default=os.path.join(build, "baseline"))
    parser.add_argument("--ours", metavar="DIR",
                        default=os.path.join(build, "git"))
    parser.add_argument("--cases", metavar="A,B",
                        help="what to measure (default: everything)")
    parser.add_argument("--list", action="store_true", help="list the cases")
    options.add_rounds(parser)
    parser.add_argument("--workdir", metavar="DIR",
                        default=options.default_workdir(),
                        help="where to work (default: /dev/shm)")
    parser.add_argument("--json", metavar="FILE",
                        help="write everything to FILE (- for stdout)")
    parser.add_argument("--smoke", action="store_true",
                        help="one round of everything on tiny inputs")


def check_options(parser, args, cases):
    """Refuse what is wrong, fill in what is missing, choose the cases."""
    names = [case.name for case in cases]
    chosen = options.choose(
        parser, ",".join(names) if args.cases is None else args.cases, names)
    if args.list:
        print("\n".join(chosen))
        sys.exit(0)
    args.chosen = [case for case in cases if case.name in chosen]
    options.check_folders(parser, args, "baseline", "ours")
    options.check_writable(parser, "workdir", args.workdir)
    options.check_json(parser, args.json)
    # The limits are for the inputs of full size.
    args.tiny = lambda case: args.smoke
    if args.rounds is None:
        args.rounds = 1 if args.smoke else 7
    if args.warmup is None:
        args.warmup = 0 if args.smoke else 3
    for name in ("baseline", "ours", "workdir"):
        setattr(args, name, os.path.abspath(getattr(args, name)))


def main(args, make_run, prefix):
    """Measure args.chosen, and end the program.

    make_run(args, workdir) makes a Run; prefix is how workdir begins.
    """
    os.umask(0o022)

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    failed = 0
    workdir = tempfile.mkdtemp(prefix=prefix, dir=args.workdir)
    try:
        run = make_run(args, workdir)
        data = {"schema": SCHEMA, "machine": machine.describe(workdir),
                "builds": {kind: build.describe()
                           for kind, build in run.builds.items()},
                "settings": {"rounds": args.rounds, "warmup": args.warmup,
                             "smoke": args.smoke},
                "notes": run.notes, "cases": []}
        data.update(run.describe())
        about = data["machine"]
        print("%s, %d cores, %d MB; %s; work on %s" % (
            about["cpu"], about["cores"], about["memory_mb"],
            about["kernel"], about["workdir_filesystem"]))
        if args.rounds < 7 or args.warmup < 3:
            print("NOTE: fewer than 3 warm-ups or 7 rounds: only good for "
                  "seeing that it runs")
        sys.stdout.flush()
        for case in args.chosen:
            result = run_case(case, run, args)
            data["cases"].append(result)
            failed += "error" in result
            print("\n".join(table(result)), flush=True)
            if args.json and args.json != "-":
                options.write_json(args.json, data)
        if args.json == "-":
            options.write_json("-", data)
    except BenchError as error:
        say("bench: %s" % error)
        failed += 1
    except KeyboardInterrupt:
        say("bench: interrupted")
        failed = 130
    finally:
        measure.kill_running()
        filesystems.unmount_below(workdir)
        remove(workdir)
    sys.exit(failed if failed == 130 else bool(failed))
