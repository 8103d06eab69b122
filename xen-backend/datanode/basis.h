/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * basis.h - the basis of a parser's answer, as vreadd keeps it. From its watched bytes vreadd
 * itself can see that the answer still holds. client.c makes, replaces and compares bases;
 * basis.c implements them.
 */
#ifndef VREAD_PARSER_BASIS_H
#define VREAD_PARSER_BASIS_H

#include <stdatomic.h>

#include "parser-protocol/answer.h"
#include "datanode/parser.h"

/* The basis of one answer. It never changes; the next answer brings a new one, which replaces
 * it. */
struct basis_state {
	atomic_uint references;
	uint64_t changes;           /* volume_changes() before the question was asked */
	size_t weight;              /* bytes of memory */
	struct answer_basis answer; /* its pointers point into bytes[] */
	uint8_t bytes[];
};

/* Copies `answer`. Returns a reference, or NULL if out of memory. */
struct basis_state *basis_state_new(const struct answer_basis *answer, uint64_t changes);
void basis_state_put(struct basis_state *s);

/* Takes over `s`, also on failure. Returns NULL if `s` is NULL or memory is short. */
struct parser_basis *basis_new(struct basis_state *s);
/* Returns a reference to the current state (basis_state_put() it). */
struct basis_state *basis_get(struct parser_basis *b);
/* Replaces the state. Takes over `s`. False: `s` is too large for parser_basis_weight(), and the
 * state stays. */
bool basis_replace(struct parser_basis *b, struct basis_state *s);

/* Compares the watched bytes of the volume with those in `s`. Returns 0 if all are the same,
 * -EAGAIN if they differ or if the basis has no watched bytes, or an error of reading. */
int basis_compare(struct volume *volume, const struct basis_state *s);

#endif
