/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h - a parser's process: starting it, exchanging messages with it, ending it
 * and starting it again; private to parser/.
 */
#ifndef VREAD_PARSER_PROCESS_H
#define VREAD_PARSER_PROCESS_H

#include "parser-protocol/channel.h"
#include "datanode/parser.h"

/* What is asked and how the answer is taken. */
struct parser_question {
	enum parser_kind kind;
	bool long_answer; /* all of the images may have to be looked into */
	void (*write)(void *ctx, struct wire_out *out);
	/* false: that is no answer.  May be called once more after it said so. */
	bool (*read)(void *ctx, int result, struct wire_in *in);
	void *ctx;
};

/* Over one channel, with a descriptor unless fd is -1: 0 and *ret_result, or negative errno: the
 * process at its other end is of no use any more. */
int parser_exchange(struct channel *c, const struct parser_question *q, unsigned limit_ms, int fd,
		    int *ret_result);

/* The answer's result, or -EBUSY: there is none, -ENOMEM.  A parser that ends meanwhile is asked
 * once more when it was started again. */
int parser_ask(struct parser *p, const struct parser_question *q);

/* What every parser started from now on is told to use. */
void parser_remember_layout(struct parser *p, char *layout_text);
/* Why it is away; to be freed, NULL: out of memory. */
char *parser_why_away(struct parser *p);
const char *parser_name(const struct parser *p);
struct image *const *parser_images(const struct parser *p, unsigned *ret_count);

void parser_put_use(struct wire_out *out, bool check_fit, const char *layout_path,
		    const char *layout_text);

#endif
