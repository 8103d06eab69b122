/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * create.c - `xl-vread create` and `check`: domains with a key vread in their configuration.  The
 * operator runs them in dom0.
 *
 * xl creates the domain paused.  Then its record is written, its devices are made, and the domain
 * is unpaused.  A mistake in vread is found before the domain is created.  A later failure destroys
 * the domain: it would run without the devices that its configuration asks for.
 */
#include <errno.h>
#include <getopt.h> /* optind */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "datanode.h"
#include "domain_config.h"
#include "domains.h"
#include "kvm.h"
#include "provision.h"
#include "record.h"
#include "toolstack/attach.h"
#include "toolstack/device.h"
#include "vread-nodes.h"
#include "xl.h"

#define CLOSE_SECONDS 10U /* in which vreadd closes a device that nobody uses */

struct options {
	bool paused;
	unsigned wait;
	const char *path;
	char **lines; /* KEY=VALUE */
	int num_lines;
	char **of_xl; /* behind -- */
	int num_of_xl;
};

/* ---- the command line ------------------------------------------------------------ */

/* Reads CONFIG [KEY=VALUE...] [-- XL-OPTION...].  at: the first word after our own options. */
static int take_words(struct options *o, int argc, char **argv, int at)
{
	if (at == argc || strcmp(argv[at - 1], "--") == 0)
		return cli_usage("expected a domain's configuration file");
	o->path = argv[at++];
	o->lines = argv + at;
	while (at < argc && strcmp(argv[at], "--") != 0) {
		if (!strchr(argv[at], '='))
			return cli_usage("%s: expected KEY=VALUE, or xl's options after --",
					 argv[at]);
		o->num_lines++;
		at++;
	}
	if (at < argc) {
		o->of_xl = argv + at + 1;
		o->num_of_xl = argc - at - 1;
	}
	return CLI_OK;
}

static int parse(struct options *o, int argc, char **argv)
{
	int r = take_paused_and_wait(argc, argv, &o->paused, &o->wait);

	return r ?: take_words(o, argc, argv, optind);
}

/* ---- making it --------------------------------------------------------------------- */

static int xl_create(const struct options *o)
{
	const char **words = calloc((size_t)(o->num_lines + o->num_of_xl) + 4, sizeof(*words));
	int n = 0, r;

	if (!words)
		return cli_error(CLI_FAILED, "out of memory");
	words[n++] = "create";
	words[n++] = "-p";
	for (int i = 0; i < o->num_of_xl; i++)
		words[n++] = o->of_xl[i];
	words[n++] = o->path;
	for (int i = 0; i < o->num_lines; i++)
		words[n++] = o->lines[i];
	r = xl_command(words, "xl create");
	free(words);
	return r;
}

static const struct spec *find_spec(const struct specs *s, unsigned long long id)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->spec[i].id == id)
			return &s->spec[i];
	return NULL;
}

/* Takes the device away, unless s has it with this policy. */
static int keep_or_take_away(const struct domain *d, const struct specs *s, const char *name)
{
	unsigned long long id;
	const struct spec *spec;
	struct xs_device device;
	int r;

	if (!cli_number(name, 0, UINT_MAX, &id))
		return CLI_OK;
	r = xs_device_init(&device, d->domid, (unsigned)id);
	if (r)
		return r;
	spec = find_spec(s, id);
	if (!spec || !xs_device_has_policy(&device, &spec->policy))
		r = device_detach(&device, CLOSE_SECONDS, true);
	xs_device_done(&device);
	return r;
}

/*
 * If a domain with this UUID was here before, `watch` may have seen the new domain first, and made
 * devices of the earlier record.  Takes away those that s does not have, or has with another
 * policy.  To be called when the record has s: then `watch` makes no more of them.
 */
static int take_away_earlier(struct xs_handle *xs, const struct domain *d, const struct specs *s)
{
	char path[64], **names;
	unsigned count = 0;
	int r = CLI_OK;

	snprintf(path, sizeof(path), "/local/domain/%u/device/" VREAD_DEVICE_TYPE, d->domid);
	names = xs_directory(xs, XBT_NULL, path, &count);
	for (unsigned i = 0; names && i < count && !r; i++)
		r = keep_or_take_away(d, s, names[i]);
	free(names);
	return r;
}

/* Gives the paused domain what its configuration asks for, in place of what an earlier
 * configuration of this domain left, and lets it run. */
static int equip(struct xs_handle *xs, const struct options *o, const struct domain *d,
		 struct specs *s)
{
	struct specs recorded = {0};
	int r = datanode_settle(xs, d, s);

	if (!r)
		r = record_write(d, s);
	if (!r)
		r = take_away_earlier(xs, d, s) ?: provision_recorded(d, &recorded);
	specs_free(&recorded);
	return r || o->paused ? r : xl_domain("unpause", d->domid);
}

/* Destroys the domain, and removes its record. */
static void end(const struct domain *d)
{
	record_remove(d);
	xl_domain("destroy", d->domid);
}

static int make(struct xs_handle *xs, const struct options *o, struct domain_config *c)
{
	const char *destroy[] = {"destroy", c->name, NULL};
	struct domain d;
	int r = xl_create(o);

	if (r)
		return r;
	r = domain_find(xs, c->name, &d);
	if (r) {
		xl_command(destroy, "xl destroy");
		return cli_error(r, "domain %s was destroyed again", c->name);
	}
	r = equip(xs, o, &d, &c->devices);
	if (r) {
		end(&d);
		return cli_error(r, "domain %s was destroyed again", d.name);
	}
	return o->wait ? provision_wait(&d, &c->devices, o->wait) : CLI_OK;
}

static int connect_and_make(const struct options *o, struct domain_config *c)
{
	struct xs_handle *xs = xs_open(0);
	int r;

	if (!xs)
		return kvm_no_xenstore(errno);
	r = make(xs, o, c);
	xs_close(xs);
	return r;
}

static int run_create(int argc, char **argv)
{
	struct options o = {0};
	struct domain_config c;
	int r = parse(&o, argc, argv);

	if (!r && o.paused && o.wait)
		r = cli_usage("--paused and --wait: expected only one of them, a paused domain "
			      "does not connect");
	if (!r)
		r = domain_config_read(o.path, o.lines, o.num_lines, &c);
	if (r)
		return r;
	r = datanode_check(&c.devices);
	if (!r)
		r = connect_and_make(&o, &c);
	domain_config_free(&c);
	return r;
}

/* ---- check --------------------------------------------------------------------------- */

static int run_check(int argc, char **argv)
{
	struct options o = {0};
	struct domain_config c;
	int r = parse(&o, argc, argv);

	if (!r)
		r = domain_config_read(o.path, o.lines, o.num_lines, &c);
	if (r)
		return r;
	r = datanode_check(&c.devices);
	printf("%s: %u vread device%s\n", c.name, c.devices.count, c.devices.count == 1 ? "" : "s");
	for (unsigned i = 0; i < c.devices.count; i++) {
		const struct spec *s = &c.devices.spec[i];

		printf("  %u: %s, datanodes %s, pools %s", s->id, s->policy.role,
		       s->policy.allow_datanodes, s->policy.allow_pools);
		if (s->policy.limit_queues)
			printf(", at most %u queues", s->policy.limit_queues);
		if (s->policy.limit_pool_pages)
			printf(", at most %u pool pages", s->policy.limit_pool_pages);
		if (*s->policy.publish_datanodes)
			printf(", publishes for %s", s->policy.publish_datanodes);
		if (*s->policy.unnamed_datanodes)
			printf(", without storages %s", s->policy.unnamed_datanodes);
		putchar('\n');
		if (s->data_dirs)
			printf("     data directories %s, on disks %s\n", s->data_dirs,
			       s->disks ?: "it may write to");
	}
	domain_config_free(&c);
	return r;
}

const struct command command_create = {
	.name = "create",
	.run = run_create,
	.synopsis = "[OPTION...] CONFIG [KEY=VALUE...] [-- XL-OPTION...]",
	.summary = "Creates a domain with the devices of its vread = [ ... ]",
	.options = "  -p, --paused     leave it paused\n"
		   "  --wait SECONDS   until its devices are connected (default: do not wait)\n",
};

const struct command command_check = {
	.name = "check",
	.run = run_check,
	.synopsis = "CONFIG [KEY=VALUE...]",
	.summary = "Shows the vread devices in a domain's configuration",
	.options = "",
};
