/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c - `xl-vread attach` and `detach`: give a running domain a device, or take one away.  The
 * operator runs them in dom0.  Also implements attach.h.
 *
 * The change goes into the domain's record, so that it lasts when the domain reboots.  With
 * --temporary `attach` writes no record.  A domain without a name and a UUID in xenstore has no
 * record: other toolstacks may make such domains, and a domain that is gone may have left a device.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "commands.h"
#include "datanode.h"
#include "domains.h"
#include "kvm.h"
#include "record.h"
#include "toolstack/attach.h"
#include "toolstack/device.h"

enum { OPTION_ID = 1000, OPTION_WAIT, OPTION_FORCE, OPTION_TEMPORARY };

struct options {
	unsigned id, wait;
	bool force, temporary;
};

static int take_option(struct options *o, int option, const char *value)
{
	switch (option) {
	case OPTION_ID:
		return cli_take_number("--id", value, 255, &o->id);
	case OPTION_WAIT:
		return cli_take_number("--wait", value, MAX_WAIT, &o->wait);
	case OPTION_FORCE:
		o->force = true;
		return CLI_OK;
	case OPTION_TEMPORARY:
		o->temporary = true;
		return CLI_OK;
	default:
		return cli_bad_option();
	}
}

static int parse(struct options *o, const struct option *options, int argc, char **argv)
{
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = take_option(o, c, optarg);
	return r;
}

/* True on a host of KVM, after printing how its guests get devices or lose them. */
static bool is_of_kvm(const char *guest, bool attaches)
{
	struct config *c = kvm_config();
	bool here = kvm_is_host(c);

	if (here && attaches)
		kvm_no_attach(c, guest);
	else if (here)
		kvm_no_detach(guest);
	config_free(c);
	return here;
}

/* any_number: a number need not be that of a domain with a name and a UUID. */
static int find(const char *name_or_domid, bool any_number, struct domain *ret)
{
	struct xs_handle *xs = xs_open(0);
	int r;

	if (!xs)
		return kvm_no_xenstore(errno);
	r = any_number ? domain_find_number(xs, name_or_domid, ret)
		       : domain_find(xs, name_or_domid, ret);
	xs_close(xs);
	return r;
}

/* ---- attach ---------------------------------------------------------------------- */

static int add(struct specs *s, const char *text)
{
	char *error = NULL;
	int r = specs_add(s, text, &error);

	if (r)
		r = cli_usage("'%s': %s", text, error ? error : strerror(-r));
	free(error);
	return r;
}

/* Writes the record, and has vreadd serve the domain's disks if the last device of s asks for it.
 */
static int keep(const struct domain *domain, const struct specs *s)
{
	int r = record_write(domain, s);

	if (r || !s->spec[s->count - 1].data_dirs)
		return r;
	return datanode_provision(domain) ?: datanode_await(domain, s);
}

/*
 * Makes the last device of s and its record.  Only if all of that succeeds is the connection waited
 * for: a device that does not connect in time stays, as its record does, and may connect later.
 * After any other failure neither stays.
 */
static int equip(struct xs_device *d, const struct domain *domain, struct specs *s, unsigned wait)
{
	const struct spec *added = &s->spec[s->count - 1];
	int r = device_attach(d, &added->policy);

	if (r)
		return r;
	r = keep(domain, s);
	if (!r)
		return device_await(d, wait);
	specs_remove(s, added->id);
	record_write(domain, s);
	device_detach(d, 0, true);
	return r;
}

/* Makes the last device of s.  s: the domain's record with one more device, or, if temporary, that
 * device alone. */
static int make(const struct domain *domain, struct specs *s, const struct options *o)
{
	const struct spec *added = &s->spec[s->count - 1];
	struct xs_device d;
	int r = xs_device_init(&d, domain->domid, added->id);

	if (r)
		return r;
	if (o->temporary)
		r = device_attach(&d, &added->policy) ?: device_await(&d, o->wait);
	else
		r = datanode_settle(d.xs, domain, s) ?: equip(&d, domain, s, o->wait);
	xs_device_done(&d);
	return r;
}

/* The operator's file would lose its say to a record. */
static int refuse_file(const struct domain *domain)
{
	char path[PATH_MAX];

	if (!record_is_file(domain, path))
		return CLI_OK;
	return cli_error(
		CLI_FAILED,
		"domain %s: its devices are those of %s: add the device there, then "
		"systemctl reload xl-vread; --temporary attaches one until the domain ends",
		domain->name, path);
}

static int attach(const struct domain *domain, const char *text, const struct options *o)
{
	struct specs s = {0};
	int r = o->temporary ? CLI_OK : refuse_file(domain) ?: record_read(domain, &s);

	r = r ?: add(&s, text);
	if (!r && !o->temporary)
		r = datanode_check(&s);
	r = r ?: make(domain, &s, o);
	specs_free(&s);
	return r;
}

int attach_device(const struct domain *domain, const char *text)
{
	const struct options none = {0};

	return attach(domain, text, &none);
}

/* Checks a device before the domain is looked for. */
static int check(const char *text, bool temporary)
{
	struct specs s = {0};
	int r = add(&s, text);

	if (!r && temporary && s.spec[0].data_dirs)
		r = cli_usage("'%s': data-dirs is not possible with --temporary: the disks of a "
			      "datanode are in the domain's record",
			      text);
	specs_free(&s);
	return r;
}

static int run_attach(int argc, char **argv)
{
	static const struct option options[] = {
		{"temporary", no_argument, NULL, OPTION_TEMPORARY},
		{"wait", required_argument, NULL, OPTION_WAIT},
		{NULL, 0, NULL, 0},
	};
	struct options o = {0};
	struct domain d;
	int r = parse(&o, options, argc, argv);

	if (!r && argc - optind != 2)
		r = cli_usage("expected a domain and a device as in vread = [ \"...\" ], not %d "
			      "arguments",
			      argc - optind);
	r = r ?: check(argv[optind + 1], o.temporary);
	if (!r && is_of_kvm(argv[optind], true))
		return CLI_FAILED;
	r = r ?: find(argv[optind], o.temporary, &d);
	return r ?: attach(&d, argv[optind + 1], &o);
}

/* ---- detach ------------------------------------------------------------------------ */

/* Reads the domain's record.  Fails if the device is of the operator's file: `watch` would make it
 * again. */
static int read_own(const struct domain *domain, unsigned id, struct specs *ret)
{
	char path[PATH_MAX];
	int r = record_read(domain, ret);

	if (r || !record_is_file(domain, path))
		return r;
	if (!specs_remove(ret, id)) {
		specs_free(ret);
		return CLI_OK;
	}
	specs_free(ret);
	return cli_error(CLI_FAILED, "domain %s: %s has device %u: remove it there first",
			 domain->name, path, id);
}

static int detach(const struct domain *domain, const struct options *o)
{
	struct xs_device d;
	struct specs s = {0};
	int r = *domain->uuid ? read_own(domain, o->id, &s) : CLI_OK;

	/* The record first, or `watch` would make the device again. */
	if (!r && specs_remove(&s, o->id))
		r = record_write(domain, &s);
	specs_free(&s);
	if (r)
		return r;
	r = xs_device_init(&d, domain->domid, o->id);
	if (r)
		return r;
	r = device_detach(&d, o->wait, o->force);
	xs_device_done(&d);
	return r;
}

static int run_detach(int argc, char **argv)
{
	static const struct option options[] = {
		{"id", required_argument, NULL, OPTION_ID},
		{"wait", required_argument, NULL, OPTION_WAIT},
		{"force", no_argument, NULL, OPTION_FORCE},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.wait = 10};
	struct domain d;
	int r = parse(&o, options, argc, argv);

	if (!r && argc - optind != 1)
		r = cli_usage("expected one domain, not %d arguments", argc - optind);
	if (!r && is_of_kvm(argv[optind], false))
		return CLI_FAILED;
	r = r ?: find(argv[optind], true, &d);
	return r ?: detach(&d, &o);
}

const struct command command_attach = {
	.name = "attach",
	.run = run_attach,
	.synopsis = "[OPTION...] DOMAIN DEVICE",
	.summary = "Attaches a device to a running domain",
	.options = "  DOMAIN           its name or id\n"
		   "  DEVICE           as in vread = [ ... ] of its configuration:\n"
		   "                   datanodes=NAMES[,role=datanode][,pools=IDS]\n"
		   "                   [,publish-datanodes=NAMES]\n"
		   "                   [,unnamed-datanodes=NAMES][,queues=N]\n"
		   "                   [,pool-size=SIZE][,data-dirs=PATHS][,disks=NAMES]\n"
		   "                   [,backing-folders=DIRS][,tokens=MODE][,id=N]\n"
		   "  --temporary      not in the domain's record: lost when the domain reboots\n"
		   "  --wait SECONDS   until it is connected (default: do not wait)\n",
};

const struct command command_detach = {
	.name = "detach",
	.run = run_detach,
	.synopsis = "[OPTION...] DOMAIN",
	.summary = "Detaches a device from a domain, also after a reboot",
	.options = "  DOMAIN           its name or id\n"
		   "  --id N           number of the device (default 0)\n"
		   "  --wait SECONDS   how long to wait until it is closed (default 10)\n"
		   "  --force          remove it even if it did not close\n",
};
