// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends one question to a parser and reads its answer; the question's own callback checks the
 * answer. process.c calls it; process.h describes the function.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/shortage.h"
#include "base/waiting.h"
#include "datanode/process.h"

#define PROMPT_MS 1 /* most answers come sooner; to announce a wait for these would cost more */

static void announce_if_late(int fd)
{
	struct pollfd answer = {.fd = fd, .events = POLLIN};

	if (waiting_is_heard() && clock_rest_poll(&answer, 1, PROMPT_MS) <= 0)
		waiting_announce();
}

int parser_exchange(struct channel *c, const struct parser_question *q, unsigned limit_ms, int fd,
		    int *ret_result)
{
	struct parser_header header;
	struct wire_in in;
	int r;

	channel_begin(c);
	q->write(q->ctx, &c->out);
	if (c->out.failed) {
		*ret_result = -ENOMEM;
		return 0;
	}
	channel_limit(c, limit_ms);
	r = channel_send(c, q->kind, 0, fd);
	if (is_shortage(r)) {
		*ret_result = r;
		return 0;
	}
	if (r == 0) {
		announce_if_late(c->fd);
		r = channel_receive(c, &header, &in, NULL);
	}
	if (r < 0)
		return r;
	if (header.kind != q->kind || header.result > 0 || header.result < -4095 ||
	    !q->read(q->ctx, header.result, &in) || !wire_done(&in))
		return -EBADMSG;
	*ret_result = header.result;
	return 0;
}
