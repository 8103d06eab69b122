/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners_private.h - the table behind owners.h, for owners.c and owners_file.c only.
 */
#ifndef VREAD_DATANODE_OWNERS_PRIVATE_H
#define VREAD_DATANODE_OWNERS_PRIVATE_H

#include <pthread.h>
#include <stdint.h>

#include "datanode/owners.h"

#define OWNERS_BUCKETS 4096U

/* One storage. `rival` is "" unless the storage is contested. */
struct owned {
	struct owned *next;
	char owner[OWNERS_MAX_NAME + 1], rival[OWNERS_MAX_NAME + 1];
	bool stays;    /* also while the owner is not configured */
	bool unsure;   /* another may have been the first to show it; not in the file */
	uint64_t look; /* the last look that found it at the owner */
	char storage[];
};

struct owned_table {
	struct owned *buckets[OWNERS_BUCKETS];
	size_t count;
};

struct owners_name {
	char *name;
	bool lists; /* storages are pinned to it */
	bool comes_and_goes;
};

struct owners {
	pthread_mutex_t lock;           /* guards the rest */
	struct owned_table table, pins; /* of a pin only the owner counts */
	struct owners_name *names;      /* sorted */
	size_t num_names;
	uint64_t look;
	bool unsettled;
	bool changed;  /* since the file was written */
	char *path;    /* NULL: none */
	bool damaged;  /* the file is left alone */
	char *problem; /* NULL: none */
};

/* With the lock, or of a table that nobody else has. */
struct owned *owned_find(const struct owned_table *t, const char *storage_id);
struct owned *owned_add(struct owned_table *t, const char *storage_id, const char *owner);
void owned_clear(struct owned_table *t);

/* True if text may be the name of a datanode. */
bool owners_name_valid(const char *text);

/* Parses the text of a record, which ends with a NUL. A pure function. Returns 0, -ENOMEM, or
 * -EINVAL with `*ret_error` (free() it), which names the line and what was expected. */
int owners_parse(const char *text, size_t length, struct owned_table *ret, char **ret_error);
/* Returns the text of a record (free() it), or NULL. */
char *owners_text(const struct owned_table *t);

#endif
