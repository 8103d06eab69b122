/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - vread.conf(5), read once and checked completely.
 *
 * Every mistake of the file is reported, each with its place and what was
 * expected.  A file with any mistake yields no configuration at all.
 *
 * Datanodes that come and go with their domains have a file each, NAME.conf, in a folder beside it,
 * which somebody else writes: xl-vread(8).  They are read with it, and as strictly.
 */
#ifndef VREAD_CONFIG_H
#define VREAD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/log.h"
#include "disk/source.h"
#include "peer/settings.h"
#include "policy/tokens.h"

#define CONFIG_DEFAULT_PATH "/etc/vread/vread.conf"
#define CONFIG_MAX_LINE 197            /* bytes, without its end */
#define CONFIG_DATANODE_SUFFIX ".conf" /* of a file in datanode_files */

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
	enum tokens_mode tokens;
	char *layout; /* NULL: none */
	struct config_paths data_dirs;
	char *file;    /* where its section is */
	unsigned line; /* of it */
};

struct config {
	enum log_level log_level;
	char *control_socket; /* "": none */
	char *datanode_files; /* folder of datanodes' own files; "": none */
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
		unsigned line;                 /* of its section; 0: there is none */
	} local;
	struct peers_config peers;
	struct config_datanode *datanodes;
	size_t num_datanodes;
};

/* 0, or negative errno with *ret_problems, a new reference to an array (NULL: out of memory) of
 * objects in the order of the file's lines as they were found, then those of datanodes' own files, in
 * the order of their names.  A folder of them that is not there is an empty one.
 *   file, line     line 0: the file as a whole
 *   section        "xen", "datanode dn1"; or null
 *   key, value     or null, both
 *   problem        what is wrong, what was expected */
int config_load(const char *path, struct config **ret, json_t **ret_problems);
void config_free(struct config *c);
/* Whether text may be the name of a datanode. */
bool config_name_valid(const char *text);

/* One more of such; section, key and value may be NULL.  Takes over problem. */
json_t *config_problem_new(const char *path, unsigned line, const char *section, const char *key,
			   const char *value, json_t *problem);
/* One of them as a line, "file:line: KIND[section] key: value: problem". */
void config_problem_print(FILE *f, const json_t *problem, const char *kind);
/* All of them, a line each; free() it.  NULL: out of memory. */
char *config_problems_text(const json_t *problems);

#endif
