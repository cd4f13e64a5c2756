/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count requests, let them wait, make them fail; see policy.h.
 */
#define _GNU_SOURCE
#include "policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NSEC 1000000000LL
/* An hour; more is a typing error, and keeps the sums far from overflow. */
#define MAX_USEC 3600000000LL
#define MAX_RULES 64

enum action { ACT_ERRNO, ACT_SHORT, ACT_DELAY };
enum when { WHEN_ONCE, WHEN_FROM, WHEN_EVERY };

struct rule {
	unsigned char op[OP_NR];
	enum action action;
	long long value;	/* errno, bytes or microseconds */
	enum when when;
	long long nth;
	long long seen;		/* requests that matched so far */
	char glob[256];		/* empty: any path */
};

static const char *const op_names[] = {
#define X(id, name) name,
	SLOWFS_OPS(X)
#undef X
};

static atomic_llong count[OP_NR];
static atomic_llong latency[OP_NR];	/* microseconds */
static atomic_llong faults;
static atomic_llong waiting;
static atomic_llong peak;
static atomic_int one_arm;

static pthread_mutex_t arm_lock = PTHREAD_MUTEX_INITIALIZER;
static long long arm_free;		/* when the arm has done all so far */

static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[MAX_RULES];
static atomic_int rules_nr;
static atomic_int rules_with_glob;

static const struct {
	const char *name;
	int number;
} errnos[] = {
#define E(name) { #name, name }
	E(EACCES), E(EAGAIN), E(EBADF), E(EBUSY), E(EDQUOT), E(EEXIST),
	E(EFBIG), E(EINTR), E(EINVAL), E(EIO), E(EISDIR), E(ELOOP), E(EMFILE),
	E(EMLINK), E(ENAMETOOLONG), E(ENFILE), E(ENODEV), E(ENOENT),
	E(ENOMEM), E(ENOSPC), E(ENOTDIR), E(ENOTEMPTY), E(ENXIO), E(EPERM),
	E(EROFS), E(ESTALE), E(ETIMEDOUT), E(ETXTBSY), E(EXDEV),
#undef E
};

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static void sleep_until(long long ns)
{
	struct timespec ts = { ns / NSEC, ns % NSEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts,
			       NULL) == EINTR)
		; /* the moment is absolute, so just wait on */
}

/* A number from 0 to `max`, and nothing else; -1 if it is not. */
static long long parse_number(const char *s, long long max)
{
	char *end;
	long long n;

	if (*s < '0' || *s > '9')
		return -1;
	errno = 0;
	n = strtoll(s, &end, 10);
	return errno || *end || n > max ? -1 : n;
}

static int parse_ops(const char *s, size_t len, unsigned char *set,
		     char *err, size_t errlen)
{
	memset(set, 0, OP_NR);
	for (;;) {
		const char *plus = memchr(s, '+', len);
		size_t n = plus ? (size_t)(plus - s) : len;
		int op;

		if (n == 3 && !memcmp(s, "all", 3)) {
			memset(set, 1, OP_NR);
			set[OP_RELEASE] = set[OP_RELEASEDIR] = 0;
		} else {
			for (op = 0; op < OP_NR; op++)
				if (strlen(op_names[op]) == n &&
				    !memcmp(op_names[op], s, n))
					break;
			if (op == OP_NR) {
				snprintf(err, errlen,
					 "unknown operation '%.*s'",
					 (int)n, s);
				return -1;
			}
			set[op] = 1;
		}
		if (!plus)
			return 0;
		s += n + 1;
		len -= n + 1;
	}
}

int policy_latency(const char *spec, char *err, size_t errlen)
{
	long long value[OP_NR];
	const char *s = spec;
	int op;

	for (op = 0; op < OP_NR; op++)
		value[op] = latency[op];

	for (;;) {
		size_t len = strcspn(s, ",");
		const char *eq = memchr(s, '=', len);
		const char *ops = eq ? s : "all";
		size_t opslen = eq ? (size_t)(eq - s) : 3;
		const char *num = eq ? eq + 1 : s;
		size_t numlen = len - (num - s);
		unsigned char set[OP_NR];
		char buf[24];
		long long usec = -1;

		if (parse_ops(ops, opslen, set, err, errlen))
			return -1;
		if (numlen < sizeof(buf)) {
			memcpy(buf, num, numlen);
			buf[numlen] = '\0';
			usec = parse_number(buf, MAX_USEC);
		}
		if (usec < 0) {
			snprintf(err, errlen,
				 "bad latency '%.*s': want microseconds, 0 to %lld",
				 (int)numlen, num, MAX_USEC);
			return -1;
		}
		for (op = 0; op < OP_NR; op++)
			if (set[op])
				value[op] = usec;
		if (!s[len])
			break;
		s += len + 1;
	}

	for (op = 0; op < OP_NR; op++)
		latency[op] = value[op];
	return 0;
}

static int parse_action(const char *s, struct rule *r)
{
	size_t i;

	if (!strncmp(s, "short=", 6)) {
		r->action = ACT_SHORT;
		r->value = parse_number(s + 6, INT32_MAX);
		return r->value < 0 ? -1 : 0;
	}
	if (!strncmp(s, "delay=", 6)) {
		r->action = ACT_DELAY;
		r->value = parse_number(s + 6, MAX_USEC);
		return r->value < 0 ? -1 : 0;
	}
	r->action = ACT_ERRNO;
	for (i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		if (!strcmp(s, errnos[i].name)) {
			r->value = errnos[i].number;
			return 0;
		}
	/* the kernel takes an answer beyond 511 for a broken file system */
	r->value = parse_number(s, 511);
	return r->value < 1 ? -1 : 0;
}

static int parse_when(char *s, struct rule *r)
{
	size_t len = strlen(s);

	r->when = WHEN_ONCE;
	if (*s == '%') {
		r->when = WHEN_EVERY;
		s++;
	} else if (len && s[len - 1] == '+') {
		r->when = WHEN_FROM;
		s[len - 1] = '\0';
	}
	r->nth = parse_number(s, INT32_MAX);
	return r->nth < 1 ? -1 : 0;
}

int policy_fault(const char *spec, char *err, size_t errlen)
{
	struct rule r = { 0 };
	char buf[512], *ops, *action, *when, *glob;
	int ret = 0;

	if (!strcmp(spec, "none")) {
		pthread_mutex_lock(&rules_lock);
		rules_nr = rules_with_glob = 0;
		pthread_mutex_unlock(&rules_lock);
		return 0;
	}

	if (strlen(spec) >= sizeof(buf)) {
		snprintf(err, errlen, "fault rule too long");
		return -1;
	}
	strcpy(buf, spec);
	glob = buf;
	ops = strsep(&glob, ":");
	action = strsep(&glob, ":");
	when = strsep(&glob, ":");
	if (!when) {
		snprintf(err, errlen,
			 "bad fault '%s': want OPS:ACTION:WHEN[:GLOB] or 'none'",
			 spec);
		return -1;
	}
	if (parse_ops(ops, strlen(ops), r.op, err, errlen))
		return -1;
	if (parse_action(action, &r)) {
		snprintf(err, errlen,
			 "bad fault action '%s': want an errno, short=BYTES or delay=USEC",
			 action);
		return -1;
	}
	if (parse_when(when, &r)) {
		snprintf(err, errlen,
			 "bad fault count '%s': want N, N+ or %%N, N from 1 on",
			 when);
		return -1;
	}
	if (glob) {
		if (strlen(glob) >= sizeof(r.glob)) {
			snprintf(err, errlen, "fault pattern too long");
			return -1;
		}
		strcpy(r.glob, glob);
	}

	pthread_mutex_lock(&rules_lock);
	if (rules_nr == MAX_RULES) {
		snprintf(err, errlen, "more than %d fault rules", MAX_RULES);
		ret = -1;
	} else {
		rules[rules_nr] = r;
		rules_nr++;
		if (*r.glob)
			rules_with_glob++;
	}
	pthread_mutex_unlock(&rules_lock);
	return ret;
}

void policy_one_arm(int on)
{
	one_arm = on;
}

int policy_wants_path(void)
{
	return rules_with_glob > 0;
}

static int rule_applies(struct rule *r, enum slowfs_op op, const char *path)
{
	if (!r->op[op])
		return 0;
	if (*r->glob) {
		const char *s = path ? path : "";
		const char *slash = strrchr(s, '/');

		if (!strchr(r->glob, '/') && slash)
			s = slash + 1;
		if (fnmatch(r->glob, s, 0))
			return 0;
	}
	r->seen++;
	switch (r->when) {
	case WHEN_ONCE:
		return r->seen == r->nth;
	case WHEN_FROM:
		return r->seen >= r->nth;
	case WHEN_EVERY:
		return r->seen % r->nth == 0;
	}
	return 0;
}

/* Returns the nanoseconds that the rules add to the wait. */
static long long apply_rules(enum slowfs_op op, const char *path,
			     struct verdict *v)
{
	long long extra = 0;
	int i, hit = 0;

	pthread_mutex_lock(&rules_lock);
	for (i = 0; i < rules_nr; i++) {
		struct rule *r = &rules[i];

		if (!rule_applies(r, op, path))
			continue;
		hit = 1;
		if (r->action == ACT_DELAY)
			extra += r->value * 1000;
		else if (r->action == ACT_SHORT)
			v->limit = r->value;
		else if (!v->err)
			v->err = r->value;
	}
	pthread_mutex_unlock(&rules_lock);
	if (hit)
		faults++;
	return extra;
}

void policy_enter(enum slowfs_op op, const char *path, struct verdict *v)
{
	long long start = now_ns(), ns, n, max;
	int arm = one_arm;

	v->err = 0;
	v->limit = SIZE_MAX;

	count[op]++;
	ns = latency[op] * 1000;
	if (rules_nr)
		ns += apply_rules(op, path, v);
	if (!ns)
		return;

	n = arm ? 1 : ++waiting;
	max = peak;
	while (n > max && !atomic_compare_exchange_weak(&peak, &max, n))
		; /* max is what another thread has stored meanwhile */

	if (arm) {
		/*
		 * Book the arm for the time after all that came before,
		 * rather than hold a lock: the order is then that of arrival.
		 */
		pthread_mutex_lock(&arm_lock);
		if (arm_free < start)
			arm_free = start;
		arm_free += ns;
		start = arm_free;
		pthread_mutex_unlock(&arm_lock);
	} else {
		start += ns;
	}
	sleep_until(start);
	if (!arm)
		waiting--;
}

int policy_command(const char *line, char *err, size_t errlen)
{
	if (!strcmp(line, "reset")) {
		int op;

		for (op = 0; op < OP_NR; op++)
			count[op] = 0;
		faults = peak = 0;
		return 0;
	}
	if (!strncmp(line, "latency ", 8))
		return policy_latency(line + 8, err, errlen);
	if (!strncmp(line, "fault ", 6))
		return policy_fault(line + 6, err, errlen);
	if (!strcmp(line, "one-arm on") || !strcmp(line, "one-arm off")) {
		policy_one_arm(!strcmp(line, "one-arm on"));
		return 0;
	}
	snprintf(err, errlen,
		 "bad command '%s': want reset, latency, fault or one-arm",
		 line);
	return -1;
}

void policy_print(FILE *out)
{
	long long total = 0;
	int op;

	for (op = 0; op < OP_NR; op++) {
		long long n = count[op];

		fprintf(out, "%s %lld\n", op_names[op], n);
		total += n;
	}
	fprintf(out, "total %lld\nfaults %lld\npeak %lld\n", total,
		(long long)faults, (long long)peak);
}
