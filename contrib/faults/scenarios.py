# SPDX-License-Identifier: GPL-2.0-only
"""What the driver runs: commands in small repositories, and what belongs to them."""

import os

HERE = os.path.dirname(os.path.realpath(__file__))

# Two commits with files that differ, that appear and that vanish; links, modes,
# a large file, packed and loose objects.
ORIGIN = r'''
git init -q origin
cd origin
git config core.logAllRefUpdates false
files () {
	for d in a b c/d
	do
		mkdir -p "$d"
		for i in 1 2 3 4
		do
			i=$i awk -v v="$1" -v d="$d" 'BEGIN {
				for (n = 0; n < 40; n++)
					print "line", n, "of", d, ENVIRON["i"], n % 7 ? "" : v
			}' >"$d/f$i"
		done
	done
	chmod +x a/f1
}
files 1
ln -s a/f1 link
mkdir gone && cp a/f* gone
seq 20000 >large
git add .
git commit -q -m one
git tag one
git repack -q -a -d
files 2
rm -r gone link a/f3
mkdir new && cp b/f* new && ln -s ../b new/link
seq 20001 >large
git add -A
git commit -q -m two
git tag two
cd ..
'''

# Files of the past, so that no index is racily clean.
PAST = r'''
find work -name .git -prune -o -exec touch -h -d 2020-01-01 {} +
git -C work update-index -q --refresh
'''

FILTERS = r'''
git config --global filter.up.smudge 'tr a-z A-Z'
git config --global filter.up.clean 'tr A-Z a-z'
git config --global filter.up.required true
git config --global filter.up.parallel true
echo "b/* filter=up" >origin/.gitattributes
git -C origin add .gitattributes
git -C origin commit -q -m filters
'''

PARTIAL = r'''
git -C origin config uploadpack.allowFilter true
git -C origin config uploadpack.allowAnySHA1InWant true
'''


class Scenario:
    """A command, with the files that it is run on.

    setup      a shell script that makes the template, of which each run has a copy
    argv       the command; cwd is the directory of the copy to run it in
    processes  in which of its processes calls fail; None: in all that it starts,
    spared     but these
    tree       the working tree whose files, index and references are its result
    repos      others that have to be valid afterwards
    created    whether the command makes `tree`, and removes it if it fails
    says       whether what it prints is a part of its result
    base       whether the base can run it
    mounts     whether it needs what an ordinary user may not have
    """

    def __init__(self, name, setup, argv, tree, cwd='.', processes=('main',),
                 repos=(), created=False, says=False, config=(), env=None,
                 base=True, spared=(), mounts=False):
        self.name = name
        self.setup = setup
        self.argv = argv
        self.tree = tree
        self.cwd = cwd
        self.processes = processes
        self.repos = repos
        self.created = created
        self.says = says
        self.config = list(config)
        self.env = env or {}
        self.base = base
        self.mounts = mounts
        self.spared = spared


PARALLEL = [('checkout.workers', '2'), ('checkout.thresholdForParallelism', '0')]
WORKERS = ('main', 'checkout--worker', 'checkout--worker#2')


def clone(name, *options, setup=ORIGIN, processes=WORKERS, **more):
    return Scenario(name, setup, ['git', 'clone', '-q', *options, 'origin', 'new'],
                    'new', created=True, processes=processes, repos=('origin',),
                    config=PARALLEL, **more)


def checkout(name, *argv, start='one', setup='', past=True, processes=WORKERS,
             tree='work', **more):
    text = ORIGIN + 'git clone -q --no-checkout origin work\n'
    text += 'git -C work read-tree one\n'
    if start:
        text += 'git -C work checkout -q -f %s\n' % start
        if past:
            text += PAST
    return Scenario(name, text + setup, ['git', *argv], tree, cwd='work',
                    processes=processes, config=PARALLEL, **more)


# Everything is delayed, and the filter has a log of its own.
DELAYED = r'''
git config --global filter.rot.process \
	"test-tool rot13-filter --always-delay --log=$HOME/log clean smudge delay"
git config --global filter.rot.required true
git config --global filter.rot.parallel true
echo "b/* filter=rot" >origin/.gitattributes
git -C origin add .gitattributes
git -C origin commit -q -m filters
'''

# What is untracked, in directories that are read ahead.
UNTRACKED = r'''
for d in a b c c/d un/tracked un/x/y
do
	mkdir -p work/$d
	echo new >work/$d/new
	echo ignored >work/$d/x.o
done
echo "*.o" >work/.gitignore
'''

# A pack with deltas in chains, and what is to be known of it.
PACK = ORIGIN + r'''
git init -q work
git -C origin rev-list --objects --all |
git -C origin pack-objects -q --stdout --no-reuse-delta >work/in.pack
'''

MANY = r'''
git init -q --ref-format=reftable work
git -C work commit -q --allow-empty -m one
for i in $(seq 2000)
do
	echo "create refs/heads/topic-$i HEAD"
done >in
git -C work update-ref --stdin <in
sed "s/^create \\(.*\\) HEAD/delete \\1/" in >delete
'''


# Its programs are not a part of Git's own build.
BUILD_WORKSPACE = r'''
make -s -C "$GIT_EXEC_PATH/contrib/workspace" all
'''


def workspace(verb):
    # When "git hook" fails, all is done, as with "git worktree add".
    scenario = checkout('workspace-' + verb, setup=BUILD_WORKSPACE, processes=None,
                        spared=('hook#1',), says=True, base=False,
                        mounts=True)
    scenario.argv = ['sh', os.path.join(HERE, 'workspace.sh'), verb]
    return scenario


def index_pack(threads):
    return Scenario('index-pack-%d' % threads, PACK,
                    ['git', 'index-pack', '--threads=%d' % threads, 'in.pack'],
                    'work', cwd='work', env={'GIT_TEST_PACK_HASHER_BATCH': '1'})


SCENARIOS = [
    clone('clone', '--no-local', processes=WORKERS + ('index-pack',)),
    clone('clone-unpack', '--no-local', '-c', 'fetch.unpackLimit=1000',
          processes=('main', 'unpack-objects')),
    clone('clone-local'),
    clone('clone-shared', '--shared'),
    clone('clone-partial', '--no-local', '--filter=blob:none',
          setup=ORIGIN + PARTIAL,
          processes=WORKERS + ('fetch', 'index-pack', 'index-pack#2')),
    clone('clone-filters', '--no-local', setup=ORIGIN + FILTERS,
          processes=WORKERS + ('sh', 'tr')),
    checkout('checkout-empty', 'checkout', '-q', '-f', 'one', start=None),
    checkout('checkout-used', 'checkout', '-q', '-f', 'two'),
    checkout('switch', 'switch', '-q', '--detach', 'two'),
    checkout('switch-racy', 'switch', '-q', '--detach', 'two', past=False),
    checkout('checkout-path', 'checkout', 'two', '--', 'a', 'b', 'large'),
    checkout('reset', 'reset', '-q', '--hard', 'two'),
    checkout('checkout-index', 'checkout-index', '-a', '-f', '-u', start=None),
    checkout('worktree-add', 'worktree', 'add', '-q', '-f', '--detach', '../new', 'two',
             tree='new', created=True, repos=('work',)),
    # On a file system with reflinks, as TMPDIR.
    checkout('worktree-donors', '-c', 'checkout.reflink=true', 'worktree', 'add', '-q',
             '-f', '--detach', '../new', 'one', tree='new', created=True,
             repos=('work',), processes=WORKERS + ('checkout--worker#3',)),
    clone('filters-delayed', '--no-local', setup=ORIGIN + DELAYED,
          processes=WORKERS + ('test-tool', 'test-tool#2')),
    checkout('status', 'status', '--porcelain', setup=UNTRACKED, says=True,
             processes=('main',), env={'GIT_TEST_DIR_AHEAD': '1'}),
    workspace('add'),
    workspace('mount'),
    workspace('remove'),
    workspace('prune'),
    index_pack(2),
    index_pack(3),
    Scenario('reftable-create', MANY + 'git -C work update-ref --stdin <delete\n',
             ['sh', '-c', 'exec git -C work update-ref --stdin <in'], 'work',
             processes=('update-ref',)),
    Scenario('reftable-delete', MANY,
             ['sh', '-c', 'exec git -C work update-ref --stdin <delete'], 'work',
             processes=('update-ref',)),
]
