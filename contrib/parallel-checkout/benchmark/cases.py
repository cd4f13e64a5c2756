# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: the cases, and how a round of each is prepared.

A round prepares the working tree (not timed), runs the commands (timed), and
once for each contestant compares the result with the baseline's.
"""

import os
import shutil
import subprocess
import time

from . import BenchError, filesystems, machine, measure

# Factor between the bytes of a tree and the image it is put on: the image's
# own pages and the mounted file system's pages are both in memory.
IMAGE_ROOM = 2.3


def remove(path):
    """Remove a tree; rm is faster at a million files than Python is."""
    if os.path.lexists(path):
        subprocess.run(["rm", "-rf", "--", path], check=True)


def make_git_dir(git_dir, repo, config="", own_objects=False):
    """A .git without an index, its objects those of a bare repository."""
    os.makedirs(os.path.join(git_dir, "refs", "heads"))
    objects = os.path.join(repo, "objects")
    if own_objects:
        shutil.copytree(objects, os.path.join(git_dir, "objects"))
    else:
        os.symlink(objects, os.path.join(git_dir, "objects"))
    shutil.copy(os.path.join(repo, "packed-refs"), git_dir)
    with open(os.path.join(git_dir, "HEAD"), "w") as file:
        file.write("ref: refs/heads/master\n")
    with open(os.path.join(git_dir, "config"), "w") as file:
        file.write("[core]\n\trepositoryformatversion = 0\n"
                   "\tfilemode = true\n\tbare = false\n"
                   "[gc]\n\tauto = 0\n" + config)


def state_of(tree, git, tree_hash):
    """What has to be the same whoever did the checkout."""
    # Before status, which would mend wrong stat data in the index.
    stale = git.run("diff-files", "--name-only", cwd=tree)
    if stale:
        names = stale.decode(errors="replace").splitlines()
        raise BenchError(
            "the index does not describe %d of the files, such as %s" %
            (len(names), names[0]))
    status = git.run("status", "--porcelain", cwd=tree)
    if status:
        raise BenchError("git status is not clean: %s" %
                         status.splitlines()[0].decode(errors="replace"))
    done = subprocess.run([tree_hash, tree], stdout=subprocess.PIPE)
    if done.returncode:
        raise BenchError("tree-hash failed")
    return {"the hash of the working tree": done.stdout,
            "ls-files -s": git.run("ls-files", "-s", "-z", cwd=tree)}


class Case:
    """A full checkout without an index; the other cases change parts of it.

    targets: (contestant, against, limit of the ratio); N stands for the largest
    number of workers.
    """

    filesystem = None
    peers = False  # gitoxide and the floor programs run along
    all_workers = True  # or only the largest number
    rounds_factor = 1
    memory_rounds = 1
    tell_memory = False  # in a table of its own
    timed = True

    def __init__(self, name, title, get_input, targets=(), **changes):
        self.name = name
        self.title = title
        self.get_input = get_input
        self.targets = targets
        for key, value in changes.items():
            setattr(self, key, value)

    # -- set up and take down

    def open(self, run):
        self.run = run
        self.input = self.get_input(run.inputs)
        self.image = None
        self.expected = None
        self.checked = set()
        self.counts = {}
        self.room()
        if self.filesystem:
            size = 512 << 20 if run.smoke else \
                max(1 << 30, int(self.input.room() * 2.5))
            self.image = filesystems.Image(self.filesystem, run.workdir, size)
            self.top = self.image.point
        else:
            self.top = os.path.join(run.workdir, "top")
        self.tree = os.path.join(self.top, "tree")
        # What gitoxide and the floor program read.
        self.list = os.path.join(run.workdir, "list")
        with open(self.list, "wb") as file:
            file.write(self.input.listing)
        self.index = os.path.join(run.workdir, "index")
        run.baseline.run("--git-dir", self.input.path, "read-tree", "HEAD",
                         env={"GIT_INDEX_FILE": self.index})

    def room(self):
        need = self.input.room()
        if self.filesystem:
            need = int(need * IMAGE_ROOM)
        machine.check_room(self.run.workdir, need,
                           0 if self.filesystem else self.input.files * 1.1)

    def close(self):
        if self.image:
            self.image.close()
        remove(os.path.join(self.run.workdir, "top"))

    def contestants(self):
        """In the order of one round; the next round goes backwards."""
        run = self.run
        counts = run.workers if self.all_workers else run.workers[-1:]
        chosen = []
        for workers in counts:
            for build in run.builds:
                chosen.append(run.git(build, workers))
        if self.peers:
            kinds = ("fs",) if self.filesystem else \
                ("fs", "zlib", "libdeflate")
            for workers in counts:
                if workers == "auto":
                    continue
                if run.gix:
                    chosen.append(run.gitoxide(workers))
                for kind in kinds:
                    if kind in run.floor_kinds:
                        chosen.append(run.floor(kind, workers))
        return chosen

    # -- a round

    def fresh(self):
        """An empty place for the working tree."""
        if self.image:
            self.image.fresh()
        else:
            remove(self.top)
            os.mkdir(self.top)

    def make_repository(self):
        make_git_dir(os.path.join(self.tree, ".git"), self.input.path)

    def prepare(self, contestant):
        self.fresh()
        if contestant.is_git:
            self.make_repository()
        if self.image:
            # What the preparation wrote is not for the round to flush.
            os.sync()

    def stages(self, contestant):
        """(name, command, must its output be empty) in order"""
        if contestant.is_git:
            return [("checkout", contestant.command(
                "checkout", "-q", "-f", "HEAD"), True)]
        if contestant.kind == "gix":
            return [("checkout", contestant.checkout(
                self.index, self.input.path, self.tree), False)]
        if contestant.kind == "fs":
            return [("checkout", [contestant.path, "fs", self.list, self.tree,
                                  str(contestant.workers)], False)]
        return [("inflate", [contestant.path, contestant.kind,
                             self.input.pack, str(contestant.workers)],
                 False)]

    def round(self, contestant, runner=measure.run):
        """Prepare and run once; return (measurements of all, of stages)."""
        self.prepare(contestant)
        stages = {}
        for name, argv, silent in self.stages(contestant):
            cwd = self.tree if contestant.is_git else self.run.workdir
            result = runner(
                argv, contestant.env, cwd=cwd,
                accept_failure=getattr(contestant, "accept_failure", False))
            if runner is measure.run:
                result, out = result
                if silent and out:
                    raise BenchError("%s: '%s' was to print nothing, not: %s"
                                     % (contestant.name, name,
                                        out[:200].decode(errors="replace")))
            stages[name] = result
        total = {}
        for key in next(iter(stages.values())):
            values = [stage[key] for stage in stages.values()]
            total[key] = sum(values) if key in (
                "wall", "user", "sys", "main_user", "main_sys") \
                else max(values)
        self.check(contestant)
        return total, stages

    # -- the result

    def check(self, contestant):
        """Compare what a contestant left with the baseline's, once."""
        if contestant.name in self.checked:
            return
        self.checked.add(contestant.name)
        if contestant.kind == "gix":
            self.counts[contestant.name] = sum(
                len(files) + sum(os.path.islink(os.path.join(at, name))
                                 for name in dirs)
                for at, dirs, files in os.walk(self.tree))
            if self.counts[contestant.name] < self.input.files * 0.999:
                raise BenchError("%s wrote %d of %d files" % (
                    contestant.name, self.counts[contestant.name],
                    self.input.files))
        if not contestant.is_git:
            return
        state = self.state()
        if self.expected is None:
            if contestant.kind != "base":
                raise BenchError("the baseline has to run first")
            self.expected = state
        for key, value in state.items():
            if value != self.expected[key]:
                raise BenchError("%s: %s differs from the baseline's" %
                                 (contestant.name, key))

    def state(self):
        return state_of(self.tree, self.run.baseline, self.run.tree_hash)


class Status(Case):
    """A checkout, and at once the first git status after it."""

    def stages(self, contestant):
        return super().stages(contestant) + [
            ("status", contestant.command("status", "--porcelain"), True)]


class Switch(Case):
    """From one revision to the next, in a tree that stays.

    One tree for all contestants: two of them would not fit into memory.  The
    baseline takes it back before each round.
    """

    def open(self, run):
        super().open(run)
        self.fresh()
        self.make_repository()

    def prepare(self, contestant):
        git = self.run.baseline
        if os.path.exists(os.path.join(self.tree, ".git", "index")):
            # Whatever a failed round left must not stay behind.
            git.run("reset", "-q", "--hard", cwd=self.tree)
        git.run("-c", "checkout.workers=%d" % machine.cores(), "checkout",
                "-q", "-f", "master", cwd=self.tree)
        # A file written in the second in which the index was is looked at
        # again by content.  That is not what we measure: move on to the next
        # second, and let the index be of that one.
        now = time.time()
        time.sleep(1.01 - now % 1)
        os.utime(os.path.join(self.tree, ".git", "index"))

    def stages(self, contestant):
        return [("switch", contestant.command("checkout", "-q", "v2"),
                 True)]


CHECKOUT = "a full checkout without an index"


def all_cases():
    linux = [("ours:N", "base:N", 0.43), ("ours:N", "gix:N", 1.0),
             ("ours:1", "base:1", 0.57), ("ours:1", "gix:1", 1.05)]
    on_image = [("ours:N", "base:N", 0.60)]
    cases = [Case("linux", "Linux tree, " + CHECKOUT,
                  lambda inputs: inputs.linux(), linux, peers=True)]
    for kind in ("ext4", "xfs", "btrfs"):
        cases.append(Case("linux-" + kind, "Linux tree on %s in an image, %s"
                          % (kind, CHECKOUT), lambda inputs: inputs.linux(),
                          on_image, filesystem=kind, peers=True,
                          all_workers=False))
    cases += [
        Status("status", "Linux tree, checkout and first git status",
               lambda inputs: inputs.linux(), [("ours:N", "base:N", 0.45)],
               all_workers=False),
        Switch("switch", "Linux tree, switch: 15 % of the files changed, "
               "3 % removed, 3 % added",
               lambda inputs: inputs.linux_two_revisions(),
               [("ours:N", "base:N", 0.65)]),
        Case("source", "Git's own source, " + CHECKOUT,
             lambda inputs: inputs.source(), [("ours:N", "base:N", 0.75)],
             rounds_factor=3),
        Case("100k", "100,000 files of 1 kB in 2,000 directories",
             lambda inputs: inputs.hundred_thousand(), all_workers=False,
             peers=True),
        Case("million", "1,000,000 files of 1 kB in 20,000 directories",
             lambda inputs: inputs.million(), [("ours:N", "base:N", 0.60)],
             all_workers=False),
        Case("blobs-compressible", "200 files of 20 MB that compress 3:1",
             lambda inputs: inputs.blobs(False),
             [("ours:N", "base:N", 0.70)], all_workers=False,
             tell_memory=True),
        Case("blobs-incompressible",
             "200 files of 20 MB that do not compress",
             lambda inputs: inputs.blobs(True), [("ours:N", "base:N", 1.0)],
             all_workers=False, tell_memory=True),
        Case("memory", "Linux tree, peak memory",
             lambda inputs: inputs.linux(), timed=False, memory_rounds=3,
             tell_memory=True),
    ]
    return cases
