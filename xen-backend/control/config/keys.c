// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * keys.c - the table of the keys of vread.conf(5), and the handler for a line "key = value".
 *
 * libinih calls config_key_see() for file.c.  sections.c reads the table.
 */
#include "control/config/keys.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "control/config/values.h"
#include "control/nearest.h"
#include "disk/image.h"
#include "layout/layout.h"
#include "vread-ring-user.h"

#define IN_CONFIG(member) offsetof(struct config, member)
#define IN_DATANODE(member) offsetof(struct config_datanode, member)
#define IN_PEER(member) offsetof(struct peer_config, member)
#define IN_IVSHMEM(member) offsetof(struct config_ivshmem, member)

const struct config_key config_keys[] = {
	{SECTION_VREADD, "log-level", value_log_level, IN_CONFIG(log_level), 0, 0, false},
	{SECTION_VREADD, "audit", value_yes, IN_CONFIG(audit), 0, 0, false},
	{SECTION_VREADD, "user", value_user, IN_CONFIG(user), 0, 0, false},
	{SECTION_VREADD, "control-socket", value_socket, IN_CONFIG(control_socket), 0, 0, false},
	{SECTION_VREADD, "ivshmem-socket", value_socket, IN_CONFIG(ivshmem_socket), 0, 0, false},
	{SECTION_VREADD, "datanode-files", value_folder, IN_CONFIG(datanode_files), 0, 0, false},
	{SECTION_VREADD, "token-files", value_folder, IN_CONFIG(token_files), 0, 0, false},
	{SECTION_VREADD, "storage-record", value_file, IN_CONFIG(storage_record), 0, 0, false},
	{SECTION_VREADD, "read-ahead", value_size, IN_CONFIG(read_ahead), 0, 64, false},
	{SECTION_VREADD, "cache", value_cache, IN_CONFIG(cache), 0, 1U << 20, false},
	{SECTION_VREADD, "handle-memory", value_size, IN_CONFIG(handle_memory), 8, 1U << 20, false},
	{SECTION_XEN, "enabled", value_enabled, IN_CONFIG(xen.enabled), 0, 0, false},
	{SECTION_XEN, "datanode-keys", value_yes, IN_CONFIG(xen.datanode_keys), 0, 0, false},
	{SECTION_XEN, "max-queues", value_limit, IN_CONFIG(xen.max_queues), 1, VREAD_MAX_QUEUES,
	 false},
	{SECTION_XEN, "max-ring-page-order", value_limit, IN_CONFIG(xen.max_ring_page_order), 0,
	 VREAD_MAX_RING_PAGE_ORDER, false},
	{SECTION_XEN, "max-pool-pages", value_limit, IN_CONFIG(xen.max_pool_pages),
	 VREAD_MIN_POOL_PAGES, VREAD_MAX_POOL_PAGES, false},
	{SECTION_LOCAL, "socket", value_socket, IN_CONFIG(local.socket), 0, 0, false},
	{SECTION_LOCAL, "allow-datanodes", value_names, IN_CONFIG(local.allow_datanodes), 0, 0,
	 false},
	{SECTION_LOCAL, "allow-pools", value_names, IN_CONFIG(local.allow_pools), 0, 0, false},
	{SECTION_LOCAL, "publish-datanodes", value_names, IN_CONFIG(local.publish_datanodes), 0, 0,
	 false},
	{SECTION_LOCAL, "unnamed-datanodes", value_names, IN_CONFIG(local.unnamed_datanodes), 0, 0,
	 false},
	{SECTION_LOCAL, "publish-uids", value_uids, IN_CONFIG(local.publish_uids), 0, 0, false},
	{SECTION_LOCAL, "mode", value_mode, IN_CONFIG(local.mode), 0, 0, false},
	{SECTION_LOCAL, "max-connections", value_limit, IN_CONFIG(local.max_connections), 1, 4096,
	 false},
	{SECTION_LOCAL, "max-pool-pages", value_limit, IN_CONFIG(local.max_pool_pages),
	 VREAD_MIN_POOL_PAGES, VREAD_MAX_POOL_PAGES, false},
	{SECTION_LOCAL, "max-total-pool-pages", value_limit, IN_CONFIG(local.max_total_pool_pages),
	 VREAD_MIN_POOL_PAGES, 1U << 28, false},
	{SECTION_DATANODE, "image", value_image, IN_DATANODE(images), 0, LAYOUT_MAX_IMAGES, true},
	{SECTION_DATANODE, "backing-folders", value_backing_folders, IN_DATANODE(backing_folders),
	 0, IMAGE_MAX_FOLDERS, true},
	{SECTION_DATANODE, "image-mode", value_image_mode, IN_DATANODE(image_mode), 0, 0, false},
	{SECTION_DATANODE, "data-dirs", value_data_dirs, IN_DATANODE(data_dirs), 0,
	 LAYOUT_MAX_DATA_DIRS, false},
	{SECTION_DATANODE, "tokens", value_tokens, IN_DATANODE(tokens), 0, 0, false},
	{SECTION_DATANODE, "storages", value_storage_ids, IN_DATANODE(storages), 0, 0, true},
	{SECTION_DATANODE, "layout", value_path, IN_DATANODE(layout), 0, 0, false},
	{SECTION_PEERS, "listen", value_address, IN_CONFIG(peers.listen), 0, 0, false},
	{SECTION_PEERS, "name", value_peer_name, IN_CONFIG(peers.name), 0, 0, false},
	{SECTION_PEERS, "certificate", value_path, IN_CONFIG(peers.certificate), 0, 0, false},
	{SECTION_PEERS, "key", value_path, IN_CONFIG(peers.key), 0, 0, false},
	{SECTION_PEERS, "ca", value_path, IN_CONFIG(peers.ca), 0, 0, false},
	{SECTION_PEERS, "crl", value_path, IN_CONFIG(peers.crl), 0, 0, false},
	{SECTION_PEERS, "transports", value_transports, IN_CONFIG(peers.transports), 0, 0, false},
	{SECTION_PEERS, "idle-timeout", value_limit, IN_CONFIG(peers.idle_timeout), 1, 86400,
	 false},
	{SECTION_PEERS, "answer-timeout", value_limit, IN_CONFIG(peers.answer_timeout), 100, 60000,
	 false},
	{SECTION_PEERS, "streams", value_limit, IN_CONFIG(peers.streams), 1, PEER_MAX_STREAMS,
	 false},
	{SECTION_PEERS, "workers", value_limit, IN_CONFIG(peers.workers), 1, 64, false},
	{SECTION_PEERS, "buffers", value_limit, IN_CONFIG(peers.buffers), 8, 1024, false},
	{SECTION_PEER, "address", value_address, IN_PEER(address), 0, 0, false},
	{SECTION_PEER, "storages", value_storages, IN_PEER(storages), 0, 0, true},
	{SECTION_PEER, "datanodes", value_patterns, IN_PEER(datanodes), 0, 0, false},
	{SECTION_PEER, "allow-datanodes", value_names, IN_PEER(allow_datanodes), 0, 0, false},
	{SECTION_PEER, "allow-pools", value_names, IN_PEER(allow_pools), 0, 0, false},
	{SECTION_PEER, "protection", value_protection, IN_PEER(frames), 0, 0, false},
	{SECTION_IVSHMEM, "socket", value_socket, IN_IVSHMEM(socket), 1, 0, false},
	{SECTION_IVSHMEM, "mode", value_mode, IN_IVSHMEM(mode), 0, 0, false},
	{SECTION_IVSHMEM, "memory", value_memory, IN_IVSHMEM(memory), 1, 256, false},
	{SECTION_IVSHMEM, "queues", value_limit, IN_IVSHMEM(queues), 1, VREAD_MAX_QUEUES, false},
	{SECTION_IVSHMEM, "role", value_role, IN_IVSHMEM(role), 0, 0, false},
	{SECTION_IVSHMEM, "allow-datanodes", value_names, IN_IVSHMEM(allow_datanodes), 0, 0, false},
	{SECTION_IVSHMEM, "allow-pools", value_names, IN_IVSHMEM(allow_pools), 0, 0, false},
	{SECTION_IVSHMEM, "publish-datanodes", value_names, IN_IVSHMEM(publish_datanodes), 0, 0,
	 false},
	{SECTION_IVSHMEM, "unnamed-datanodes", value_names, IN_IVSHMEM(unnamed_datanodes), 0, 0,
	 false},
};
const unsigned config_num_keys = sizeof(config_keys) / sizeof(config_keys[0]);
_Static_assert(sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_MAX_KEYS,
	       "a bit of seen for each");

static void unknown_key(struct config_loader *l, const char *name, const char *value)
{
	const char *known[CONFIG_MAX_KEYS], *near;
	char list[256] = "";
	size_t count = 0, used = 0;

	for (unsigned i = 0; i < config_num_keys; i++)
		if (config_keys[i].section == l->section)
			known[count++] = config_keys[i].name;
	near = nearest_word(name, known, count);
	for (unsigned i = 0; i < count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 known[i]);
	config_report(l, l->section_name, name, value, "unknown key: expected one of %s%s%s%s",
		      list, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int config_key_see(void *user, const char *section, const char *name, const char *value)
{
	struct config_loader *l = user;
	const char *expected;
	char *base;

	(void)section;
	if (l->section_bad)
		return 1;
	if (l->section == SECTION_NONE) {
		config_report(l, NULL, name, value, "expected a section like [vreadd] first");
		return 1;
	}
	for (unsigned i = 0; i < config_num_keys; i++) {
		const struct config_key *k = &config_keys[i];

		if (k->section != l->section || strcmp(k->name, name) != 0)
			continue;
		if (l->seen & 1ULL << i && !k->repeatable) {
			config_report(l, l->section_name, name, value,
				      "expected once; the key is set above already");
			return 1;
		}
		l->seen |= 1ULL << i;
		base = config_section_base(l);
		expected = k->parse(value, base + k->offset, k);
		if (expected)
			config_report(l, l->section_name, name, value, "expected %s", expected);
		return 1;
	}
	unknown_key(l, name, value);
	return 1;
}
