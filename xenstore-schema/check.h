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

enum vread_end {
	VREAD_END_FRONTEND,
	VREAD_END_BACKEND,
};

/* One of a device's two directories; everything in it has its permissions. */
struct vread_directory_spec {
	enum vread_end owner;  /* may read and write */
	enum vread_end reader; /* may read; nobody else may anything */
};

/* Indexed by in_backend. */
extern const struct vread_directory_spec vread_directory_specs[2];

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

/* One entry of a node's permissions.  The first names the owner, who may do everything, and what
 * domains may that have no entry. */
struct vread_permission {
	unsigned domid;
	bool read, write;
};

/* All of it is printable ASCII, whatever a guest wrote. */
struct vread_problem {
	const char *path;     /* of the node or directory */
	const char *device;   /* as vreadd names it, "xen:7/0"; "": of none */
	const char *found;    /* "is missing" */
	const char *expected; /* "a number from 1 to 8" */
	const char *remedy;   /* a command, or what to do */
	/* It is so for a moment, too, while states change or a domain goes: look again. */
	bool passing;
};

struct vread_schema_tree {
	/* The value of a node, to be freed; NULL if it is not there. */
	char *(*read)(void *ctx, const char *path);
	/* Names below a node; an array to be freed with one free(); NULL if none. */
	char **(*list)(void *ctx, const char *path, unsigned *ret_count);
	/* Permissions of a node, to be freed, at least one; NULL if they cannot be told. */
	struct vread_permission *(*permissions)(void *ctx, const char *path, unsigned *ret_count);
	/* Around the look at one device, which is to be of one moment; either may be NULL. */
	void (*begin)(void *ctx);
	void (*end)(void *ctx);
	/* Called once for each thing wrong; texts are the validator's. */
	void (*problem)(void *ctx, const struct vread_problem *problem);
	void *ctx;
};

#define VREAD_MAX_DOMID 32751U /* DOMID_FIRST_RESERVED - 1 */
#define VREAD_ANY_DOMID 65535U

/*
 * Checks all devices whose backend is in domain backend_domid, or those of guest domid only, and
 * the frontend directories that have no backend.  Returns how many problems were
 * reported; *ret_devices: how many backend directories there are.
 */
unsigned vread_schema_check(const struct vread_schema_tree *tree, unsigned backend_domid,
			    unsigned domid, unsigned *ret_devices);

#endif
