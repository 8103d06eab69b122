/* SPDX-License-Identifier: MIT */
/*
 * check.h - does a xenstore tree say what vread.schema.json allows?
 *
 * The validator reads through callbacks, so that it runs on a live xenstored
 * (`vread xenstore check`) and on made-up trees in tests.  It changes nothing
 * and keeps no state.
 */
#ifndef VREAD_SCHEMA_CHECK_H
#define VREAD_SCHEMA_CHECK_H

#include <stdbool.h>
#include <stddef.h>

enum vread_node_writer {
	VREAD_WRITER_TOOLSTACK,
	VREAD_WRITER_BACKEND,
	VREAD_WRITER_FRONTEND,
};

enum vread_node_type {
	VREAD_TYPE_UINT,     /* decimal, min .. max */
	VREAD_TYPE_STATE,    /* enum xenbus_state, 1 .. 8 */
	VREAD_TYPE_ENUM,     /* one of values */
	VREAD_TYPE_PATH,     /* absolute path */
	VREAD_TYPE_NAMES,    /* names separated by one space, "*" or "" */
	VREAD_TYPE_VERSIONS, /* numbers separated by commas */
};

/* In which states of the directory's own end the node has to be there. */
enum vread_node_required {
	VREAD_REQUIRED_NEVER,
	VREAD_REQUIRED_ALWAYS,
	VREAD_REQUIRED_INITWAIT,    /* InitWait .. Connected */
	VREAD_REQUIRED_INITIALISED, /* Initialised, Connected */
};

struct vread_node_spec {
	bool in_backend;  /* which directory */
	const char *node; /* "max-queues", "queue-<n>/ring-ref<m>" */
	enum vread_node_writer writer;
	enum vread_node_type type;
	unsigned min, max;
	const char *values[4]; /* of VREAD_TYPE_ENUM, NULL-terminated */
	enum vread_node_required required;
	const char *at_most; /* backend node that bounds this one, or NULL */
	const char *equals;  /* backend node this one repeats, or NULL */
	const char *one_of;  /* backend list this one is chosen from, or NULL */
	const char *default_value;
};

extern const struct vread_node_spec vread_node_specs[];
extern const unsigned vread_node_specs_count;

struct vread_schema_tree {
	/* The value of a node, to be freed; NULL if it is not there. */
	char *(*read)(void *ctx, const char *path);
	/* Names below a node; an array to be freed with one free(); NULL if none. */
	char **(*list)(void *ctx, const char *path, unsigned *ret_count);
	/* May that domain write the node?  Negative errno if it cannot be told. */
	int (*writable_by)(void *ctx, const char *path, unsigned domid);
	/* Called once for each thing wrong, in words. */
	void (*problem)(void *ctx, const char *path, const char *text);
	void *ctx;
};

/*
 * Checks the device whose backend directory this is, and the frontend
 * directory it names.  Returns how many problems were reported.
 */
unsigned vread_schema_check(const struct vread_schema_tree *tree, const char *backend_dir);

#endif
