/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loader.h - the state of reading vread.conf, and the functions that the files of config/ share.
 *
 * config.c begins, file.c reads lines, sections.c begins and ends sections, keys.c looks up keys
 * and values.c checks values.  problems.c collects each mistake, and reading goes on.
 */
#ifndef VREAD_CONFIG_LOADER_H
#define VREAD_CONFIG_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/config.h"

#define CONFIG_MAX_NAME 63U /* bytes in the name of a datanode, a peer or a guest */
#define CONFIG_DATANODE_PREFIX "datanode "
#define CONFIG_PEER_PREFIX "peer "
#define CONFIG_IVSHMEM_PREFIX "ivshmem "

enum config_section {
	SECTION_NONE,
	SECTION_VREADD,
	SECTION_XEN,
	SECTION_LOCAL,
	SECTION_PEERS,
	SECTION_DATANODE, /* this one and the next two may occur several times, each with a name */
	SECTION_PEER,
	SECTION_IVSHMEM,
};

struct config_loader {
	struct config *config;
	const char *path;
	const char *only; /* the only section that the file may have; NULL: any */
	FILE *file;
	json_t *problems;
	unsigned num_problems;
	unsigned line;
	enum config_section section;
	char section_name[128]; /* as written; cut if it is too long */
	bool section_bad;       /* the section was reported; its keys are skipped */
	uint64_t seen; /* one bit per key of the table; cleared for each new section with a name */
};

/* problems.c.  Adds a problem at l->path and l->line.  section, key and value may be NULL. */
__attribute__((format(printf, 5, 6))) void config_report(struct config_loader *l,
							 const char *section, const char *key,
							 const char *value, const char *format,
							 ...);

/* sections.c.  config_section_begin() ends the section before.  The end of a section reports the
 * keys that are missing in it. */
void config_section_begin(struct config_loader *l, const char *name);
void config_section_end(struct config_loader *l);
/* The struct that the offsets of the present section's keys refer to. */
char *config_section_base(struct config_loader *l);

/* config.c.  Frees the strings in *i. */
void config_ivshmem_free(struct config_ivshmem *i);

/* keys.c.  A handler for libinih; user is the loader.  Never returns 0: mistakes are collected. */
int config_key_see(void *user, const char *section, const char *name, const char *value);

/* file.c.  Reads the file l->path.  0, or negative errno (reported); -EINVAL: the file has
 * mistakes. */
int config_file_load(struct config_loader *l);
/* file.c.  Reads datanodes' own files, in the folder l->config->datanode_files.  Returns as
 * config_file_load(); a missing folder is not an error. */
int config_datanode_files_load(struct config_loader *l);

#endif
