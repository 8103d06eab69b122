/* SPDX-License-Identifier: MIT */
/*
 * Implements check_nodes() of check_parts.h: compares the nodes of one directory with the generated
 * table.  check.c calls it.
 *
 * A guest may write any number of queues and pages.  No more than MAX_INDEX of each are looked for.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/xenbus.h>

#include "check_parts.h"
#include "vread-nodes.h"

#define MAX_INDEX 16U /* no version has more queues, or more pages in a ring */
#define MAX_NAME 63U  /* of a datanode */

/* ---- values ---------------------------------------------------------------- */

/* True if text is tokens joined by exactly one separator, without other white space. */
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

static bool is_name(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._-");

	return length > 0 && length <= MAX_NAME && !text[length] && text[0] != '.';
}

/* True if text is "*", or names other than "*", or empty. */
static bool are_names(const char *text)
{
	if (!*text || !strcmp(text, "*"))
		return true;
	return well_separated(text, ' ') && !list_has(text, ' ', "*");
}

static bool is_one_of(const struct vread_node_spec *s, const char *text)
{
	for (unsigned i = 0; s->values[i]; i++)
		if (!strcmp(s->values[i], text))
			return true;
	return false;
}

/* True if text is a value of its type.  expected describes the values of the type. */
static bool fits(const struct vread_node_spec *s, const char *text, char expected[TEXT_SIZE])
{
	unsigned value = 0;

	switch (s->type) {
	case VREAD_TYPE_UINT:
		snprintf(expected, TEXT_SIZE, "a number from %u to %u", s->min, s->max);
		return check_parse_uint(text, &value) && value >= s->min && value <= s->max;
	case VREAD_TYPE_STATE:
		snprintf(expected, TEXT_SIZE, "a xenbus state, 1 to 8");
		return check_parse_uint(text, &value) && value >= XenbusStateInitialising &&
		       value <= XenbusStateReconfigured;
	case VREAD_TYPE_ENUM:
		snprintf(expected, TEXT_SIZE, "%s%s%s or %s", s->values[0],
			 s->values[2] ? ", " : "", s->values[2] ? s->values[1] : "",
			 s->values[s->values[2] ? 2 : 1]);
		return is_one_of(s, text);
	case VREAD_TYPE_PATH:
		snprintf(expected, TEXT_SIZE, "an absolute path");
		return text[0] == '/' && text[strlen(text) - 1] != '/';
	case VREAD_TYPE_NAMES:
		snprintf(expected, TEXT_SIZE, "names separated by one space, or *");
		return are_names(text);
	case VREAD_TYPE_VERSIONS:
		snprintf(expected, TEXT_SIZE, "versions separated by commas");
		return well_separated(text, ',');
	case VREAD_TYPE_NAME:
		snprintf(expected, TEXT_SIZE,
			 "1 to %u letters, digits, '.', '_' and '-', the first no '.'", MAX_NAME);
		return is_name(text);
	case VREAD_TYPE_WORDS:
		snprintf(expected, TEXT_SIZE, "words separated by one space");
		return well_separated(text, ' ');
	case VREAD_TYPE_TEXT:
		break;
	}
	return true;
}

/* ---- the other end's limits ---------------------------------------------------- */

static const char *backend_default(const char *node)
{
	for (unsigned i = 0; i < vread_node_specs_count; i++)
		if (vread_node_specs[i].directory == VREAD_IN_BACKEND &&
		    !strcmp(vread_node_specs[i].node, node))
			return vread_node_specs[i].default_value;
	return NULL;
}

/* True if text is within the limit that a node of the backend directory sets, or, if that node does
 * not exist, the default of that node.  Otherwise expected describes the limit. */
static bool within(const struct check *c, const struct vread_node_spec *s, const char *text,
		   char expected[TEXT_SIZE])
{
	const char *other = s->at_most ? s->at_most : s->one_of ? s->one_of : s->equals;
	char *node = other ? check_read(c, VREAD_IN_BACKEND, other) : NULL;
	const char *limit = node ? node : other ? backend_default(other) : NULL;
	unsigned most, value;
	bool ok = true;

	if (limit && s->at_most) {
		ok = !check_parse_uint(limit, &most) || !check_parse_uint(text, &value) ||
		     value <= most;
		snprintf(expected, TEXT_SIZE, "at most %.20s, the backend's %s", limit, other);
	} else if (limit && s->one_of) {
		ok = list_has(limit, ',', text);
		snprintf(expected, TEXT_SIZE, "one of \"%.60s\", the backend's %s", limit, other);
	} else if (limit) {
		ok = strcmp(limit, text) == 0;
		snprintf(expected, TEXT_SIZE, "\"%.60s\", the backend's %s", limit, other);
	}
	free(node);
	return ok;
}

/* ---- nodes -------------------------------------------------------------------- */

static bool is_required(const struct check *c, const struct vread_node_spec *s)
{
	unsigned state = c->state[s->directory];

	switch (s->required) {
	case VREAD_REQUIRED_ALWAYS:
		return true;
	case VREAD_REQUIRED_INITWAIT:
		return state >= XenbusStateInitWait && state <= XenbusStateConnected;
	case VREAD_REQUIRED_INITIALISED:
		return state == XenbusStateInitialised || state == XenbusStateConnected;
	case VREAD_REQUIRED_NEVER:
		break;
	}
	return false;
}

static const char *remedy_of(const struct check *c, const struct vread_node_spec *s)
{
	return s->directory == VREAD_IN_DATANODE ? "write it as docs/provisioning.md says"
						 : check_remedy(c, s->writer);
}

static void check_missing(struct check *c, const struct vread_node_spec *s, const char *path)
{
	char expected[TEXT_SIZE];

	if (!is_required(c, s))
		return;
	fits(s, "-", expected);
	check_found(c,
		    (struct vread_problem){.path = path,
					   .expected = expected,
					   .remedy = remedy_of(c, s)},
		    s->directory == VREAD_IN_DATANODE ? "is missing" : "is missing in state %u",
		    c->state[s->directory]);
}

static void check_node(struct check *c, const struct vread_node_spec *s, const char *node)
{
	char path[2 * PATH_SIZE], expected[TEXT_SIZE];
	char *text = check_read(c, s->directory, node);

	snprintf(path, sizeof(path), "%s/%s", c->dir[s->directory], node);
	if (!text)
		check_missing(c, s, path);
	else if (!fits(s, text, expected) || !within(c, s, text, expected))
		check_found(c,
			    (struct vread_problem){.path = path,
						   .expected = expected,
						   .remedy = remedy_of(c, s)},
			    "is \"%.64s\"", text);
	free(text);
}

static unsigned indexes(const struct check *c, const char *node, bool pages)
{
	unsigned value = 0;

	if (!check_read_uint(c, VREAD_IN_FRONTEND, node, &value))
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

/* ---- nodes that are there --------------------------------------------------------- */

/* True if name matches a pattern such as "queue-<n>". */
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
			if (!check_parse_uint(number, &index) || index >= MAX_INDEX)
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

static bool is_known(enum vread_directory d, const char *parent, const char *name)
{
	for (unsigned i = 0; i < vread_node_specs_count; i++) {
		const struct vread_node_spec *s = &vread_node_specs[i];
		const char *slash = strchr(s->node, '/');
		size_t first = slash ? (size_t)(slash - s->node) : strlen(s->node);

		if (s->directory != d)
			continue;
		if (!parent && matches(s->node, first, name))
			return true;
		if (parent && slash && matches(s->node, first, parent) &&
		    matches(slash + 1, strlen(slash + 1), name))
			return true;
	}
	return false;
}

static void check_found_nodes(struct check *c, enum vread_directory d, const char *parent);

static void check_found_node(struct check *c, enum vread_directory d, const char *parent,
			     const char *name)
{
	char path[2 * PATH_SIZE], remedy[3 * PATH_SIZE];

	snprintf(path, sizeof(path), "%s%s%s/%s", c->dir[d], parent ? "/" : "",
		 parent ? parent : "", name);
	if (strcmp(path, c->dir[VREAD_IN_DATANODE]) == 0)
		return; /* check.c has its own nodes checked */
	if (!is_known(d, parent, name)) {
		snprintf(remedy, sizeof(remedy), "xenstore-rm %s", path);
		check_found(c,
			    (struct vread_problem){.path = path,
						   .expected = "only nodes of protocol version 1",
						   .remedy = remedy},
			    "is not known");
	}
	check_access(c, d, path);
	if (!parent && d == VREAD_IN_FRONTEND && !strncmp(name, "queue-", 6))
		check_found_nodes(c, d, name);
}

static void check_found_nodes(struct check *c, enum vread_directory d, const char *parent)
{
	char path[2 * PATH_SIZE];
	unsigned count = 0;
	char **names;

	snprintf(path, sizeof(path), "%s%s%s", c->dir[d], parent ? "/" : "", parent ? parent : "");
	names = c->tree->list(c->tree->ctx, path, &count);
	for (unsigned i = 0; names && i < count; i++)
		check_found_node(c, d, parent, names[i]);
	free(names);
}

void check_nodes(struct check *c, enum vread_directory d)
{
	for (unsigned i = 0; i < vread_node_specs_count; i++)
		if (vread_node_specs[i].directory == d)
			check_spec(c, &vread_node_specs[i]);
	check_access(c, d, c->dir[d]);
	check_found_nodes(c, d, NULL);
}
