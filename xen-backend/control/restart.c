// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * restart.c - a table of the keys that only take effect when the daemon is started again.
 *
 * Called by daemon.c after a reload.
 */
#include "control/restart.h"

#include <string.h>

#include "control/config.h"

#define TEXT 0 /* as the size: the value is a string */
#define AT(member) offsetof(struct config, member), sizeof(((struct config *)NULL)->member)
#define TEXT_AT(member) offsetof(struct config, member), TEXT

static const struct {
	const char *name;
	size_t offset, size;
} fixed[] = {
	{"[vreadd] user", TEXT_AT(user)},
	{"[vreadd] control-socket", TEXT_AT(control_socket)},
	{"[vreadd] ivshmem-socket", TEXT_AT(ivshmem_socket)},
	{"[vreadd] storage-record", TEXT_AT(storage_record)},
	{"[vreadd] token-files", TEXT_AT(token_files)},
	{"[xen] enabled", AT(xen.enabled)},
	{"[xen] datanode-keys", AT(xen.datanode_keys)},
	{"[local] socket", TEXT_AT(local.socket)},
	{"[local] mode", AT(local.mode)},
	{"[peers] listen", TEXT_AT(peers.listen)},
	{"[peers] name", TEXT_AT(peers.name)},
	{"[peers] certificate", TEXT_AT(peers.certificate)},
	{"[peers] key", TEXT_AT(peers.key)},
	{"[peers] ca", TEXT_AT(peers.ca)},
	{"[peers] crl", TEXT_AT(peers.crl)},
	{"[peers] transports", AT(peers.transports)},
	{"[peers] idle-timeout", AT(peers.idle_timeout)},
	{"[peers] answer-timeout", AT(peers.answer_timeout)},
	{"[peers] streams", AT(peers.streams)},
	{"[peers] workers", AT(peers.workers)},
	{"[peers] buffers", AT(peers.buffers)},
};

static bool differs(const struct config *a, const struct config *b, size_t offset, size_t size)
{
	const void *x = (const char *)a + offset, *y = (const char *)b + offset;

	if (size == TEXT)
		return strcmp(*(char *const *)x, *(char *const *)y) != 0;
	return memcmp(x, y, size) != 0;
}

/* If the daemon was started without [peers], new peers need a restart. */
static void note_peers(const struct config *running, const struct config *wanted, json_t *needed)
{
	for (size_t i = 0; !running->peers.line && i < wanted->peers.num_peers; i++)
		json_array_append_new(needed, json_sprintf("[peer %s]: added",
							   wanted->peers.peers[i].name));
}

json_t *restart_needed(const struct config *running, const struct config *wanted)
{
	json_t *needed = json_array();

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (differs(running, wanted, fixed[i].offset, fixed[i].size))
			json_array_append_new(needed, json_string(fixed[i].name));
	note_peers(running, wanted, needed);
	return needed;
}
