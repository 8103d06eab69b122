// SPDX-License-Identifier: GPL-2.0-or-later
/* doctor.c - `xl-vread doctor`: checks what serves readers in dom0: vreadd, its images, its peers
 * and the guests' devices.  The operator runs it. */
#include <getopt.h>

#include "../commands.h"
#include "../config_path.h"
#include "checks.h"

/* In the order of the chain: later checks rely on the results of earlier ones. */
static const struct doctor_check checks[] = {
	{"configuration", check_config},
	{"xen", check_xen},
	{"xen devices", check_xen_nodes},
	{"xenstore", check_xenstore},
	{"vreadd", check_daemon},
	{"ports", check_ports},
	{"datanode keys", check_datanode_keys},
	{"images", check_images},
	{"datanodes", check_datanodes},
	{"storages", check_storages},
	{"clones", check_clones},
	{"parsers", check_parsers},
	{"block tokens", check_tokens},
	{"libguestfs", check_provision},
	{"certificates", check_certificates},
	{"peers", check_peers},
	{"rdma", check_rdma},
	{"devices", check_devices},
	{"kvm", check_kvm},
	{NULL, NULL},
};

enum { CONFIG = 1, SOCKET };

static int take_option(struct doctor *d, int option, const char *value)
{
	switch (option) {
	case CONFIG:
		d->facts->config_path = value;
		return CLI_OK;
	case SOCKET:
		d->facts->socket = value;
		return CLI_OK;
	default:
		return doctor_option(d, option, value);
	}
}

/* A driver domain may run vreadd, too.  Its operator names the configuration. */
static int check_place(const struct doctor *d)
{
	if (doctor_domain(d) != DOCTOR_DOMU || d->facts->config_path || d->facts->socket)
		return CLI_OK;
	return cli_usage("this is a guest: use 'vread doctor' here, or name vreadd's configuration "
			 "with --config if this is a driver domain");
}

static int run_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		DOCTOR_OPTIONS,
		{"config", required_argument, NULL, CONFIG},
		{"socket", required_argument, NULL, SOCKET},
		{NULL, 0, NULL, 0},
	};
	struct facts facts = {.config_path = config_named()};
	struct doctor d = {.role = "dom0", .root = "", .facts = &facts};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "v", options, NULL)) != -1)
		r = take_option(&d, c, optarg);
	if (!r && optind < argc)
		r = cli_usage("%s: unexpected argument", argv[optind]);
	r = r ?: check_place(&d) ?: doctor_report(&d, checks);
	json_decref(facts.status);
	keys_free(&facts.keys);
	config_free(facts.config);
	return r;
}

const struct command command_doctor = {
	.name = "doctor",
	.run = run_doctor,
	.synopsis = "[-v] [--json] [OPTION...]",
	.summary = "Checks what vreadd needs in dom0, and says what to do",
	.options = DOCTOR_OPTIONS_HELP
	"  --config FILE       of vreadd (default $VREAD_CONFIG, else\n"
	"                      " CONFIG_DEFAULT_PATH ")\n"
	"  --socket PATH       vreadd's control socket (default: as configured)\n"
	"\n"
	"'vread doctor' does the same in guests.\n",
};
