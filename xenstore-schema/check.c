/* SPDX-License-Identifier: MIT */
/*
 * Implements check.h: finds the directories of devices, and which directories belong together.
 *
 * A device is checked from its backend directory.  The path of the backend directory names the
 * guest, and so the path that the frontend directory must have.  The nodes that name directories
 * and domains are compared with these paths, and never followed.
 */
#include "check.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_parts.h"
#include "vread-nodes.h"

#define MAX_DEVICE_ID 65535U

/* ---- for the other parts ------------------------------------------------------- */

/* Texts of a guest reach a terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

void check_found(struct check *c, struct vread_problem p, const char *format, ...)
{
	char found[512], expected[TEXT_SIZE], path[2 * PATH_SIZE], remedy[3 * PATH_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(found, sizeof(found), format, args);
	va_end(args);
	snprintf(expected, sizeof(expected), "%s", p.expected);
	snprintf(path, sizeof(path), "%s", p.path);
	snprintf(remedy, sizeof(remedy), "%s", p.remedy);
	make_printable(found);
	make_printable(expected);
	make_printable(path);
	make_printable(remedy);
	p.found = found;
	p.expected = expected;
	p.path = path;
	p.remedy = remedy;
	p.device = c->device;
	c->tree->problem(c->tree->ctx, &p);
	c->problems++;
}

char *check_read(const struct check *c, enum vread_directory d, const char *node)
{
	char path[2 * PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", c->dir[d], node);
	return c->tree->read(c->tree->ctx, path);
}

bool check_exists(const struct check *c, const char *path)
{
	char *value = c->tree->read(c->tree->ctx, path);

	free(value);
	return value;
}

bool check_parse_uint(const char *text, unsigned *ret)
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

bool check_read_uint(const struct check *c, enum vread_directory d, const char *node, unsigned *ret)
{
	char *text = check_read(c, d, node);
	bool ok = text && check_parse_uint(text, ret);

	free(text);
	return ok;
}

const char *check_remedy(const struct check *c, enum vread_node_writer writer)
{
	switch (writer) {
	case VREAD_WRITER_BACKEND:
		return "systemctl restart vreadd";
	case VREAD_WRITER_FRONTEND:
		return "in the guest: modprobe -r xen-vreadfront, then modprobe it again";
	case VREAD_WRITER_TOOLSTACK:
		break;
	}
	return c->renew;
}

/* ---- one device -------------------------------------------------------------------- */

static struct check device_of(const struct vread_schema_tree *tree, unsigned backend_domid,
			      unsigned domid, unsigned id)
{
	struct check c = {.tree = tree, .backend_domid = backend_domid, .domid = domid, .id = id};

	snprintf(c.device, sizeof(c.device), "xen:%u/%u", domid, id);
	snprintf(c.dir[VREAD_IN_BACKEND], PATH_SIZE, VREAD_BACKEND_DIRECTORY, backend_domid, domid,
		 id);
	snprintf(c.dir[VREAD_IN_DATANODE], PATH_SIZE, VREAD_DATANODE_DIRECTORY, backend_domid,
		 domid, id);
	snprintf(c.dir[VREAD_IN_FRONTEND], PATH_SIZE, VREAD_FRONTEND_DIRECTORY, domid, id);
	snprintf(c.renew, sizeof(c.renew),
		 "xl-vread detach %u --id %u --force, then attach it again with what it may read",
		 domid, id);
	return c;
}

static void read_states(struct check *c)
{
	static const enum vread_directory ends[] = {VREAD_IN_FRONTEND, VREAD_IN_BACKEND};

	for (unsigned i = 0; i < 2; i++)
		if (!check_read_uint(c, ends[i], VREAD_NODE_STATE, &c->state[ends[i]]) ||
		    c->state[ends[i]] > 8)
			c->state[ends[i]] = 0;
}

/* False also if text is no path or number at all: check_nodes() reports such a value. */
static bool differs(const char *text, const char *expected)
{
	unsigned number;

	if (*expected == '/' ? *text != '/' : !check_parse_uint(text, &number))
		return false;
	return strcmp(text, expected) != 0;
}

/* Checks a node of one directory that must name the other directory or its domain. */
static void check_names(struct check *c, enum vread_directory d, const char *node,
			const char *expected)
{
	char *text = check_read(c, d, node), path[2 * PATH_SIZE];

	if (text && differs(text, expected)) {
		snprintf(path, sizeof(path), "%s/%s", c->dir[d], node);
		check_found(c,
			    (struct vread_problem){.path = path,
						   .expected = expected,
						   .remedy = c->renew},
			    "is \"%.64s\"", text);
	}
	free(text);
}

static void check_references(struct check *c)
{
	char domid[16];

	check_names(c, VREAD_IN_BACKEND, VREAD_NODE_FRONTEND, c->dir[VREAD_IN_FRONTEND]);
	snprintf(domid, sizeof(domid), "%u", c->domid);
	check_names(c, VREAD_IN_BACKEND, VREAD_NODE_FRONTEND_ID, domid);
	check_names(c, VREAD_IN_FRONTEND, VREAD_NODE_BACKEND, c->dir[VREAD_IN_BACKEND]);
	snprintf(domid, sizeof(domid), "%u", c->backend_domid);
	check_names(c, VREAD_IN_FRONTEND, VREAD_NODE_BACKEND_ID, domid);
}

/* vreadd normally removes the directory of a dead domain.  It does not if it is not running, or if
 * it does not watch that directory. */
static void tell_dead_domain(struct check *c)
{
	char remedy[2 * PATH_SIZE];

	snprintf(remedy, sizeof(remedy), "is vreadd running? else: xenstore-rm %s",
		 c->dir[VREAD_IN_BACKEND]);
	check_found(c,
		    (struct vread_problem){.path = c->dir[VREAD_IN_BACKEND],
					   .expected = "a domain that exists",
					   .remedy = remedy,
					   .passing = true},
		    "belongs to domain %u, which does not exist", c->domid);
}

static void tell_no_frontend(struct check *c)
{
	check_found(c,
		    (struct vread_problem){.path = c->dir[VREAD_IN_FRONTEND],
					   .expected = "the frontend directory of this device",
					   .remedy = c->renew},
		    "is missing");
}

static void check_device(struct check *c)
{
	char domain[48];
	bool has_frontend;

	snprintf(domain, sizeof(domain), "/local/domain/%u", c->domid);
	if (!check_exists(c, domain)) {
		tell_dead_domain(c);
		return;
	}
	has_frontend = check_exists(c, c->dir[VREAD_IN_FRONTEND]);
	read_states(c);
	check_references(c);
	check_nodes(c, VREAD_IN_BACKEND);
	if (check_exists(c, c->dir[VREAD_IN_DATANODE]))
		check_nodes(c, VREAD_IN_DATANODE);
	if (!has_frontend) {
		tell_no_frontend(c);
		return;
	}
	check_nodes(c, VREAD_IN_FRONTEND);
	check_states(c);
}

/* ---- the tree ------------------------------------------------------------------------ */

struct walk {
	const struct vread_schema_tree *tree;
	unsigned backend_domid, only; /* VREAD_ANY_DOMID: all */
	unsigned devices, problems;
};

static void begin(const struct walk *w)
{
	if (w->tree->begin)
		w->tree->begin(w->tree->ctx);
}

static void end(const struct walk *w)
{
	if (w->tree->end)
		w->tree->end(w->tree->ctx);
}

/* Reports a node that belongs to no device and must be removed. */
static void tell_stray(struct walk *w, const char *path, const char *expected)
{
	struct check c = {.tree = w->tree};
	char remedy[2 * PATH_SIZE];

	snprintf(remedy, sizeof(remedy), "xenstore-rm %s", path);
	check_found(&c,
		    (struct vread_problem){
			    .path = path, .expected = expected, .remedy = remedy, .passing = true},
		    "belongs to no device");
	w->problems += c.problems;
}

static void check_parent(struct walk *w, const char *path)
{
	struct check c = {.tree = w->tree, .backend_domid = w->backend_domid};

	check_parent_access(&c, path);
	w->problems += c.problems;
}

static void check_backend(struct walk *w, unsigned domid, unsigned id)
{
	struct check c = device_of(w->tree, w->backend_domid, domid, id);

	begin(w);
	check_device(&c);
	end(w);
	w->devices++;
	w->problems += c.problems;
}

/* Checks the devices below backend/vread/DOMID. */
static void check_backends_of(struct walk *w, const char *root, const char *name)
{
	unsigned domid, id, count = 0;
	char path[PATH_SIZE], **ids;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (!check_parse_uint(name, &domid) || domid > VREAD_MAX_DOMID) {
		if (w->only == VREAD_ANY_DOMID)
			tell_stray(w, path, "backend/vread/DOMID/ID");
		return;
	}
	if (w->only != VREAD_ANY_DOMID && w->only != domid)
		return;
	ids = w->tree->list(w->tree->ctx, path, &count);
	if (!count)
		tell_stray(w, path, "devices in it");
	else
		check_parent(w, path);
	for (unsigned i = 0; ids && i < count; i++) {
		char device[PATH_SIZE];

		snprintf(device, sizeof(device), "%s/%s", path, ids[i]);
		if (check_parse_uint(ids[i], &id) && id <= MAX_DEVICE_ID)
			check_backend(w, domid, id);
		else
			tell_stray(w, device, "backend/vread/DOMID/ID");
	}
	free(ids);
}

static void check_backends(struct walk *w)
{
	char root[64];
	unsigned count = 0;
	char **names;

	snprintf(root, sizeof(root), "/local/domain/%u/backend/" VREAD_DEVICE_TYPE,
		 w->backend_domid);
	names = w->tree->list(w->tree->ctx, root, &count);
	if (names)
		check_parent(w, root);
	for (unsigned i = 0; names && i < count; i++)
		check_backends_of(w, root, names[i]);
	free(names);
}

/* True if the backend is in another domain (a driver domain), and the backend directory exists
 * there. */
static bool served_elsewhere(struct check *c)
{
	unsigned domid;
	struct check other;

	if (!check_read_uint(c, VREAD_IN_FRONTEND, VREAD_NODE_BACKEND_ID, &domid) ||
	    domid == c->backend_domid || domid > VREAD_MAX_DOMID)
		return false;
	other = device_of(c->tree, domid, c->domid, c->id);
	return check_exists(&other, other.dir[VREAD_IN_BACKEND]);
}

/* A frontend directory with a backend directory was checked by check_backend(). */
static void check_frontend(struct walk *w, unsigned domid, unsigned id)
{
	struct check c = device_of(w->tree, w->backend_domid, domid, id);
	char remedy[2 * PATH_SIZE];

	begin(w);
	if (!check_exists(&c, c.dir[VREAD_IN_BACKEND]) && !served_elsewhere(&c)) {
		snprintf(remedy, sizeof(remedy), "xenstore-rm %s, then attach the device again",
			 c.dir[VREAD_IN_FRONTEND]);
		check_found(&c,
			    (struct vread_problem){.path = c.dir[VREAD_IN_FRONTEND],
						   .expected = c.dir[VREAD_IN_BACKEND],
						   .remedy = remedy,
						   .passing = true},
			    "has no backend directory");
	}
	end(w);
	w->problems += c.problems;
}

static void check_frontends_of(struct walk *w, unsigned domid)
{
	char path[PATH_SIZE], **ids;
	unsigned id, count = 0;

	snprintf(path, sizeof(path), "/local/domain/%u/device/" VREAD_DEVICE_TYPE, domid);
	ids = w->tree->list(w->tree->ctx, path, &count);
	if (ids)
		check_parent(w, path);
	for (unsigned i = 0; ids && i < count; i++) {
		char device[PATH_SIZE];

		snprintf(device, sizeof(device), "%s/%s", path, ids[i]);
		if (check_parse_uint(ids[i], &id) && id <= MAX_DEVICE_ID)
			check_frontend(w, domid, id);
		else
			tell_stray(w, device, "device/vread/ID");
	}
	free(ids);
}

static void check_frontends(struct walk *w)
{
	unsigned domid, count = 0;
	char **names = w->tree->list(w->tree->ctx, "/local/domain", &count);

	for (unsigned i = 0; names && i < count; i++)
		if (check_parse_uint(names[i], &domid) && domid <= VREAD_MAX_DOMID &&
		    (w->only == VREAD_ANY_DOMID || w->only == domid))
			check_frontends_of(w, domid);
	free(names);
}

unsigned vread_schema_check(const struct vread_schema_tree *tree, unsigned backend_domid,
			    unsigned domid, unsigned *ret_devices)
{
	struct walk w = {.tree = tree, .backend_domid = backend_domid, .only = domid};

	check_backends(&w);
	check_frontends(&w);
	*ret_devices = w.devices;
	return w.problems;
}
