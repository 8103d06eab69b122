/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.c - see config.h.
 *
 * libinih splits lines; what a line means and whether it is right is decided
 * here.  Its line buffer is short and it cuts silently, so lines are read by a
 * reader of our own (which also counts them, sees sections that hold no key,
 * and turns what it has already reported into an empty line).  Keys are a
 * table: section, name, parser, where the value goes.
 */
#include "control/config.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "control/nearest.h"
#include "disk/image.h"
#include "layout/layout.h"
#include "policy/policy.h"
#include "vread-ring-user.h"

#define MAX_FILE_LINES 100000U
#define MAX_DATANODES 1024U
#define MAX_NAME 63U
#define DATANODE_PREFIX "datanode "

enum section { SECTION_NONE, SECTION_VREADD, SECTION_XEN, SECTION_LOCAL, SECTION_DATANODE };

static const char *const section_names[] = {"vreadd", "xen", "local", "datanode"};

struct key;

struct loader {
	struct config *config;
	const char *path;
	FILE *file;
	FILE *errors; /* memory stream */
	unsigned num_errors;
	unsigned line;
	enum section section;
	bool section_bad; /* reported; its keys are passed over */
	uint32_t seen;    /* bit per key of the table; a datanode's keys anew in each section */
};

/* Parses value into *field; NULL, or what was expected. */
typedef const char *parse_fn(const char *value, void *field, const struct key *k);

struct key {
	enum section section;
	const char *name;
	parse_fn *parse;
	size_t offset; /* in struct config, or in struct config_datanode */
	unsigned min, max;
	bool repeatable; /* parse() adds */
};

__attribute__((format(printf, 2, 3))) static void report(struct loader *l, const char *format, ...)
{
	va_list ap;

	fprintf(l->errors, "%s:%u: ", l->path, l->line);
	va_start(ap, format);
	vfprintf(l->errors, format, ap);
	va_end(ap);
	fputc('\n', l->errors);
	l->num_errors++;
}

/* ---- values ---------------------------------------------------------------- */

static const char *parse_limit(const char *value, void *field, const struct key *k)
{
	static char expected[64];

	if (parse_number(value, k->min, k->max, field))
		return NULL;
	snprintf(expected, sizeof(expected), "a number from %u to %u", k->min, k->max);
	return expected;
}

/* Bytes; with K, M or G behind the number 2^10, 2^20 or 2^30 of them.  min and max are MiB. */
static const char *parse_size(const char *value, void *field, const struct key *k)
{
	static const char units[] = "KMG";
	static char expected[96];
	size_t length = strlen(value);
	const char *unit = length > 1 ? strchr(units, value[length - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0, number;
	char digits[16];
	uint64_t bytes;

	snprintf(digits, sizeof(digits), "%.*s", (int)(length - (unit ? 1 : 0)), value);
	snprintf(expected, sizeof(expected), "bytes, or a number and K, M or G, from %uM to %uM",
		 k->min, k->max);
	if (length >= sizeof(digits) || !parse_number(digits, 0, UINT32_MAX, &number))
		return expected;
	bytes = (uint64_t)number << shift;
	if (bytes < (uint64_t)k->min << 20 || bytes > (uint64_t)k->max << 20)
		return expected;
	*(size_t *)field = (size_t)bytes;
	return NULL;
}

static const char *parse_mode(const char *value, void *field, const struct key *k)
{
	mode_t mode = 0;

	(void)k;
	if (strlen(value) != 4 || value[0] != '0')
		return "four octal digits, the first 0, for example 0600";
	for (const char *p = value; *p; p++) {
		if (*p < '0' || *p > '7')
			return "four octal digits, the first 0, for example 0600";
		mode = mode << 3 | (mode_t)(*p - '0');
	}
	*(mode_t *)field = mode;
	return NULL;
}

static const char *parse_log_level(const char *value, void *field, const struct key *k)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};

	(void)k;
	for (unsigned i = 0; i < 4; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum log_level *)field = (enum log_level)i;
			return NULL;
		}
	return "error, warn, info or debug";
}

static const char *parse_enabled(const char *value, void *field, const struct key *k)
{
	static const char *const names[] = {"no", "yes", "auto"};

	(void)k;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum config_enabled *)field = (enum config_enabled)i;
			return NULL;
		}
	return "yes, no or auto";
}

static const char *parse_image_mode(const char *value, void *field, const struct key *k)
{
	static const char *const names[] = {"auto", "buffered", "direct"};

	(void)k;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum source_mode *)field = (enum source_mode)i;
			return NULL;
		}
	return "auto, buffered or direct";
}

static const char *set_string(const char *value, void *field)
{
	char *copy = strdup(value);

	if (!copy)
		return "more memory";
	free(*(char **)field);
	*(char **)field = copy;
	return NULL;
}

static const char *parse_path(const char *value, void *field, const struct key *k)
{
	(void)k;
	if (value[0] != '/')
		return "a path that starts with /";
	return set_string(value, field);
}

static void free_paths(struct config_paths *paths)
{
	for (unsigned i = 0; i < paths->count; i++)
		free(paths->path[i]);
	free(paths->path);
	*paths = (struct config_paths){0};
}

/* Takes over path. */
static const char *add_path(struct config_paths *paths, char *path)
{
	size_t length = path ? strlen(path) : 0;
	const char *error = NULL;

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	if (!path)
		error = "more memory";
	else if (!layout_path_valid(path))
		error = "paths inside the image that start with / and go through no \"..\"";
	for (unsigned i = 0; !error && i < paths->count; i++)
		if (!strcmp(paths->path[i], path))
			error = "each path once";
	if (error)
		free(path);
	else
		paths->path[paths->count++] = path;
	return error;
}

/* One more image. */
static const char *parse_image(const char *value, void *field, const struct key *k)
{
	struct config_paths *images = field;
	static char expected[160];
	const char *path;
	char **grown;

	if (!image_spec_split(value, &path) || path[0] != '/') {
		snprintf(expected, sizeof(expected),
			 "a path that starts with /, or one of the formats %s, a colon and a path",
			 image_format_names());
		return expected;
	}
	if (images->count == k->max)
		return "fewer images";
	for (unsigned i = 0; i < images->count; i++)
		if (!strcmp(images->path[i], value))
			return "each image once";
	grown = reallocarray(images->path, images->count + 1, sizeof(*grown));
	if (!grown)
		return "more memory";
	images->path = grown;
	images->path[images->count] = strdup(value);
	if (!images->path[images->count])
		return "more memory";
	images->count++;
	return NULL;
}

static const char *parse_data_dirs(const char *value, void *field, const struct key *k)
{
	struct config_paths paths = {calloc(k->max, sizeof(*paths.path)), 0};
	const char *error = paths.path ? NULL : "more memory";

	while (!error && *(value += strspn(value, " \t"))) {
		size_t length = strcspn(value, " \t");

		if (paths.count == k->max)
			error = "fewer paths";
		else
			error = add_path(&paths, strndup(value, length));
		value += length;
	}
	if (!error && paths.count == 0)
		error = "at least one path inside the image, for example /dfs/data";
	if (error)
		free_paths(&paths);
	else
		*(struct config_paths *)field = paths;
	return error;
}

/* Fits sockaddr_un; empty: no socket. */
static const char *parse_socket(const char *value, void *field, const struct key *k)
{
	(void)k;
	if (*value && (value[0] != '/' || strlen(value) > 107))
		return "a path that starts with / of at most 107 bytes, or nothing";
	return set_string(value, field);
}

static const char *parse_names(const char *value, void *field, const struct key *k)
{
	const char *error;
	struct policy *p = policy_new(POLICY_CLIENT, value, NULL, &error);

	(void)k;
	if (!p)
		return error;
	policy_free(p);
	return set_string(value, field);
}

#define IN_CONFIG(member) offsetof(struct config, member)
#define IN_DATANODE(member) offsetof(struct config_datanode, member)

static const struct key keys[] = {
	{SECTION_VREADD, "log-level", parse_log_level, IN_CONFIG(log_level), 0, 0, false},
	{SECTION_VREADD, "control-socket", parse_socket, IN_CONFIG(control_socket), 0, 0, false},
	{SECTION_VREADD, "read-ahead", parse_size, IN_CONFIG(read_ahead), 0, 64, false},
	{SECTION_VREADD, "cache", parse_size, IN_CONFIG(cache), 0, 1U << 20, false},
	{SECTION_XEN, "enabled", parse_enabled, IN_CONFIG(xen.enabled), 0, 0, false},
	{SECTION_XEN, "max-queues", parse_limit, IN_CONFIG(xen.max_queues), 1, VREAD_MAX_QUEUES,
	 false},
	{SECTION_XEN, "max-ring-page-order", parse_limit, IN_CONFIG(xen.max_ring_page_order), 0,
	 VREAD_MAX_RING_PAGE_ORDER, false},
	{SECTION_XEN, "max-pool-pages", parse_limit, IN_CONFIG(xen.max_pool_pages),
	 VREAD_MIN_POOL_PAGES, VREAD_MAX_POOL_PAGES, false},
	{SECTION_LOCAL, "socket", parse_socket, IN_CONFIG(local.socket), 0, 0, false},
	{SECTION_LOCAL, "allow-datanodes", parse_names, IN_CONFIG(local.allow_datanodes), 0, 0,
	 false},
	{SECTION_LOCAL, "allow-pools", parse_names, IN_CONFIG(local.allow_pools), 0, 0, false},
	{SECTION_LOCAL, "publish-datanodes", parse_names, IN_CONFIG(local.publish_datanodes), 0, 0,
	 false},
	{SECTION_LOCAL, "mode", parse_mode, IN_CONFIG(local.mode), 0, 0, false},
	{SECTION_LOCAL, "max-connections", parse_limit, IN_CONFIG(local.max_connections), 1, 4096,
	 false},
	{SECTION_LOCAL, "max-pool-pages", parse_limit, IN_CONFIG(local.max_pool_pages),
	 VREAD_MIN_POOL_PAGES, VREAD_MAX_POOL_PAGES, false},
	{SECTION_LOCAL, "max-total-pool-pages", parse_limit, IN_CONFIG(local.max_total_pool_pages),
	 VREAD_MIN_POOL_PAGES, 1U << 28, false},
	{SECTION_DATANODE, "image", parse_image, IN_DATANODE(images), 0, LAYOUT_MAX_IMAGES, true},
	{SECTION_DATANODE, "image-mode", parse_image_mode, IN_DATANODE(image_mode), 0, 0, false},
	{SECTION_DATANODE, "data-dirs", parse_data_dirs, IN_DATANODE(data_dirs), 0,
	 LAYOUT_MAX_DATA_DIRS, false},
	{SECTION_DATANODE, "layout", parse_path, IN_DATANODE(layout), 0, 0, false},
};
#define NUM_KEYS (sizeof(keys) / sizeof(keys[0]))

/* ---- sections ---------------------------------------------------------------- */

static struct config_datanode *last_datanode(struct loader *l)
{
	return &l->config->datanodes[l->config->num_datanodes - 1];
}

/* Rightly or not: that was reported then. */
static bool was_set(const struct loader *l, const char *name)
{
	for (unsigned i = 0; i < NUM_KEYS; i++)
		if (keys[i].section == l->section && !strcmp(keys[i].name, name))
			return l->seen & 1U << i;
	return false;
}

/* Called where a section ends: what a datanode lacks is known only then. */
static void end_section(struct loader *l)
{
	struct config_datanode *d;
	unsigned line = l->line;

	if (l->section != SECTION_DATANODE || l->section_bad)
		return;
	d = last_datanode(l);
	l->line = d->line;
	if (!was_set(l, "image"))
		report(l, "[datanode %s]: no image: expected a line image = /path/to/disk.img",
		       d->name);
	if (!was_set(l, "layout") && !was_set(l, "data-dirs"))
		report(l,
		       "[datanode %s]: no data-dirs: expected a line data-dirs = /dfs/data "
		       "(directories inside the image) or layout = FILE (of vread-provision)",
		       d->name);
	if (was_set(l, "layout") && was_set(l, "data-dirs"))
		report(l,
		       "[datanode %s]: both data-dirs and layout: expected one of them; a layout "
		       "names the directories itself",
		       d->name);
	l->line = line;
}

static bool datanode_name_valid(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._-");

	return length > 0 && length <= MAX_NAME && !name[length] && name[0] != '.';
}

static void begin_datanode(struct loader *l, const char *name)
{
	struct config *c = l->config;
	struct config_datanode *grown;

	l->section = SECTION_DATANODE;
	l->section_bad = true;
	for (unsigned i = 0; i < NUM_KEYS; i++)
		if (keys[i].section == SECTION_DATANODE)
			l->seen &= ~(1U << i);
	if (!datanode_name_valid(name)) {
		report(l,
		       "[datanode %s]: expected a name of 1 to %u letters, digits, '.', '_', '-'",
		       name, MAX_NAME);
		return;
	}
	for (size_t i = 0; i < c->num_datanodes; i++)
		if (strcmp(c->datanodes[i].name, name) == 0) {
			report(l, "[datanode %s]: expected each name once, it is at line %u too",
			       name, c->datanodes[i].line);
			return;
		}
	if (c->num_datanodes == MAX_DATANODES) {
		report(l, "[datanode %s]: expected at most %u datanodes", name, MAX_DATANODES);
		return;
	}
	grown = reallocarray(c->datanodes, c->num_datanodes + 1, sizeof(*grown));
	if (grown)
		c->datanodes = grown;
	if (grown)
		grown[c->num_datanodes] = (struct config_datanode){.name = strdup(name)};
	if (!grown || !grown[c->num_datanodes].name) {
		report(l, "[datanode %s]: out of memory", name);
		return;
	}
	grown[c->num_datanodes].line = l->line;
	c->num_datanodes++;
	l->section_bad = false;
}

static void begin_section(struct loader *l, const char *name)
{
	const char *near;

	end_section(l);
	l->section_bad = false;
	if (strncmp(name, DATANODE_PREFIX, strlen(DATANODE_PREFIX)) == 0) {
		begin_datanode(l, name + strlen(DATANODE_PREFIX));
		return;
	}
	l->section = SECTION_NONE;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(name, section_names[i]) == 0)
			l->section = SECTION_VREADD + i;
	if (l->section != SECTION_NONE)
		return;
	l->section_bad = true;
	near = nearest_word(name, section_names, 4);
	report(l,
	       "[%s]: unknown section: expected [vreadd], [xen], [local] or [datanode NAME]%s%s%s",
	       name, near ? "; did you mean [" : "",
	       near && strcmp(near, "datanode") == 0 ? "datanode NAME"
	       : near                                ? near
						     : "",
	       near ? "]?" : "");
}

/* ---- lines ------------------------------------------------------------------- */

static void see_section_line(struct loader *l, char *line)
{
	char *end = strchr(line, ']');

	if (!end) {
		report(l, "%s: expected ']' after the section's name", line);
		l->section_bad = true;
		return;
	}
	*end = '\0';
	begin_section(l, line + 1);
}

/*
 * fgets() for inih.  num is inih's limit; a longer line is reported and
 * replaced.  Leading spaces go, so that no line is taken for a continuation.
 */
static char *read_line(char *str, int num, void *stream)
{
	struct loader *l = stream;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length = getline(&line, &capacity, l->file);
	char *text = line;

	if (length < 0 || l->line >= MAX_FILE_LINES) {
		free(line);
		return NULL;
	}
	l->line++;
	while (length > 0 && strchr(" \t\r\n", line[length - 1]) && line[length - 1])
		line[--length] = '\0';
	text += strspn(line, " \t");
	if (strlen(line) != (size_t)length) {
		report(l, "the line holds a NUL byte: expected text");
		*text = '\0';
	} else if (strlen(text) > (size_t)num - 3) {
		report(l, "the line has %zu bytes: expected at most %d", strlen(text), num - 3);
		if (*text == '[')
			l->section_bad = true;
		*text = '\0';
	} else if (*text && !strchr("[;#", *text) && !strpbrk(text, "=:")) {
		report(l, "%s: expected \"key = value\", \"[section]\" or \"# comment\"", text);
		*text = '\0';
	}
	snprintf(str, (size_t)num, "%s\n", text);
	if (*text == '[')
		see_section_line(l, text);
	free(line);
	return str;
}

static void unknown_key(struct loader *l, const char *name, const char *value)
{
	const char *known[NUM_KEYS], *near;
	char list[256] = "";
	size_t count = 0, used = 0;

	for (unsigned i = 0; i < NUM_KEYS; i++)
		if (keys[i].section == l->section)
			known[count++] = keys[i].name;
	near = nearest_word(name, known, count);
	for (unsigned i = 0; i < count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 known[i]);
	report(l, "%s: %s: unknown key: expected one of %s%s%s%s", name, value, list,
	       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Never returns 0: mistakes are collected in the loader. */
static int see_key(void *user, const char *section, const char *name, const char *value)
{
	struct loader *l = user;
	const char *expected;
	char *base;

	(void)section;
	if (l->section_bad)
		return 1;
	if (l->section == SECTION_NONE) {
		report(l, "%s: %s: expected a section like [vreadd] first", name, value);
		return 1;
	}
	for (unsigned i = 0; i < NUM_KEYS; i++) {
		const struct key *k = &keys[i];

		if (k->section != l->section || strcmp(k->name, name) != 0)
			continue;
		if (l->seen & 1U << i && !k->repeatable) {
			report(l, "%s: %s: expected once, it is set above already", name, value);
			return 1;
		}
		l->seen |= 1U << i;
		base = l->section == SECTION_DATANODE ? (char *)last_datanode(l)
						      : (char *)l->config;
		expected = k->parse(value, base + k->offset, k);
		if (expected)
			report(l, "%s: %s: expected %s", name, value, expected);
		return 1;
	}
	unknown_key(l, name, value);
	return 1;
}

/* ---- the whole ----------------------------------------------------------------- */

static struct config *config_default(void)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->log_level = LOG_LEVEL_INFO;
	c->control_socket = strdup("/run/vread/control.sock");
	c->read_ahead = 8U << 20;
	c->cache = 64U << 20;
	c->xen.enabled = CONFIG_AUTO;
	c->xen.max_queues = VREAD_MAX_QUEUES;
	c->xen.max_ring_page_order = VREAD_MAX_RING_PAGE_ORDER;
	c->xen.max_pool_pages = VREAD_MAX_POOL_PAGES;
	c->local.socket = strdup("");
	c->local.allow_datanodes = strdup("");
	c->local.allow_pools = strdup("*");
	c->local.publish_datanodes = strdup("");
	c->local.mode = 0600;
	c->local.max_connections = 64;
	c->local.max_pool_pages = VREAD_MAX_POOL_PAGES;
	c->local.max_total_pool_pages = 8 * VREAD_MAX_POOL_PAGES;
	if (c->control_socket && c->local.socket && c->local.allow_datanodes &&
	    c->local.allow_pools && c->local.publish_datanodes)
		return c;
	config_free(c);
	return NULL;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	free(c->control_socket);
	free(c->local.socket);
	free(c->local.allow_datanodes);
	free(c->local.allow_pools);
	free(c->local.publish_datanodes);
	for (size_t i = 0; i < c->num_datanodes; i++) {
		free(c->datanodes[i].name);
		free_paths(&c->datanodes[i].images);
		free(c->datanodes[i].layout);
		free_paths(&c->datanodes[i].data_dirs);
	}
	free(c->datanodes);
	free(c);
}

static int parse(struct loader *l)
{
	if (ini_parse_stream(read_line, l, see_key, l) < 0 || ferror(l->file)) {
		report(l, "cannot read on: %s", strerror(errno));
		return -EIO;
	}
	end_section(l);
	return l->num_errors ? -EINVAL : 0;
}

int config_load(const char *path, struct config **ret, char **ret_errors)
{
	struct loader l = {.path = path, .config = config_default()};
	char *errors = NULL;
	size_t size;
	int r = -ENOMEM;

	l.errors = open_memstream(&errors, &size);
	if (!l.errors || !l.config)
		goto out;
	l.file = fopen(path, "re");
	if (l.file) {
		r = parse(&l);
	} else {
		r = -errno;
		fprintf(l.errors, "%s: %s: expected a readable file, see vread.conf(5)\n", path,
			strerror(-r));
	}
out:
	if (l.file)
		fclose(l.file);
	if (l.errors)
		fclose(l.errors);
	if (r) {
		config_free(l.config);
		*ret_errors = errors;
		return r;
	}
	free(errors);
	*ret = l.config;
	return 0;
}
