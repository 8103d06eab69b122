/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config.h - reads and checks the configuration file vread.conf(5).
 *
 * Called by vreadd and vread-ivshmem at the start and at each reload, and by the tools vread and
 * xl-vread.
 *
 * Every mistake in the file is reported, each with its place and what was
 * expected.  A file with any mistake yields no configuration at all.
 *
 * A datanode may have a file of its own, NAME.conf, in the folder datanode_files.  These files are
 * read with vread.conf and checked as strictly.
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
#include "policy/policy.h"
#include "policy/tokens.h"

#define CONFIG_DEFAULT_PATH "/etc/vread/vread.conf"
#define CONFIG_MAX_DATANODES 1024U
#define CONFIG_MAX_LINE 197            /* bytes, without the line feed */
#define CONFIG_DATANODE_SUFFIX ".conf" /* of a file in datanode_files */

enum config_enabled { CONFIG_NO, CONFIG_YES, CONFIG_AUTO };

/* Paths of data directories on a datanode's disks, of the disks' images, or of folders. */
struct config_paths {
	char **path;
	unsigned count;
};

/* Either layout or data_dirs is set. */
struct config_datanode {
	char *name;
	struct config_paths images;          /* as image_open_within() takes them */
	struct config_paths backing_folders; /* for files that images name */
	enum source_mode image_mode;
	enum tokens_mode tokens;
	char *layout;   /* NULL: none */
	char *storages; /* pinned to it, ids with a space before each; NULL: none */
	struct config_paths data_dirs;
	char *file;    /* the file that holds the section, or the directory of keys in xenstore */
	unsigned line; /* line of the section; 0: keys */
};

/* A guest of KVM, as vread-ivshmem(8) and the port for these guests take it. */
struct config_ivshmem {
	char *name;
	char *socket; /* for the guest's QEMU */
	mode_t mode;
	size_t memory; /* bytes, a power of two */
	unsigned queues;
	enum policy_role role;
	char *allow_datanodes;
	char *allow_pools;
	char *publish_datanodes;
	char *unnamed_datanodes;
	unsigned line; /* of the section */
};

struct config {
	enum log_level log_level;
	bool audit;           /* a line for each OPEN (policy/audit.h) */
	char *user;           /* that vreadd becomes if root starts it; "": it stays root */
	char *control_socket; /* "": none */
	char *ivshmem_socket; /* of vread-ivshmem, for vreadd */
	char *datanode_files; /* folder of datanodes' own files; "": none */
	char *token_files;    /* folder of policy/token_memory.h; "": none */
	char *storage_record; /* file of the storages' owners; "": none */
	size_t read_ahead;    /* bytes per client; 0: none */
	size_t cache;         /* bytes, for images read with O_DIRECT; 0: none; CACHE_AUTO */
	size_t handle_memory; /* bytes, for the open blocks of one device or peer */
	struct {
		enum config_enabled enabled;
		bool datanode_keys; /* datanodes by keys in xenstore (keys/keys.h) */
		unsigned max_queues;
		unsigned max_ring_page_order;
		unsigned max_pool_pages; /* of one device */
	} xen;
	struct {
		char *socket; /* "": none */
		char *allow_datanodes;
		char *allow_pools;
		char *publish_datanodes;
		char *unnamed_datanodes;
		char *publish_uids; /* numbers separated by one space */
		mode_t mode;
		unsigned max_connections;
		unsigned max_pool_pages;       /* of one connection */
		unsigned max_total_pool_pages; /* of all connections */
		unsigned line;                 /* of the section; 0: there is none */
	} local;
	struct peers_config peers;
	struct config_ivshmem *ivshmem;
	size_t num_ivshmem;
	struct config_datanode *datanodes;
	size_t num_datanodes;
};

/* Loads path and the datanodes' own files.  A missing folder of datanodes' files counts as empty.
 * 0, or negative errno with *ret_problems: a new reference to an array of problems; NULL: out of
 * memory.  Problems are in the order in which they were found in the file; then come those of
 * datanodes' own files, in the order of the files' names.  A problem is an object:
 *   file, line     line 0: the file as a whole
 *   section        "xen", "datanode dn1"; or null
 *   key, value     or null, both
 *   problem        what is wrong, what was expected */
int config_load(const char *path, struct config **ret, json_t **ret_problems);
void config_free(struct config *c);

/* A line of a section. */
struct config_line {
	const char *key, *value;
};
/* Makes a configuration of one datanode, whose section has these lines.  from: where they are, for
 * config_datanode.file.  0, or negative errno with *ret_error (free() it). */
int config_of_datanode(const char *from, const char *name, const struct config_line *lines,
		       size_t num, struct config **ret, char **ret_error);
/* True if text may be the name of a datanode, of a peer or of a guest of KVM. */
bool config_name_valid(const char *text);

/* A problem, as of config_load(); a new reference.  section, key and value may be NULL.  Takes over
 * problem. */
json_t *config_problem_new(const char *path, unsigned line, const char *section, const char *key,
			   const char *value, json_t *problem);
/* Prints one problem as a line, "file:line: KIND[section] key: value: problem". */
void config_problem_print(FILE *f, const json_t *problem, const char *kind);
/* All problems as a text, one line each; free() it.  NULL: out of memory. */
char *config_problems_text(const json_t *problems);

#endif
