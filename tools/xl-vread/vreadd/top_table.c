// SPDX-License-Identifier: GPL-2.0-or-later
/* top_table.c - implements top_table.h: the plot, and tables of devices, datanodes and peers. */
#include "top_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* Two documents of the same vreadd process.  before: NULL if there is no earlier document. */
struct interval {
	const json_t *before, *now;
	double seconds;
};

struct rates {
	const json_t *device;
	bool known;
	double local, remote, reads, opens, errors; /* per second */
	double order;                               /* devices with more come first */
};

/* ---- rates ----------------------------------------------------------------------------------- */

/* The object of that name in an array, or NULL. */
static const json_t *find_named(const json_t *array, const char *name)
{
	json_t *object;
	size_t i;

	json_array_foreach(array, i, object)
	{
		if (!strcmp(text_member(object, "name"), name))
			return object;
	}
	return NULL;
}

/* Counters only grow.  A counter that shrank has started anew: its rate is 0. */
static double rate(const struct interval *t, int64_t before, int64_t now)
{
	return now > before ? (double)(now - before) / t->seconds : 0;
}

static double rate_of(const struct interval *t, const json_t *before, const json_t *now,
		      const char *key)
{
	return rate(t, text_number(before, key), text_number(now, key));
}

static struct rates rates_of(const struct interval *t, const json_t *before, const json_t *now)
{
	struct rates r = {.known = before != NULL && t->seconds > 0};
	double bytes;

	if (!r.known)
		return r;
	bytes = rate_of(t, before, now, "bytes");
	r.remote = rate_of(t, json_object_get(before, "remote"), json_object_get(now, "remote"),
			   "bytes");
	r.local = bytes > r.remote ? bytes - r.remote : 0;
	r.reads = rate_of(t, before, now, "reads");
	r.opens = rate_of(t, before, now, "opens");
	r.errors = rate(t, text_sum_errors(before), text_sum_errors(now));
	return r;
}

/* "-" if the rate is not known. */
static const char *speed(const struct rates *r, double bytes, char buf[TEXT_SIZE])
{
	return r->known ? text_size((int64_t)bytes, buf) : "-";
}

static const char *times(const struct rates *r, double n, char buf[TEXT_SIZE])
{
	if (!r->known)
		return "-";
	snprintf(buf, TEXT_SIZE, n && n < 10 ? "%.1f" : "%.0f", n);
	return buf;
}

/* ---- all of vreadd --------------------------------------------------------------------------- */

static void print_header(FILE *out, const struct interval *t)
{
	const json_t *before = t->before ? json_object_get(t->before, "totals") : NULL;
	const struct rates r = rates_of(t, before, json_object_get(t->now, "totals"));
	size_t devices = json_array_size(json_object_get(t->now, "devices"));
	size_t datanodes = json_array_size(json_object_get(t->now, "datanodes"));
	int64_t up = text_number(t->now, "uptime_seconds");
	char local[TEXT_SIZE], remote[TEXT_SIZE], reads[TEXT_SIZE], opens[TEXT_SIZE],
		errors[TEXT_SIZE];

	fprintf(out, "vreadd %s, up %" PRId64 "d %02d:%02d:%02d, %zu device%s, %zu datanode%s\n",
		text_member(t->now, "version"), up / 86400, (int)(up / 3600 % 24),
		(int)(up / 60 % 60), (int)(up % 60), devices, devices == 1 ? "" : "s", datanodes,
		datanodes == 1 ? "" : "s");
	fprintf(out, "per second: %s from here, %s from other hosts, %s reads, %s opens\n",
		speed(&r, r.local, local), speed(&r, r.remote, remote), times(&r, r.reads, reads),
		times(&r, r.opens, opens));
	fprintf(out, "            %s errors, after which clients read by TCP%s",
		times(&r, r.errors, errors), r.errors > 0 ? ":" : "");
}

/* Prints the names of errors that occurred since, as many as fit into the line. */
static void print_errors(FILE *out, const struct interval *t)
{
	const json_t *now = json_object_get(json_object_get(t->now, "totals"), "errors");
	const json_t *before =
		t->before ? json_object_get(json_object_get(t->before, "totals"), "errors") : NULL;
	const char *name;
	unsigned room = 22;
	json_t *count;

	json_object_foreach((json_t *)now, name, count)
	{
		size_t length = strlen(name) + 1;

		if (!t->before || json_integer_value(count) <= text_number(before, name))
			continue;
		if (length > room)
			break;
		fprintf(out, " %s", name);
		room -= (unsigned)length;
	}
	fputc('\n', out);
}

static void print_plot(FILE *out, const struct top_view *view)
{
	char size[TEXT_SIZE];
	double highest;

	fputs("last minute: ", out);
	highest = plot_print(out, view->plot, view->utf8);
	fprintf(out, "  at most %s per second\n",
		highest < 0 ? "-" : text_size((int64_t)highest, size));
}

/* ---- devices --------------------------------------------------------------------------------- */

static const char *const sort_names[] = {
	[TOP_BY_BYTES] = "bytes", [TOP_BY_HERE] = "here",   [TOP_BY_REMOTE] = "remote",
	[TOP_BY_READS] = "reads", [TOP_BY_OPENS] = "opens", [TOP_BY_ERRORS] = "errors",
	[TOP_BY_OPEN] = "open",   [TOP_BY_NAME] = "name",
};

bool top_sort_parse(const char *name, enum top_sort *ret)
{
	for (size_t i = 0; i < sizeof(sort_names) / sizeof(sort_names[0]); i++) {
		if (!strcmp(name, sort_names[i])) {
			*ret = (enum top_sort)i;
			return true;
		}
	}
	return false;
}

static double order_of(const struct rates *r, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_BYTES:
		return r->local + r->remote;
	case TOP_BY_HERE:
		return r->local;
	case TOP_BY_REMOTE:
		return r->remote;
	case TOP_BY_READS:
		return r->reads;
	case TOP_BY_OPENS:
		return r->opens;
	case TOP_BY_ERRORS:
		return r->errors;
	case TOP_BY_OPEN:
		return (double)text_number(json_object_get(r->device, "counters"), "open_handles");
	case TOP_BY_NAME:
		break;
	}
	return 0;
}

static int by_order(const void *a, const void *b)
{
	const struct rates *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? 1 : -1;
	return strcmp(text_member(x->device, "name"), text_member(y->device, "name"));
}

static void print_device(FILE *out, const struct rates *r)
{
	const json_t *counters = json_object_get(r->device, "counters");
	char local[TEXT_SIZE], remote[TEXT_SIZE], reads[TEXT_SIZE], opens[TEXT_SIZE],
		errors[TEXT_SIZE], name[12];

	fprintf(out, "%-11.11s %-8.8s %-12.12s %8s %8s %8s %7s %5s %5" PRId64 "\n",
		text_tail(text_member(r->device, "name"), 11, name), text_member(r->device, "role"),
		text_member(r->device, "state"), speed(r, r->local, local),
		speed(r, r->remote, remote), times(r, r->reads, reads), times(r, r->opens, opens),
		times(r, r->errors, errors), text_number(counters, "open_handles"));
}

static void print_devices(FILE *out, const struct interval *t, enum top_sort sort)
{
	const json_t *devices = json_object_get(t->now, "devices"), *device;
	const json_t *before = t->before ? json_object_get(t->before, "devices") : NULL;
	size_t count = json_array_size(devices), i;
	struct rates *all = calloc(count + 1, sizeof(*all));

	if (!all)
		return;
	json_array_foreach(devices, i, device)
	{
		const json_t *then = find_named(before, text_member(device, "name"));

		all[i] = rates_of(t, json_object_get(then, "counters"),
				  json_object_get(device, "counters"));
		all[i].device = device;
		all[i].order = order_of(&all[i], sort);
	}
	qsort(all, count, sizeof(*all), by_order);
	fprintf(out, "\n%-11s %-8s %-12s %8s %8s %8s %7s %5s %5s\n", "DEVICE", "ROLE", "STATE",
		"HERE/s", "REMOTE/s", "READS/s", "OPENS/s", "ERR/s", "OPEN");
	for (i = 0; i < count; i++)
		print_device(out, &all[i]);
	free(all);
}

/* ---- datanodes and peers --------------------------------------------------------------------- */

/* Writes the state of each file system, without the reason, as many as fit into line. */
static void filesystem_states(const json_t *datanode, char *line, size_t room)
{
	json_t *fs;
	size_t i, used = 0;

	line[0] = '\0';
	json_array_foreach(json_object_get(datanode, "filesystems"), i, fs)
	{
		const char *state = text_member(fs, "state");

		if (used < room)
			used += (size_t)snprintf(line + used, room - used, "%s%.*s",
						 used ? ", " : "", (int)strcspn(state, ":"), state);
	}
	if (!used)
		snprintf(line, room, "-");
}

static void print_datanodes(FILE *out, const struct interval *t)
{
	char states[TEXT_WIDTH - 39];
	json_t *datanode;
	size_t i;

	fprintf(out, "\n%-16s %-8s %9s   %s\n", "DATANODE", "STATE", "WITHDRAWN", "FILE SYSTEMS");
	json_array_foreach(json_object_get(t->now, "datanodes"), i, datanode)
	{
		filesystem_states(datanode, states, sizeof(states));
		fprintf(out, "%-16.16s %-8.8s %9" PRId64 "   %s\n",
			text_member(datanode, "datanode"), text_member(datanode, "state"),
			text_number(json_object_get(datanode, "published"), "withdrawn"), states);
	}
}

static void print_peer(FILE *out, const struct interval *t, const json_t *before,
		       const json_t *peer)
{
	struct rates there =
		rates_of(t, json_object_get(before, "asked"), json_object_get(peer, "asked"));
	struct rates here =
		rates_of(t, json_object_get(before, "answered"), json_object_get(peer, "answered"));
	char read_there[TEXT_SIZE], read_here[TEXT_SIZE];

	fprintf(out, "%-16.16s %-13.13s %-9.9s %11s %10s %6" PRId64 " %8" PRId64 "\n",
		text_member(peer, "name"), text_member(peer, "state"),
		text_member(peer, "transport"), speed(&there, there.local, read_there),
		speed(&here, here.local, read_here), text_number(peer, "under_way"),
		text_number(peer, "failures"));
}

/* Prints nothing if no other hosts are configured. */
static void print_peers(FILE *out, const struct interval *t)
{
	const json_t *peers = json_object_get(json_object_get(t->now, "peers"), "peers"), *peer;
	const json_t *before =
		t->before ? json_object_get(json_object_get(t->before, "peers"), "peers") : NULL;
	size_t i;

	if (!json_array_size(peers))
		return;
	fprintf(out, "\n%-16s %-13s %-9s %11s %10s %6s %8s\n", "PEER", "STATE", "TRANSPORT",
		"WE READ/s", "IT READS/s", "QUEUED", "FAILURES");
	json_array_foreach(peers, i, peer)
	{
		print_peer(out, t, find_named(before, text_member(peer, "name")), peer);
	}
}

void top_print(FILE *out, const struct top_view *view)
{
	struct interval t = {.before = view->before, .now = view->now, .seconds = view->seconds};

	/* Another vreadd process: its counters began at zero. */
	if (t.before && text_number(t.before, "pid") != text_number(t.now, "pid"))
		t.before = NULL;
	print_header(out, &t);
	print_errors(out, &t);
	print_plot(out, view);
	print_devices(out, &t, view->sort);
	print_datanodes(out, &t);
	print_peers(out, &t);
}
