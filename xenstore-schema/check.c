/* SPDX-License-Identifier: MIT */
/*
 * The validator: walks the generated table over one device's two directories.
 *
 * Three questions are asked of each directory: is every node there that its
 * state calls for, does every value fit its type and the other end's limits,
 * and is anything there that no one knows?  A last one is asked of the backend
 * directory alone: can the guest write what it must not?
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "vread-nodes.h"

#define MAX_INDEX 16U /* queues, and pages of a ring, are fewer in every version */
#define PATH_SIZE 512

enum { INITIALISING = 1, INIT_WAIT = 2, INITIALISED = 3, CONNECTED = 4, LAST_STATE = 8 };

struct check {
	const struct vread_schema_tree *tree;
	char dir[2][PATH_SIZE]; /* [in_backend] */
	unsigned state[2];
	unsigned problems;
};

static void __attribute__((format(printf, 3, 4)))
problem(struct check *c, const char *path, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	c->tree->problem(c->tree->ctx, path, text);
	c->problems++;
}

static char *read_node(const struct check *c, bool in_backend, const char *node)
{
	char path[2 * PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", c->dir[in_backend], node);
	return c->tree->read(c->tree->ctx, path);
}

/* Decimal digits without sign, space or leading zero, at most 32 bits. */
static bool parse_uint(const char *text, unsigned *ret)
{
	uint64_t value = 0;
	size_t length = strlen(text);

	if (length < 1 || length > 10 || (text[0] == '0' && length > 1))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value > UINT32_MAX)
		return false;
	*ret = (unsigned)value;
	return true;
}

static bool read_uint(const struct check *c, bool in_backend, const char *node, unsigned *ret)
{
	char *text = read_node(c, in_backend, node);
	bool ok = text && parse_uint(text, ret);

	free(text);
	return ok;
}

/* Tokens joined by exactly one separator; no other white space. */
static bool well_separated(const char *text, char separator)
{
	char previous = separator;

	for (; *text; previous = *text++)
		if (*text == separator ? previous == separator
				       : !isgraph((unsigned char)*text) && *text != separator)
			return false;
	return previous != separator;
}

static bool list_has(const char *list, char separator, const char *item)
{
	size_t length = strlen(item);

	for (const char *p = list; p; p = strchr(p, separator)) {
		p += *p == separator;
		if (!strncmp(p, item, length) && (p[length] == separator || !p[length]))
			return true;
	}
	return false;
}

static const char *backend_default(const char *node)
{
	for (unsigned i = 0; i < vread_node_specs_count; i++)
		if (vread_node_specs[i].in_backend && !strcmp(vread_node_specs[i].node, node))
			return vread_node_specs[i].default_value;
	return NULL;
}

/* The node of the other end that bounds this one; absent, its default does. */
static void check_limits(struct check *c, const struct vread_node_spec *s, const char *path,
			 const char *text, unsigned value)
{
	const char *other = s->at_most ? s->at_most : s->one_of ? s->one_of : s->equals;
	char *node = other ? read_node(c, true, other) : NULL;
	const char *limit = node ? node : other ? backend_default(other) : NULL;
	unsigned most;

	if (s->at_most && limit && parse_uint(limit, &most) && value > most)
		problem(c, path, "%u is above the backend's %s, %u", value, other, most);
	if (s->one_of && limit && !list_has(limit, ',', text))
		problem(c, path, "\"%s\" is not among the backend's %s, \"%s\"", text, other,
			limit);
	if (s->equals && limit && strcmp(limit, text))
		problem(c, path, "\"%s\" differs from the backend's %s, \"%s\"", text, other,
			limit);
	free(node);
}

static void check_value(struct check *c, const struct vread_node_spec *s, const char *path,
			const char *text)
{
	unsigned before = c->problems;
	unsigned value = 0;

	switch (s->type) {
	case VREAD_TYPE_UINT:
		if (!parse_uint(text, &value) || value < s->min || value > s->max)
			problem(c, path, "\"%s\" is not a number from %u to %u", text, s->min,
				s->max);
		break;
	case VREAD_TYPE_STATE:
		if (!parse_uint(text, &value) || value < INITIALISING || value > LAST_STATE)
			problem(c, path, "\"%s\" is not a xenbus state from 1 to 8", text);
		break;
	case VREAD_TYPE_ENUM:
		for (unsigned i = 0; s->values[i]; i++)
			if (!strcmp(s->values[i], text))
				goto fits;
		problem(c, path, "\"%s\" is neither \"%s\" nor \"%s\"", text, s->values[0],
			s->values[1]);
		break;
	case VREAD_TYPE_PATH:
		if (text[0] != '/' || text[strlen(text) - 1] == '/')
			problem(c, path, "\"%s\" is not an absolute path", text);
		break;
	case VREAD_TYPE_NAMES:
		if (*text && !well_separated(text, ' '))
			problem(c, path, "\"%s\" is not a list of names separated by one space",
				text);
		break;
	case VREAD_TYPE_VERSIONS:
		if (!well_separated(text, ','))
			problem(c, path, "\"%s\" is not a list of versions separated by commas",
				text);
		break;
	}
fits:
	if (c->problems == before)
		check_limits(c, s, path, text, value);
}

static bool is_required(const struct check *c, const struct vread_node_spec *s)
{
	unsigned state = c->state[s->in_backend];

	switch (s->required) {
	case VREAD_REQUIRED_ALWAYS:
		return true;
	case VREAD_REQUIRED_INITWAIT:
		return state >= INIT_WAIT && state <= CONNECTED;
	case VREAD_REQUIRED_INITIALISED:
		return state == INITIALISED || state == CONNECTED;
	case VREAD_REQUIRED_NEVER:
		break;
	}
	return false;
}

static void check_node(struct check *c, const struct vread_node_spec *s, const char *node)
{
	char path[2 * PATH_SIZE];
	char *text;

	snprintf(path, sizeof(path), "%s/%s", c->dir[s->in_backend], node);
	text = c->tree->read(c->tree->ctx, path);
	if (text)
		check_value(c, s, path, text);
	else if (is_required(c, s))
		problem(c, path, "is missing in state %u", c->state[s->in_backend]);
	free(text);
}

static unsigned indexes(const struct check *c, const char *node, bool pages)
{
	unsigned value = 0;

	if (!read_uint(c, false, node, &value))
		return 0;
	if (pages)
		return value > 4 ? MAX_INDEX : 1U << value;
	return value > MAX_INDEX ? MAX_INDEX : value;
}

/* Expands <n> over the queues and <m> over a ring's pages. */
static void check_spec(struct check *c, const struct vread_node_spec *s)
{
	unsigned queues = indexes(c, VREAD_NODE_NUM_QUEUES, false);
	unsigned pages = indexes(c, VREAD_NODE_RING_PAGE_ORDER, true);
	char node[64];

	if (!strstr(s->node, "<n>")) {
		check_node(c, s, s->node);
		return;
	}
	for (unsigned n = 0; n < queues; n++) {
		bool paged = strstr(s->node, "<m>");

		for (unsigned m = 0; m < (paged ? pages : 1); m++) {
			if (paged)
				snprintf(node, sizeof(node), VREAD_NODE_RING_REF, n, m);
			else
				snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, n);
			check_node(c, s, node);
		}
	}
}

/* Does a name, as found, match a pattern such as "queue-<n>"? */
static bool matches(const char *pattern, size_t length, const char *name)
{
	while (length) {
		if (*pattern == '<') {
			unsigned index;
			size_t digits = strspn(name, "0123456789");
			char number[8];

			if (!digits || digits >= sizeof(number))
				return false;
			memcpy(number, name, digits);
			number[digits] = '\0';
			if (!parse_uint(number, &index) || index >= MAX_INDEX)
				return false;
			name += digits;
			pattern += 3;
			length -= 3;
		} else if (*pattern++ != *name++) {
			return false;
		} else {
			length--;
		}
	}
	return !*name;
}

static bool is_known(bool in_backend, const char *parent, const char *name)
{
	for (unsigned i = 0; i < vread_node_specs_count; i++) {
		const struct vread_node_spec *s = &vread_node_specs[i];
		const char *slash = strchr(s->node, '/');
		size_t first = slash ? (size_t)(slash - s->node) : strlen(s->node);

		if (s->in_backend != in_backend)
			continue;
		if (!parent && matches(s->node, first, name))
			return true;
		if (parent && slash && matches(s->node, first, parent) &&
		    matches(slash + 1, strlen(slash + 1), name))
			return true;
	}
	return false;
}

static void check_unknown(struct check *c, bool in_backend, const char *parent)
{
	char path[2 * PATH_SIZE];
	unsigned count = 0;
	char **names;

	snprintf(path, sizeof(path), "%s%s%s", c->dir[in_backend], parent ? "/" : "",
		 parent ? parent : "");
	names = c->tree->list(c->tree->ctx, path, &count);
	for (unsigned i = 0; names && i < count; i++) {
		if (!is_known(in_backend, parent, names[i])) {
			size_t length = strlen(path);

			snprintf(path + length, sizeof(path) - length, "/%s", names[i]);
			problem(c, path, "is not a node of protocol version 1");
			path[length] = '\0';
		} else if (!parent && !in_backend && !strncmp(names[i], "queue-", 6)) {
			check_unknown(c, in_backend, names[i]);
		}
	}
	free(names);
}

static void check_permissions(struct check *c, unsigned frontend_domid)
{
	for (unsigned i = 0; i < vread_node_specs_count; i++) {
		const struct vread_node_spec *s = &vread_node_specs[i];
		char path[2 * PATH_SIZE];
		char *text;

		if (!s->in_backend)
			continue;
		snprintf(path, sizeof(path), "%s/%s", c->dir[true], s->node);
		text = c->tree->read(c->tree->ctx, path);
		if (text && c->tree->writable_by(c->tree->ctx, path, frontend_domid) > 0)
			problem(c, path, "can be written by domain %u, whose device it governs",
				frontend_domid);
		free(text);
	}
}

/* The frontend directory as the backend directory names it, and back again. */
static bool find_frontend(struct check *c)
{
	char *frontend = read_node(c, true, VREAD_NODE_FRONTEND);
	char *back = NULL;
	bool ok = frontend && strlen(frontend) < PATH_SIZE;

	if (!ok) {
		problem(c, c->dir[true], "names no frontend directory; is this a vread device?");
	} else {
		snprintf(c->dir[false], PATH_SIZE, "%s", frontend);
		back = read_node(c, false, VREAD_NODE_BACKEND);
		if (back && strcmp(back, c->dir[true]))
			problem(c, c->dir[false], "names \"%s\" as its backend, not \"%s\"", back,
				c->dir[true]);
	}
	free(back);
	free(frontend);
	return ok;
}

unsigned vread_schema_check(const struct vread_schema_tree *tree, const char *backend_dir)
{
	struct check c = {.tree = tree};
	unsigned domid;

	if (strlen(backend_dir) >= PATH_SIZE) {
		problem(&c, backend_dir, "is longer than a xenstore path may be");
		return c.problems;
	}
	snprintf(c.dir[true], PATH_SIZE, "%s", backend_dir);
	if (!find_frontend(&c))
		return c.problems;
	for (int in_backend = 0; in_backend < 2; in_backend++)
		if (!read_uint(&c, in_backend, VREAD_NODE_STATE, &c.state[in_backend]))
			c.state[in_backend] = 0;
	for (unsigned i = 0; i < vread_node_specs_count; i++)
		check_spec(&c, &vread_node_specs[i]);
	check_unknown(&c, true, NULL);
	check_unknown(&c, false, NULL);
	if (read_uint(&c, true, VREAD_NODE_FRONTEND_ID, &domid))
		check_permissions(&c, domid);
	return c.problems;
}
