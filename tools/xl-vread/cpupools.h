/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpupools.h - reads and changes Xen's CPU pools: their CPUs and their domains, by running xl.
 * Called by turbo.c and turbo_state.c.
 *
 * xl may report success although it failed (`xl cpupool-cpu-remove` does).  So the caller reads the
 * pools again after each change.  All functions returning int: CLI_OK, or an exit code of cli.h
 * after printing what is wrong.
 */
#ifndef XL_VREAD_CPUPOOLS_H
#define XL_VREAD_CPUPOOLS_H

#include <stdbool.h>

#define MAX_CPUS 4096U /* more than Xen takes */
#define CPUS_TEXT 32768
#define POOL_NAME 128
#define POOL_0 "Pool-0" /* dom0's pool, always */
#define CREDIT "credit" /* xl's name of the scheduler */

struct cpus {
	bool has[MAX_CPUS];
};

/* Reads a list as xl writes it: "0-3,5".  False: malformed or empty. */
bool cpus_parse(const char *list, struct cpus *ret);
/* Writes such a list, with ranges. */
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

/* Call pools_free(ret) also after a failure. */
int pools_read(struct pools *ret);
void pools_free(struct pools *p);
/* pools_find(): the pool of that name.  pools_of(): the name of a domain's pool.  NULL: none. */
const struct pool *pools_find(const struct pools *p, const char *name);
const char *pools_of(const struct pools *p, unsigned domid);

/* Makes a pool with scheduler credit.  The CPUs must be in no pool. */
int pool_create(const char *name, const struct cpus *cpus);
int pool_destroy(const char *name);
int pool_move(const char *name, unsigned domid);
/* One xl command for each CPU.  xl reports a failed removal in its output only. */
int pool_add_cpus(const char *name, const struct cpus *cpus);
int pool_remove_cpus(const char *name, const struct cpus *cpus);

/* The settings of scheduler credit: time slice in ms, rate limit in us. */
int pool_get_slice(const char *name, unsigned *ret_ms, unsigned *ret_us);
int pool_set_slice(const char *name, unsigned ms, unsigned us);

#endif
