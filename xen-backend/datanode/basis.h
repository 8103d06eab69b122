/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * basis.h - what an answer of a parser rests on, as vreadd keeps it; private to parser/.
 */
#ifndef VREAD_PARSER_BASIS_H
#define VREAD_PARSER_BASIS_H

#include <stdatomic.h>

#include "parser-protocol/answer.h"
#include "datanode/parser.h"

/* As one answer had it: never changed, and replaced by that of the next. */
struct basis_state {
	atomic_uint references;
	uint64_t changes; /* volume_changes() before the question */
	size_t weight;
	struct answer_basis answer; /* its pointers are into bytes */
	uint8_t bytes[];
};

/* NULL: out of memory. */
struct basis_state *basis_state_new(const struct answer_basis *answer, uint64_t changes);
void basis_state_put(struct basis_state *s);

/* Takes over s, also if it fails: then NULL, out of memory. */
struct parser_basis *basis_new(struct basis_state *s);
/* A reference. */
struct basis_state *basis_get(struct parser_basis *b);
/* Takes over s. */
void basis_replace(struct parser_basis *b, struct basis_state *s);

/* Whether the bytes that tell that nothing happened are what they were: 0, -EAGAIN: they are not,
 * or there are none such, -EIO. */
int basis_compare(struct volume *volume, const struct basis_state *s);

#endif
