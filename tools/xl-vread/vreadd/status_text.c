/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status_text.c - implements status_text.h: tables of ports, datanodes, peers and devices. */
#include "status_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "clones_text.h"
#include "tokens_text.h"

/* Prints nothing if the configuration was never reloaded. */
static void print_reload(FILE *out, const json_t *reload, const char *config)
{
	const json_t *problems = json_object_get(reload, "problems");
	const json_t *restart = json_object_get(reload, "restart"), *entry;
	char line[512];
	size_t i;

	if (!json_is_object(reload))
		return;
	fprintf(out, "reloaded %" PRId64 " s ago: %s\n", text_number(reload, "seconds_ago"),
		text_member(reload, "result"));
	json_array_foreach(problems, i, entry)
	{
		const char *key = json_string_value(json_object_get(entry, "key"));
		const char *file = json_string_value(json_object_get(entry, "file"));
		bool other = file && strcmp(file, config);

		snprintf(line, sizeof(line), "%.200s%sline %" PRId64 ": %.60s%s%.200s",
			 other ? file : "", other ? ": " : "", text_number(entry, "line"),
			 key ?: "", key ? ": " : "", text_member(entry, "problem"));
		text_wrap(out, 4, line);
	}
	json_array_foreach(json_object_get(reload, "failed"), i, entry)
	{
		snprintf(line, sizeof(line), "failed: %.400s", json_string_value(entry) ?: "-");
		text_wrap(out, 4, line);
	}
	json_array_foreach(restart, i, entry)
	{
		snprintf(line, sizeof(line), "needs a restart: %.300s",
			 json_string_value(entry) ?: "-");
		text_wrap(out, 4, line);
	}
}

static void print_header(FILE *out, const json_t *status)
{
	const char *user = json_string_value(json_object_get(status, "user"));
	int64_t up = text_number(status, "uptime_seconds");

	fprintf(out, "vreadd %s, pid %" PRId64 "%s%.32s, up %" PRId64 "d %02d:%02d:%02d\n",
		text_member(status, "version"), text_number(status, "pid"), user ? ", user " : "",
		user ?: "", up / 86400, (int)(up / 3600 % 24), (int)(up / 60 % 60), (int)(up % 60));
	fprintf(out, "configuration: %s\n", text_member(status, "config"));
	print_reload(out, json_object_get(status, "reload"), text_member(status, "config"));
}

static bool any_device_of(const json_t *devices, const char *port)
{
	json_t *device;
	size_t i;

	json_array_foreach(devices, i, device)
	{
		if (!strcmp(text_member(device, "port"), port))
			return true;
	}
	return false;
}

static void print_ports(FILE *out, const json_t *ports, const json_t *devices)
{
	const char *name;
	json_t *port;
	char buf[TEXT_WIDTH];

	fprintf(out, "\n%-6s %-12s %s\n", "PORT", "STATE", "SOCKET");
	json_object_foreach((json_t *)ports, name, port)
	{
		const char *error = json_string_value(json_object_get(port, "last_error"));

		fprintf(out, "%-6s %-12s %s\n", name, text_member(port, "state"),
			text_tail(text_member(port, "socket"), TEXT_WIDTH - 20, buf));
		if (error)
			text_wrap(out, 4, error);
		if (!strcmp(name, "kvm") && !strcmp(text_member(port, "state"), "on") &&
		    !any_device_of(devices, "kvm"))
			text_wrap(out, 4,
				  "no QEMU is connected: `xl-vread doctor` says what to do");
	}
}

static void print_data_dir(FILE *out, const json_t *dir)
{
	const json_t *pools = json_object_get(dir, "pools"), *pool;
	char line[512];
	size_t i;

	snprintf(line, sizeof(line), "  %.300s: storage %.128s%s", text_member(dir, "path"),
		 text_member(dir, "storage-id"),
		 json_array_size(pools) ? ", pools:" : ", no pool yet");
	text_wrap(out, 4, line);
	json_array_foreach(pools, i, pool)
	{
		snprintf(line, sizeof(line), "    %.256s", json_string_value(pool) ?: "-");
		text_wrap(out, 4, line);
	}
}

static void print_filesystem(FILE *out, const json_t *filesystem)
{
	const char *logical = json_string_value(json_object_get(filesystem, "volume"));
	char line[640];
	json_t *dir;
	size_t i;

	if (logical)
		snprintf(line, sizeof(line), "logical volume %.256s: %.256s", logical,
			 text_member(filesystem, "state"));
	else
		snprintf(line, sizeof(line), "partition %.16s: %.256s",
			 text_member(filesystem, "partition"), text_member(filesystem, "state"));
	text_wrap(out, 4, line);
	json_array_foreach(json_object_get(filesystem, "data-dirs"), i, dir)
	{
		print_data_dir(out, dir);
	}
}

/* Prints the storages that belong to another datanode. */
static void print_refused(FILE *out, const json_t *refused)
{
	char line[TEXT_WIDTH * 12];
	json_t *storage;
	size_t i;

	json_array_foreach(refused, i, storage)
	{
		snprintf(line, sizeof(line),
			 "storage %.127s in %.128s is not served: %.300s; %.300s",
			 text_member(storage, "storage-id"), text_member(storage, "path"),
			 text_member(storage, "problem"), text_member(storage, "remedy"));
		text_wrap(out, 4, line);
	}
}

/* Prints the datanode's layout, and what of its configuration is not served. */
static void print_source(FILE *out, const json_t *datanode)
{
	const json_t *layout = json_object_get(datanode, "layout");
	const json_t *missing = json_object_get(datanode, "missing");
	const char *shortage = json_string_value(json_object_get(datanode, "shortage"));
	char line[TEXT_WIDTH * 8];

	if (json_is_string(layout)) {
		snprintf(line, sizeof(line), "layout %.256s", json_string_value(layout));
		text_wrap(out, 4, line);
	}
	if (json_is_string(missing))
		text_wrap(out, 4, json_string_value(missing));
	if (shortage) {
		snprintf(line, sizeof(line),
			 "WARNING: its images cannot be looked into, serving what was found "
			 "before: %.300s",
			 shortage);
		text_wrap(out, 4, line);
	}
	print_refused(out, json_object_get(datanode, "refused-storages"));
}

/* Prints how many events the datanode published.  Prints nothing if there were none. */
static void print_published(FILE *out, const json_t *published)
{
	static const char *const names[] = {"finalized", "append", "truncate", "delete"};
	char line[160] = "published:";
	size_t used = strlen(line);
	bool any = false;

	for (unsigned i = 0; i < 4; i++) {
		int64_t n = text_number(published, names[i]);

		any |= n != 0;
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s %" PRId64 ",",
					 names[i], n);
	}
	snprintf(line + used, sizeof(line) - used, " withdrawn now %" PRId64,
		 text_number(published, "withdrawn"));
	if (any)
		text_wrap(out, 4, line);
}

/* Prints whether block tokens are on, and what is wrong about them. */
static void print_tokens_state(FILE *out, const json_t *tokens)
{
	const char *problem = json_string_value(json_object_get(tokens, "problem"));
	char text[TOKENS_TEXT], line[512];

	if (tokens_text(tokens, text) != TOKENS_UNTOLD) {
		snprintf(line, sizeof(line), "block tokens: %s", text);
		text_wrap(out, 4, line);
	}
	if (json_is_true(json_object_get(tokens, "says-off")))
		text_wrap(out, 4,
			  "WARNING: the datanode says that block tokens are off; they were on and "
			  "stay on");
	if (problem) {
		snprintf(line, sizeof(line), "WARNING: %.450s", problem);
		text_wrap(out, 4, line);
	}
}

/* Prints how many tokens were valid and refused.  Prints nothing if no token was checked. */
static void print_tokens(FILE *out, const json_t *tokens)
{
	const json_t *count;
	char line[512];
	size_t used;
	const char *reason;

	print_tokens_state(out, tokens);
	used = (size_t)snprintf(line, sizeof(line), "block tokens: valid %" PRId64,
				text_number(tokens, "valid"));
	json_object_foreach((json_t *)json_object_get(tokens, "refused"), reason, count)
	{
		if (used < sizeof(line))
			used += (size_t)snprintf(line + used, sizeof(line) - used,
						 ", %s %" JSON_INTEGER_FORMAT, reason,
						 json_integer_value(count));
	}
	if (text_number(tokens, "valid") || json_object_size(json_object_get(tokens, "refused")))
		text_wrap(out, 4, line);
}

/* name and state: those of the datanode, or "" for all its images but the first. */
static void print_image(FILE *out, const char *name, const char *state, const json_t *image)
{
	char bytes[TEXT_SIZE] = "-", buf[TEXT_WIDTH];

	if (json_object_get(image, "size"))
		text_size(text_number(image, "size"), bytes);
	fprintf(out, "%-16s %-8.8s %9s  %s\n", name, state, bytes,
		text_tail(text_member(image, "image"), TEXT_WIDTH - 37, buf));
}

/* Prints the image's backing files, the nearest first. */
static void print_backing(FILE *out, const json_t *image)
{
	char line[TEXT_WIDTH * 8];
	json_t *file;
	size_t i;

	json_array_foreach(json_object_get(image, "backing"), i, file)
	{
		snprintf(line, sizeof(line), "backed by %.16s:%.500s", text_member(file, "format"),
			 text_member(file, "image"));
		text_wrap(out, 4, line);
	}
}

/* Prints how the image is read and why, if that is known. */
static void print_mode(FILE *out, const json_t *image)
{
	const char *warning = json_string_value(json_object_get(image, "warning"));
	char line[512];

	if (json_object_get(image, "because")) {
		snprintf(line, sizeof(line), "read %s: %.300s", text_member(image, "mode"),
			 text_member(image, "because"));
		text_wrap(out, 4, line);
	}
	if (warning) {
		snprintf(line, sizeof(line), "WARNING: %.400s", warning);
		text_wrap(out, 4, line);
	}
}

/* config: vreadd's own file.  The file that configures the datanode is printed if it is another. */
static void print_datanode(FILE *out, const json_t *datanode, const char *config)
{
	const char *file = json_string_value(json_object_get(datanode, "file"));
	const json_t *images = json_object_get(datanode, "images");
	const char *name = json_string_value(json_object_get(datanode, "datanode"));
	json_t *image, *filesystem;
	size_t i;

	json_array_foreach(images, i, image)
	{
		print_image(out, i ? "" : name ?: "-", i ? "" : text_member(datanode, "state"),
			    image);
		print_backing(out, image);
		print_mode(out, image);
	}
	if (file && strcmp(file, config)) {
		char line[TEXT_WIDTH * 8];

		snprintf(line, sizeof(line), "configured in %.500s", file);
		text_wrap(out, 4, line);
	}
	print_source(out, datanode);
	json_array_foreach(json_object_get(datanode, "filesystems"), i, filesystem)
	{
		print_filesystem(out, filesystem);
	}
	print_published(out, json_object_get(datanode, "published"));
	print_tokens(out, json_object_get(datanode, "tokens"));
}

/* Prints the keys in xenstore that do not count, or not all of whose disks are there. */
static void print_keys(FILE *out, const json_t *keys)
{
	json_t *entry;
	size_t i;

	json_array_foreach(keys, i, entry)
	{
		const char *status = text_member(entry, "status");
		char line[TEXT_WIDTH * 16];

		if (strncmp(status, "accepted", 8) == 0 && !strchr(status, ';'))
			continue;
		snprintf(line, sizeof(line), "%.128s: %.900s", text_member(entry, "path"), status);
		text_wrap(out, 4, line);
	}
}

/* What keeps the verified cache from being larger, by "limited_by". */
static const char *cache_limit(const json_t *cache)
{
	static const char *const words[][2] = {
		{"configuration", "as configured"},
		{"host", "as large as this host's memory allows"},
		{"service", "as large as MemoryMax of the service allows"},
		{"least", "its least: memory is short"},
		{"unknown", "its least: this host's memory is unknown"},
	};
	const char *by = json_string_value(json_object_get(cache, "limited_by"));

	for (unsigned i = 0; by && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(by, words[i][0]))
			return words[i][1];
	return NULL;
}

static void print_cache(FILE *out, const json_t *cache)
{
	char line[256], used[16], most[16], filled[16], again[16];
	const char *limit = cache_limit(cache);

	if (!text_number(cache, "used"))
		return;
	snprintf(line, sizeof(line),
		 "verified cache: %s of %s%s%s%s, %" PRId64 " of %" PRId64 " reads",
		 text_size(text_number(cache, "used"), used),
		 text_size(text_number(cache, "size"), most), limit ? " (" : "", limit ? limit : "",
		 limit ? ")" : "", text_number(cache, "hits"),
		 text_number(cache, "hits") + text_number(cache, "misses"));
	text_wrap(out, 4, line);
	if (!text_number(cache, "filled_again"))
		return;
	snprintf(line, sizeof(line),
		 "a cache of twice the size would have had %s of %s that were read from disks",
		 text_size(text_number(cache, "filled_again"), again),
		 text_size(text_number(cache, "filled"), filled));
	text_wrap(out, 4, line);
}

/* Prints the use of the verified cache, and a warning if disks are read slowly without io_uring. */
static void print_reading(FILE *out, const json_t *reading)
{
	const char *io_uring = json_string_value(json_object_get(reading, "io_uring"));
	char line[256];

	print_cache(out, json_object_get(reading, "cache"));
	if (io_uring && strcmp(io_uring, "ok")) {
		snprintf(line, sizeof(line),
			 "WARNING: no io_uring (%.100s): images in mode direct are not read ahead",
			 io_uring);
		text_wrap(out, 4, line);
	}
}

static void print_counters(FILE *out, const json_t *counters)
{
	char bytes[TEXT_SIZE];

	if (!counters) {
		fprintf(out, "%9s %9s %9s %7s\n", "-", "-", "-", "-");
		return;
	}
	fprintf(out, "%9" PRId64 " %9" PRId64 " %9s %7" PRId64 "\n", text_number(counters, "opens"),
		text_number(counters, "reads"), text_size(text_number(counters, "bytes"), bytes),
		text_sum_errors(counters));
}

/* Prints each error with its count.  Errors send clients back to the slow path. */
static void print_errors(FILE *out, const json_t *counters)
{
	const char *name;
	json_t *value;
	char line[256] = "";
	size_t used = 0;

	json_object_foreach(json_object_get(counters, "errors"), name, value)
	{
		if (used < sizeof(line))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %" PRId64,
						 used ? ", " : "", name,
						 (int64_t)json_integer_value(value));
	}
	if (used)
		text_wrap(out, 4, line);
}

static void print_device(FILE *out, const json_t *device)
{
	const char *error = json_string_value(json_object_get(device, "last_error"));
	const char *name = text_member(device, "name");
	char pool[16];

	if (strlen(name) > 11) {
		fprintf(out, "%s\n", name);
		name = "";
	}
	fprintf(out, "%-11s %-12.12s %-8.8s %8s ", name, text_member(device, "state"),
		text_member(device, "role"),
		text_size(text_number(device, "pool_pages") * 4096, pool));
	print_counters(out, json_object_get(device, "counters"));
	if (error)
		text_wrap(out, 4, error);
}

/* Prints the storages that the peer announces and does not have. */
static void print_conflicts(FILE *out, const json_t *conflicts)
{
	char line[TEXT_WIDTH * 4];
	json_t *conflict;
	size_t i;

	json_array_foreach(conflicts, i, conflict)
	{
		snprintf(line, sizeof(line),
			 "announces storage %.127s and is not asked for it: %.180s",
			 text_member(conflict, "storage"), text_member(conflict, "problem"));
		text_wrap(out, 4, line);
	}
}

static void print_peer(FILE *out, const json_t *peer)
{
	const json_t *asked = json_object_get(peer, "asked");
	const json_t *answered = json_object_get(peer, "answered");
	const char *error = json_string_value(json_object_get(peer, "last_error"));
	char there[16], here[16], direct[16], bounced[16], some[16];

	fprintf(out, "%-16s %-13s %-9s %8" PRId64 " %10s %10s %8" PRId64 "\n",
		text_member(peer, "name"), text_member(peer, "state"),
		text_member(peer, "transport"), text_number(peer, "storages"),
		text_size(text_number(asked, "bytes"), there),
		text_size(text_number(answered, "bytes"), here), text_number(peer, "failures"));
	if (text_number(peer, "direct") || text_number(peer, "bounced"))
		fprintf(out, "  by RDMA: %s direct, %s bounced\n",
			text_size(text_number(peer, "direct"), direct),
			text_size(text_number(peer, "bounced"), bounced));
	if (text_number(peer, "encrypted"))
		fprintf(out, "  by TLS, because readers asked for encryption: %s\n",
			text_size(text_number(peer, "encrypted"), some));
	if (text_number(peer, "plain"))
		fprintf(out, "  unencrypted: %s\n", text_size(text_number(peer, "plain"), some));
	if (error)
		text_wrap(out, 4, error);
	print_conflicts(out, json_object_get(peer, "conflicts"));
}

/* Prints nothing if there were none. */
static void print_strangers(FILE *out, const json_t *strangers)
{
	const json_t *ended = json_object_get(strangers, "ended");
	int64_t waiting = text_number(strangers, "waiting"),
		hung_up = text_number(ended, "hung_up"),
		displaced = text_number(ended, "displaced"), late = text_number(ended, "late"),
		failed = text_number(ended, "failed");
	char line[TEXT_WIDTH * 2];

	if (!waiting && !hung_up && !displaced && !late && !failed)
		return;
	snprintf(line, sizeof(line),
		 "%" PRId64 " waiting, %" PRId64 " hung up, %" PRId64 " displaced, %" PRId64
		 " late, %" PRId64 " failed",
		 waiting, hung_up, displaced, late, failed);
	fprintf(out, "not authenticated:\n");
	text_wrap(out, 4, line);
}

/* Prints nothing if no other hosts are configured. */
static void print_peers(FILE *out, const json_t *peers)
{
	const char *refused = json_string_value(
		json_object_get(json_object_get(peers, "server"), "last_refused"));
	json_t *peer;
	size_t i;

	if (!json_is_object(peers))
		return;
	fprintf(out, "\n%-16s %-13s %-9s %8s %10s %10s %8s\n", "PEER", "STATE", "TRANSPORT",
		"STORAGES", "READ THERE", "READ HERE", "FAILURES");
	json_array_foreach(json_object_get(peers, "peers"), i, peer)
	{
		print_peer(out, peer);
	}
	print_strangers(out, json_object_get(json_object_get(peers, "server"), "strangers"));
	if (refused) {
		fprintf(out, "refused last:\n");
		text_wrap(out, 4, refused);
	}
}

/* Prints the datanodes that look like clones of one cluster. */
static void print_clones(FILE *out, const json_t *clones)
{
	char text[CLONES_TEXT], line[TEXT_WIDTH * 12];
	json_t *entry;
	size_t i;

	json_array_foreach(clones, i, entry)
	{
		snprintf(line, sizeof(line), "WARNING: %.500s; %.300s", clones_text(entry, text),
			 text_member(entry, "remedy"));
		text_wrap(out, 0, line);
	}
}

void status_print(FILE *out, const json_t *status)
{
	const json_t *totals = json_object_get(status, "totals");
	json_t *entry;
	size_t i;

	print_header(out, status);
	print_ports(out, json_object_get(status, "ports"), json_object_get(status, "devices"));
	fprintf(out, "\n%-16s %-8s %9s  %s\n", "DATANODE", "STATE", "SIZE", "IMAGE");
	json_array_foreach(json_object_get(status, "datanodes"), i, entry)
	{
		print_datanode(out, entry, text_member(status, "config"));
	}
	print_keys(out, json_object_get(status, "keys"));
	print_clones(out, json_object_get(status, "clones"));
	print_reading(out, json_object_get(status, "reading"));
	print_peers(out, json_object_get(status, "peers"));
	fprintf(out, "\n%-11s %-12s %-8s %8s %9s %9s %9s %7s\n", "DEVICE", "STATE", "ROLE", "POOL",
		"OPENS", "READS", "BYTES", "ERRORS");
	json_array_foreach(json_object_get(status, "devices"), i, entry)
	{
		print_device(out, entry);
	}
	fprintf(out, "%-42s ", "since start");
	print_counters(out, totals);
	print_errors(out, totals);
}
