// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * outgoing.c - sends a message from a copy of its own.
 *
 * Called by peer/asking/ and peer/answering/ (transport.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peer/wire/transport.h"

static void release_copy(struct outgoing *o)
{
	free(o);
}

struct outgoing *outgoing_new(const uint8_t *message, size_t length)
{
	struct outgoing *o = malloc(sizeof(*o) + length);

	if (!o)
		return NULL;
	*o = (struct outgoing){.release = release_copy, .length = length};
	o->message = (uint8_t *)(o + 1);
	memcpy(o->message, message, length);
	return o;
}

int transport_send_copy(struct transport *t, const uint8_t *message, size_t length)
{
	struct outgoing *o = outgoing_new(message, length);

	if (!o)
		return -ENOMEM;
	t->ops->send(t, o);
	return 0;
}
