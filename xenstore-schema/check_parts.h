/* SPDX-License-Identifier: MIT */
/* check_parts.h - shared by the .c files of the validator (check.h).  check.c calls the other
 * files. */
#ifndef VREAD_SCHEMA_CHECK_PARTS_H
#define VREAD_SCHEMA_CHECK_PARTS_H

#include "check.h"

#define PATH_SIZE 512
#define TEXT_SIZE 160 /* of the texts `expected` and `remedy` */

/* The check of one device, or, with an empty name, of nodes that belong to no device. */
struct check {
	const struct vread_schema_tree *tree;
	unsigned backend_domid, domid, id;
	char device[24];
	char dir[VREAD_DIRECTORIES][PATH_SIZE];
	unsigned state[VREAD_DIRECTORIES]; /* 0: no valid state, or the datanode's directory */
	char renew[TEXT_SIZE];             /* the remedy for nodes that the toolstack writes */
	unsigned problems;
};

/* Reports p with the printf text as p.found, and with p.device. */
__attribute__((format(printf, 3, 4))) void check_found(struct check *c, struct vread_problem p,
						       const char *format, ...);
/* Returns the value of a node of the device; free() it.  NULL: no such node. */
char *check_read(const struct check *c, enum vread_directory d, const char *node);
bool check_exists(const struct check *c, const char *path);
/* Parses decimal digits without sign, space or leading zero, at most 32 bits.  False: no such
 * number. */
bool check_parse_uint(const char *text, unsigned *ret);
bool check_read_uint(const struct check *c, enum vread_directory d, const char *node,
		     unsigned *ret);
/* Returns the remedy for a wrong node of that writer. */
const char *check_remedy(const struct check *c, enum vread_node_writer writer);

/* check_nodes.c: reports nodes that the state requires and that are missing, values that do not fit
 * their type or the other end's limits, and nodes that are not known.  Calls check_access(). */
void check_nodes(struct check *c, enum vread_directory d);
/* check_access.c: reports a node that a domain may read or write without need, or that its reader
 * may not read. */
void check_access(struct check *c, enum vread_directory d, const char *path);
/* check_access.c: reports a directory above devices that others than backend and toolstack may
 * write. */
void check_parent_access(struct check *c, const char *path);
/* check_states.c: reports states of the two ends that do not go together. */
void check_states(struct check *c);

#endif
