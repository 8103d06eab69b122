/* SPDX-License-Identifier: MIT */
/* check_parts.h - private to the validator: what its files share; check.c says in which order. */
#ifndef VREAD_SCHEMA_CHECK_PARTS_H
#define VREAD_SCHEMA_CHECK_PARTS_H

#include "check.h"

#define PATH_SIZE 512
#define TEXT_SIZE 160 /* of what is expected, or what to do */

/* A device, or with an empty name what belongs to none. */
struct check {
	const struct vread_schema_tree *tree;
	unsigned backend_domid, domid, id;
	char device[24];
	char dir[2][PATH_SIZE]; /* [in_backend] */
	unsigned state[2];      /* 0: none that can be read */
	char renew[TEXT_SIZE];  /* the remedy for what the toolstack wrote */
	unsigned problems;
};

/* Reports p, completed by what was found. */
__attribute__((format(printf, 3, 4))) void check_found(struct check *c, struct vread_problem p,
						       const char *format, ...);
/* A value for a message: cut, in a buffer of the caller's. */
char *check_read(const struct check *c, bool in_backend, const char *node);
bool check_exists(const struct check *c, const char *path);
/* Decimal digits without sign, space or leading zero, at most 32 bits. */
bool check_parse_uint(const char *text, unsigned *ret);
bool check_read_uint(const struct check *c, bool in_backend, const char *node, unsigned *ret);
/* What to do about a node that is wrong, by who writes it. */
const char *check_remedy(const struct check *c, enum vread_node_writer writer);

/* check_nodes.c: is every node there that its state calls for, does every value fit its type and the other
 * end's limits, and is anything there that no one knows? */
void check_nodes(struct check *c, bool in_backend);
/* check_access.c: may anybody read or write a node who should not, or not read what he should? */
void check_access(struct check *c, bool in_backend, const char *path);
/* A directory above devices: nobody but a backend or toolstack writes there. */
void check_parent_access(struct check *c, const char *path);
/* check_states.c: do the states of both ends go together? */
void check_states(struct check *c);

#endif
