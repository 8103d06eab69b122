// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace.c - `xl-vread trace`: shows where vreadd spends the time of single requests.  The operator
 * runs it in dom0.
 *
 * vreadd traces for LASTING seconds after each question, and this command asks again and again.  So
 * tracing ends by itself, however this command ends.
 */
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "../commands.h"
#include "control_client.h"
#include "cli/text.h"

#define LASTING 5 /* seconds of tracing after a question */
#define PAUSE_MS 100

static const char *const stages[] = {"find", "cache", "read", "verify", "check", "copy", "remote"};
#define STAGES (sizeof(stages) / sizeof(stages[0]))

struct tracer {
	const char *socket, *device; /* device: NULL: any */
	unsigned long long count, seconds;
	json_int_t after; /* number of the last record seen; -1: nothing was asked yet */
	unsigned long long printed, lost;
};

static int ask(struct tracer *t, unsigned seconds, json_t **ret)
{
	json_t *request = json_pack("{s:s, s:i}", "command", "trace", "seconds", (int)seconds);

	if (t->after >= 0)
		json_object_set_new(request, "after", json_integer(t->after));
	return control_ask(t->socket, request, ret);
}

static void print_record(const json_t *record)
{
	const json_t *spent = json_object_get(record, "stages");
	int64_t total = text_number(record, "ns"), rest = total;
	char name[12];

	printf("%-11.11s %-6.6s %7" PRId64, text_tail(text_member(record, "device"), 11, name),
	       text_member(record, "operation"), total / 1000);
	for (size_t i = 0; i < STAGES; i++) {
		int64_t ns = text_number(spent, stages[i]);

		rest -= ns;
		printf(" %6" PRId64, ns / 1000);
	}
	printf(" %4" PRId64, rest / 1000);
	if (text_number(record, "status") < 0)
		printf("\n    %s", strerror((int)-text_number(record, "status")));
	putchar('\n');
}

static void print_header(void)
{
	printf("%-11s %-6s %7s", "DEVICE", "WHAT", "us");
	for (size_t i = 0; i < STAGES; i++)
		printf(" %6s", stages[i]);
	printf(" %4s\n", "rest");
	fflush(stdout);
}

static void take(struct tracer *t, const json_t *answer)
{
	json_t *record;
	size_t i;

	if (text_number(answer, "last") < t->after)
		t->after = 0; /* vreadd was restarted */
	json_array_foreach(json_object_get(answer, "records"), i, record)
	{
		json_int_t sequence = text_number(record, "sequence");

		t->lost += (unsigned long long)(sequence - t->after - 1);
		t->after = sequence;
		if (t->device && strcmp(t->device, text_member(record, "device")))
			continue;
		if (t->printed < t->count) {
			print_record(record);
			t->printed++;
		}
	}
	fflush(stdout);
}

static int follow(struct tracer *t)
{
	uint64_t end = clock_ms() + (uint64_t)t->seconds * 1000;
	json_t *answer;
	int r = ask(t, LASTING, &answer);

	if (r)
		return r;
	t->after = text_number(answer, "last");
	json_decref(answer);
	print_header();
	while (!r && t->printed < t->count && clock_ms() < end) {
		usleep(PAUSE_MS * 1000);
		r = ask(t, LASTING, &answer);
		if (r)
			break;
		take(t, answer);
		json_decref(answer);
	}
	if (t->lost)
		printf("%llu more requests were not kept\n", t->lost);
	if (!r && !ask(t, 0, &answer))
		json_decref(answer);
	return r;
}

static int run_trace(int argc, char **argv)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 't'},
		{"device", required_argument, NULL, 'D'},
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct tracer t = {.socket = CONTROL_DEFAULT_SOCKET,
			   .count = 20,
			   .seconds = 10,
			   .after = -1};
	int c;

	while ((c = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
		if (c == 'n' && !cli_number(optarg, 1, 1000000, &t.count))
			return cli_usage("--count %s: expected a number from 1 to 1000000", optarg);
		if (c == 't' && !cli_number(optarg, 1, 3600, &t.seconds))
			return cli_usage("--seconds %s: expected a number from 1 to 3600", optarg);
		if (c == '?')
			return cli_bad_option();
		t.device = c == 'D' ? optarg : t.device;
		t.socket = c == 's' ? optarg : t.socket;
	}
	if (optind < argc)
		return cli_usage("%s: unexpected argument", argv[optind]);
	return follow(&t);
}

const struct command command_trace = {
	.name = "trace",
	.run = run_trace,
	.synopsis = "[-n COUNT] [--seconds S] [--device NAME] [--socket PATH]",
	.summary = "Shows where the time of single requests goes",
	.options =
		"  -n, --count N    end after so many requests (default 20)\n"
		"  --seconds S      end after so many seconds (default 10)\n"
		"  --device NAME    of one device only, as xl-vread status names it\n"
		"  --socket PATH    vreadd's control socket (default " CONTROL_DEFAULT_SOCKET ")\n",
};
