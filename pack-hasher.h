/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PACK_HASHER_H
#define PACK_HASHER_H

#include "hash.h"
#include "object.h"

/*
 * Hashing the objects of a pack in other threads, while the caller goes on
 * reading the pack.
 *
 * A queue: objects are put in at one end, and come out at the other end in the
 * same order, with their names. So whatever the caller does with an object and
 * its name, it does in the order of the pack and in its own thread, as if it
 * had hashed the object itself; how many threads there are makes no difference
 * to anything but the time.
 *
 * The queue is bounded, in bytes (40 MB, or one object that is larger) and in
 * number. The thread that has to wait for an object takes its share of the
 * hashing until it has it. Threads are started when there is something to do
 * for them: a pack of some ten kilobytes starts none.
 *
 * All functions are to be called by one thread, the one that called
 * pack_hasher_new(). Functions of the hash algorithms that die() because of
 * what they hash do so in that thread, and only when the object's turn has
 * come.
 *
 * The environment variable GIT_TEST_PACK_HASHER_BATCH says how many objects at
 * most are given to a thread at once, so that tests can put threads to work on
 * packs of a few objects.
 */
struct pack_hasher;

/* An object in the queue. */
struct pack_hasher_job {
	/*
	 * The content. It is the caller's, who must not touch it from
	 * pack_hasher_add() until it comes back from pack_hasher_take().
	 */
	void *data;
	size_t size;
	enum object_type type;
	/* Where the name goes. It is defined when the object comes back. */
	struct object_id *oid;
};

/*
 * Is the address space limited ("ulimit -v")? A pack that is accepted slowly
 * must not be refused for what only saves time, like the stacks of threads and
 * objects that wait.
 */
int pack_hasher_is_limited(void);

/*
 * Return a new hasher, to be released by pack_hasher_free(). It starts up to
 * "nr_threads" threads, or fewer if the system has no more. With 0 or less,
 * where pack_hasher_is_limited(), or where Git is built without threads, all
 * hashing is done by the caller's thread, as soon as something is put in.
 */
struct pack_hasher *pack_hasher_new(const struct git_hash_algo *algo,
				    int nr_threads);

/*
 * End the threads, and leave all further hashing to the caller's thread. The
 * queue must be empty.
 */
void pack_hasher_end_threads(struct pack_hasher *hasher);

/*
 * End the threads and release the hasher. The queue must be empty.
 */
void pack_hasher_free(struct pack_hasher *hasher);

/*
 * Is there room for another object, of "size" bytes? If not, something has to
 * be taken out first. There always is if the queue is empty.
 */
int pack_hasher_has_room(struct pack_hasher *hasher, size_t size);

/*
 * Put an object into the queue. There must be room for it. "job" is copied.
 */
void pack_hasher_add(struct pack_hasher *hasher,
		     const struct pack_hasher_job *job);

/*
 * Take the oldest object out of the queue, and copy it to "job", if it has been
 * hashed, and return 1. If it has not, return 0; but with "wait", wait for it
 * and then return 1. Return 0 in any case if the queue is empty.
 *
 * If the object is found to be part of a collision attack, this dies, with the
 * message of the hash algorithm.
 */
int pack_hasher_take(struct pack_hasher *hasher, struct pack_hasher_job *job,
		     int wait);

#endif /* PACK_HASHER_H */
