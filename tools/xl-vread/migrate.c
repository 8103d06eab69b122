/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migrate.c - `xl-vread migrate`: moves a domain and its record to another host.  The operator runs
 * it in dom0.
 *
 * `xl-vread receive` is started on the other host first, and stores the record there.  So a host
 * without vRead is noticed before anything is moved.  xl leaves the domain paused on the other
 * host, because a guest looks for its devices as soon as it wakes up.  receive makes the devices
 * and lets the domain run.
 *
 * Xen built without shadow paging, as Debian's is, cannot track the writes of a running PV guest,
 * and so cannot migrate it live.  With --stop, `xl save` and `xl restore` copy the memory while the
 * domain does not run.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "datanode.h"
#include "domains.h"
#include "kvm.h"
#include "record.h"
#include "remote.h"
#include "xl.h"

extern char **environ;

struct options {
	const char *shell; /* as `xl migrate -s` */
	const char *domain, *host;
	bool stop;
	char **of_xl; /* after -- */
	int num_of_xl;
};

struct remote {
	FILE *to, *from;
	pid_t pid;
};

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {{"stop", no_argument, NULL, 'S'},
						{NULL, 0, NULL, 0}};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "+s:", options, NULL)) != -1) {
		if (c == 's')
			o->shell = optarg;
		else if (c == 'S')
			o->stop = true;
		else
			r = cli_bad_option();
	}
	if (r)
		return r;
	if (!*o->shell)
		return cli_usage("-s: expected a command that is called like ssh");
	if (argc - optind < 2 || (argc - optind > 2 && strcmp(argv[optind + 2], "--") != 0))
		return cli_usage("expected a domain and a host; options of xl follow --");
	o->domain = argv[optind];
	o->host = argv[optind + 1];
	if (o->stop && argc - optind > 2)
		return cli_usage(
			"--stop: expected no options of xl, because xl migrate does not run");
	if (argc - optind > 2) {
		o->of_xl = argv + optind + 3;
		o->num_of_xl = argc - optind - 3;
	}
	return CLI_OK;
}

/* ---- the other end ----------------------------------------------------------------- */

static int spawn(const char *command, int in, int out, pid_t *ret)
{
	const char *words[] = {"sh", "-c", command, NULL};
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	r = posix_spawn(ret, "/bin/sh", &actions, NULL, (char *const *)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int start(struct remote *ret, const struct options *o)
{
	int to[2], from[2], r;
	char *command;

	if (pipe2(to, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(from, O_CLOEXEC) < 0) {
		r = -errno;
		close(to[0]);
		close(to[1]);
		return r;
	}
	/* As xl does. */
	r = asprintf(&command, "exec %s %s xl-vread receive", o->shell, o->host) < 0 ? -ENOMEM : 0;
	if (!r) {
		r = spawn(command, to[0], from[1], &ret->pid);
		free(command);
	}
	close(to[0]);
	close(from[1]);
	ret->to = fdopen(to[1], "w");
	ret->from = fdopen(from[0], "r");
	return r ?: (ret->to && ret->from ? 0 : -ENOMEM);
}

static void end(struct remote *remote)
{
	if (remote->to)
		fclose(remote->to);
	if (remote->from)
		fclose(remote->from);
	while (remote->pid > 0 && waitpid(remote->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool answers(struct remote *remote, const char *expected)
{
	char line[64];

	return fflush(remote->to) == 0 && fgets(line, sizeof(line), remote->from) &&
	       strcmp(line, expected) == 0;
}

static bool announce(struct remote *remote, const struct domain *d, const struct specs *s)
{
	fprintf(remote->to, "%s\n%s\n", d->uuid, d->name);
	for (unsigned i = 0; i < s->count; i++) {
		char *text = spec_text(&s->spec[i]);

		if (!text)
			return false;
		fprintf(remote->to, "%s\n", text);
		free(text);
	}
	fputs("\n", remote->to);
	return answers(remote, REMOTE_READY);
}

/* ---- moving ------------------------------------------------------------------------- */

static int xl_migrate(const struct options *o, const struct domain *d)
{
	const char **words = calloc((size_t)o->num_of_xl + 7, sizeof(*words));
	char domid[16];
	int n = 0, r;

	if (!words)
		return cli_error(CLI_FAILED, "out of memory");
	snprintf(domid, sizeof(domid), "%u", d->domid);
	words[n++] = "migrate";
	words[n++] = "-p";
	words[n++] = "-s";
	words[n++] = o->shell;
	for (int i = 0; i < o->num_of_xl; i++)
		words[n++] = o->of_xl[i];
	words[n++] = domid;
	words[n++] = o->host;
	r = xl_command(words, "xl migrate");
	free(words);
	return r;
}

/* The domain stays paused here, so that it can run on if it does not arrive. */
static int save_and_restore(const struct options *o, const struct domain *d)
{
	char *command;
	int status;

	/* cat: standard input there may be a socket, which xl could not open by name. */
	if (asprintf(&command,
		     "xl save -p %u /dev/fd/3 3>&1 >&2 | %s %s 'cat | xl restore -p /dev/stdin'",
		     d->domid, o->shell, o->host) < 0)
		return cli_error(CLI_FAILED, "out of memory");
	status = system(command);
	free(command);
	return status ? cli_error(CLI_FAILED, "xl save to xl restore on %s failed", o->host)
		      : CLI_OK;
}

static bool asked(struct remote *remote, const char *line, const char *expected)
{
	return fputs(line, remote->to) >= 0 && answers(remote, expected);
}

/* When xl has finished, the domain no longer exists here. */
static int move_live(const struct options *o, const struct domain *d, struct remote *remote)
{
	int r = xl_migrate(o, d);

	if (!r && !asked(remote, REMOTE_MOVED, REMOTE_EQUIPPED))
		r = cli_error(CLI_FAILED, "domain %s is on %s now, but paused and without devices",
			      d->name, o->host);
	return r;
}

/* The domain is paused on both hosts until it is destroyed here. */
static int move_stopped(const struct options *o, const struct domain *d, struct remote *remote)
{
	int r = save_and_restore(o, d);

	if (!r && !asked(remote, REMOTE_MOVED, REMOTE_EQUIPPED))
		r = cli_error(CLI_FAILED, "domain %s did not arrive on %s", d->name, o->host);
	if (!r)
		return xl_domain("destroy", d->domid);
	xl_domain("unpause", d->domid);
	return cli_error(r, "domain %s keeps running here", d->name);
}

static int move(const struct options *o, const struct domain *d, const struct specs *s,
		struct remote *remote)
{
	int r = o->stop ? move_stopped(o, d, remote) : move_live(o, d, remote);

	if (r)
		return r;
	if (!asked(remote, REMOTE_GO, REMOTE_DONE))
		r = cli_error(CLI_FAILED, "domain %s is on %s now, but may be paused there",
			      d->name, o->host);
	datanode_leave(s);
	return record_remove(d) ?: r;
}

static int migrate(const struct options *o, const struct domain *d)
{
	struct remote remote = {0};
	struct specs s;
	int r = record_read(d, &s);

	if (r)
		return r;
	r = start(&remote, o);
	if (r)
		r = cli_error(CLI_FAILED, "%s: cannot run: %s", o->shell, strerror(-r));
	else if (!announce(&remote, d, &s))
		r = cli_error(CLI_FAILED,
			      "%s: xl-vread receive did not answer there; nothing was moved",
			      o->host);
	else
		r = move(o, d, &s, &remote);
	if (remote.to || remote.from)
		end(&remote);
	specs_free(&s);
	return r;
}

static int run_migrate(int argc, char **argv)
{
	struct options o = {.shell = "ssh"};
	struct xs_handle *xs;
	struct domain d;
	int r = parse(&o, argc, argv);

	if (r)
		return r;
	xs = xs_open(0);
	if (!xs)
		return kvm_no_xenstore(errno);
	r = domain_find(xs, o.domain, &d);
	xs_close(xs);
	/* The other end may go away at any time.  That is an error, not a reason to be killed. */
	signal(SIGPIPE, SIG_IGN);
	return r ?: migrate(&o, &d);
}

const struct command command_migrate = {
	.name = "migrate",
	.run = run_migrate,
	.synopsis = "[OPTION...] DOMAIN HOST [-- XL-OPTION...]",
	.summary = "Migrates a domain to another host, with its devices",
	.options =
		"  -s COMMAND   instead of ssh, as for xl migrate\n"
		"  --stop       do not run it meanwhile: PV domains on Xen without shadow paging\n",
};
