/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * restore.c - `xl-vread restore`: restores a saved domain with the devices of its record.  The
 * operator runs it in dom0.
 *
 * A guest looks for its devices as soon as it wakes up, and loses a device that does not exist.  So
 * xl leaves the domain paused until the devices are made.
 */
#include <errno.h>
#include <getopt.h> /* optind */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "domains.h"
#include "kvm.h"
#include "provision.h"
#include "saved_file.h"
#include "xl.h"

struct options {
	bool paused;
	unsigned wait;
	const char *path;
	char **of_xl; /* after -- */
	int num_of_xl;
};

static int parse(struct options *o, int argc, char **argv)
{
	int r = take_paused_and_wait(argc, argv, &o->paused, &o->wait);

	if (r)
		return r;
	if (optind == argc || strcmp(argv[optind - 1], "--") == 0)
		return cli_usage("expected a file that 'xl save' wrote");
	o->path = argv[optind++];
	if (optind < argc && strcmp(argv[optind], "--") != 0)
		return cli_usage("%s: unexpected argument; options of xl follow --", argv[optind]);
	if (optind < argc) {
		o->of_xl = argv + optind + 1;
		o->num_of_xl = argc - optind - 1;
	}
	if (o->paused && o->wait)
		return cli_usage("--paused and --wait: expected only one of them, a paused domain "
				 "does not connect");
	return CLI_OK;
}

static int xl_restore(const struct options *o)
{
	const char **words = calloc((size_t)o->num_of_xl + 4, sizeof(*words));
	int n = 0, r;

	if (!words)
		return cli_error(CLI_FAILED, "out of memory");
	words[n++] = "restore";
	words[n++] = "-p";
	for (int i = 0; i < o->num_of_xl; i++)
		words[n++] = o->of_xl[i];
	words[n++] = o->path;
	r = xl_command(words, "xl restore");
	free(words);
	return r;
}

static int run(const struct options *o, const struct domain *d)
{
	struct specs s = {0};
	int r = provision_recorded(d, &s);

	if (r)
		return cli_error(r, "domain %s (%u) was left paused", d->name, d->domid);
	if (!o->paused)
		r = xl_domain("unpause", d->domid);
	if (!r && o->wait)
		r = provision_wait(d, &s, o->wait);
	specs_free(&s);
	return r;
}

static int run_restore(int argc, char **argv)
{
	struct options o = {0};
	char uuid[DOMAIN_UUID];
	struct xs_handle *xs;
	struct domain d;
	int r = parse(&o, argc, argv);

	if (!r)
		r = saved_file_uuid(o.path, uuid);
	if (r)
		return r;
	xs = xs_open(0);
	if (!xs)
		return kvm_no_xenstore(errno);
	r = xl_restore(&o);
	if (!r && !domain_find_uuid(xs, uuid, &d))
		r = cli_error(CLI_FAILED, "%s: no domain of UUID %s after xl restore", o.path,
			      uuid);
	xs_close(xs);
	return r ?: run(&o, &d);
}

const struct command command_restore = {
	.name = "restore",
	.run = run_restore,
	.synopsis = "[OPTION...] FILE [-- XL-OPTION...]",
	.summary = "Restores a domain that 'xl save' saved, with its devices",
	.options = "  -p, --paused     leave it paused\n"
		   "  --wait SECONDS   until its devices are connected (default: do not wait)\n",
};
