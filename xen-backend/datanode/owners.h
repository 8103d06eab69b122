/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners.h - which datanode of this host each storage belongs to. claims.c asks it for each storage
 * that an image shows, registry.c sets what the operator said, owners_file.c keeps the record.
 *
 * A guest writes the storage id into its image, so an image proves nothing. A storage belongs to
 *
 *   1. the datanode that the configuration pins it to (which has no others then), else
 *   2. the datanode that was the first to show it. The record on disk keeps that.
 *
 * The record of a datanode that is not configured any more gives way to the next datanode that
 * shows the storage. It does not if the datanode comes and goes with its domain: while the domain
 * is away nobody gets what the datanode has, unless the operator gives it.
 *
 * If nobody can tell which of two datanodes was the first, the storage is contested and belongs to
 * none of them. That is so while the configuration changes, because then several datanodes are
 * looked into for the first time, in any order; and while the record is damaged.
 *
 * A datanode can record only OWNERS_MAX_EACH storages, so a guest that keeps inventing ids forgets
 * its own old ones and leaves room for others.
 *
 * Threads: any.
 */
#ifndef VREAD_DATANODE_OWNERS_H
#define VREAD_DATANODE_OWNERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define OWNERS_MAX 65536U
#define OWNERS_MAX_EACH 256U
#define OWNERS_MAX_NAME 63U /* bytes of a name */

struct owners;

enum owners_verdict {
	OWNERS_ITS,       /* the storage belongs to the datanode that was asked about */
	OWNERS_PINNED,    /* the configuration pins it to another */
	OWNERS_UNLISTED,  /* storages are pinned to this datanode, and this one is not */
	OWNERS_RECORDED,  /* another configured datanode showed it before */
	OWNERS_CONTESTED, /* nobody can tell who showed it first */
	OWNERS_FULL,      /* there is no room to record it */
};

/* A datanode of the configuration, and the storages that are pinned to it, separated by spaces. ""
 * pins none. */
struct owners_pins {
	const char *name;
	const char *storages;
	bool comes_and_goes; /* with its domain, by keys in xenstore */
};

struct owners *owners_new(void);    /* NULL: out of memory */
void owners_free(struct owners *o); /* NULL is ignored */

/* Sets the configured names and their pins. Returns 0, or -ENOMEM: then nothing has changed. */
int owners_configure(struct owners *o, const struct owners_pins *all, size_t count);

/* Between these calls nobody can tell which of two datanodes was the first to show a storage that
 * was not known before. A new `owners` is unsettled. */
void owners_unsettle(struct owners *o);
void owners_settle(struct owners *o);

/* Begins a look into a datanode's images: the storages shown from now on are those it has now. */
void owners_begin_look(struct owners *o);
/* The datanode shows the storage; it is recorded as the datanode's if it belongs to nobody.
 * `ret_other`: whom the verdict is about: the owner, or the rival. It is "" if there is none. */
enum owners_verdict owners_show(struct owners *o, const char *datanode, const char *storage_id,
				char ret_other[OWNERS_MAX_NAME + 1]);
/* True if the storage is recorded, but another datanode that was not looked into yet may show it,
 * too. */
bool owners_is_unsure(struct owners *o, const char *storage_id);
/* The verdict that owners_show() would give now. Changes nothing. */
enum owners_verdict owners_judge(struct owners *o, const char *datanode, const char *storage_id);

/* Records, as the operator's word, that the storage belongs to the datanode. Returns 0; -ENOENT: no
 * such datanode is configured; -EPERM: the configuration says otherwise; -EINVAL: not
 * a storage id; -ENOSPC or -ENOMEM. */
int owners_give(struct owners *o, const char *storage_id, const char *datanode);

/* ---- the record: owners_file.c ---- */

/* Keeps the record in that file from now on, and reads it. A file that does not exist is an empty
 * record. If the file cannot be read, or is not a record, it is left alone, and storages are
 * contested if two datanodes show them. Call it before the first look. Returns 0 or -ENOMEM. */
int owners_keep_in(struct owners *o, const char *path);
/* Reads a record that was damaged once more. True if it is good now: what was shown meanwhile is
 * forgotten. */
bool owners_read_again(struct owners *o);
/* Writes the record if it has changed. One thread at a time. */
void owners_save(struct owners *o);
/* New reference, for the status: "file" (or null), "storages" (their number), "problem" (or
 * null). */
json_t *owners_status(struct owners *o);

#endif
