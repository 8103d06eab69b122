// SPDX-License-Identifier: GPL-2.0-or-later
/* await.c - implements await.h: watches the states of datanodes in vreadd's status, and the states
 * of devices in xenstore.  Called by init.c. */
#include "await.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/xenbus.h>

#include "../toolstack/device.h"
#include "../vreadd/control_client.h"
#include "base/clock.h"
#include "cli/text.h"

#define LIMIT 10  /* s */
#define PAUSE 100 /* ms */

/* ---- datanodes ---------------------------------------------------------------------- */

static bool is_looking(const json_t *status)
{
	json_t *datanode;
	size_t i;

	json_array_foreach(json_object_get(status, "datanodes"), i, datanode)
	{
		if (strcmp(text_member(datanode, "state"), "looking") == 0)
			return true;
	}
	return false;
}

/* True if vreadd answers.  *ret: vreadd has not yet looked into all disks. */
static bool ask(const char *socket, bool *ret)
{
	json_t *status, *request = json_pack("{s:s}", "command", "status");
	char *error = NULL;

	if (control_try(socket, request, &status, &error)) {
		free(error);
		return false;
	}
	*ret = is_looking(status);
	json_decref(status);
	return true;
}

/* False: vreadd does not answer. */
static bool await_datanodes(const char *socket)
{
	uint64_t deadline = clock_ms() + LIMIT * 1000;
	bool looking;

	for (;;) {
		if (!ask(socket, &looking))
			return false;
		if (!looking || clock_ms() >= deadline)
			return true;
		clock_poll(NULL, 0, clock_ms() + PAUSE);
	}
}

/* ---- devices ------------------------------------------------------------------------- */

/* False: vreadd did not see the device in time. */
static bool await_device(const struct domain *domain)
{
	struct xs_device d;
	int r = xs_device_init(&d, domain->domid, 0);

	if (r)
		return false;
	r = xs_device_wait(&d, ~XS_STATE(XenbusStateInitialising), LIMIT);
	xs_device_done(&d);
	return r == 0;
}

void await_vreadd(const struct plan *p, const struct config *c)
{
	bool answers = !c->control_socket[0] || await_datanodes(c->control_socket);

	for (unsigned i = 0; i < p->count && answers; i++)
		answers = await_device(&p->domain[i]->domain);
}
