/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.c - `xl-vread watch`: gives each domain that appears the devices of its record, be it after
 * a reboot, from a file or from another host, or those of the operator's file for a domain that
 * another toolstack has made.  xl-vread.service runs it.
 *
 * xenstored sends an event for each new domain, and when a domain gets another name or its UUID: xl
 * gives a domain that has migrated its name last.  Then all domains are checked for missing
 * devices.  A check that finds nothing missing changes nothing, so any number of events does no
 * harm.
 *
 * SIGHUP has all domains checked, after a change of the operator's files.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "commands.h"
#include "domains.h"
#include "kvm.h"
#include "port/xen/store.h"
#include "provision.h"

/* Gives one domain its devices.  A failure is printed, and does not stop the other domains. */
static void equip(const struct domain *d)
{
	struct specs s;
	unsigned made;

	provision(d, &s, &made);
	if (made) {
		printf("domain %s (%u): %u device%s made\n", d->name, d->domid, made,
		       made == 1 ? "" : "s");
		fflush(stdout);
	}
	specs_free(&s);
}

#define TOKEN "domain"
enum { WATCHED = 1, EXISTS = 2 };

/* Watches the nodes that say which domain it is, or ends that. */
static void watch_domain(struct xs_handle *xs, unsigned domid, bool begin)
{
	static const char *const nodes[] = {"name", "vm"};
	char path[64];

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		snprintf(path, sizeof(path), "/local/domain/%u/%s", domid, nodes[i]);
		if (begin)
			xs_watch(xs, path, TOKEN);
		else
			xs_unwatch(xs, path, TOKEN);
	}
}

/* Follows domains that come and go.  0 or negative errno. */
static int watch_domains(struct xs_handle *xs)
{
	static uint8_t state[MAX_DOMID + 1];
	unsigned *numbers;
	int count = domains_numbers(xs, &numbers);

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++) {
		if (!(state[numbers[i]] & WATCHED))
			watch_domain(xs, numbers[i], true);
		state[numbers[i]] = WATCHED | EXISTS;
	}
	free(numbers);
	for (unsigned domid = 1; domid <= MAX_DOMID; domid++) {
		if (state[domid] == WATCHED) {
			watch_domain(xs, domid, false);
			state[domid] = 0;
		}
		state[domid] &= (uint8_t)~EXISTS;
	}
	return 0;
}

static int look(struct xs_handle *xs)
{
	struct domain *domains;
	int r = watch_domains(xs), count = r ?: domains_list(xs, &domains);

	if (count < 0)
		return cli_error(CLI_FAILED, "xenstore: cannot list domains: %s", strerror(-count));
	for (int i = 0; i < count; i++)
		equip(&domains[i]);
	free(domains);
	return CLI_OK;
}

static int end_of_xenstored(void)
{
	return cli_error(CLI_NO_PEER, "xenstored does not answer any more");
}

static int take_event(struct xs_handle *xs)
{
	char **event;

	while ((event = xs_check_watch(xs)))
		free(event);
	return errno == EAGAIN ? look(xs) : end_of_xenstored();
}

static int signal_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* *ret_end: a signal asks for the end. */
static int take_signal(struct xs_handle *xs, int signals, bool *ret_end)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return cli_error(CLI_FAILED, "signalfd: %m");
	*ret_end = info.ssi_signo != SIGHUP;
	return *ret_end ? CLI_OK : look(xs);
}

/* Runs until a signal, or the end of xenstored, ends it. */
static int serve(struct xs_handle *xs, int signals, int end_fd)
{
	struct pollfd fds[] = {{.fd = xs_fileno(xs), .events = POLLIN},
			       {.fd = signals, .events = POLLIN},
			       {.fd = end_fd, .events = POLLIN}};
	bool end = false;
	int r = look(xs);

	sd_notify(0, "READY=1");
	while (!r && !end) {
		if (poll(fds, 3, -1) < 0) {
			if (errno != EINTR)
				return cli_error(CLI_FAILED, "poll: %m");
			continue;
		}
		if (fds[1].revents)
			r = take_signal(xs, signals, &end);
		else if (fds[2].revents)
			r = end_of_xenstored();
		else if (fds[0].revents)
			r = take_event(xs);
	}
	return r;
}

static int run_watch(int argc, char **argv)
{
	struct xs_handle *xs;
	int signals, end_fd, r;

	if (argc > 1)
		return cli_usage("%s: unexpected argument", argv[1]);
	signals = signal_fd(); /* first: a SIGHUP would end the program */
	xs = xs_open(0);
	end_fd = store_end_fd();
	if (signals < 0)
		r = cli_error(CLI_FAILED, "signalfd: %m");
	else if (!xs || !xs_watch(xs, "@introduceDomain", TOKEN))
		r = kvm_no_xenstore(errno);
	else
		r = serve(xs, signals, end_fd);
	if (signals >= 0)
		close(signals);
	if (end_fd >= 0)
		close(end_fd);
	xs_close(xs);
	return r;
}

const struct command command_watch = {
	.name = "watch",
	.run = run_watch,
	.synopsis = "",
	.summary = "Attaches devices to new domains; run as a service",
	.options = "",
};
