/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpupools.h - Xen's CPU pools: who and what is in which, as xl tells it, and changes of that.
 *
 * xl says that it succeeded also where it did not (`xl cpupool-cpu-remove` does), so who changes
 * something reads afterwards what came of it.  All functions returning int: an exit code of cli.h,
 * after printing what is wrong.
 */
#ifndef XL_VREAD_CPUPOOLS_H
#define XL_VREAD_CPUPOOLS_H

#include <stdbool.h>

#define MAX_CPUS 4096U /* more than Xen takes */
#define CPUS_TEXT 32768
#define POOL_NAME 128
#define POOL_0 "Pool-0" /* dom0's, for good */
#define CREDIT "credit" /* the scheduler, as xl calls it */

struct cpus {
	bool has[MAX_CPUS];
};

/* "0-3,5" as xl and its manual write it; false if it is anything else, or nothing. */
bool cpus_parse(const char *list, struct cpus *ret);
/* The same back, with ranges. */
void cpus_text(const struct cpus *cpus, char ret[CPUS_TEXT]);
unsigned cpus_count(const struct cpus *cpus);

struct pool {
	char name[POOL_NAME];
	char scheduler[16];
	struct cpus cpus;
};

struct pool_member {
	unsigned domid;
	char pool[POOL_NAME];
};

struct pools {
	struct pool *pool;
	unsigned count;
	struct pool_member *member; /* all domains, dom0 too */
	unsigned num_members;
};

/* pools_free() it, also after a failure. */
int pools_read(struct pools *ret);
void pools_free(struct pools *p);
/* NULL: there is none. */
const struct pool *pools_find(const struct pools *p, const char *name);
const char *pools_of(const struct pools *p, unsigned domid);

/* A pool of credit's scheduler, out of CPUs that are in none. */
int pool_create(const char *name, const struct cpus *cpus);
int pool_destroy(const char *name);
int pool_move(const char *name, unsigned domid);
/* Each on its own.  Of the removal xl tells only in words whether it was done. */
int pool_add_cpus(const char *name, const struct cpus *cpus);
int pool_remove_cpus(const char *name, const struct cpus *cpus);

/* Of credit's scheduler: milliseconds and microseconds. */
int pool_get_slice(const char *name, unsigned *ret_ms, unsigned *ret_us);
int pool_set_slice(const char *name, unsigned ms, unsigned us);

#endif
