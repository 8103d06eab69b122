// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * config.c - the defaults of vread.conf(5), and the loading of a configuration.
 *
 * Called by vreadd and by the tools (config.h).  config/loader.h says how the file is read.
 */
#include "control/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "control/config/loader.h"
#include "control/config/values.h"
#include "peer/wire/message.h"
#include "read/store.h"
#include "vread-ring-user.h"

bool config_name_valid(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._-");

	return length > 0 && length <= CONFIG_MAX_NAME && !name[length] && name[0] != '.';
}

/* answer_timeout is less than the 2 s after which a guest's reader gives its backend up. */
static bool peers_default(struct peers_config *p)
{
	p->listen = strdup("");
	p->name = strdup("");
	p->certificate = strdup("");
	p->key = strdup("");
	p->ca = strdup("");
	p->crl = strdup("");
	p->transports = MESSAGE_TRANSPORT_TLS;
	p->idle_timeout = 60;
	p->answer_timeout = 1500;
	p->streams = PEER_STREAMS;
	p->workers = 4;
	p->buffers = 32;
	return p->listen && p->name && p->certificate && p->key && p->ca && p->crl;
}

static void free_peers(struct peers_config *p)
{
	free(p->listen);
	free(p->name);
	free(p->certificate);
	free(p->key);
	free(p->ca);
	free(p->crl);
	for (size_t i = 0; i < p->num_peers; i++)
		peer_config_free(&p->peers[i]);
	free(p->peers);
}

/* A file in the folder that systemd has made for vreadd's state. */
static char *state_file(const char *name, const char *without_systemd)
{
	const char *folder = getenv("STATE_DIRECTORY");
	char *path;

	if (!folder || folder[0] != '/')
		return strdup(without_systemd);
	return asprintf(&path, "%.*s/%s", (int)strcspn(folder, ":"), folder, name) < 0 ? NULL
										       : path;
}

void config_ivshmem_free(struct config_ivshmem *i)
{
	free(i->name);
	free(i->socket);
	free(i->allow_datanodes);
	free(i->allow_pools);
	free(i->publish_datanodes);
	free(i->unnamed_datanodes);
}

static struct config *config_default(void)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->log_level = LOG_LEVEL_INFO;
	c->user = strdup("");
	c->control_socket = strdup("/run/vread/control.sock");
	c->ivshmem_socket = strdup("/run/vread-ivshmem/control.sock");
	c->datanode_files = strdup("/var/lib/vread/datanodes");
	c->token_files = state_file("tokens", "/var/lib/vread/tokens");
	c->storage_record = state_file("storages", "");
	c->read_ahead = 8U << 20;
	c->cache = CACHE_AUTO;
	c->handle_memory = 64U << 20;
	c->xen.enabled = CONFIG_AUTO;
	c->xen.datanode_keys = true;
	c->xen.max_queues = VREAD_MAX_QUEUES;
	c->xen.max_ring_page_order = VREAD_MAX_RING_PAGE_ORDER;
	c->xen.max_pool_pages = VREAD_MAX_POOL_PAGES;
	c->local.socket = strdup("");
	c->local.allow_datanodes = strdup("");
	c->local.allow_pools = strdup("*");
	c->local.publish_datanodes = strdup("");
	c->local.unnamed_datanodes = strdup("");
	c->local.publish_uids = strdup("0");
	c->local.mode = 0600;
	c->local.max_connections = 64;
	c->local.max_pool_pages = VREAD_MAX_POOL_PAGES;
	c->local.max_total_pool_pages = 8 * VREAD_MAX_POOL_PAGES;
	if (peers_default(&c->peers) && c->user && c->control_socket && c->ivshmem_socket &&
	    c->datanode_files && c->token_files && c->storage_record && c->local.socket &&
	    c->local.allow_datanodes && c->local.allow_pools && c->local.publish_datanodes &&
	    c->local.unnamed_datanodes && c->local.publish_uids)
		return c;
	config_free(c);
	return NULL;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	free(c->user);
	free(c->control_socket);
	free(c->ivshmem_socket);
	free(c->datanode_files);
	free(c->token_files);
	free(c->storage_record);
	free(c->local.socket);
	free(c->local.allow_datanodes);
	free(c->local.allow_pools);
	free(c->local.publish_datanodes);
	free(c->local.unnamed_datanodes);
	free(c->local.publish_uids);
	free_peers(&c->peers);
	for (size_t i = 0; i < c->num_ivshmem; i++)
		config_ivshmem_free(&c->ivshmem[i]);
	free(c->ivshmem);
	for (size_t i = 0; i < c->num_datanodes; i++) {
		free(c->datanodes[i].name);
		free(c->datanodes[i].file);
		config_paths_free(&c->datanodes[i].images);
		config_paths_free(&c->datanodes[i].backing_folders);
		free(c->datanodes[i].layout);
		free(c->datanodes[i].storages);
		config_paths_free(&c->datanodes[i].data_dirs);
	}
	free(c->datanodes);
	free(c);
}

int config_load(const char *path, struct config **ret, json_t **ret_problems)
{
	struct config_loader l = {.path = path,
				  .config = config_default(),
				  .problems = json_array()};
	int r = -ENOMEM, of_files;

	if (l.config && l.problems) {
		r = config_file_load(&l);
		of_files = config_datanode_files_load(&l);
		r = r ?: of_files;
	}
	if (r) {
		*ret_problems = l.config ? l.problems : NULL;
		if (!l.config)
			json_decref(l.problems);
		config_free(l.config);
		return r;
	}
	json_decref(l.problems);
	*ret = l.config;
	return 0;
}

/* The first problem as a text. */
static int first_problem(const json_t *problems, char **ret_error)
{
	const json_t *p = json_array_get(problems, 0);
	const char *key = json_string_value(json_object_get(p, "key"));
	const char *value = json_string_value(json_object_get(p, "value"));
	const char *what = json_string_value(json_object_get(p, "problem"));

	return error_text(ret_error, -EINVAL, "%s%s%.128s%s%s", key ?: "", key ? ": " : "",
			  value ?: "", value ? ": " : "", what ?: "out of memory");
}

int config_of_datanode(const char *from, const char *name, const struct config_line *lines,
		       size_t num, struct config **ret, char **ret_error)
{
	struct config_loader l = {.path = from,
				  .config = config_default(),
				  .problems = json_array()};
	char section[128];
	int r = l.config && l.problems ? 0 : -ENOMEM;

	snprintf(section, sizeof(section), CONFIG_DATANODE_PREFIX "%.100s", name);
	if (!r)
		config_section_begin(&l, section);
	for (size_t i = 0; !r && i < num; i++)
		config_key_see(&l, NULL, lines[i].key, lines[i].value);
	if (!r)
		config_section_end(&l);
	if (!r && l.num_problems)
		r = first_problem(l.problems, ret_error);
	json_decref(l.problems);
	if (r)
		config_free(l.config);
	else
		*ret = l.config;
	return r;
}
