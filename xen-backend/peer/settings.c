// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * settings.c - copies, compares and frees the settings of [peer NAME] sections.
 *
 * Called by peer/reload.c and by the configuration (control/config.c, control/config/sections.c).
 */
#include "peer/settings.h"

#include <stdlib.h>
#include <string.h>

bool peer_config_copy(struct peer_config *to, const struct peer_config *from)
{
	*to = (struct peer_config){
		.name = strdup(from->name),
		.address = strdup(from->address),
		.storages = strdup(from->storages),
		.datanodes = strdup(from->datanodes),
		.allow_datanodes = strdup(from->allow_datanodes),
		.allow_pools = strdup(from->allow_pools),
		.line = from->line,
		.frames = from->frames,
	};
	if (to->name && to->address && to->storages && to->datanodes && to->allow_datanodes &&
	    to->allow_pools)
		return true;
	peer_config_free(to);
	*to = (struct peer_config){0};
	return false;
}

void peer_config_free(struct peer_config *c)
{
	free(c->name);
	free(c->address);
	free(c->storages);
	free(c->datanodes);
	free(c->allow_datanodes);
	free(c->allow_pools);
}

bool peer_config_same(const struct peer_config *a, const struct peer_config *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->address, b->address) &&
	       !strcmp(a->storages, b->storages) && !strcmp(a->datanodes, b->datanodes) &&
	       !strcmp(a->allow_datanodes, b->allow_datanodes) &&
	       !strcmp(a->allow_pools, b->allow_pools) && a->frames == b->frames;
}
