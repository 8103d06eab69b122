/* SPDX-License-Identifier: MIT */
/* Implements check_states() of check_parts.h: the states of a device's two ends, which vreadif.h
 * draws.  check.c calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xen/io/xenbus.h>

#include "check_parts.h"
#include "vread-nodes.h"

static const char *name_of(unsigned state)
{
	static const char *const names[] = {
		"Unknown", "Initialising", "InitWait",      "Initialised",  "Connected",
		"Closing", "Closed",       "Reconfiguring", "Reconfigured",
	};

	return names[state];
}

/* False for states that this end never has. */
static bool is_used(bool by_backend, unsigned state)
{
	switch (state) {
	case XenbusStateInitWait:
		return by_backend;
	case XenbusStateInitialised:
		return !by_backend;
	case XenbusStateReconfiguring:
	case XenbusStateReconfigured:
		return false;
	default:
		return true;
	}
}

/* Pairs of states that must not last. */
static const struct pair {
	enum xenbus_state back, front;
	enum vread_node_writer behind; /* the end that must change its state: BACKEND or FRONTEND */
	bool passing;                  /* the pair is right for a moment */
	const char *expected;
} pairs[] = {
#define BACKEND VREAD_WRITER_BACKEND
#define FRONTEND VREAD_WRITER_FRONTEND
	{XenbusStateInitialising, XenbusStateInitialised, FRONTEND, false, "InitWait before that"},
	{XenbusStateInitialising, XenbusStateConnected, FRONTEND, false, "Connected"},
	{XenbusStateInitWait, XenbusStateInitialised, BACKEND, true, "Connected, or Closed"},
	{XenbusStateInitWait, XenbusStateConnected, FRONTEND, false, "Connected"},
	{XenbusStateConnected, XenbusStateInitialising, BACKEND, true, "Closed, or InitWait"},
	{XenbusStateConnected, XenbusStateClosing, BACKEND, true, "Closed"},
	{XenbusStateConnected, XenbusStateClosed, BACKEND, true, "Closed"},
	{XenbusStateClosing, XenbusStateInitialising, BACKEND, true, "Closed"},
	{XenbusStateClosing, XenbusStateInitialised, BACKEND, true, "Closed"},
	{XenbusStateClosing, XenbusStateConnected, BACKEND, true, "Closed"},
	{XenbusStateClosing, XenbusStateClosing, BACKEND, true, "Closed"},
	{XenbusStateClosing, XenbusStateClosed, BACKEND, true, "Closed"},
	{XenbusStateClosed, XenbusStateInitialised, FRONTEND, true, "Connected"},
	{XenbusStateClosed, XenbusStateConnected, FRONTEND, true, "Connected"},
#undef BACKEND
#undef FRONTEND
};

static void state_path(const struct check *c, enum vread_directory d, char path[2 * PATH_SIZE])
{
	snprintf(path, 2 * PATH_SIZE, "%s/" VREAD_NODE_STATE, c->dir[d]);
}

static bool check_used(struct check *c, enum vread_directory d)
{
	char path[2 * PATH_SIZE];

	if (is_used(d, c->state[d]))
		return true;
	state_path(c, d, path);
	check_found(c,
		    (struct vread_problem){.path = path,
					   .expected = "a state of vreadif.h",
					   .remedy = check_remedy(c,
								  d == VREAD_IN_BACKEND
									  ? VREAD_WRITER_BACKEND
									  : VREAD_WRITER_FRONTEND)},
		    "is %s, which a %s never is", name_of(c->state[d]),
		    d == VREAD_IN_BACKEND ? "backend" : "frontend");
	return false;
}

static void check_pair(struct check *c)
{
	char path[2 * PATH_SIZE];

	state_path(c, VREAD_IN_BACKEND, path);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (pairs[i].back == c->state[VREAD_IN_BACKEND] &&
		    pairs[i].front == c->state[VREAD_IN_FRONTEND])
			check_found(c,
				    (struct vread_problem){.path = path,
							   .expected = pairs[i].expected,
							   .remedy =
								   check_remedy(c, pairs[i].behind),
							   .passing = pairs[i].passing},
				    "is %s while the frontend's is %s",
				    name_of(c->state[VREAD_IN_BACKEND]),
				    name_of(c->state[VREAD_IN_FRONTEND]));
}

/* Reports a device that a toolstack asked to close and that is still there. */
static void check_offline(struct check *c)
{
	char path[2 * PATH_SIZE], remedy[TEXT_SIZE];
	unsigned online = 1;

	if (!check_read_uint(c, VREAD_IN_BACKEND, VREAD_NODE_ONLINE, &online) || online)
		return;
	state_path(c, VREAD_IN_BACKEND, path);
	snprintf(remedy, sizeof(remedy), "xl-vread detach %u --id %u --force", c->domid, c->id);
	check_found(c,
		    (struct vread_problem){.path = path,
					   .expected = "that the device is removed",
					   .remedy = remedy,
					   .passing = true},
		    "is %s while online is 0", name_of(c->state[VREAD_IN_BACKEND]));
}

/* Reports why the backend closed the device, in the backend's words. */
static void check_refused(struct check *c)
{
	char node[128], path[2 * PATH_SIZE], *error;

	snprintf(node, sizeof(node),
		 "/local/domain/%u/error/backend/" VREAD_DEVICE_TYPE "/%u/%u/error",
		 c->backend_domid, c->domid, c->id);
	error = c->tree->read(c->tree->ctx, node);
	if (!error)
		return;
	state_path(c, VREAD_IN_BACKEND, path);
	check_found(c,
		    (struct vread_problem){.path = path,
					   .expected = "Connected",
					   .remedy = "correct what the error names, then detach "
						     "the device and attach it again",
					   .passing = true},
		    "is %s, because of: %.200s", name_of(c->state[VREAD_IN_BACKEND]), error);
	free(error);
}

void check_states(struct check *c)
{
	bool used;

	if (!c->state[VREAD_IN_BACKEND] || !c->state[VREAD_IN_FRONTEND])
		return; /* check_nodes() has reported that */
	used = check_used(c, VREAD_IN_BACKEND);
	used = check_used(c, VREAD_IN_FRONTEND) && used;
	if (used)
		check_pair(c);
	check_offline(c);
	if (c->state[VREAD_IN_BACKEND] == XenbusStateClosed)
		check_refused(c);
}
