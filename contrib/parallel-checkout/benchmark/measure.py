# SPDX-License-Identifier: GPL-2.0-only
"""Run one command and say what it took.

Times are seconds, memory is in KiB as the kernel reports it.
"""

import os
import signal
import subprocess
import tempfile
import time

from . import BenchError

TICK = os.sysconf("SC_CLK_TCK")

# The process group of the command that runs now, for whoever interrupts us.
_running = None


def kill_running():
    """End the running command and all of its children, if there is one."""
    if _running is not None:
        try:
            os.killpg(_running, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _start(argv, env, cwd, out, err):
    try:
        # A session of its own: an interrupt of ours then cannot leave
        # workers behind that no one knows of.
        return subprocess.Popen(argv, env=env, cwd=cwd, stdout=out,
                                stderr=err, stdin=subprocess.DEVNULL,
                                start_new_session=True)
    except OSError as error:
        raise BenchError("cannot run '%s': %s" % (argv[0], error))


def call(argv, env=None):
    """Run a helper untimed, its output ours; return its exit code."""
    global _running
    process = _start(argv, env, None, None, None)
    _running = process.pid
    try:
        return process.wait()
    except BaseException:
        # SIGTERM: the helpers remove what they have half made.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    finally:
        _running = None


def _own_times(pid):
    """User and system time of a dead, not yet collected process alone.

    wait4() adds those of the children it has waited for; here they are apart,
    but counted in clock ticks.
    """
    with open("/proc/%d/stat" % pid, "rb") as file:
        fields = file.read().rsplit(b")", 1)[1].split()
    return int(fields[11]) / TICK, int(fields[12]) / TICK


def _check(process, argv, code, err, accept_failure):
    if code == 0 or accept_failure:
        return
    err.seek(0)
    words = err.read().decode(errors="replace").strip().splitlines()[-5:]
    raise BenchError("'%s' ended with exit code %d: %s" %
                     (" ".join(argv), code, " | ".join(words) or "no message"))


def run(argv, env, cwd=None, accept_failure=False):
    """Run argv; return (measurements, bytes of stdout).

    user and sys are those of the command and its children, main_user and
    main_sys of the command alone.  The kernel also tells the peak memory,
    but that starts with ours, from before the exec.
    """
    global _running
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = _start(argv, env, cwd, out, err)
        _running = process.pid
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            wall = time.perf_counter() - begin
            own_user, own_sys = _own_times(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            kill_running()
            if process.returncode is None:
                process.wait()
            raise
        finally:
            _running = None
        _check(process, argv, process.returncode, err, accept_failure)
        out.seek(0)
        return {
            "wall": wall,
            "user": usage.ru_utime,
            "sys": usage.ru_stime,
            "main_user": own_user,
            "main_sys": own_sys,
        }, out.read()


def _children(pid):
    """The direct children of a process."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


def _memory_of(pid):
    """(peak of resident pages so far, resident pages that are not of files)"""
    peak = anonymous = 0
    try:
        with open("/proc/%d/status" % pid) as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    peak = int(line.split()[1])
                elif line.startswith("RssAnon:"):
                    anonymous = int(line.split()[1])
    except OSError:
        pass
    return peak, anonymous


def run_watching_memory(argv, env, cwd=None, accept_failure=False,
                        interval=0.002):
    """Run argv and watch the memory of its processes.

    Resident memory counts the mapped pack, which all workers share; what a
    process has for itself alone is the anonymous part.  Both are looked at
    every few milliseconds, so this run is not one to take times from.
    """
    global _running
    main = {"peak": 0, "anonymous": 0}
    workers = {}

    def note(record, pid):
        peak, anonymous = _memory_of(pid)
        record["peak"] = max(record["peak"], peak)
        record["anonymous"] = max(record["anonymous"], anonymous)

    with tempfile.TemporaryFile() as err:
        process = _start(argv, env, cwd, subprocess.DEVNULL, err)
        _running = process.pid
        try:
            while process.poll() is None:
                note(main, process.pid)
                todo = _children(process.pid)
                while todo:
                    pid = todo.pop()
                    todo += _children(pid)
                    note(workers.setdefault(
                        pid, {"peak": 0, "anonymous": 0}), pid)
                time.sleep(interval)
        except BaseException:
            kill_running()
            process.wait()
            raise
        finally:
            _running = None
        _check(process, argv, process.returncode, err, accept_failure)
    return {
        "main_peak": main["peak"],
        "main_anonymous": main["anonymous"],
        "worker_peak": max((w["peak"] for w in workers.values()), default=0),
        "worker_anonymous": max((w["anonymous"] for w in workers.values()),
                                default=0),
        "workers_seen": len(workers),
    }
