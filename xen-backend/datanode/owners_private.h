/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners_private.h - the table behind owners.h, for owners.c and owners_file.c only.
 */
#ifndef VREAD_DATANODE_OWNERS_PRIVATE_H
#define VREAD_DATANODE_OWNERS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "datanode/owners.h"

#define OWNERS_BUCKETS 4096U
#define OWNERS_WITHDRAWN 0U
#define OWNERS_FIRST_LOOK 1U

/* One storage. `rival` is "" unless the storage is contested, or was withdrawn by that peer. */
struct owned {
	struct owned *next;
	char owner[OWNERS_MAX_NAME + 1], rival[OWNERS_MAX_NAME + 1];
	bool stays;  /* also while the owner is not configured */
	bool unsure; /* another may have been the first to show it; not in the file */
	/* The last look, or the last list of a peer, that found it at the owner; at the rival.
	 * OWNERS_WITHDRAWN: a peer that has withdrawn it. */
	uint64_t look, rival_look;
	char storage[];
};

struct owned_table {
	struct owned *buckets[OWNERS_BUCKETS];
	size_t count;
};

struct owners_name {
	char *name;
	bool lists; /* storages are pinned to it; no peer's */
	bool comes_and_goes;
	uint64_t list;  /* of a peer: the number of the list that it announces */
	uint64_t heard; /* of a peer: the number of its last whole list, or OWNERS_FIRST_LOOK */
};

/* The configured parties of a kind. */
struct owners_names {
	struct owned_table pins;  /* of a pin only the owner counts */
	struct owners_name *name; /* sorted */
	size_t count;
};

struct owners {
	_Atomic uint64_t generation; /* owners_generation() */
	pthread_mutex_t lock;        /* guards the rest */
	struct owned_table table;
	struct owners_names names[OWNERS_KINDS];
	uint64_t look; /* the number of the last look, or list */
	bool unsettled[OWNERS_KINDS];
	bool changed;  /* since the file was written */
	char *path;    /* NULL: none */
	bool damaged;  /* the file is left alone */
	char *problem; /* NULL: none */
};

/* Copies a name, and clears the rest. */
void owners_copy_name(char to[OWNERS_MAX_NAME + 1], const char *name);

/* With the lock, or of a table that nobody else has. */
struct owned *owned_find(const struct owned_table *t, const char *storage_id);
struct owned *owned_add(struct owned_table *t, const char *storage_id, const char *owner);
void owned_clear(struct owned_table *t);

/* True if text may be the name of a datanode or, if with_peers, of a party. */
bool owners_name_valid(const char *text, bool with_peers);
/* Notes that storages may belong to others than before. */
void owners_changed(struct owners *o);

/* Parses the text of a record, which ends with a NUL. A pure function. Returns 0, -ENOMEM, or
 * -EINVAL with `*ret_error` (free() it), which names the line and what was expected. */
int owners_parse(const char *text, size_t length, struct owned_table *ret, char **ret_error);
/* Returns the text of a record (free() it), or NULL. */
char *owners_text(const struct owned_table *t);

#endif
