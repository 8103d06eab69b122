// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vread-ivshmem - gives guests of KVM shared memory and doorbells, and vreadd their other ends.
 * This file is the command line, run by systemd or an operator, and the event loop.
 *
 * It is a program of its own because it outlives vreadd: a QEMU takes memory and doorbells once,
 * when it starts. It reads nothing that a guest or a QEMU sends.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/daemon_process.h"
#include "base/log.h"
#include "base/unix_listen.h"
#include "base/version.h"
#include "control/config.h"
#include "ivshmem-server/backend.h"
#include "ivshmem-server/guest.h"

enum { EXIT_USAGE = 2 };

static const char usage[] =
	"usage: vread-ivshmem [-c FILE]\n"
	"\n"
	"  -c, --config FILE   configuration (default " CONFIG_DEFAULT_PATH ")\n"
	"  -h, --help          this text\n"
	"      --version       version\n"
	"\n"
	"See vread-ivshmem(8) and vread.conf(5).\n";

struct server {
	const char *config_path;
	struct guests guests;
	struct backend backend;
};

/* ---- configuration ----------------------------------------------------------------- */

static const char *parse_options(int argc, char **argv)
{
	enum { VERSION = 256 };
	static const struct option long_options[] = {
		{"config", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, VERSION},
		{NULL, 0, NULL, 0},
	};
	const char *config_path = CONFIG_DEFAULT_PATH;
	int c;

	while ((c = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			config_path = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		case VERSION:
			puts("vread-ivshmem " VREAD_VERSION);
			exit(EXIT_SUCCESS);
		default:
			fputs("Try 'vread-ivshmem --help'.\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind == argc)
		return config_path;
	fprintf(stderr, "vread-ivshmem: %s: unexpected argument\n%s", argv[optind], usage);
	exit(EXIT_USAGE);
}

/* NULL: the file has mistakes (logged). */
static struct config *load(const char *path)
{
	struct config *config;
	json_t *problems;
	char *text, *rest, *line;

	if (config_load(path, &config, &problems) == 0)
		return config;
	text = rest = problems ? config_problems_text(problems) : NULL;
	json_decref(problems);
	if (!text)
		log_error("%s: out of memory", path);
	while (text && (line = strsep(&rest, "\n")))
		if (*line)
			log_error("%s", line);
	free(text);
	return NULL;
}

static void reload(struct server *s)
{
	struct config *config = load(s->config_path);

	if (config) {
		log_set_level(config->log_level);
		guests_set(&s->guests, config);
		log_info("reload: %s is applied", s->config_path);
	} else {
		log_error("reload: refused, nothing was changed");
	}
	config_free(config);
}

/* ---- rights ------------------------------------------------------------------------ */

/* vreadd is of the same user, and must not look into this process' memory or descriptors. */
static int keep_others_out(void)
{
#ifdef __SANITIZE_ADDRESS__
	const int dumpable = 1;
#else
	const int dumpable = 0;
#endif

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, dumpable) < 0
		       ? -errno
		       : 0;
}

/* Becomes the configured user, as vreadd does, if root started the program. */
static int change_user(const char *name, const char *config_path)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return 0;
	if (!name[0]) {
		log_warn("runs as root: set user in [vreadd] of %s, or User= in the unit",
			 config_path);
		return 0;
	}
	user = getpwnam(name);
	if (!user || user->pw_uid == 0) {
		log_error("%s: [vreadd] user: %s: expected a user of this host other than root",
			  config_path, name);
		return -EINVAL;
	}
	if (initgroups(user->pw_name, user->pw_gid) == 0 &&
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0)
		return 0;
	log_error("%s: [vreadd] user: %s: cannot become this user: %m", config_path, name);
	return -errno;
}

/* ---- the loop ---------------------------------------------------------------------- */

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	(void)source, (void)si;
	reload(userdata);
	return 0;
}

static void on_change(void *ctx)
{
	struct server *s = ctx;

	backend_tell(&s->backend);
}

static int start(struct server *s, const struct config *config)
{
	int r;

	if (!config->ivshmem_socket[0]) {
		log_error("%s: [vreadd] ivshmem-socket: expected a path, at which vreadd connects",
			  s->config_path);
		return -EINVAL;
	}
	r = change_user(config->user, s->config_path);
	if (!r)
		r = keep_others_out();
	if (!r)
		r = daemon_catch_signals(s->guests.event, on_hangup, s);
	if (!r)
		r = backend_start(&s->backend, &s->guests, config->ivshmem_socket);
	if (!r)
		guests_set(&s->guests, config);
	return r;
}

static int run(struct server *s, const struct config *config)
{
	int r = sd_event_new(&s->guests.event);

	if (r < 0)
		return r;
	daemon_raise_file_limit();
	r = start(s, config);
	if (!r) {
		sd_notifyf(0, "READY=1\nSTATUS=%zu guests are configured", config->num_ivshmem);
		log_info("vread-ivshmem " VREAD_VERSION ": ready");
		r = sd_event_loop(s->guests.event);
	} else {
		log_error("cannot start: %s", strerror(-r));
	}
	sd_notify(0, "STOPPING=1");
	backend_stop(&s->backend);
	guests_free(&s->guests);
	sd_event_unref(s->guests.event);
	return r;
}

int main(int argc, char **argv)
{
	struct server s = {.config_path = parse_options(argc, argv),
			   .backend = {.listener = -1, .vreadd = -1, .spare_fd = -1}};
	struct config *config;
	int r;

	daemon_hold_hangup();
	log_set_name("vread-ivshmem");
	log_use_journal();
	r = clock_start();
	if (r < 0) {
		log_error("cannot take the time from the file that " CLOCK_VARIABLE " names: %s",
			  strerror(-r));
		return EXIT_FAILURE;
	}
	config = load(s.config_path);
	if (!config)
		return EXIT_FAILURE;
	log_set_level(config->log_level);
	s.guests.spare_fd = unix_spare_fd();
	s.guests.changed = on_change;
	s.guests.ctx = &s;
	r = run(&s, config);
	config_free(config);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
