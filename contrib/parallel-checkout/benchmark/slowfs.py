# SPDX-License-Identifier: GPL-2.0-only
"""The slow file system of ../../slowfs: build it, mount it, read its counters."""

import os
import shutil
import subprocess
import time

from . import BenchError, Skip

CONTROL = ".slowfs"


def build(source, target):
    """Compile it into the folder target; return the path of the program."""
    if not os.path.exists("/dev/fuse"):
        raise Skip("this machine has no /dev/fuse")
    for tool in ("make", "pkg-config"):
        if not shutil.which(tool):
            raise Skip("'%s' is not installed" % tool)
    os.makedirs(target, exist_ok=True)
    done = subprocess.run(["make", "-s", "-C", source, "O=" + target],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        raise Skip("slowfs was not built: " +
                   done.stdout.decode(errors="replace").strip())
    return os.path.join(target, "slowfs")


class SlowFS:
    """One mount: the folder `backing`, slowly, at `point`.

    Ends with this process, however that ends.
    """

    def __init__(self, program, backing, point, *options):
        self.backing = backing
        self.point = point
        os.makedirs(backing, exist_ok=True)
        os.makedirs(point, exist_ok=True)
        done = subprocess.run(
            [program, "--owner=%d" % os.getpid()] + list(options) +
            [backing, point], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        if done.returncode:
            raise BenchError("cannot mount slowfs: " +
                             done.stderr.decode(errors="replace").strip())

    def control(self, *commands):
        """Obey these: "reset", "latency SPEC", "fault SPEC", ..."""
        with open(os.path.join(self.point, CONTROL), "w") as file:
            file.write("".join(command + "\n" for command in commands))

    def counters(self):
        """Operations since the mount or the last reset, by name."""
        with open(os.path.join(self.point, CONTROL)) as file:
            return {name: int(number) for name, number in
                    (line.split() for line in file)}

    def close(self):
        """Unmount, once no process works there any more (or after 10 s)."""
        for _ in range(100):
            if not os.path.ismount(self.point):
                return
            for argv in (["umount", self.point],
                         ["fusermount3", "-u", self.point]):
                if shutil.which(argv[0]) and not subprocess.run(
                        argv, stderr=subprocess.DEVNULL).returncode:
                    return
            time.sleep(0.1)
        subprocess.run(["umount", "-l", self.point])
