/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loader.h - one reading of vread.conf: where it is, and what went wrong so far.
 *
 * config.c begins it, file.c reads lines, sections.c begins and ends sections, keys.c looks
 * up keys and values.c judges what is set; each mistake goes to problems.c, and reading goes on.
 */
#ifndef VREAD_CONFIG_LOADER_H
#define VREAD_CONFIG_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/config.h"

#define CONFIG_MAX_NAME 63U /* of a datanode or a peer */
#define CONFIG_DATANODE_PREFIX "datanode "
#define CONFIG_PEER_PREFIX "peer "

enum config_section {
	SECTION_NONE,
	SECTION_VREADD,
	SECTION_XEN,
	SECTION_LOCAL,
	SECTION_PEERS,
	SECTION_DATANODE, /* from here on there may be several, with a name each */
	SECTION_PEER,
};

struct config_loader {
	struct config *config;
	const char *path;
	const char *only; /* the one section the file may have; NULL: any */
	FILE *file;
	json_t *problems;
	unsigned num_problems;
	unsigned line;
	enum config_section section;
	char section_name[128]; /* as written; cut if it is longer than any known one */
	bool section_bad;       /* reported; its keys are passed over */
	uint64_t seen; /* bit per key of the table; those of datanodes and peers anew in each */
};

/* problems.c.  Any of section, key and value may be NULL. */
__attribute__((format(printf, 5, 6))) void config_report(struct config_loader *l,
							 const char *section, const char *key,
							 const char *value, const char *format,
							 ...);

/* sections.c.  What the present section lacks is known, and reported, when it ends. */
void config_section_begin(struct config_loader *l, const char *name);
void config_section_end(struct config_loader *l);
/* What the present section's keys are offsets in. */
char *config_section_base(struct config_loader *l);

/* keys.c.  A handler of libinih's: user is the loader.  Never returns 0: mistakes are collected. */
int config_key_see(void *user, const char *section, const char *name, const char *value);

/* file.c.  0, or -errno after reporting: -EINVAL, if what it says is wrong. */
int config_file_load(struct config_loader *l);
/* Datanodes' own files, in the folder the configuration names by now. */
int config_datanode_files_load(struct config_loader *l);

#endif
