/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpupools.c - implements cpupools.h by running xl and reading its tables.  Called by turbo.c. */
#include "cpupools.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "domains.h"
#include "xl_lines.h"

/* ---- sets of CPUs ---------------------------------------------------------------- */

bool cpus_parse(const char *list, struct cpus *ret)
{
	char *copy = strdup(list), *at = copy, *item;
	bool right = copy && *copy;

	*ret = (struct cpus){0};
	while (right && (item = strsep(&at, ","))) {
		char *dash = strchr(item, '-');
		unsigned long long first, last;

		if (dash)
			*dash = '\0';
		right = cli_number(item, 0, MAX_CPUS - 1, &first) &&
			cli_number(dash ? dash + 1 : item, first, MAX_CPUS - 1, &last);
		for (unsigned long long cpu = first; right && cpu <= last; cpu++)
			ret->has[cpu] = true;
	}
	free(copy);
	return right;
}

void cpus_text(const struct cpus *cpus, char ret[CPUS_TEXT])
{
	size_t at = 0;

	ret[0] = '\0';
	for (unsigned first = 0; first < MAX_CPUS; first++) {
		unsigned last = first;

		if (!cpus->has[first])
			continue;
		while (last + 1 < MAX_CPUS && cpus->has[last + 1])
			last++;
		at += (size_t)snprintf(ret + at, CPUS_TEXT - at, at ? ",%u" : "%u", first);
		if (last > first)
			at += (size_t)snprintf(ret + at, CPUS_TEXT - at, "-%u", last);
		first = last;
	}
}

unsigned cpus_count(const struct cpus *cpus)
{
	unsigned count = 0;

	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		count += cpus->has[cpu];
	return count;
}

/* ---- reading --------------------------------------------------------------------- */

/* Grows an array by one element, which is zeroed.  NULL: out of memory. */
static void *one_more(void **array, unsigned count, size_t size)
{
	char *grown = realloc(*array, (count + 1) * size);

	if (!grown)
		return NULL;
	*array = grown;
	return memset(grown + count * size, 0, size);
}

static struct pool *find(const struct pools *p, const char *name)
{
	for (unsigned i = 0; i < p->count; i++)
		if (strcmp(p->pool[i].name, name) == 0)
			return &p->pool[i];
	return NULL;
}

/* NAME CPUS SCHEDULER ACTIVE DOMAINS */
static bool take_pool(char *line, void *data)
{
	struct pools *p = data;
	struct pool *pool = one_more((void **)&p->pool, p->count, sizeof(*pool));
	const char *scheduler;
	unsigned number;

	if (!pool || !xl_last_number(line, UINT_MAX, &number) || !xl_last_word(line))
		return false;
	scheduler = xl_last_word(line);
	if (!scheduler || !xl_last_number(line, MAX_CPUS, &number))
		return false;
	snprintf(pool->name, POOL_NAME, "%s", line);
	snprintf(pool->scheduler, sizeof(pool->scheduler), "%s", scheduler);
	p->count++;
	return true;
}

/* NAME CPU,CPU...; only NAME if the pool has no CPU. */
static bool take_cpus(char *line, void *data)
{
	const char *list;
	struct pool *pool;

	if (find(data, line))
		return true;
	list = xl_last_word(line);
	pool = list ? find(data, line) : NULL;
	return pool && cpus_parse(list, &pool->cpus);
}

/* NAME ID MEMORY VCPUS STATE TIME POOL */
static bool take_member(char *line, void *data)
{
	struct pools *p = data;
	struct pool_member *m = one_more((void **)&p->member, p->num_members, sizeof(*m));
	const char *pool = xl_last_word(line);

	for (unsigned i = 0; i < 4; i++)
		xl_last_word(line);
	if (!m || !pool || !xl_last_number(line, MAX_DOMID, &m->domid))
		return false;
	snprintf(m->pool, POOL_NAME, "%s", pool);
	p->num_members++;
	return true;
}

int pools_read(struct pools *ret)
{
	int r;

	*ret = (struct pools){0};
	r = xl_lines("xl cpupool-list", 1, take_pool, ret);
	r = r ?: xl_lines("xl cpupool-list -c", 1, take_cpus, ret);
	r = r ?: xl_lines("xl list -c", 1, take_member, ret);
	if (!r && !find(ret, POOL_0))
		r = cli_error(CLI_FAILED, "xl cpupool-list: expected " POOL_0 " among the pools");
	return r;
}

void pools_free(struct pools *p)
{
	free(p->pool);
	free(p->member);
	*p = (struct pools){0};
}

const struct pool *pools_find(const struct pools *p, const char *name)
{
	return find(p, name);
}

const char *pools_of(const struct pools *p, unsigned domid)
{
	for (unsigned i = 0; i < p->num_members; i++)
		if (p->member[i].domid == domid)
			return p->member[i].pool;
	return NULL;
}

/* Cpupool NAME: tslice=1ms ratelimit=100us migration-delay=0us */
static bool take_slice(char *line, void *data)
{
	const char *at = strstr(line, ": tslice=");
	unsigned *found = data;

	return at && sscanf(at, ": tslice=%ums ratelimit=%uus", &found[0], &found[1]) == 2;
}

int pool_get_slice(const char *name, unsigned *ret_ms, unsigned *ret_us)
{
	unsigned found[2] = {0, 0};
	char command[64 + POOL_NAME];
	int r;

	snprintf(command, sizeof(command), "xl sched-credit -s -p %s", name);
	r = xl_lines(command, 0, take_slice, found);
	if (!r && !found[0])
		r = cli_error(CLI_FAILED, "%s: expected a time slice in its output", command);
	*ret_ms = found[0];
	*ret_us = found[1];
	return r;
}

/* ---- changing -------------------------------------------------------------------- */

static bool pass_over(char *line, void *data)
{
	(void)line;
	(void)data;
	return true;
}

int pool_create(const char *name, const struct cpus *cpus)
{
	char list[CPUS_TEXT], command[CPUS_TEXT + POOL_NAME + 64];

	cpus_text(cpus, list);
	snprintf(command, sizeof(command),
		 "xl cpupool-create 'name=\"%s\"' 'sched=\"" CREDIT "\"' 'cpus=\"%s\"'", name,
		 list);
	/* xl prints at length what it did. */
	return xl_lines(command, 0, pass_over, NULL);
}

int pool_destroy(const char *name)
{
	return xl_must((const char *const[]){"cpupool-destroy", name, NULL});
}

int pool_move(const char *name, unsigned domid)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", domid);
	return xl_must((const char *const[]){"cpupool-migrate", id, name, NULL});
}

static int each_cpu(const char *change, const char *name, const struct cpus *cpus)
{
	int r = CLI_OK;

	for (unsigned cpu = 0; cpu < MAX_CPUS && !r; cpu++) {
		char number[16];

		if (!cpus->has[cpu])
			continue;
		snprintf(number, sizeof(number), "%u", cpu);
		r = xl_must((const char *const[]){change, name, number, NULL});
	}
	return r;
}

int pool_add_cpus(const char *name, const struct cpus *cpus)
{
	return each_cpu("cpupool-cpu-add", name, cpus);
}

int pool_remove_cpus(const char *name, const struct cpus *cpus)
{
	return each_cpu("cpupool-cpu-remove", name, cpus);
}

int pool_set_slice(const char *name, unsigned ms, unsigned us)
{
	char slice[16], limit[16];

	snprintf(slice, sizeof(slice), "%u", ms);
	snprintf(limit, sizeof(limit), "%u", us);
	return xl_must((const char *const[]){"sched-credit", "-s", "-p", name, "-t", slice, "-r",
					     limit, NULL});
}
