# SPDX-License-Identifier: GPL-2.0-only
"""The parts of the benchmark runner; the program is ../bench."""


class BenchError(Exception):
    """Something that ends a case, or the run, with one line of explanation."""


class Skip(Exception):
    """A case that cannot run here, and why."""
