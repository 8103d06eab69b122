/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h - the process of a parser: starts it, exchanges messages with it, ends it, starts it
 * again. Called by client.c, which asks the questions; process.c and exchange.c implement it.
 */
#ifndef VREAD_PARSER_PROCESS_H
#define VREAD_PARSER_PROCESS_H

#include "parser-protocol/channel.h"
#include "datanode/parser.h"

/* A question, and the callbacks that write it and read its answer. */
struct parser_question {
	enum parser_kind kind;
	bool long_answer; /* the parser may have to look into all images */
	/* May be called once more if the process ends before it answers. */
	void (*write)(void *ctx, struct wire_out *out);
	/* Returns false if the payload is not a valid answer. The question may be asked again
	 * then, and this called once more. */
	bool (*read)(void *ctx, int result, struct wire_in *in);
	void *ctx;
};

/* Asks over one channel, with a descriptor unless `fd` is -1. Returns 0 and `*ret_result`, or
 * negative errno: then the process at the other end is of no use any more. If the question cannot
 * be sent because of a shortage (shortage.h), that is the result. */
int parser_exchange(struct channel *c, const struct parser_question *q, unsigned limit_ms, int fd,
		    int *ret_result);

/* Asks on an idle channel. Returns the answer's result, -EBUSY if there is no answer, or
 * -ENOMEM. If the process ends meanwhile, the question is asked once more after the restart. */
int parser_ask(struct parser *p, const struct parser_question *q);

/* Sets the layout that every process started from now on is told to use. Takes over
 * `layout_text`. */
void parser_remember_layout(struct parser *p, char *layout_text);
/* Returns why the process is not running (free() it), or NULL if out of memory. */
char *parser_why_away(struct parser *p);
/* True if this host, and not what the images hold, kept the process from its last start. */
bool parser_lacks(struct parser *p);
const char *parser_name(const struct parser *p);
struct image *const *parser_images(const struct parser *p, unsigned *ret_count);

/* Writes the payload of the question USE. */
void parser_put_use(struct wire_out *out, bool check_fit, const char *layout_path,
		    const char *layout_text);

#endif
