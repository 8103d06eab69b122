// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vreadd, the daemon that reads HDFS blocks out of datanodes' disk images for other guests.  This
 * file is the command line, run by systemd or an operator; control/daemon.c is the daemon.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/daemon_process.h"
#include "base/log.h"
#include "base/version.h"
#include "control/config.h"
#include "control/daemon.h"
#include "control/datanodes.h"

enum { EXIT_USAGE = 2, EXIT_NOT_SERVED = 3, EXIT_IDLE = 4 };

static const char usage[] =
	"usage: vreadd [-c FILE] [--log-level LEVEL] [--foreground]\n"
	"       vreadd --check-config [-c FILE]\n"
	"\n"
	"  -c, --config FILE   configuration (default " CONFIG_DEFAULT_PATH ")\n"
	"      --check-config  check the configuration, images and layouts, and exit\n"
	"      --foreground    stay in the foreground (always; for scripts that set it)\n"
	"      --log-level L   error, warn, info or debug; overrides the configuration\n"
	"  -h, --help          this text\n"
	"      --version       version\n"
	"\n"
	"See vreadd(8) and vread.conf(5).\n";

struct options {
	const char *config_path;
	bool check_only;
	int log_level; /* -1: as configured */
};

static int parse_log_level(const char *name)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};

	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	fprintf(stderr, "vreadd: --log-level %s: expected error, warn, info or debug\n", name);
	exit(EXIT_USAGE);
}

static struct options parse_options(int argc, char **argv)
{
	enum { CHECK_CONFIG = 256, FOREGROUND, LOG_LEVEL, VERSION };
	static const struct option long_options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check-config", no_argument, NULL, CHECK_CONFIG},
		{"foreground", no_argument, NULL, FOREGROUND},
		{"log-level", required_argument, NULL, LOG_LEVEL},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, VERSION},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.config_path = CONFIG_DEFAULT_PATH, .log_level = -1};
	int c;

	while ((c = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o.config_path = optarg;
			break;
		case CHECK_CONFIG:
			o.check_only = true;
			break;
		case FOREGROUND:
			break;
		case LOG_LEVEL:
			o.log_level = parse_log_level(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		case VERSION:
			puts("vreadd " VREAD_VERSION);
			exit(EXIT_SUCCESS);
		default:
			fputs("Try 'vreadd --help'.\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "vreadd: %s: unexpected argument\n%s", argv[optind], usage);
		exit(EXIT_USAGE);
	}
	return o;
}

/* The exit status of daemon_run()'s value. */
static int exit_status(int r)
{
	if (r == DAEMON_IDLE)
		return EXIT_IDLE;
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

static struct config *load(const struct options *o)
{
	struct config *config;
	json_t *problems;
	char *text;

	if (config_load(o->config_path, &config, &problems) == 0)
		return config;
	text = problems ? config_problems_text(problems) : NULL;
	json_decref(problems);
	if (!text)
		log_error("%s: out of memory", o->config_path);
	for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
		log_error("%s", line);
	free(text);
	return NULL;
}

/* Returns the exit status. */
static int check(const struct config *config, const char *path)
{
	unsigned lacking;

	if (log_get_level() < LOG_LEVEL_WARN) /* what is found are warnings */
		log_set_level(LOG_LEVEL_WARN);
	lacking = datanodes_check(config);
	if (lacking)
		printf("%s: no mistakes, but of %zu datanode%s %u cannot be served now, or only in "
		       "part\n",
		       path, config->num_datanodes, config->num_datanodes == 1 ? "" : "s", lacking);
	else
		printf("%s: ok\n", path);
	return lacking ? EXIT_NOT_SERVED : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options o = parse_options(argc, argv);
	struct config *config;
	int r;

	if (!o.check_only)
		daemon_hold_hangup();
	log_set_name("vreadd");
	log_use_journal();
	r = clock_start();
	if (r < 0) {
		log_error(CLOCK_VARIABLE "=%s: cannot take the time from that file: %s; expected a "
					 "file of 8 bytes, or no such variable",
			  getenv(CLOCK_VARIABLE), strerror(-r));
		return EXIT_FAILURE;
	}
	config = load(&o);
	if (!config)
		return EXIT_FAILURE;
	log_set_level(o.log_level >= 0 ? (enum log_level)o.log_level : config->log_level);
	if (o.check_only)
		r = check(config, o.config_path);
	else
		r = exit_status(daemon_run(config, o.config_path, o.log_level));
	config_free(config);
	return r;
}
