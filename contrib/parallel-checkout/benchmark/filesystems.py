# SPDX-License-Identifier: GPL-2.0-only
"""File systems in image files, made anew for every round."""

import os
import re
import shutil
import subprocess

from . import BenchError, Skip

# -K, nodiscard: the image is new and has no blocks to give back.  The lazy
# initialisation of ext4 would go on in the background while we measure.
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E",
             "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K"],
}


def unavailable(kind):
    """Why a file system cannot be had here, or None."""
    if os.geteuid() != 0:
        return "mounting an image needs root"
    maker = MAKERS[kind][0]
    for tool in (maker, "mount", "umount"):
        if not shutil.which(tool):
            return "'%s' is not installed" % tool
    with open("/proc/filesystems") as file:
        known = [line.split()[-1] for line in file]
    if kind not in known:
        # May be a module that mount would load; mount decides.
        modules = "/lib/modules/%s" % os.uname().release
        if not os.path.isdir(modules):
            return "this kernel has no %s" % kind
    if not os.path.exists("/dev/loop-control"):
        return "this machine has no loop devices"
    return None


def _run(argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        raise BenchError("'%s' failed: %s" % (
            " ".join(argv), done.stdout.decode(errors="replace").strip()))


class Image:
    """One file system in a file below workdir; fresh() mounts an empty one."""

    def __init__(self, kind, workdir, size):
        reason = unavailable(kind)
        if reason:
            raise Skip(reason)
        self.kind = kind
        self.size = size
        self.file = os.path.join(workdir, "image." + kind)
        self.point = os.path.join(workdir, "mount." + kind)
        self.mounted = False
        self.tried = False

    def fresh(self):
        self.close()
        os.makedirs(self.point, exist_ok=True)
        with open(self.file, "wb") as file:
            file.truncate(self.size)
        _run(MAKERS[self.kind] + [self.file])
        # Noted first: an interrupt in between must find it to unmount.
        self.mounted = True
        try:
            # mount frees the loop device when it is unmounted.
            _run(["mount", "-t", self.kind, "-o", "loop", self.file,
                  self.point])
        except BenchError as error:
            self.mounted = False
            if self.tried:
                raise
            raise Skip(str(error))
        self.tried = True

    def close(self):
        if self.mounted and os.path.ismount(self.point):
            _run(["umount", self.point])
        self.mounted = False
        if os.path.exists(self.file):
            os.unlink(self.file)


def unmount_below(folder):
    """Unmount whatever is mounted below folder (left by a killed run)."""
    points = []
    with open("/proc/self/mounts") as file:
        for line in file:
            point = re.sub(r"\\([0-7]{3})",
                           lambda m: chr(int(m.group(1), 8)),
                           line.split(" ")[1])
            if point.startswith(folder.rstrip("/") + "/"):
                points.append(point)
    for point in reversed(points):
        subprocess.run(["umount", point], stderr=subprocess.DEVNULL)
