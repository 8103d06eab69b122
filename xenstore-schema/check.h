/* SPDX-License-Identifier: MIT */
/*
 * check.h - the validator: checks a xenstore tree against vread.schema.json.  `xl-vread xenstore
 * check` calls it for a live xenstored, unit tests for made-up trees.
 *
 * The validator reads the tree through callbacks.  It changes nothing and keeps no state.
 *
 * Threads: any, if the callbacks allow it.
 */
#ifndef VREAD_SCHEMA_CHECK_H
#define VREAD_SCHEMA_CHECK_H

#include <stdbool.h>
#include <stddef.h>

enum vread_end {
	VREAD_END_FRONTEND,
	VREAD_END_BACKEND,
};

/* The directories of a device. */
enum vread_directory {
	VREAD_IN_FRONTEND,
	VREAD_IN_BACKEND,
	VREAD_IN_DATANODE, /* below the backend directory, if the guest is a datanode */
	VREAD_DIRECTORIES
};

/* The permissions of a directory and of all nodes in it. */
struct vread_directory_spec {
	enum vread_end owner;  /* may read and write */
	enum vread_end reader; /* may read; all others may do nothing.  The owner: no others may */
};

extern const struct vread_directory_spec vread_directory_specs[VREAD_DIRECTORIES];

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
	VREAD_TYPE_NAMES,    /* names separated by one space, or "*", or "" */
	VREAD_TYPE_VERSIONS, /* numbers separated by commas */
	VREAD_TYPE_NAME,     /* of a datanode */
	VREAD_TYPE_WORDS,    /* at least one, separated by one space */
	VREAD_TYPE_TEXT,     /* any */
};

/* In which states of the directory's own end the node must exist. */
enum vread_node_required {
	VREAD_REQUIRED_NEVER,
	VREAD_REQUIRED_ALWAYS,
	VREAD_REQUIRED_INITWAIT,    /* InitWait .. Connected */
	VREAD_REQUIRED_INITIALISED, /* Initialised, Connected */
};

struct vread_node_spec {
	enum vread_directory directory;
	const char *node; /* "max-queues", "queue-<n>/ring-ref<m>" */
	enum vread_node_writer writer;
	enum vread_node_type type;
	unsigned min, max;     /* of VREAD_TYPE_UINT */
	const char *values[4]; /* of VREAD_TYPE_ENUM, NULL-terminated */
	enum vread_node_required required;
	const char *at_most;       /* backend node with the largest value allowed, or NULL */
	const char *equals;        /* backend node that has the same value, or NULL */
	const char *one_of;        /* backend node with the list of allowed values, or NULL */
	const char *default_value; /* NULL: none */
};

extern const struct vread_node_spec vread_node_specs[];
extern const unsigned vread_node_specs_count;

/* One entry of a node's permissions.  The first entry names the owner, who may do everything.  Its
 * read and write are the permissions of domains without an entry. */
struct vread_permission {
	unsigned domid;
	bool read, write;
};

/* A problem that was found.  All texts are printable ASCII, whatever a guest wrote. */
struct vread_problem {
	const char *path;     /* of the node or directory */
	const char *device;   /* as vreadd names it, "xen:7/0"; "": no device */
	const char *found;    /* "is missing" */
	const char *expected; /* "a number from 1 to 8" */
	const char *remedy;   /* a command, or an instruction */
	/* May also be seen for a moment while states change or a domain goes: check again. */
	bool passing;
};

struct vread_schema_tree {
	/* Returns the value of a node; the validator frees it.  NULL: no such node. */
	char *(*read)(void *ctx, const char *path);
	/* Returns the names below a node, an array that the validator frees with one free().
	 * NULL: none, or no such node. */
	char **(*list)(void *ctx, const char *path, unsigned *ret_count);
	/* Returns the permissions of a node, at least one; the validator frees them.  NULL: they
	 * cannot be read. */
	struct vread_permission *(*permissions)(void *ctx, const char *path, unsigned *ret_count);
	/* Called before and after the nodes of one device are read, which should all be of one
	 * moment.  Each may be NULL. */
	void (*begin)(void *ctx);
	void (*end)(void *ctx);
	/* Called once for each problem.  The texts are valid during the call only. */
	void (*problem)(void *ctx, const struct vread_problem *problem);
	void *ctx;
};

#define VREAD_MAX_DOMID 32751U /* DOMID_FIRST_RESERVED - 1 */
#define VREAD_ANY_DOMID 65535U /* all guests */

/*
 * Checks all devices whose backend is in domain backend_domid, and the frontend directories that
 * have no backend.  domid: checks this guest only; VREAD_ANY_DOMID: all guests.  Returns the number
 * of problems reported.  *ret_devices: the number of devices checked.
 */
unsigned vread_schema_check(const struct vread_schema_tree *tree, unsigned backend_domid,
			    unsigned domid, unsigned *ret_devices);

#endif
