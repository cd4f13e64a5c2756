# SPDX-License-Identifier: GPL-2.0-only
"""The repositories that the cases check out, made once and kept."""

import os
import subprocess
import sys

from . import BenchError, Skip, measure

# What a file takes on a file system beside its bytes, on average: half a page
# at its end, inode, and name.
OVERHEAD = 4096


def linux_repo(scripts, root):
    """The path of the Linux tree's repository, which is made if missing."""
    path = os.path.join(root, ".cache", "bench", "linux.git")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # does nothing if it is there; says itself what goes wrong
    if subprocess.run([os.path.join(scripts, "make-linux-repo"), path],
                      stdin=subprocess.DEVNULL).returncode:
        sys.exit(1)
    return path


class Input:
    """A bare repository with what the cases want to know of it."""

    def __init__(self, build, path):
        self.path = path
        self.name = os.path.basename(path)
        self.build = build
        self.objects = os.path.join(path, "objects")
        listing = build.run("-C", path, "ls-tree", "-r", "-l", "-z", "HEAD")
        self.files = self.bytes = self.largest = 0
        for line in listing.split(b"\0"):
            if not line:
                continue
            size = int(line.split(b"\t", 1)[0].split()[3])
            self.files += 1
            self.bytes += size
            self.largest = max(self.largest, size)
        self.listing = listing
        packs = os.path.join(self.objects, "pack")
        found = [os.path.join(packs, name) for name in os.listdir(packs)
                 if name.endswith(".pack")]
        if not found:
            raise BenchError("'%s' has no pack" % path)
        # Of a second revision in a pack of its own, the first one counts.
        self.pack = max(found, key=os.path.getsize)
        self.commit = build.run("-C", path, "rev-parse",
                                "HEAD").decode().strip()

    def room(self):
        """Bytes that a working tree takes, generously."""
        return self.bytes + self.files * OVERHEAD

    def describe(self):
        return {"name": self.name, "files": self.files, "bytes": self.bytes,
                "pack_bytes": os.path.getsize(self.pack),
                "commit": self.commit}


class Inputs:
    """Makes inputs when they are first asked for."""

    def __init__(self, folder, scripts, build, smoke, linux, source):
        self.folder = folder
        self.scripts = scripts
        self.build = build
        self.smoke = smoke
        self.linux_path = linux
        self.source_path = source
        self.known = {}

    def _make(self, name, script, *args):
        path = os.path.join(self.folder, name)
        if not os.path.isdir(path):
            os.makedirs(self.folder, exist_ok=True)
            self._call(script, *args, path)
        return self._load(path)

    def _call(self, script, *args):
        argv = [os.path.join(self.scripts, script), "--git", self.build.git]
        env = dict(self.build.env)
        # apt wants the real home.
        env["HOME"] = os.environ.get("HOME", env["HOME"])
        if measure.call(argv + list(args), env):
            raise Skip("%s could not make the input (its words are above)"
                       % script)

    def _load(self, path):
        if path not in self.known:
            self.known[path] = Input(self.build, path)
        return self.known[path]

    def linux(self):
        if self.smoke:
            return self._many("smoke-linux.git", 600, 1024)
        if self.linux_path:
            return self._load(self.linux_path)
        return self._make("linux.git", "make-linux-repo")

    def linux_two_revisions(self):
        repo = self.linux()
        self._call("make-second-revision", repo.path)
        return repo

    def _many(self, name, files, size):
        return self._make(name, "make-synthetic", "many", "--files",
                          str(files), "--size", str(size))

    def million(self):
        if self.smoke:
            return self._many("smoke-million.git", 2000, 1024)
        return self._many("million.git", 1000000, 1024)

    def hundred_thousand(self):
        if self.smoke:
            return self._many("smoke-100k.git", 200, 1024)
        return self._many("100k.git", 100000, 1024)

    def source(self):
        if not self.source_path:
            raise Skip("needs --source TARBALL-OR-FOLDER (the base's own "
                       "source)")
        name = "smoke-source.git" if self.smoke else "source.git"
        return self._make(name, "make-synthetic", "source", self.source_path)

    def blobs(self, incompressible):
        files, size = (3, 2000000) if self.smoke else (200, 20000000)
        name = "%sblobs-%s.git" % (
            "smoke-" if self.smoke else "",
            "incompressible" if incompressible else "compressible")
        extra = ["--incompressible"] if incompressible else []
        return self._make(name, "make-synthetic", "blobs", "--files",
                          str(files), "--size", str(size), *extra)
