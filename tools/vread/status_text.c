/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of ports, datanodes and devices; see status_text.h. */
#include "status_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "-";
}

static int64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* "517", "4.0 MiB": at most 9 characters. */
static const char *size(int64_t bytes, char buf[16])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1024 && unit < 5) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, 16, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

/* Cuts the front of a long path: its end tells more. */
static const char *tail(const char *s, size_t room, char *buf)
{
	size_t length = strlen(s);

	if (length <= room)
		return s;
	memcpy(buf, "...", 3);
	strcpy(buf + 3, s + length - (room - 3));
	return buf;
}

/* An indented text, broken at blanks where it has some. */
static void print_wrapped(FILE *out, const char *s)
{
	const size_t room = WIDTH - 4;

	while (*s) {
		size_t n = strlen(s);

		if (n > room) {
			n = room;
			while (n && s[n] != ' ')
				n--;
			if (!n)
				n = room;
		}
		fprintf(out, "    %.*s\n", (int)n, s);
		s += n + strspn(s + n, " ");
	}
}

static void print_header(FILE *out, const json_t *status)
{
	int64_t up = number(status, "uptime_seconds");

	fprintf(out, "vreadd %s, pid %" PRId64 ", up %" PRId64 "d %02d:%02d:%02d\n",
		text(status, "version"), number(status, "pid"), up / 86400, (int)(up / 3600 % 24),
		(int)(up / 60 % 60), (int)(up % 60));
	fprintf(out, "configuration: %s\n", text(status, "config"));
}

static void print_ports(FILE *out, const json_t *ports)
{
	const char *name;
	json_t *port;
	char buf[WIDTH];

	fprintf(out, "\n%-6s %-12s %s\n", "PORT", "STATE", "SOCKET");
	json_object_foreach((json_t *)ports, name, port)
	{
		const char *error = json_string_value(json_object_get(port, "last_error"));

		fprintf(out, "%-6s %-12s %s\n", name, text(port, "state"),
			tail(text(port, "socket"), WIDTH - 20, buf));
		if (error)
			print_wrapped(out, error);
	}
}

static void print_data_dir(FILE *out, const json_t *dir)
{
	const json_t *pools = json_object_get(dir, "pools"), *pool;
	char line[512];
	size_t i;

	snprintf(line, sizeof(line), "  %.300s: storage %.128s%s", text(dir, "path"),
		 text(dir, "storage-id"), json_array_size(pools) ? ", pools:" : ", no pool yet");
	print_wrapped(out, line);
	json_array_foreach(pools, i, pool)
	{
		snprintf(line, sizeof(line), "    %.256s", json_string_value(pool) ?: "-");
		print_wrapped(out, line);
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
			 text(filesystem, "state"));
	else
		snprintf(line, sizeof(line), "partition %.16s: %.256s",
			 text(filesystem, "partition"), text(filesystem, "state"));
	print_wrapped(out, line);
	json_array_foreach(json_object_get(filesystem, "data-dirs"), i, dir)
	{
		print_data_dir(out, dir);
	}
}

/* How it is configured, and what of that is not served. */
static void print_source(FILE *out, const json_t *datanode)
{
	const json_t *layout = json_object_get(datanode, "layout");
	const json_t *missing = json_object_get(datanode, "missing");
	char line[WIDTH * 8];

	if (json_is_string(layout)) {
		snprintf(line, sizeof(line), "layout %.256s", json_string_value(layout));
		print_wrapped(out, line);
	}
	if (json_is_string(missing))
		print_wrapped(out, json_string_value(missing));
}

/* What the datanode said of its blocks; nothing if it never said anything. */
static void print_published(FILE *out, const json_t *published)
{
	static const char *const names[] = {"finalized", "append", "truncate", "delete"};
	char line[160] = "published:";
	size_t used = strlen(line);
	bool any = false;

	for (unsigned i = 0; i < 4; i++) {
		int64_t n = number(published, names[i]);

		any |= n != 0;
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s %" PRId64 ",",
					 names[i], n);
	}
	snprintf(line + used, sizeof(line) - used, " withdrawn now %" PRId64,
		 number(published, "withdrawn"));
	if (any)
		print_wrapped(out, line);
}

/* A datanode's name and state stand before its first image. */
static void print_image(FILE *out, const char *name, const char *state, const json_t *image)
{
	char bytes[16] = "-", buf[WIDTH];

	if (json_object_get(image, "size"))
		size(number(image, "size"), bytes);
	fprintf(out, "%-16s %-8.8s %9s  %s\n", name, state, bytes,
		tail(text(image, "image"), WIDTH - 37, buf));
}

/* The files below it, the nearest first. */
static void print_backing(FILE *out, const json_t *image)
{
	char line[WIDTH * 8];
	json_t *file;
	size_t i;

	json_array_foreach(json_object_get(image, "backing"), i, file)
	{
		snprintf(line, sizeof(line), "backed by %.16s:%.500s", text(file, "format"),
			 text(file, "image"));
		print_wrapped(out, line);
	}
}

/* How it is read and why, where that is known. */
static void print_mode(FILE *out, const json_t *image)
{
	const char *warning = json_string_value(json_object_get(image, "warning"));
	char line[512];

	if (json_object_get(image, "because")) {
		snprintf(line, sizeof(line), "read %s: %.300s", text(image, "mode"),
			 text(image, "because"));
		print_wrapped(out, line);
	}
	if (warning) {
		snprintf(line, sizeof(line), "WARNING: %.400s", warning);
		print_wrapped(out, line);
	}
}

static void print_datanode(FILE *out, const json_t *datanode)
{
	const json_t *refused = json_object_get(datanode, "error");
	const json_t *images = json_object_get(datanode, "images");
	const char *name = json_string_value(json_object_get(datanode, "datanode"));
	const char *state = refused ? "refused" : "served";
	json_t *image, *filesystem;
	size_t i;

	if (json_is_string(json_object_get(datanode, "state")))
		state = text(datanode, "state");
	json_array_foreach(images, i, image)
	{
		print_image(out, i ? "" : name ?: "-", i ? "" : state, image);
		print_backing(out, image);
		print_mode(out, image);
	}
	if (refused)
		print_wrapped(out, json_string_value(refused) ?: "-");
	print_source(out, datanode);
	json_array_foreach(json_object_get(datanode, "filesystems"), i, filesystem)
	{
		print_filesystem(out, filesystem);
	}
	print_published(out, json_object_get(datanode, "published"));
}

/* What keeps disks from being read as fast as they could; nothing if nothing does. */
static void print_reading(FILE *out, const json_t *reading)
{
	const char *io_uring = json_string_value(json_object_get(reading, "io_uring"));
	const json_t *cache = json_object_get(reading, "cache");
	char line[256], used[16], most[16];

	if (number(cache, "used")) {
		snprintf(line, sizeof(line),
			 "verified cache: %s of %s, %" PRId64 " of %" PRId64 " reads",
			 size(number(cache, "used"), used), size(number(cache, "size"), most),
			 number(cache, "hits"), number(cache, "hits") + number(cache, "misses"));
		print_wrapped(out, line);
	}
	if (io_uring && strcmp(io_uring, "ok")) {
		snprintf(line, sizeof(line),
			 "WARNING: no io_uring (%.100s): images in mode direct are not read ahead",
			 io_uring);
		print_wrapped(out, line);
	}
}

static int64_t sum_errors(const json_t *counters)
{
	const char *name;
	json_t *value;
	int64_t sum = 0;

	json_object_foreach(json_object_get(counters, "errors"), name, value)
	{
		sum += json_integer_value(value);
	}
	return sum;
}

static void print_counters(FILE *out, const json_t *counters)
{
	char bytes[16];

	if (!counters) {
		fprintf(out, "%9s %9s %10s %7s\n", "-", "-", "-", "-");
		return;
	}
	fprintf(out, "%9" PRId64 " %9" PRId64 " %10s %7" PRId64 "\n", number(counters, "opens"),
		number(counters, "reads"), size(number(counters, "bytes"), bytes),
		sum_errors(counters));
}

/* Which errors, and how often: what sends clients back to the slow path. */
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
		print_wrapped(out, line);
}

static void print_device(FILE *out, const json_t *device)
{
	const char *error = json_string_value(json_object_get(device, "last_error"));
	char pool[16];

	fprintf(out, "%-11s %-9.9s %-8.8s %8s ", text(device, "name"), text(device, "state"),
		text(device, "role"), size(number(device, "pool_pages") * 4096, pool));
	print_counters(out, json_object_get(device, "counters"));
	if (error)
		print_wrapped(out, error);
}

void status_print(FILE *out, const json_t *status)
{
	const json_t *totals = json_object_get(status, "totals");
	json_t *entry;
	size_t i;

	print_header(out, status);
	print_ports(out, json_object_get(status, "ports"));
	fprintf(out, "\n%-16s %-8s %9s  %s\n", "DATANODE", "STATE", "SIZE", "IMAGE");
	json_array_foreach(json_object_get(status, "datanodes"), i, entry)
	{
		print_datanode(out, entry);
	}
	print_reading(out, json_object_get(status, "reading"));
	fprintf(out, "\n%-11s %-9s %-8s %8s %9s %9s %10s %7s\n", "DEVICE", "STATE", "ROLE", "POOL",
		"OPENS", "READS", "BYTES", "ERRORS");
	json_array_foreach(json_object_get(status, "devices"), i, entry)
	{
		print_device(out, entry);
	}
	fprintf(out, "%-39s ", "since start");
	print_counters(out, totals);
	print_errors(out, totals);
}
