// SPDX-License-Identifier: GPL-2.0-or-later
/* doctor.c - `vread doctor`: checks what a reader needs in a guest.  A user or the operator of the
 * guest runs it. */
#include <getopt.h>
#include <stdlib.h>

#include "../commands.h"
#include "checks.h"

/* In the order of the chain: later checks rely on the results of earlier ones. */
static const struct doctor_check checks[] = {
	{"xen", check_guest},
	{"module", check_module},
	{"device", check_device},
	{"node", check_node},
	{"protocol", check_protocol},
	{"answer", check_answer},
	{"allowed", check_allowed},
	{"publisher", check_publisher},
	{"hadoop", check_hadoop},
	{"java", check_java},
	{NULL, NULL},
};

enum { ENDPOINT = 1, USER, HADOOP, CLASS_PATH, DATANODE };

static int take_option(struct doctor *d, int option, const char *value)
{
	switch (option) {
	case ENDPOINT:
		d->facts->endpoint = value;
		return CLI_OK;
	case USER:
		d->facts->user = value;
		return CLI_OK;
	case HADOOP:
		d->facts->hadoop_conf = value;
		return CLI_OK;
	case CLASS_PATH:
		d->facts->class_path = value;
		return CLI_OK;
	case DATANODE:
		d->facts->datanode = value;
		return CLI_OK;
	default:
		return doctor_option(d, option, value);
	}
}

/* In dom0 only a program that reads by a local port can be checked. */
static int check_place(const struct doctor *d)
{
	if (doctor_domain(d) != DOCTOR_DOM0 || endpoint_is_socket(d))
		return CLI_OK;
	return cli_usage("this is dom0: use 'xl-vread doctor' here, or name the socket of a local "
			 "port with --endpoint");
}

static int run_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		DOCTOR_OPTIONS,
		{"endpoint", required_argument, NULL, ENDPOINT},
		{"user", required_argument, NULL, USER},
		{"hadoop-conf", required_argument, NULL, HADOOP},
		{"class-path", required_argument, NULL, CLASS_PATH},
		{"datanode", required_argument, NULL, DATANODE},
		{NULL, 0, NULL, 0},
	};
	struct facts facts = {.endpoint = getenv("VREAD_ENDPOINT")};
	struct doctor d = {.role = "domU", .root = "", .facts = &facts};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "v", options, NULL)) != -1)
		r = take_option(&d, c, optarg);
	if (!r && optind < argc)
		r = cli_usage("%s: unexpected argument", argv[optind]);
	return r ?: check_place(&d) ?: doctor_report(&d, checks);
}

const struct command command_doctor = {
	.name = "doctor",
	.run = run_doctor,
	.synopsis = "[-v] [--json] [OPTION...]",
	.summary = "Checks what readers need in this guest, and says what to do",
	.options = DOCTOR_OPTIONS_HELP
	"  --endpoint PATH     device or socket (default $VREAD_ENDPOINT or /dev/vread)\n"
	"  --user NAME         the user who reads (default: this user)\n"
	"  --datanode NAME     a datanode that this guest reads\n"
	"  --hadoop-conf DIR   (default $HADOOP_CONF_DIR, then where Hadoop has it)\n"
	"  --class-path PATH   Hadoop's (default: as `hadoop classpath` says)\n"
	"\n"
	"'xl-vread doctor' does the same in dom0.\n",
};
