// SPDX-License-Identifier: GPL-2.0-or-later
/* plan.c - implements plan.h.  `xl-vread attach` has the code that writes.  Called by init.c. */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../attach.h"
#include "../datanode.h"
#include "../record.h"
#include "cli/cli.h"

/* ---- making it ------------------------------------------------------------------------ */

static const char *name_of(const struct looked *l)
{
	return l->datanode ?: l->domain.name;
}

/* The chosen datanodes, separated by one space; free() it.  NULL: out of memory. */
static char *datanodes_of(const struct looked *looked, unsigned count)
{
	char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < count; i++)
		if (looked[i].use == USE_DATANODE)
			fprintf(out, "%s%s", ftell(out) ? " " : "", name_of(&looked[i]));
	if (fclose(out) == 0)
		return names;
	free(names);
	return NULL;
}

/* True if the domain is what the operator wants already. */
static bool is_done(const struct looked *l, const char *datanodes)
{
	const struct xs_device_policy *p = &l->devices.spec[0].policy;

	if (l->use == USE_DATANODE)
		return l->datanode;
	return l->devices.count == 1 && strcmp(p->role, "client") == 0 &&
	       strcmp(p->allow_datanodes, datanodes) == 0;
}

static int refuse(const struct looked *l)
{
	char path[PATH_MAX];

	if (record_is_file(&l->domain, path))
		return cli_error(CLI_FAILED,
				 "domain %s: its devices are those of %s, which init does not "
				 "change: change it there, then systemctl reload xl-vread",
				 l->domain.name, path);
	return cli_error(CLI_FAILED,
			 "domain %s: has devices already (%s), which init does not replace: see "
			 "xl-vread list; xl-vread detach takes one away, attach adds one",
			 l->domain.name, l->devices.spec[0].policy.allow_datanodes);
}

/* Finds mistakes before anything is written. */
static int check(const struct domain *d, const char *device)
{
	struct specs s = {0};
	char *error = NULL;
	int r = specs_add(&s, device, &error);

	if (r)
		r = cli_error(CLI_FAILED, "domain %s: '%s': %s", d->name, device,
			      error ?: strerror(-r));
	else
		r = datanode_check(&s);
	free(error);
	specs_free(&s);
	return r;
}

static int add(struct plan *p, const struct looked *l, const char *datanodes)
{
	char *device;
	int r;

	if (l->use == USE_DATANODE)
		r = asprintf(&device, "role=datanode,datanodes=%s,data-dirs=%s,disks=%s",
			     name_of(l), l->dirs, l->disks);
	else
		r = asprintf(&device, "datanodes=%s", datanodes);
	if (r < 0)
		return cli_error(CLI_FAILED, "out of memory");
	p->domain[p->count] = l;
	p->device[p->count++] = device;
	return check(&l->domain, device);
}

static int add_all(struct plan *p, const struct looked *looked, unsigned count, enum use use,
		   const char *datanodes)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < count && !r; i++) {
		const struct looked *l = &looked[i];

		if (l->use != use)
			continue;
		if (is_done(l, datanodes))
			printf("domain %s (%u) is a %s already: it stays as it is\n",
			       l->domain.name, l->domain.domid,
			       use == USE_DATANODE ? "datanode" : "client of these datanodes");
		else if (l->devices.count)
			r = refuse(l);
		else
			r = add(p, l, datanodes);
	}
	return r;
}

int plan_make(const struct looked *looked, unsigned count, struct plan *ret)
{
	char *datanodes = datanodes_of(looked, count);
	int r;

	*ret = (struct plan){.domain = calloc(count + 1, sizeof(*ret->domain)),
			     .device = calloc(count + 1, sizeof(*ret->device))};
	if (!datanodes || !ret->domain || !ret->device)
		r = cli_error(CLI_FAILED, "out of memory");
	else
		r = add_all(ret, looked, count, USE_DATANODE, datanodes)
			    ?: add_all(ret, looked, count, USE_CLIENT, datanodes);
	free(datanodes);
	return r;
}

void plan_free(struct plan *p)
{
	for (unsigned i = 0; i < p->count; i++)
		free(p->device[i]);
	free(p->device);
	free(p->domain);
}

/* ---- showing it ----------------------------------------------------------------------- */

void plan_print(const struct plan *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		const struct looked *l = p->domain[i];
		char path[PATH_MAX];

		printf("domain %s (%u) becomes a %s:\n", l->domain.name, l->domain.domid,
		       l->use == USE_DATANODE ? "datanode" : "client");
		record_path(&l->domain, path);
		printf("  %s: %s\n", path, p->device[i]);
	}
}

/* ---- carrying it out ------------------------------------------------------------------- */

int plan_carry_out(const struct plan *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		const struct domain *d = &p->domain[i]->domain;

		if (attach_device(d, p->device[i]))
			return cli_error(CLI_FAILED,
					 "domain %s: nothing was written for it%s; correct this "
					 "and run the command again",
					 d->name,
					 i ? ", what was written for the domains before it stays"
					   : "");
	}
	return CLI_OK;
}
