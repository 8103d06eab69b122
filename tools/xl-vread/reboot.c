/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reboot.c - `xl-vread reboot`: reboots a domain and gives it its devices again.  The operator runs
 * it in dom0.
 *
 * `xl-vread watch` does the same for every domain that reboots.  This command returns when the
 * devices are made.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "commands.h"
#include "domains.h"
#include "kvm.h"
#include "provision.h"
#include "xl.h"

#define COMES_BACK 300U /* s; includes the time in which the guest's services stop */

struct options {
	unsigned wait;
	const char *domain;
};

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{"wait", required_argument, NULL, 'w'},
		{NULL, 0, NULL, 0},
	};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = c == 'w' ? cli_take_number("--wait", optarg, MAX_WAIT, &o->wait)
			     : cli_bad_option();
	if (!r && argc - optind != 1)
		r = cli_usage("expected one domain, not %d arguments", argc - optind);
	if (!r)
		o->domain = argv[optind];
	return r;
}

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Waits for the domain that has the UUID of `old` after the reboot. */
static int wait_for_next(struct xs_handle *xs, const struct domain *old, struct domain *ret)
{
	struct pollfd fd = {.fd = xs_fileno(xs), .events = POLLIN};
	time_t end = now() + COMES_BACK;
	unsigned count;

	while (!domain_find_next(xs, old, ret)) {
		if (now() >= end)
			return cli_error(
				CLI_FAILED,
				"domain %s: not back within %u s; does its configuration say "
				"on_reboot=\"restart\"?",
				old->name, COMES_BACK);
		if (poll(&fd, 1, 1000) > 0)
			free(xs_read_watch(xs, &count));
	}
	return CLI_OK;
}

static int reboot_domain(struct xs_handle *xs, const struct options *o)
{
	struct domain old, new;
	struct specs s = {0};
	int r = domain_find(xs, o->domain, &old);

	if (!r)
		r = xl_domain("reboot", old.domid);
	if (!r)
		r = wait_for_next(xs, &old, &new);
	if (!r)
		r = provision_recorded(&new, &s);
	if (!r && o->wait)
		r = provision_wait(&new, &s, o->wait);
	specs_free(&s);
	return r;
}

static int run_reboot(int argc, char **argv)
{
	struct options o = {0};
	struct xs_handle *xs;
	int r = parse(&o, argc, argv);

	if (r)
		return r;
	xs = xs_open(0);
	if (!xs || !xs_watch(xs, "@introduceDomain", "domain"))
		r = kvm_no_xenstore(errno);
	else
		r = reboot_domain(xs, &o);
	xs_close(xs);
	return r;
}

const struct command command_reboot = {
	.name = "reboot",
	.run = run_reboot,
	.synopsis = "[OPTION...] DOMAIN",
	.summary = "Reboots a domain, and attaches its devices again",
	.options =
		"  --wait SECONDS   until they are connected (default: until the domain is back)\n",
};
