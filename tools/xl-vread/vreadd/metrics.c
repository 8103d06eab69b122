// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * metrics.c - `xl-vread metrics`: prints the status document in Prometheus' text format, for the
 * textfile collector of node_exporter.  vread-metrics.service runs it.
 *
 * Tables say which member of the document becomes which metric.  A missing member gives no sample,
 * and a metric without samples is not printed.  So other versions of vreadd do no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../commands.h"
#include "control_client.h"
#include "cli/text.h"

struct metric {
	const char *name, *type, *help;
	/* Names a member, its keys separated by dots.  MEMBER: a number.  MEMBER=TEXT: 1 if the
	 * member is that text, else 0.  MEMBER{LABEL}: an object; each of its members is a sample,
	 * and LABEL holds the name of that member. */
	const char *path;
};

#define COUNTER "counter"
#define GAUGE "gauge"

static const struct metric of_all[] = {
	{"vread_uptime_seconds", GAUGE, "Since vreadd was started.", "uptime_seconds"},
	{"vread_opens_total", COUNTER, "Blocks opened.", "totals.opens"},
	{"vread_reads_total", COUNTER, "Reads answered with bytes.", "totals.reads"},
	{"vread_bytes_total", COUNTER, "Bytes given to readers.", "totals.bytes"},
	{"vread_remote_bytes_total", COUNTER, "Of these, from other hosts.", "totals.remote.bytes"},
	{"vread_errors_total", COUNTER, "Requests answered with an error: reads by TCP.",
	 "totals.errors{error}"},
	{"vread_local_connects_refused_total", COUNTER,
	 "Connects to the local port that were refused, because a user connects too often.",
	 "ports.local.too_often"},
	{"vread_log_lines_left_out_total", COUNTER,
	 "Log lines that guests, peers and images provoked beyond their limit.", "log.left_out"},
	{"vread_cache_bytes", GAUGE, "Verified bytes kept of images read with O_DIRECT.",
	 "reading.cache.used"},
	{"vread_cache_size_bytes", GAUGE, "Bytes that the verified cache may take now.",
	 "reading.cache.size"},
	{"vread_cache_hits_total", COUNTER, "Reads the verified cache answered.",
	 "reading.cache.hits"},
	{"vread_cache_misses_total", COUNTER, "Reads it could not answer.", "reading.cache.misses"},
	{"vread_cache_filled_bytes_total", COUNTER,
	 "Bytes read from disks and put into the verified cache.", "reading.cache.filled"},
	{"vread_cache_filled_again_bytes_total", COUNTER,
	 "Of these, bytes that a cache of twice the size would have had.",
	 "reading.cache.filled_again"},
	{"vread_peers_refused_total", COUNTER, "Connections of other hosts that were refused.",
	 "peers.server.refused"},
	{"vread_peers_strangers_waiting", GAUGE, "Connections not authenticated yet.",
	 "peers.server.strangers.waiting"},
	{"vread_peers_strangers_total", COUNTER, "Connections that were never authenticated.",
	 "peers.server.strangers.ended{end}"},
};

static const struct metric of_devices[] = {
	{"vread_device_connected", GAUGE, "Whether the guest's device is connected.",
	 "state=Connected"},
	{"vread_device_opens_total", COUNTER, "Blocks opened.", "counters.opens"},
	{"vread_device_reads_total", COUNTER, "Reads answered with bytes.", "counters.reads"},
	{"vread_device_bytes_total", COUNTER, "Bytes given to the guest.", "counters.bytes"},
	{"vread_device_remote_bytes_total", COUNTER, "Of these, from other hosts.",
	 "counters.remote.bytes"},
	{"vread_device_errors_total", COUNTER, "Requests answered with an error.",
	 "counters.errors{error}"},
	{"vread_device_open_handles", GAUGE, "Blocks open now.", "counters.open_handles"},
	{"vread_device_handle_bytes", GAUGE, "Memory of the open blocks.", "counters.handle_bytes"},
	{"vread_device_handle_bytes_refused_total", COUNTER,
	 "Opens refused because the open blocks take too much memory.",
	 "counters.handle_bytes_refused"},
	{"vread_device_connects_delayed_total", COUNTER,
	 "Times that the guest had to wait, because it connects too often.", "connects_delayed"},
	{"vread_device_pool_pages", GAUGE, "Pages shared with the guest.", "pool_pages"},
};

static const struct metric of_datanodes[] = {
	{"vread_datanode_served", GAUGE, "Whether the datanode's blocks can be read.",
	 "state=served"},
	{"vread_datanode_withdrawn_blocks", GAUGE, "Blocks the datanode has withdrawn for now.",
	 "published.withdrawn"},
	{"vread_datanode_tokens_valid_total", COUNTER, "Block tokens that were right.",
	 "tokens.valid"},
	{"vread_datanode_tokens_refused_total", COUNTER, "Opens refused for their block token.",
	 "tokens.refused{reason}"},
	{"vread_datanode_parser_restarts_total", COUNTER, "Restarts of its vread-parser.",
	 "parser.restarts"},
};

static const struct metric of_peers[] = {
	{"vread_peer_up", GAUGE, "Whether there is a connection to read over.", "state=up"},
	{"vread_peer_streams", GAUGE, "Connections to read over.", "streams"},
	{"vread_peer_asked_bytes_total", COUNTER, "Bytes read there.", "asked.bytes"},
	{"vread_peer_answered_bytes_total", COUNTER, "Bytes read here by that host.",
	 "answered.bytes"},
	{"vread_peer_direct_bytes_total", COUNTER, "Bytes RDMA wrote into guests' memory.",
	 "direct"},
	{"vread_peer_bounced_bytes_total", COUNTER, "Bytes of RDMA that were copied.", "bounced"},
	{"vread_peer_encrypted_bytes_total", COUNTER, "Bytes that readers asked to encrypt.",
	 "encrypted"},
	{"vread_peer_plain_bytes_total", COUNTER, "Bytes that came unencrypted.", "plain"},
	{"vread_peer_errors_total", COUNTER, "Requests it answered with an error.",
	 "asked.errors{error}"},
	{"vread_peer_requests_under_way", GAUGE, "Requests it has not answered yet.", "under_way"},
	{"vread_peer_failures_total", COUNTER, "Connections that failed or were given up.",
	 "failures"},
};

/* The metrics of each object of an array, or of the document itself. */
static const struct group {
	const char *array; /* NULL: the document */
	const char *name;  /* the member that names an object */
	const char *label; /* holds that name */
	const struct metric *metrics;
	size_t count;
} groups[] = {
#define METRICS(table) table, sizeof(table) / sizeof(table[0])
	{NULL, NULL, NULL, METRICS(of_all)},
	{"devices", "name", "device", METRICS(of_devices)},
	{"datanodes", "datanode", "datanode", METRICS(of_datanodes)},
	{"peers.peers", "name", "peer", METRICS(of_peers)},
};

/* ---- samples ------------------------------------------------------------------------------- */

struct writer {
	FILE *out;
	const struct group *group;
	const struct metric *metric;
	bool named; /* HELP and TYPE of metric are printed */
};

static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

static void put_header(struct writer *w)
{
	const struct metric *m = w->metric;

	if (!w->named)
		fprintf(w->out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
	w->named = true;
}

/* owner: the name of the object, or NULL.  part: the name of a member of the object, which the
 * label `label` holds, or NULL. */
static void put_sample(struct writer *w, const char *owner, const char *label, const char *part,
		       json_int_t value)
{
	put_header(w);
	fputs(w->metric->name, w->out);
	if (owner || part)
		fputc('{', w->out);
	if (owner)
		put_label(w->out, w->group->label, owner);
	if (owner && part)
		fputc(',', w->out);
	if (part)
		put_label(w->out, label, part);
	fprintf(w->out, "%s %" JSON_INTEGER_FORMAT "\n", owner || part ? "}" : "", value);
}

/* Finds the member that path names.  *ret_rest: the rest of path: "", or from '=' or '{' on. */
static const json_t *member(const json_t *o, const char *path, const char **ret_rest)
{
	char key[64];

	for (;;) {
		size_t n = strcspn(path, ".={");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		o = json_object_get(o, key);
		path += n;
		if (*path != '.')
			break;
		path++;
	}
	*ret_rest = path;
	return o;
}

static void put_parts(struct writer *w, const char *owner, const char *label, const json_t *object)
{
	const char *part;
	json_t *count;

	json_object_foreach((json_t *)object, part, count)
	{
		put_sample(w, owner, label, part, json_integer_value(count));
	}
}

static void put_member(struct writer *w, const json_t *object, const char *owner)
{
	const char *rest;
	const json_t *value = member(object, w->metric->path, &rest);
	char label[32];

	if (*rest == '=' && json_is_string(value)) {
		put_sample(w, owner, NULL, NULL, !strcmp(json_string_value(value), rest + 1));
	} else if (*rest == '{') {
		snprintf(label, sizeof(label), "%.*s", (int)strcspn(rest + 1, "}"), rest + 1);
		put_parts(w, owner, label, value);
	} else if (!*rest && json_is_integer(value)) {
		put_sample(w, owner, NULL, NULL, json_integer_value(value));
	}
}

static void put_metric(FILE *out, const struct group *g, const struct metric *m,
		       const json_t *status)
{
	struct writer w = {.out = out, .group = g, .metric = m};
	const char *rest;
	json_t *object;
	size_t i;

	if (!g->array) {
		put_member(&w, status, NULL);
		return;
	}
	json_array_foreach(member(status, g->array, &rest), i, object)
	{
		put_member(&w, object, text_member(object, g->name));
	}
}

/* status: NULL if vreadd does not answer. */
static void put_all(FILE *out, const json_t *status)
{
	fprintf(out,
		"# HELP vread_up Whether vreadd answers.\n# TYPE vread_up gauge\nvread_up %d\n",
		status != NULL);
	if (!status)
		return;
	fputs("# HELP vread_info Which vreadd runs.\n# TYPE vread_info gauge\nvread_info{", out);
	put_label(out, "version", text_member(status, "version"));
	fputs("} 1\n", out);
	for (const struct group *g = groups; g < groups + sizeof(groups) / sizeof(groups[0]); g++)
		for (size_t i = 0; i < g->count; i++)
			put_metric(out, g, &g->metrics[i], status);
}

/* ---- output -------------------------------------------------------------------------------- */

/* Replaces the file by rename(): a reader sees the whole old file or the whole new file. */
static int write_file(const char *path, const json_t *status)
{
	size_t room = strlen(path) + 16;
	char *beside = malloc(room);
	FILE *f = NULL;
	bool ok = false;

	if (beside) {
		snprintf(beside, room, "%s.%d", path, (int)getpid());
		f = fopen(beside, "wex");
	}
	if (f) {
		put_all(f, status);
		ok = !ferror(f) && fchmod(fileno(f), 0644) == 0;
		ok = fclose(f) == 0 && ok && rename(beside, path) == 0;
	}
	if (!ok) {
		cli_error(CLI_FAILED, "%s: cannot be written: %s", path, strerror(errno));
		if (f)
			unlink(beside);
	}
	free(beside);
	return ok ? CLI_OK : CLI_FAILED;
}

static int run_metrics(int argc, char **argv)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{"socket", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	struct control_options o;
	json_t *status = NULL;
	int r, written = CLI_OK;

	if (control_take_options(argc, argv, options, &o))
		return CLI_USAGE;
	r = control_ask_status(o.socket, &status);
	if (o.output)
		written = write_file(o.output, status);
	else
		put_all(stdout, status);
	json_decref(status);
	return r ?: written;
}

const struct command command_metrics = {
	.name = "metrics",
	.run = run_metrics,
	.synopsis = "[--output FILE] [--socket PATH]",
	.summary = "Prints counters for Prometheus",
	.options =
		"  --output FILE   replace FILE at once: for node_exporter's textfile collector\n"
		"  --socket PATH   vreadd's control socket (default " CONTROL_DEFAULT_SOCKET ")\n",
};
