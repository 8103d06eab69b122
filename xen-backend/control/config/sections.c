// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sections.c - begins and ends the sections of vread.conf, and reports keys that are missing in
 * them.
 *
 * Called by file.c for section lines and by keys.c for the place of values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "control/config/keys.h"
#include "control/config/values.h"
#include "control/nearest.h"

#define MAX_IVSHMEM 256U

static const char *const section_names[] = {"vreadd",   "xen",  "local",  "peers",
					    "datanode", "peer", "ivshmem"};
#define NUM_SECTIONS (sizeof(section_names) / sizeof(section_names[0]))

static struct config_datanode *last_datanode(struct config_loader *l)
{
	return &l->config->datanodes[l->config->num_datanodes - 1];
}

static struct peer_config *last_peer(struct config_loader *l)
{
	return &l->config->peers.peers[l->config->peers.num_peers - 1];
}

static struct config_ivshmem *last_ivshmem(struct config_loader *l)
{
	return &l->config->ivshmem[l->config->num_ivshmem - 1];
}

/* True if the present section has set the key, also with a wrong value, which was reported. */
static bool was_set(const struct config_loader *l, const char *name)
{
	for (unsigned i = 0; i < config_num_keys; i++)
		if (config_keys[i].section == l->section && !strcmp(config_keys[i].name, name))
			return l->seen & 1ULL << i;
	return false;
}

/* Returns the other datanode that the storage is pinned to, or NULL. */
static const struct config_datanode *pinned_to_other(struct config_loader *l, const char *id,
						     size_t length)
{
	for (size_t i = 0; i + 1 < l->config->num_datanodes; i++) {
		const struct config_datanode *n = &l->config->datanodes[i];

		if (n->storages && words_have(n->storages, id, length))
			return n;
	}
	return NULL;
}

static void check_pins(struct config_loader *l)
{
	const char *at = last_datanode(l)->storages;

	while (at && *(at += strspn(at, " "))) {
		size_t length = strcspn(at, " ");
		const struct config_datanode *other = pinned_to_other(l, at, length);
		char id[256];

		snprintf(id, sizeof(id), "%.*s", (int)length, at);
		if (other)
			config_report(l, l->section_name, "storages", id,
				      "expected each storage in one section, it is in [datanode "
				      "%s] too",
				      other->name);
		at += length;
	}
}

static void end_datanode(struct config_loader *l)
{
	l->line = last_datanode(l)->line;
	if (!was_set(l, "image"))
		config_report(l, l->section_name, NULL, NULL,
			      "no image: expected a line image = /path/to/disk.img");
	if (!was_set(l, "layout") && !was_set(l, "data-dirs"))
		config_report(
			l, l->section_name, NULL, NULL,
			"no data-dirs: expected a line data-dirs = /dfs/data "
			"(directories inside the image) or layout = FILE (of vread-provision)");
	if (was_set(l, "layout") && was_set(l, "data-dirs"))
		config_report(l, l->section_name, NULL, NULL,
			      "both data-dirs and layout: expected one of them; a layout "
			      "names the directories itself");
	check_pins(l);
}

static void end_peers(struct config_loader *l)
{
	static const char *const needed[] = {"name", "certificate", "key", "ca"};

	l->line = l->config->peers.line;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!was_set(l, needed[i]))
			config_report(l, l->section_name, NULL, NULL,
				      "no %s: expected a line %s = %s", needed[i], needed[i],
				      i == 0 ? "NAME (this host's, as in its certificate)"
					     : "/path/to/file.pem");
}

static void end_peer(struct config_loader *l)
{
	l->line = last_peer(l)->line;
	if (!was_set(l, "address") && (was_set(l, "storages") || was_set(l, "datanodes")))
		config_report(l, l->section_name, NULL, NULL,
			      "no address: expected a line address = IP:PORT, where this host asks "
			      "the peer");
}

static void end_ivshmem(struct config_loader *l)
{
	const struct config_ivshmem *last = last_ivshmem(l);

	l->line = last->line;
	if (!was_set(l, "socket"))
		config_report(l, l->section_name, NULL, NULL,
			      "no socket: expected a line socket = /path/to/socket, to which the "
			      "guest's QEMU connects");
	for (size_t i = 0; i + 1 < l->config->num_ivshmem; i++)
		if (last->socket[0] && !strcmp(l->config->ivshmem[i].socket, last->socket))
			config_report(l, l->section_name, "socket", last->socket,
				      "expected a socket of its own; [ivshmem %s] has the same",
				      l->config->ivshmem[i].name);
}

void config_section_end(struct config_loader *l)
{
	unsigned line = l->line;

	if (l->section_bad)
		return;
	if (l->section == SECTION_DATANODE)
		end_datanode(l);
	else if (l->section == SECTION_PEERS)
		end_peers(l);
	else if (l->section == SECTION_PEER)
		end_peer(l);
	else if (l->section == SECTION_IVSHMEM)
		end_ivshmem(l);
	l->line = line;
}

/* Begins a section with a name: none of its keys is set.  The section is bad until the caller has
 * added it.  False: the name is not valid (reported). */
static bool begin_named(struct config_loader *l, enum config_section section, const char *name)
{
	l->section = section;
	l->section_bad = true;
	for (unsigned i = 0; i < config_num_keys; i++)
		if (config_keys[i].section == section)
			l->seen &= ~(1ULL << i);
	if (config_name_valid(name))
		return true;
	config_report(l, l->section_name, NULL, NULL,
		      "expected a name of 1 to %u letters, digits, '.', '_' and '-', the first no "
		      "'.'",
		      CONFIG_MAX_NAME);
	return false;
}

/* True if the datanode is already configured, in this file or another (reported). */
static bool datanode_seen(struct config_loader *l, const char *name)
{
	const struct config *c = l->config;

	for (size_t i = 0; i < c->num_datanodes; i++) {
		const struct config_datanode *d = &c->datanodes[i];

		if (strcmp(d->name, name) != 0)
			continue;
		if (strcmp(d->file, l->path) == 0)
			config_report(l, l->section_name, NULL, NULL,
				      "expected each name once; line %u has the same name",
				      d->line);
		else
			config_report(l, l->section_name, NULL, NULL,
				      "expected each name once; %s:%u has the same name: remove "
				      "one of them",
				      d->file, d->line);
		return true;
	}
	return false;
}

static bool add_datanode(struct config *c, const char *name, const char *file, unsigned line)
{
	struct config_datanode *grown =
		reallocarray(c->datanodes, c->num_datanodes + 1, sizeof(*grown));
	struct config_datanode *d;

	if (!grown)
		return false;
	c->datanodes = grown;
	d = &grown[c->num_datanodes];
	*d = (struct config_datanode){.name = strdup(name), .file = strdup(file), .line = line};
	if (!d->name || !d->file) {
		free(d->name);
		free(d->file);
		return false;
	}
	c->num_datanodes++;
	return true;
}

static void begin_datanode(struct config_loader *l, const char *name)
{
	if (!begin_named(l, SECTION_DATANODE, name) || datanode_seen(l, name))
		return;
	if (l->config->num_datanodes == CONFIG_MAX_DATANODES)
		config_report(l, l->section_name, NULL, NULL, "expected at most %u datanodes",
			      CONFIG_MAX_DATANODES);
	else if (!add_datanode(l->config, name, l->path, l->line))
		config_report(l, l->section_name, NULL, NULL, "out of memory");
	else
		l->section_bad = false;
}

static bool add_peer(struct peers_config *c, const char *name, unsigned line)
{
	struct peer_config *grown = reallocarray(c->peers, c->num_peers + 1, sizeof(*grown));
	const struct peer_config fresh = {.name = (char *)name,
					  .address = "",
					  .storages = "",
					  .datanodes = "",
					  .allow_datanodes = "",
					  .allow_pools = "*",
					  .line = line};

	if (!grown)
		return false;
	c->peers = grown;
	if (!peer_config_copy(&grown[c->num_peers], &fresh))
		return false;
	c->num_peers++;
	return true;
}

/* Compares names of peers without regard to case, as names in certificates are. */
static void begin_peer(struct config_loader *l, const char *name)
{
	struct peers_config *c = &l->config->peers;

	if (!begin_named(l, SECTION_PEER, name))
		return;
	for (size_t i = 0; i < c->num_peers; i++)
		if (strcasecmp(c->peers[i].name, name) == 0) {
			config_report(l, l->section_name, NULL, NULL,
				      "expected each name once; line %u has the same name",
				      c->peers[i].line);
			return;
		}
	if (c->num_peers == PEERS_MAX)
		config_report(l, l->section_name, NULL, NULL, "expected at most %u peers",
			      PEERS_MAX);
	else if (!add_peer(c, name, l->line))
		config_report(l, l->section_name, NULL, NULL, "out of memory");
	else
		l->section_bad = false;
}

static bool add_ivshmem(struct config *c, const char *name, unsigned line)
{
	struct config_ivshmem *grown = reallocarray(c->ivshmem, c->num_ivshmem + 1, sizeof(*grown));
	struct config_ivshmem *i;

	if (!grown)
		return false;
	c->ivshmem = grown;
	i = &grown[c->num_ivshmem];
	*i = (struct config_ivshmem){
		.name = strdup(name),
		.socket = strdup(""),
		.mode = 0660,
		.memory = 32U << 20,
		.queues = 4,
		.role = POLICY_CLIENT,
		.allow_datanodes = strdup(""),
		.allow_pools = strdup("*"),
		.publish_datanodes = strdup(""),
		.unnamed_datanodes = strdup(""),
		.line = line,
	};
	if (!i->name || !i->socket || !i->allow_datanodes || !i->allow_pools ||
	    !i->publish_datanodes || !i->unnamed_datanodes) {
		config_ivshmem_free(i);
		return false;
	}
	c->num_ivshmem++;
	return true;
}

static void begin_ivshmem(struct config_loader *l, const char *name)
{
	const struct config *c = l->config;

	if (!begin_named(l, SECTION_IVSHMEM, name))
		return;
	for (size_t i = 0; i < c->num_ivshmem; i++)
		if (strcmp(c->ivshmem[i].name, name) == 0) {
			config_report(l, l->section_name, NULL, NULL,
				      "expected each name once; line %u has the same name",
				      c->ivshmem[i].line);
			return;
		}
	if (c->num_ivshmem == MAX_IVSHMEM)
		config_report(l, l->section_name, NULL, NULL, "expected at most %u guests",
			      MAX_IVSHMEM);
	else if (!add_ivshmem(l->config, name, l->line))
		config_report(l, l->section_name, NULL, NULL, "out of memory");
	else
		l->section_bad = false;
}

static bool begin_single(struct config_loader *l, const char *name)
{
	for (unsigned i = 0; i < SECTION_DATANODE - 1; i++)
		if (strcmp(name, section_names[i]) == 0) {
			l->section = SECTION_VREADD + i;
			if (l->section == SECTION_PEERS)
				l->config->peers.line = l->line;
			else if (l->section == SECTION_LOCAL)
				l->config->local.line = l->line;
			return true;
		}
	return false;
}

/* False if the file may only have another section (reported). */
static bool begin_only(struct config_loader *l, const char *name)
{
	if (!l->only || strcmp(name, l->only) == 0)
		return true;
	l->section = SECTION_NONE;
	l->section_bad = true;
	config_report(l, name, NULL, NULL,
		      "expected only the section [%s], because of the file's name", l->only);
	return false;
}

void config_section_begin(struct config_loader *l, const char *name)
{
	const char *near;
	bool named;

	config_section_end(l);
	snprintf(l->section_name, sizeof(l->section_name), "%s", name);
	l->section_bad = false;
	if (!begin_only(l, name))
		return;
	if (strncmp(name, CONFIG_DATANODE_PREFIX, strlen(CONFIG_DATANODE_PREFIX)) == 0) {
		begin_datanode(l, name + strlen(CONFIG_DATANODE_PREFIX));
		return;
	}
	if (strncmp(name, CONFIG_PEER_PREFIX, strlen(CONFIG_PEER_PREFIX)) == 0) {
		begin_peer(l, name + strlen(CONFIG_PEER_PREFIX));
		return;
	}
	if (strncmp(name, CONFIG_IVSHMEM_PREFIX, strlen(CONFIG_IVSHMEM_PREFIX)) == 0) {
		begin_ivshmem(l, name + strlen(CONFIG_IVSHMEM_PREFIX));
		return;
	}
	l->section = SECTION_NONE;
	if (begin_single(l, name))
		return;
	l->section_bad = true;
	near = nearest_word(name, section_names, NUM_SECTIONS);
	named = near &&
		(!strcmp(near, "datanode") || !strcmp(near, "peer") || !strcmp(near, "ivshmem"));
	config_report(
		l, name, NULL, NULL,
		"unknown section: expected [vreadd], [xen], [local], [peers], [datanode NAME], "
		"[peer NAME] or [ivshmem NAME]%s%s%s%s",
		near ? "; did you mean [" : "", near ? near : "", named ? " NAME" : "",
		near ? "]?" : "");
}

char *config_section_base(struct config_loader *l)
{
	switch (l->section) {
	case SECTION_DATANODE:
		return (char *)last_datanode(l);
	case SECTION_PEER:
		return (char *)last_peer(l);
	case SECTION_IVSHMEM:
		return (char *)last_ivshmem(l);
	default:
		return (char *)l->config;
	}
}
