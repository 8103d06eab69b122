/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turbo.c - `xl-vread turbo on`, `off` and `status`: gives domains that read or serve blocks CPUs
 * of their own with a short time slice.  The operator runs them in dom0.
 *
 * With a short slice, a domain that has an event to handle waits less for domains that compute.
 *
 * The CPUs become a pool with scheduler credit: credit2, Xen's default, has no time slice.  The old
 * settings are on disk before anything is changed (turbo_state.h).  `off` uses these settings and
 * what Xen reports.  So `off` also puts back what `on` left half done.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "cpupools.h"
#include "domains.h"
#include "turbo_state.h"
#include "xl_lines.h"

#define POOL "vread-turbo"
#define DEVICES "/local/domain/0/backend/vread"
#define DEFAULT_SLICE 1U /* ms; the smallest possible */
#define MAX_SLICE 1000U
#define DEFAULT_LIMIT 100U /* us; the smallest possible */
#define MIN_LIMIT 100U
#define MAX_LIMIT 500000U

struct turbo {
	struct xs_handle *xs;
	struct pools pools;
	struct turbo_state state;
	bool kept; /* the file of the state exists */
};

static int open_turbo(struct turbo *t)
{
	int r;

	*t = (struct turbo){.xs = xs_open(0)};
	if (!t->xs)
		return cli_error(CLI_NO_PEER,
				 "xenstore: cannot connect (%m); this works in dom0, as root");
	r = turbo_state_read(&t->state, &t->kept);
	return r ?: pools_read(&t->pools);
}

static void close_turbo(struct turbo *t)
{
	turbo_state_free(&t->state);
	pools_free(&t->pools);
	xs_close(t->xs);
}

static int read_again(struct turbo *t)
{
	pools_free(&t->pools);
	return pools_read(&t->pools);
}

static const struct pool *turbo_pool(const struct turbo *t)
{
	return pools_find(&t->pools, POOL);
}

static int not_ours(void)
{
	return cli_error(
		CLI_FAILED,
		"pool " POOL
		" exists, but no %s says which CPUs and domains it took; move its domains (xl "
		"cpupool-migrate), destroy it (xl cpupool-destroy) and give its CPUs to " POOL_0
		" (xl cpupool-cpu-add)",
		turbo_state_path());
}

/* ---- off ------------------------------------------------------------------------- */

/* The pool that the domain came from; Pool-0 if that pool no longer exists. */
static const struct pool *home_of(const struct turbo *t, const struct turbo_domain *kept)
{
	const struct pool *was = kept ? pools_find(&t->pools, kept->pool) : NULL;

	return was && strcmp(was->name, POOL) != 0 ? was : pools_find(&t->pools, POOL_0);
}

static const struct turbo_domain *kept_of(const struct turbo *t, unsigned domid)
{
	struct domain domain;

	return domain_get(t->xs, domid, &domain) ? turbo_state_find(&t->state, &domain) : NULL;
}

static int move_home(const struct turbo *t, const struct pool_member *m)
{
	if (strcmp(m->pool, POOL) != 0)
		return CLI_OK;
	return pool_move(home_of(t, kept_of(t, m->domid))->name, m->domid);
}

/* Restores a domain's settings, unless the domain is not in its old pool: somebody moved it. */
static int restore(const struct turbo *t, const struct pool_member *m)
{
	const struct turbo_domain *kept = kept_of(t, m->domid);
	const struct pool *home = home_of(t, kept);

	if (!kept || strcmp(m->pool, home->name) != 0)
		return CLI_OK;
	return turbo_state_restore(kept, m->domid, home);
}

static int each_member(const struct turbo *t,
		       int (*what)(const struct turbo *t, const struct pool_member *m))
{
	int r = CLI_OK;

	for (unsigned i = 0; i < t->pools.num_members && !r; i++)
		r = what(t, &t->pools.member[i]);
	return r;
}

/* The CPUs of ours that are in no pool. */
static struct cpus idle_cpus(const struct turbo *t, const struct cpus *ours)
{
	struct cpus idle = *ours;

	for (unsigned i = 0; i < t->pools.count; i++)
		for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
			if (t->pools.pool[i].cpus.has[cpu])
				idle.has[cpu] = false;
	return idle;
}

static int give_back(struct turbo *t, const struct cpus *ours)
{
	struct cpus idle = idle_cpus(t, ours);
	char list[CPUS_TEXT];
	int r = pool_add_cpus(POOL_0, &idle);

	r = r ?: read_again(t);
	if (r)
		return r;
	idle = idle_cpus(t, ours);
	cpus_text(&idle, list);
	return *list ? cli_error(CLI_FAILED, "CPUs %s: xl did not give them to " POOL_0, list)
		     : CLI_OK;
}

static int put_back(struct turbo *t)
{
	const struct pool *pool = turbo_pool(t);
	struct cpus ours = t->state.cpus;
	int r = each_member(t, move_home);

	for (unsigned cpu = 0; pool && cpu < MAX_CPUS; cpu++)
		ours.has[cpu] |= pool->cpus.has[cpu];
	if (!r && pool)
		r = pool_destroy(POOL);
	r = r ?: read_again(t);
	if (!r && turbo_pool(t))
		r = cli_error(CLI_FAILED, "pool " POOL ": xl did not destroy it");
	r = r ?: give_back(t, &ours);
	/* Last: a domain can only be pinned to CPUs that its pool has. */
	r = r ?: each_member(t, restore);
	return r ?: turbo_state_remove();
}

static int turbo_off(struct turbo *t)
{
	int r;

	if (!t->kept)
		return turbo_pool(t) ? not_ours() : CLI_OK;
	r = put_back(t);
	return r ? cli_error(r, "not everything is restored; correct the error, then run it again")
		 : r;
}

/* ---- status ---------------------------------------------------------------------- */

static void print_member(const struct turbo *t, unsigned domid)
{
	const struct turbo_domain *kept = kept_of(t, domid);
	struct domain domain;

	if (!domain_get(t->xs, domid, &domain))
		snprintf(domain.name, sizeof(domain.name), "-");
	printf("%-40s %5u  %s\n", domain.name, domid, kept ? kept->pool : "-");
}

static int turbo_status(struct turbo *t)
{
	const struct pool *pool = turbo_pool(t);
	unsigned slice, limit;
	char list[CPUS_TEXT];
	int r;

	if (!pool && t->kept)
		return cli_error(CLI_FAILED,
				 "half done: %s exists, but not pool " POOL
				 "; 'xl-vread turbo off' restores what was changed",
				 turbo_state_path());
	if (!pool) {
		printf("turbo is off\n");
		return CLI_OK;
	}
	if (!t->kept)
		return not_ours();
	r = pool_get_slice(POOL, &slice, &limit);
	if (r)
		return r;
	cpus_text(&pool->cpus, list);
	printf("turbo is on: CPUs %s, time slice %u ms, rate limit %u us\n", list, slice, limit);
	printf("%-40s %5s  %s\n", "Name", "ID", "Pool before");
	for (unsigned i = 0; i < t->pools.num_members; i++)
		if (strcmp(t->pools.member[i].pool, POOL) == 0)
			print_member(t, t->pools.member[i].domid);
	return CLI_OK;
}

/* ---- on: what is asked for ------------------------------------------------------- */

struct wish {
	struct cpus cpus; /* none: the last of Pool-0 */
	unsigned slice, limit;
	char **names;
	int num_names;
};

struct chosen {
	struct domain *domain;
	unsigned count;
};

static bool has_device(struct xs_handle *xs, const struct domain *d)
{
	char path[64];
	unsigned count = 0;

	snprintf(path, sizeof(path), DEVICES "/%u", d->domid);
	free(xs_directory(xs, XBT_NULL, path, &count));
	return count > 0;
}

static int all_with_devices(struct turbo *t, struct chosen *ret)
{
	int count = domains_list(t->xs, &ret->domain);

	for (int i = 0; i < count; i++)
		if (has_device(t->xs, &ret->domain[i]))
			ret->domain[ret->count++] = ret->domain[i];
	return ret->count
		       ? CLI_OK
		       : cli_error(CLI_FAILED,
				   "no domain has a vread device; name the domains for the pool");
}

static int choose_domains(struct turbo *t, const struct wish *w, struct chosen *ret)
{
	int r = CLI_OK;

	*ret = (struct chosen){0};
	if (!w->num_names)
		return all_with_devices(t, ret);
	ret->domain = calloc((size_t)w->num_names, sizeof(*ret->domain));
	if (!ret->domain)
		return cli_error(CLI_FAILED, "out of memory");
	for (int i = 0; i < w->num_names && !r; i++) {
		const char *name = w->names[i];

		if (strcmp(name, "0") == 0 || strcmp(name, "Domain-0") == 0)
			r = cli_error(CLI_FAILED,
				      "domain %s: dom0 cannot leave " POOL_0 "; vreadd runs there, "
				      "on the CPUs that are left",
				      name);
		else
			r = domain_find(t->xs, name, &ret->domain[ret->count]);
		ret->count += !r;
	}
	return r;
}

static unsigned last_cpu(const struct cpus *cpus)
{
	unsigned last = 0;

	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpus->has[cpu])
			last = cpu;
	return last;
}

static int choose_cpus(const struct turbo *t, const struct wish *w, struct cpus *ret)
{
	const struct cpus *there = &pools_find(&t->pools, POOL_0)->cpus;
	char list[CPUS_TEXT];

	cpus_text(there, list);
	*ret = w->cpus;
	if (cpus_count(there) > 1 && !cpus_count(ret))
		ret->has[last_cpu(there)] = true;
	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		if (ret->has[cpu] && !there->has[cpu])
			return cli_error(CLI_FAILED, "CPU %u: not in " POOL_0 ", which has %s", cpu,
					 list);
	if (cpus_count(there) < 2 || cpus_count(ret) == cpus_count(there))
		return cli_error(CLI_FAILED,
				 POOL_0 " has CPU%s %s: turbo takes at least one of a pool, and "
					"dom0 needs one",
				 cpus_count(there) > 1 ? "s" : "", list);
	return CLI_OK;
}

struct pinned {
	const struct turbo *t;
	struct cpus left; /* what Pool-0 would keep */
	char name[DOMAIN_NAME];
	char cpus[POOL_NAME]; /* pinned to these, none of which is left; "": no such domain */
};

/* NAME ID VCPU CPU STATE TIME HARD / SOFT */
static bool take_pinned(char *line, void *data)
{
	const char *soft = xl_last_word(line), *slash = xl_last_word(line);
	const char *hard = xl_last_word(line), *pool;
	struct pinned *p = data;
	bool runs = false;
	struct cpus cpus;
	unsigned domid;

	for (unsigned i = 0; i < 4; i++)
		xl_last_word(line);
	if (!soft || !slash || !hard || !xl_last_number(line, UINT_MAX, &domid))
		return false;
	pool = pools_of(&p->t->pools, domid);
	if (!pool || strcmp(pool, POOL_0) != 0 || !cpus_parse(hard, &cpus))
		return true; /* "all", mostly */
	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		runs |= cpus.has[cpu] && p->left.has[cpu];
	if (!runs) {
		snprintf(p->name, sizeof(p->name), "%s", line);
		snprintf(p->cpus, sizeof(p->cpus), "%s", hard);
	}
	return true;
}

/* Refuses CPUs if a virtual CPU in Pool-0 is pinned to them and to no others.  Xen would run the
 * virtual CPU elsewhere for good, and xl could not create the domain again when it reboots. */
static int check_pins(const struct turbo *t, const struct cpus *taken)
{
	struct pinned p = {.t = t, .left = pools_find(&t->pools, POOL_0)->cpus};
	int r;

	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		p.left.has[cpu] &= !taken->has[cpu];
	r = xl_lines("xl vcpu-list", 1, take_pinned, &p);
	if (!r && *p.cpus)
		r = cli_error(CLI_FAILED,
			      "domain %s: pinned to CPUs %s, of which " POOL_0
			      " would have none left, so the domain could not reboot; take other "
			      "CPUs (--cpus), or pin it to others",
			      p.name, p.cpus);
	return r;
}

/* ---- on: doing it ---------------------------------------------------------------- */

static int make_pool(struct turbo *t, const struct cpus *cpus)
{
	int r = pool_remove_cpus(POOL_0, cpus);
	struct cpus idle;
	char list[CPUS_TEXT];

	r = r ?: read_again(t);
	if (r)
		return r;
	idle = idle_cpus(t, cpus);
	if (memcmp(&idle, cpus, sizeof(idle)) != 0) {
		cpus_text(cpus, list);
		return cli_error(CLI_FAILED,
				 "CPUs %s: xl did not take them out of " POOL_0
				 "; try other or fewer CPUs (--cpus)",
				 list);
	}
	r = pool_create(POOL, cpus);
	r = r ?: read_again(t);
	if (r)
		return r;
	if (!turbo_pool(t))
		return cli_error(CLI_FAILED, "pool " POOL ": xl did not create it");
	if (strcmp(turbo_pool(t)->scheduler, CREDIT) != 0)
		return cli_error(CLI_FAILED,
				 "pool " POOL " got scheduler %s, which has no time slice; this "
				 "Xen seems to have been built without " CREDIT,
				 turbo_pool(t)->scheduler);
	return CLI_OK;
}

/* Keeps a domain's settings.  Refuses a domain if its pool has another scheduler than credit.  When
 * a domain reboots, xl gives it its settings of credit again.  This fails in a pool with another
 * scheduler, and the domain would be lost. */
static int keep_domain(struct turbo *t, const struct domain *d)
{
	const char *pool = pools_of(&t->pools, d->domid);
	const struct pool *from = pool ? pools_find(&t->pools, pool) : NULL;

	if (!from)
		return cli_error(CLI_FAILED, "domain %s: xl list does not show its pool", d->name);
	if (strcmp(pool, POOL) == 0)
		return CLI_OK;
	if (strcmp(from->scheduler, CREDIT) != 0)
		return cli_error(
			CLI_FAILED,
			"domain %s: its pool %s has scheduler %s, and a domain that reboots "
			"out of one with " CREDIT
			" cannot be created there; boot Xen with sched=" CREDIT
			" (see docs/tuning.md)",
			d->name, pool, from->scheduler);
	return turbo_state_keep(&t->state, d, from);
}

/* Keeps the present settings of the domains that are not in our pool yet. */
static int keep_domains(struct turbo *t, const struct chosen *c)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < c->count && !r; i++)
		r = keep_domain(t, &c->domain[i]);
	return r;
}

/* Moves a domain to our pool and sets its weight and cap again.  Otherwise a reboot would lose
 * them. */
static int move_domain(const struct turbo *t, unsigned domid)
{
	const struct turbo_domain *kept = kept_of(t, domid);
	int r = pool_move(POOL, domid);

	return r ?: kept ? turbo_state_restore_weight(kept, domid, turbo_pool(t)) : CLI_OK;
}

static int move_in(const struct turbo *t, const struct chosen *c)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < c->count && !r; i++) {
		const char *pool = pools_of(&t->pools, c->domain[i].domid);

		if (!pool || strcmp(pool, POOL) != 0)
			r = move_domain(t, c->domain[i].domid);
	}
	return r;
}

static void undo(struct turbo *t)
{
	if (read_again(t) || put_back(t))
		cli_error(CLI_FAILED, "run 'xl-vread turbo off' to restore what was changed");
	else
		cli_error(CLI_FAILED, "everything is restored");
}

static int set_up(struct turbo *t, const struct wish *w, const struct chosen *c)
{
	bool fresh = !t->kept;
	int r;

	if (fresh) {
		r = choose_cpus(t, w, &t->state.cpus);
		r = r ?: check_pins(t, &t->state.cpus);
		if (r)
			return r;
	}
	r = keep_domains(t, c);
	r = r ?: turbo_state_write(&t->state);
	if (r)
		return r;
	t->kept = true;
	r = fresh ? make_pool(t, &t->state.cpus) : CLI_OK;
	r = r ?: pool_set_slice(POOL, w->slice, w->limit);
	r = r ?: move_in(t, c);
	if (r && fresh)
		undo(t);
	return r ?: read_again(t);
}

static int turbo_on(struct turbo *t, const struct wish *w)
{
	struct chosen chosen = {0};
	int r;

	if (turbo_pool(t) && !t->kept)
		return not_ours();
	if (t->kept && !turbo_pool(t))
		return cli_error(
			CLI_FAILED,
			"%s exists: turbo was not switched off; run 'xl-vread turbo off' first",
			turbo_state_path());
	if (t->kept && cpus_count(&w->cpus))
		return cli_error(CLI_FAILED, "--cpus: turbo is on; run 'xl-vread turbo off' first");
	r = choose_domains(t, w, &chosen);
	r = r ?: set_up(t, w, &chosen);
	free(chosen.domain);
	return r ?: turbo_status(t);
}

/* ---- the command line ------------------------------------------------------------ */

static int check_wish(const struct wish *w)
{
	if (w->slice < 1)
		return cli_usage("--slice 0: expected milliseconds, from 1 to %u", MAX_SLICE);
	if (w->limit && w->limit < MIN_LIMIT)
		return cli_usage("--rate-limit %u: expected microseconds, 0 or from %u to %u",
				 w->limit, MIN_LIMIT, MAX_LIMIT);
	if (w->limit > w->slice * 1000)
		return cli_usage("--rate-limit %u: expected no more than the time slice (%u ms)",
				 w->limit, w->slice);
	return CLI_OK;
}

static int take_option(struct wish *w, int option, const char *value)
{
	switch (option) {
	case 'c':
		return cpus_parse(value, &w->cpus)
			       ? CLI_OK
			       : cli_usage("--cpus %s: expected numbers and ranges, as in 2-3,6",
					   value);
	case 's':
		return cli_take_number("--slice", value, MAX_SLICE, &w->slice);
	case 'r':
		return cli_take_number("--rate-limit", value, MAX_LIMIT, &w->limit);
	default:
		return cli_bad_option();
	}
}

static int parse_on(struct wish *w, int argc, char **argv)
{
	static const struct option options[] = {
		{"cpus", required_argument, NULL, 'c'},
		{"slice", required_argument, NULL, 's'},
		{"rate-limit", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = take_option(w, c, optarg);
	w->names = argv + optind;
	w->num_names = argc - optind;
	return r ?: check_wish(w);
}

static int run_turbo(int argc, char **argv)
{
	struct wish wish = {.slice = DEFAULT_SLICE, .limit = DEFAULT_LIMIT};
	const char *verb = argc > 1 ? argv[1] : "";
	bool on = strcmp(verb, "on") == 0, off = strcmp(verb, "off") == 0;
	struct turbo *t;
	int r = CLI_OK;

	if (!on && !off && strcmp(verb, "status") != 0)
		return cli_usage("%s%sexpected on, off or status", verb, *verb ? ": " : "");
	if (on)
		r = parse_on(&wish, argc - 1, argv + 1);
	else if (argc > 2)
		r = cli_usage("%s: unexpected argument", argv[2]);
	if (r)
		return r;
	t = malloc(sizeof(*t));
	if (!t)
		return cli_error(CLI_FAILED, "out of memory");
	r = open_turbo(t);
	if (!r)
		r = on ? turbo_on(t, &wish) : off ? turbo_off(t) : turbo_status(t);
	close_turbo(t);
	free(t);
	return r;
}

const struct command command_turbo = {
	.name = "turbo",
	.run = run_turbo,
	.synopsis = "on [OPTION...] [DOMAIN...] | off | status",
	.summary = "Gives domains CPUs of their own with a short time slice",
	.options = "  --cpus LIST      of Pool-0, as in 2-3,6 (default: its last one)\n"
		   "  --slice MS       a domain runs at most so long at a time (default 1)\n"
		   "  --rate-limit US  a domain runs at least so long, 0: no limit (default 100)\n",
};
