/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * receive.c - `xl-vread receive`: the other end of `xl-vread migrate`, on the host that the domain
 * moves to (remote.h).  migrate runs it over ssh.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "domains.h"
#include "kvm.h"
#include "provision.h"
#include "record.h"
#include "remote.h"
#include "xl.h"

#define MAX_LINE 5000

/* Reads a line without its newline.  False: end of input, or the line is too long. */
static bool read_line(char line[MAX_LINE])
{
	char *end;

	if (!fgets(line, MAX_LINE, stdin))
		return false;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	return end;
}

static void answer(const char *line)
{
	fputs(line, stdout);
	fflush(stdout);
}

static int take_device(struct specs *s, const char *line)
{
	char *error = NULL;
	int r = specs_add(s, line, &error);

	if (r)
		r = cli_error(CLI_FAILED, "'%s': %s", line, error ? error : strerror(-r));
	free(error);
	return r;
}

/* Reads the domain and its devices, up to the empty line. */
static int take_domain(struct domain *d, struct specs *s)
{
	char line[MAX_LINE];
	int r = CLI_OK;

	*d = (struct domain){0};
	if (!read_line(line) || !domain_uuid_valid(line))
		return cli_error(CLI_FAILED,
				 "expected a domain's UUID on standard input; this is for xl-vread "
				 "migrate");
	memcpy(d->uuid, line, sizeof(d->uuid));
	if (!read_line(line) || strlen(line) >= sizeof(d->name))
		return cli_error(CLI_FAILED, "expected a domain's name on standard input");
	strcpy(d->name, line);
	while (!r && read_line(line)) {
		if (!*line)
			return CLI_OK;
		r = take_device(s, line);
	}
	return r
		       ?: cli_error(CLI_FAILED,
				    "domain %s: the list of its devices did not arrive completely",
				    d->name);
}

static bool told(const char *expected)
{
	char line[MAX_LINE];

	return fgets(line, sizeof(line), stdin) && strcmp(line, expected) == 0;
}

/* Gives the domain, which xl has moved here and left paused, its devices, and lets it run. */
static int take_over(struct xs_handle *xs, const char *uuid)
{
	struct specs s;
	struct domain d;
	int r;

	if (!domain_find_uuid(xs, uuid, &d))
		return cli_error(CLI_FAILED, "no domain with UUID %s arrived here", uuid);
	r = provision_recorded(&d, &s);
	specs_free(&s);
	if (r)
		return cli_error(r, "domain %s (%u) was left paused", d.name, d.domid);
	answer(REMOTE_EQUIPPED);
	if (!told(REMOTE_GO))
		return cli_error(CLI_FAILED,
				 "domain %s (%u) was left paused: perhaps it still runs on the "
				 "host that sent it",
				 d.name, d.domid);
	r = xl_domain("unpause", d.domid);
	if (!r)
		answer(REMOTE_DONE);
	return r;
}

static int receive(struct xs_handle *xs, const struct domain *d, const struct specs *s)
{
	struct domain here;
	int r;

	if (domain_find_uuid(xs, d->uuid, &here))
		return cli_error(CLI_FAILED, "domain %s (%u) of UUID %s is here already", here.name,
				 here.domid, here.uuid);
	r = record_write(d, s);
	if (r)
		return r;
	answer(REMOTE_READY);
	if (!told(REMOTE_MOVED))
		r = cli_error(CLI_FAILED,
			      "domain %s: xl-vread migrate ended before the domain arrived",
			      d->name);
	else
		r = take_over(xs, d->uuid);
	/* The domain never arrived here, so its record is of no use. */
	if (r && !domain_find_uuid(xs, d->uuid, &here))
		record_remove(d);
	return r;
}

static int run_receive(int argc, char **argv)
{
	struct specs s = {0};
	struct xs_handle *xs;
	struct domain d;
	int r;

	if (argc > 1)
		return cli_usage("%s: unexpected argument", argv[1]);
	xs = xs_open(0);
	if (!xs)
		return kvm_no_xenstore(errno);
	r = take_domain(&d, &s);
	if (!r)
		r = receive(xs, &d, &s);
	specs_free(&s);
	xs_close(xs);
	return r;
}

const struct command command_receive = {
	.name = "receive",
	.run = run_receive,
	.synopsis = "",
	.summary = "The other end of migrate, which runs it",
	.options = "",
};
