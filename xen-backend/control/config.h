/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - vread.conf(5), read once and checked completely.
 *
 * Every mistake of the file is reported, one line each, as
 * "file:line: key: value: what was expected".  A file with any mistake yields
 * no configuration at all.
 */
#ifndef VREAD_CONFIG_H
#define VREAD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/log.h"
#include "disk/source.h"

#define CONFIG_DEFAULT_PATH "/etc/vread/vread.conf"

enum config_enabled { CONFIG_NO, CONFIG_YES, CONFIG_AUTO };

/* Of data directories on a datanode's disks, or of the disks' images. */
struct config_paths {
	char **path;
	unsigned count;
};

/* Either layout or data_dirs is set. */
struct config_datanode {
	char *name;
	struct config_paths images; /* as image_open() takes them */
	enum source_mode image_mode;
	char *layout; /* NULL: none */
	struct config_paths data_dirs;
	unsigned line; /* of its section */
};

struct config {
	enum log_level log_level;
	char *control_socket; /* "": none */
	size_t read_ahead;    /* bytes of one client; 0: none */
	size_t cache;         /* bytes, for images read with O_DIRECT; 0: none */
	struct {
		enum config_enabled enabled;
		unsigned max_queues;
		unsigned max_ring_page_order;
		unsigned max_pool_pages; /* of one device */
	} xen;
	struct {
		char *socket; /* "": none */
		char *allow_datanodes;
		char *allow_pools;
		char *publish_datanodes;
		mode_t mode;
		unsigned max_connections;
		unsigned max_pool_pages;       /* of one connection */
		unsigned max_total_pool_pages; /* of all connections */
	} local;
	struct config_datanode *datanodes;
	size_t num_datanodes;
};

/* 0, or negative errno with *ret_errors (free() it): one line per mistake. */
int config_load(const char *path, struct config **ret, char **ret_errors);
void config_free(struct config *c);

#endif
