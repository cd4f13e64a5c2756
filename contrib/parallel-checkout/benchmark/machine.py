# SPDX-License-Identifier: GPL-2.0-only
"""What the machine is that the numbers come from."""

import os
import platform
import re
import subprocess

from . import Skip


def first_line(argv, env=None):
    """The first line that a program prints, or nothing."""
    try:
        out = subprocess.run(argv, env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL,
                             stdin=subprocess.DEVNULL).stdout
    except OSError:
        return ""
    return out.decode(errors="replace").split("\n", 1)[0].strip()


def _field(name, key):
    try:
        with open(name, errors="replace") as file:
            for line in file:
                if line.startswith(key):
                    return line.split(":", 1)[-1].split("=", 1)[-1] \
                        .strip().strip('"')
    except OSError:
        pass
    return ""


def file_system(path):
    """Type of the file system that path lies on, and its mount options."""
    path = os.path.realpath(path)
    best = ("", "unknown", "")
    with open("/proc/self/mounts") as file:
        for line in file:
            fields = line.split(" ")
            point = fields[1].replace("\\040", " ")
            inside = path == point or \
                path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, fields[2], fields[3])
    return best[1], best[2]


def available_memory():
    """Bytes that can be had without swapping."""
    kib = _field("/proc/meminfo", "MemAvailable")
    return int(kib.split()[0]) * 1024 if kib else 0


def check_room(folder, need, files=0):
    """Skip a case for which there is no room in the folder."""
    stat = os.statvfs(folder)
    have = stat.f_bavail * stat.f_frsize
    if need > have:
        raise Skip("needs %d MB in %s, which has %d MB" % (
            need >> 20, folder, have >> 20))
    if stat.f_files and files > stat.f_favail:
        raise Skip("needs %d inodes in %s, which has %d" % (
            files, folder, stat.f_favail))
    if file_system(folder)[0] == "tmpfs" and need > available_memory():
        raise Skip("needs %d MB of memory, %d MB are available" % (
            need >> 20, available_memory() >> 20))


def cores():
    return len(os.sched_getaffinity(0))


def kernel():
    """Without what a distribution or a host appends to the version."""
    found = re.match(r"\d+\.\d+", platform.release())
    return "%s %s" % (platform.system(),
                      found.group() if found else platform.release())


def describe(workdir):
    """Everything that a reader needs beside the numbers."""
    memory = _field("/proc/meminfo", "MemTotal")
    kind, options = file_system(workdir)
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": cores(),
        "memory_mb": int(memory.split()[0]) // 1024 if memory else 0,
        "virtual": "hypervisor" in _field("/proc/cpuinfo", "flags").split(),
        "kernel": kernel(),
        "distribution": _field("/etc/os-release", "PRETTY_NAME"),
        "workdir_filesystem": kind,
        "workdir_mount_options": options,
        "compiler": first_line([os.environ.get("CC", "cc"), "--version"]),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }
