# SPDX-License-Identifier: GPL-2.0-only
"""Who runs: builds of Git, gitoxide, and the floor program.

A contestant is named KIND:WORKERS, as in base:2, ours:auto, gix:1, fs:2.
"""

import os
import shutil
import subprocess

from . import BenchError, machine, measure


def clean_environment(home):
    """An environment in which no configuration of the user is seen."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("GIT_", "GITOXIDE_"))}
    env.update(HOME=home, XDG_CONFIG_HOME=home, LC_ALL="C",
               GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0",
               GIT_CONFIG_GLOBAL=os.devnull)
    return env


class Build:
    """A git: a build tree, or the prefix of an installation."""

    def __init__(self, kind, path, env):
        self.kind = kind
        self.path = os.path.abspath(path)
        self.env = dict(env)
        self.flags = ""
        tree = os.path.join(self.path, "git")
        installed = os.path.join(self.path, "bin", "git")
        if os.path.isfile(tree) and os.access(tree, os.X_OK):
            # Not through bin-wrappers: a shell would be timed too.
            self.git = tree
            self.env["GIT_EXEC_PATH"] = self.path
            self.env["GIT_TEMPLATE_DIR"] = os.path.join(
                self.path, "templates", "blt")
            try:
                with open(os.path.join(self.path, "GIT-CFLAGS")) as file:
                    self.flags = file.read().strip()
            except OSError:
                pass
        elif os.path.isfile(installed) and os.access(installed, os.X_OK):
            self.git = installed
        else:
            raise BenchError(
                "'%s' has no git program; give the folder in which git was "
                "built, or the prefix it was installed to" % path)
        self.version = machine.first_line([self.git, "--version"], self.env)
        if not self.version:
            raise BenchError("'%s' does not run" % self.git)

    def describe(self):
        options = self.run("version", "--build-options").decode()
        return {"version": self.version.replace("git version ", ""),
                "cflags": self.flags,
                "build_options": options.strip().splitlines()[1:]}

    def run(self, *args, cwd=None, env=None, stdin=None):
        """Run git untimed; return its output."""
        full = dict(self.env, **(env or {}))
        process = subprocess.run((self.git,) + args, cwd=cwd, env=full,
                                 input=stdin, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        if process.returncode:
            raise BenchError("'git %s' failed with exit code %d: %s" % (
                args[0], process.returncode,
                process.stderr.decode(errors="replace").strip()))
        return process.stdout

    def exec_path(self):
        return self.run("--exec-path").decode().strip()

    def fast_import(self, repo, write, *options):
        """Run fast-import on what write(out) writes."""
        argv = [self.git, "-C", repo, "fast-import", "--quiet", *options]
        with subprocess.Popen(argv, env=self.env,
                              stdin=subprocess.PIPE) as process:
            write(process.stdin)
            process.stdin.close()
        if process.returncode:
            raise BenchError("fast-import failed")


class Contestant:
    """workers is a number, or "auto" for no configuration at all."""

    is_git = False

    def __init__(self, kind, workers):
        self.kind = kind
        self.workers = workers
        self.name = "%s:%s" % (kind, workers)
        self.env = None


class Git(Contestant):
    is_git = True

    def __init__(self, build, workers):
        super().__init__(build.kind, workers)
        self.build = build
        self.env = build.env

    def command(self, *args):
        argv = [self.build.git]
        if self.workers != "auto":
            argv += ["-c", "checkout.workers=%s" % self.workers]
        return argv + list(args)


class Gitoxide(Contestant):
    """Reads an existing index, writes files, and writes no index."""

    # It refuses names such as aux.c, which Windows has devices for, and says
    # so with its exit code; what it wrote is counted instead.
    accept_failure = True

    def __init__(self, path, workers, env):
        super().__init__("gix", workers)
        self.path = path
        self.env = env

    def checkout(self, index, repo, target):
        return [self.path, "--threads", str(self.workers), "free", "index",
                "--index-path", index, "checkout-exclusive", "--keep-going",
                "--repository", repo, target]


class Floor(Contestant):
    """kind is fs, zlib or libdeflate."""

    def __init__(self, path, kind, workers, env):
        super().__init__(kind, workers)
        self.path = path
        self.env = env


def build_floor(source, target):
    """Compile the floor program; return (path, kinds) or (None, why not)."""
    compiler = os.environ.get("CC", "cc")
    base = [compiler, "-O2", "-o", target, source]
    reason = "'%s' not found" % compiler
    for extra in (["-DHAVE_LIBDEFLATE", "-lz", "-ldeflate"], ["-lz"]):
        try:
            done = subprocess.run(base + extra, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
        except OSError:
            break
        if done.returncode == 0:
            return target, machine.first_line([target, "features"]).split()
        words = done.stderr.decode(errors="replace").strip().splitlines()
        reason = words[0] if words else "compiler failed"
    return None, reason


def find_gix(given, install_script, install_root, may_install):
    """Return (path of gix, None) or (None, why there is none)."""
    if given:
        if os.access(given, os.X_OK) and os.path.isfile(given):
            return os.path.abspath(given), None
        raise BenchError("--gix: '%s' is no program" % given)
    cached = os.path.join(install_root, "bin", "gix")
    for path in (cached, shutil.which("gix")):
        if path and os.access(path, os.X_OK):
            return path, None
    if not shutil.which("cargo"):
        return None, "gix is not installed, and cargo is not there to " \
            "install it; give it with --gix PATH"
    if not may_install:
        return None, "gix is not installed; run %s, or give it with " \
            "--gix PATH" % os.path.basename(install_script)
    if measure.call([install_script, install_root]) or not os.access(cached, os.X_OK):
        return None, "cargo could not install it (its words are above)"
    return cached, None
