/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - `xl-vread list`: prints the devices that the domains should have, with their states, and
 * the datanodes of domains.  The operator runs it in dom0. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "datanode_list.h"
#include "domains.h"
#include "kvm.h"
#include "record.h"

static const char *state_name(unsigned state)
{
	static const char *const names[] = {"missing",     "starting",      "waiting",
					    "initialised", "connected",     "closing",
					    "closed",      "reconfiguring", "reconfigured"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* Prints the devices of one domain.  False: the record could not be read; an error was printed. */
static bool print_domain(const struct domain *domain)
{
	struct specs s;

	if (record_read(domain, &s))
		return false;
	for (unsigned i = 0; i < s.count; i++) {
		const struct spec *spec = &s.spec[i];
		struct xs_device d;

		if (xs_device_init(&d, domain->domid, spec->id))
			break;
		printf("%-24s %5u %3u  %-8s %-13s %s\n", domain->name, domain->domid, spec->id,
		       spec->policy.role, state_name(xs_device_state(&d)),
		       spec->policy.allow_datanodes);
		xs_device_done(&d);
	}
	specs_free(&s);
	return true;
}

/* True on a host of KVM: its guests are listed. */
static bool list_of_kvm(int *ret)
{
	struct config *c = kvm_config();
	bool here = kvm_is_host(c);

	if (here)
		*ret = kvm_list(c);
	config_free(c);
	return here;
}

static int run_list(int argc, char **argv)
{
	struct domain *domains;
	struct xs_handle *xs;
	int count, r = CLI_OK;

	if (argc > 1)
		return cli_usage("%s: unexpected argument", argv[1]);
	if (list_of_kvm(&r))
		return r;
	xs = xs_open(0);
	count = xs ? domains_list(xs, &domains) : -errno;
	if (count < 0) {
		xs_close(xs);
		return kvm_no_xenstore(-count);
	}
	printf("%-24s %5s %3s  %-8s %-13s %s\n", "Name", "ID", "Dev", "Role", "State", "Datanodes");
	for (int i = 0; i < count; i++)
		if (!print_domain(&domains[i]))
			r = CLI_FAILED;
	free(domains);
	if (datanode_list(xs))
		r = CLI_FAILED;
	xs_close(xs);
	return r;
}

const struct command command_list = {
	.name = "list",
	.run = run_list,
	.synopsis = "",
	.summary = "Lists the guests' devices and their states",
	.options = "",
};
