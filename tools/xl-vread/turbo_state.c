/* SPDX-License-Identifier: GPL-2.0-or-later */
/* turbo_state.c - implements turbo_state.h: the settings in memory, in the file, and in Xen. */
#include "turbo_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "xl_lines.h"

#define FILE_NAME "/run/xl-vread.turbo"
#define ANYWHERE "all" /* xl's name of an affinity to all CPUs */
#define MAX_VCPU 8191
#define MAX_WEIGHT 65535

const char *turbo_state_path(void)
{
	const char *named = getenv("VREAD_TURBO");

	return named && *named ? named : FILE_NAME;
}

/* ---- in memory ------------------------------------------------------------------- */

static void forget(struct turbo_domain *d)
{
	for (unsigned i = 0; i < d->num_pins; i++) {
		free(d->pin[i].hard);
		free(d->pin[i].soft);
	}
	free(d->pin);
	*d = (struct turbo_domain){0};
}

void turbo_state_free(struct turbo_state *s)
{
	for (unsigned i = 0; i < s->num_domains; i++)
		forget(&s->domain[i]);
	free(s->domain);
	*s = (struct turbo_state){0};
}

static struct turbo_domain *find(const struct turbo_state *s, const char *uuid)
{
	for (unsigned i = 0; i < s->num_domains; i++)
		if (strcmp(s->domain[i].uuid, uuid) == 0)
			return &s->domain[i];
	return NULL;
}

const struct turbo_domain *turbo_state_find(const struct turbo_state *s, const struct domain *d)
{
	return find(s, d->uuid);
}

/* Returns an empty entry with that UUID: a new one, or the old one without its settings.  NULL: out
 * of memory. */
static struct turbo_domain *fresh_domain(struct turbo_state *s, const char *uuid)
{
	struct turbo_domain *d = find(s, uuid);

	if (d) {
		forget(d);
	} else {
		d = realloc(s->domain, (s->num_domains + 1) * sizeof(*d));
		if (!d)
			return NULL;
		s->domain = d;
		d += s->num_domains++;
		*d = (struct turbo_domain){0};
	}
	snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
	return d;
}

static bool add_pin(struct turbo_domain *d, unsigned vcpu, const char *hard, const char *soft)
{
	struct turbo_pin *pin = realloc(d->pin, (d->num_pins + 1) * sizeof(*pin));

	if (!pin)
		return false;
	d->pin = pin;
	pin += d->num_pins++;
	*pin = (struct turbo_pin){.vcpu = vcpu, .hard = strdup(hard), .soft = strdup(soft)};
	return pin->hard && pin->soft;
}

/* ---- in the file ----------------------------------------------------------------- */

static bool take_domain(struct turbo_state *s, const char *line)
{
	char uuid[DOMAIN_UUID], pool[POOL_NAME];
	unsigned weight, cap;
	struct turbo_domain *d;

	/* 36 and 127 are the sizes of the two arrays, without the NUL. */
	if (sscanf(line, "domain %36s %u %u %127[^\n]", uuid, &weight, &cap, pool) != 4)
		return false;
	d = fresh_domain(s, uuid);
	if (!d)
		return false;
	d->weight = weight;
	d->cap = cap;
	snprintf(d->pool, sizeof(d->pool), "%s", pool);
	return true;
}

/* Takes a line "pin", which belongs to the last domain above it. */
static bool take_pin(struct turbo_state *s, const char *line)
{
	char *hard = NULL, *soft = NULL;
	unsigned vcpu;
	bool taken = s->num_domains && sscanf(line, "pin %u %ms %ms", &vcpu, &hard, &soft) == 3 &&
		     add_pin(&s->domain[s->num_domains - 1], vcpu, hard, soft);

	free(hard);
	free(soft);
	return taken;
}

static bool take_line(struct turbo_state *s, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "cpus ", 5) == 0)
		return cpus_parse(line + 5, &s->cpus);
	return *line == '#' || take_domain(s, line) || take_pin(s, line);
}

int turbo_state_read(struct turbo_state *ret, bool *ret_there)
{
	FILE *file = fopen(turbo_state_path(), "re");
	unsigned number = 0;
	char *line = NULL;
	size_t size = 0;
	int r = CLI_OK;

	*ret = (struct turbo_state){0};
	*ret_there = file;
	if (!file)
		return errno == ENOENT
			       ? CLI_OK
			       : cli_error(CLI_FAILED, "%s: cannot open: %m", turbo_state_path());
	while (!r && getline(&line, &size, file) > 0) {
		number++;
		if (!take_line(ret, line))
			r = cli_error(CLI_FAILED,
				      "%s:%u: cannot understand '%s'; correct or remove the line",
				      turbo_state_path(), number, line);
	}
	free(line);
	fclose(file);
	return r;
}

static bool put(FILE *file, const struct turbo_state *s)
{
	char list[CPUS_TEXT];

	cpus_text(&s->cpus, list);
	fprintf(file, "# What 'xl-vread turbo off' restores.\ncpus %s\n", list);
	for (unsigned i = 0; i < s->num_domains; i++) {
		const struct turbo_domain *d = &s->domain[i];

		fprintf(file, "domain %s %u %u %s\n", d->uuid, d->weight, d->cap, d->pool);
		for (unsigned j = 0; j < d->num_pins; j++)
			fprintf(file, "pin %u %s %s\n", d->pin[j].vcpu, d->pin[j].hard,
				d->pin[j].soft);
	}
	return fflush(file) == 0 && fsync(fileno(file)) == 0;
}

int turbo_state_write(const struct turbo_state *s)
{
	char fresh[PATH_MAX];
	bool written;
	FILE *file;

	snprintf(fresh, sizeof(fresh), "%s.new", turbo_state_path());
	file = fopen(fresh, "we");
	if (!file)
		return cli_error(CLI_FAILED, "%s: cannot create: %m", fresh);
	written = put(file, s);
	if (fclose(file) || !written || rename(fresh, turbo_state_path()) < 0) {
		int r = cli_error(CLI_FAILED, "%s: cannot write: %m", turbo_state_path());

		unlink(fresh);
		return r;
	}
	return CLI_OK;
}

int turbo_state_remove(void)
{
	if (unlink(turbo_state_path()) < 0 && errno != ENOENT)
		return cli_error(CLI_FAILED, "%s: cannot remove: %m", turbo_state_path());
	return CLI_OK;
}

/* ---- in Xen ---------------------------------------------------------------------- */

/* NAME ID WEIGHT CAP */
static bool take_weight(char *line, void *data)
{
	struct turbo_domain *d = data;

	return xl_last_number(line, UINT_MAX, &d->cap) &&
	       xl_last_number(line, MAX_WEIGHT, &d->weight);
}

/* NAME ID VCPU CPU STATE TIME HARD / SOFT */
static bool take_affinity(char *line, void *data)
{
	const char *soft = xl_last_word(line), *slash = xl_last_word(line);
	const char *hard = xl_last_word(line);
	struct turbo_domain *d = data;
	unsigned vcpu;

	for (unsigned i = 0; i < 3; i++)
		xl_last_word(line);
	if (!hard || strcmp(slash, "/") != 0 || !xl_last_number(line, MAX_VCPU, &vcpu))
		return false;
	if (strcmp(hard, ANYWHERE) == 0 && strcmp(soft, ANYWHERE) == 0)
		return true;
	return add_pin(d, vcpu, hard, soft);
}

int turbo_state_keep(struct turbo_state *s, const struct domain *d, const struct pool *from)
{
	struct turbo_domain *kept = fresh_domain(s, d->uuid);
	char command[64];
	int r;

	if (!kept)
		return cli_error(CLI_FAILED, "domain %s: %s", d->name, strerror(ENOMEM));
	snprintf(kept->pool, sizeof(kept->pool), "%s", from->name);
	snprintf(command, sizeof(command), "xl sched-credit -d %u", d->domid);
	r = xl_lines(command, 1, take_weight, kept);
	if (r)
		return r;
	snprintf(command, sizeof(command), "xl vcpu-list %u", d->domid);
	return xl_lines(command, 1, take_affinity, kept);
}

int turbo_state_restore_weight(const struct turbo_domain *kept, unsigned domid,
			       const struct pool *pool)
{
	char id[16], weight[16], cap[16];

	if (strcmp(pool->scheduler, CREDIT) != 0)
		return CLI_OK;
	snprintf(id, sizeof(id), "%u", domid);
	snprintf(weight, sizeof(weight), "%u", kept->weight);
	snprintf(cap, sizeof(cap), "%u", kept->cap);
	return xl_must(
		(const char *const[]){"sched-credit", "-d", id, "-w", weight, "-c", cap, NULL});
}

int turbo_state_restore(const struct turbo_domain *kept, unsigned domid, const struct pool *pool)
{
	char id[16];
	int r;

	snprintf(id, sizeof(id), "%u", domid);
	r = turbo_state_restore_weight(kept, domid, pool);
	for (unsigned i = 0; i < kept->num_pins && !r; i++) {
		const struct turbo_pin *pin = &kept->pin[i];
		char vcpu[16];

		snprintf(vcpu, sizeof(vcpu), "%u", pin->vcpu);
		r = xl_must(
			(const char *const[]){"vcpu-pin", id, vcpu, pin->hard, pin->soft, NULL});
	}
	return r;
}
