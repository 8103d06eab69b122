/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners.h - whom each storage belongs to: a datanode of this host, or another host, which is
 * called a peer.
 *
 * A guest writes the storage id into its image, so an image proves nothing, and neither does an
 * announcement, which repeats what an image of another host shows. The datanodes of this host and
 * its peers are the parties. A storage belongs to
 *
 *   1. the party that the configuration pins it to (a datanode with pins has no others), else
 *   2. the party that was the first to show it. The record on disk keeps that.
 *
 * The record of a datanode that is not configured any more gives way to the next party that shows
 * the storage. It does not if the datanode comes and goes with its domain: while the domain is away
 * nobody gets what the datanode has, unless the operator gives it, or the domain has left the host.
 *
 * A peer that announces all its storages, and this one not, has withdrawn the storage: the next
 * party that shows it gets it. So a datanode may move from one host to another without an operator.
 * A peer that cannot be reached has withdrawn nothing. The peer that withdrew it is kept in the
 * record: if it announces the storage again, nobody can tell whether the datanode has moved or has
 * been away, and the storage is contested.
 *
 * A contested storage belongs to none of the two parties, until one of them withdraws it or is not
 * configured any more, or the operator gives it. A storage is also contested if nobody can tell
 * which of two parties was the first: while the configuration changes, because then several
 * datanodes are looked into, and several peers heard, for the first time, in any order; and while
 * the record is damaged.
 *
 * A datanode can record only OWNERS_MAX_EACH storages, and a peer OWNERS_MAX_EACH_PEER. So a guest
 * or a peer that keeps inventing ids forgets its own old ones and leaves room for others.
 *
 * The name of a party is the name of a datanode, or '@' and the name of a peer.
 *
 * Threads: any.
 */
#ifndef VREAD_DATANODE_OWNERS_H
#define VREAD_DATANODE_OWNERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OWNERS_MAX 65536U
#define OWNERS_MAX_OF_PEERS 49152U /* the others are for datanodes of this host */
#define OWNERS_MAX_EACH 256U
#define OWNERS_MAX_EACH_PEER 4096U
#define OWNERS_MAX_NAME 64U /* bytes of the name of a party */

struct owners;

enum owners_verdict {
	OWNERS_ITS,       /* the storage belongs to the party that was asked about */
	OWNERS_PINNED,    /* the configuration pins it to another */
	OWNERS_UNLISTED,  /* storages are pinned to this datanode, and this one is not */
	OWNERS_RECORDED,  /* another configured party showed it before */
	OWNERS_CONTESTED, /* nobody can tell who showed it first */
	OWNERS_AWAITED,   /* other peers, which may show it too, have not been heard yet */
	OWNERS_FULL,      /* there is no room to record it */
};

/* Whom a change is about. */
enum owners_kind { OWNERS_DATANODES, OWNERS_PEERS, OWNERS_KINDS };

/* A party of the configuration, and the storages that are pinned to it, separated by spaces. ""
 * pins none. */
struct owners_pins {
	const char *name;     /* of a peer: with the '@' */
	const char *storages; /* of a peer: each may stand behind "DATANODE/" */
	bool comes_and_goes;  /* a datanode: with its domain, by keys in xenstore */
	bool is_silent;       /* a peer: it may announce nothing, so only its pins count */
};

struct owners *owners_new(void);    /* NULL: out of memory */
void owners_free(struct owners *o); /* NULL is ignored */

/* Sets the configured datanodes, or the configured peers, and their pins. Returns 0, or -ENOMEM:
 * then nothing has changed. */
int owners_configure(struct owners *o, enum owners_kind kind, const struct owners_pins *all,
		     size_t count);

/* Between these calls nobody can tell which of two parties was the first to show a storage that was
 * not known before. A new `owners` is unsettled about datanodes. */
void owners_unsettle(struct owners *o, enum owners_kind kind);
void owners_settle(struct owners *o, enum owners_kind kind);
/* A number that changes whenever a storage may belong to another party than before. */
const _Atomic uint64_t *owners_generation(const struct owners *o);

/* Begins a look into a datanode's images: the storages shown from now on are those it has now. */
void owners_begin_look(struct owners *o);
/* Begins a list of all storages that a peer announces. Storages that are shown between this call
 * and owners_end_list() are those that it has. A list that has not ended says nothing. */
void owners_begin_list(struct owners *o, const char *peer);
void owners_end_list(struct owners *o, const char *peer);
/* The party shows the storage, in a look or list that has begun; it is recorded as the party's if
 * it belongs to nobody. `ret_other`: whom the verdict is about: the owner, or the rival. It is ""
 * if there is none. */
enum owners_verdict owners_show(struct owners *o, const char *party, const char *storage_id,
				char ret_other[OWNERS_MAX_NAME + 1]);
/* True if the storage belongs to the peer, which shows it in its last whole list. It is recorded as
 * the peer's if it belongs to nobody. */
bool owners_keep(struct owners *o, const char *peer, const char *storage_id);
/* True if the storage is recorded, but another datanode that was not looked into yet may show it,
 * too. */
bool owners_is_unsure(struct owners *o, const char *storage_id);
/* The verdict that owners_show() would give now. Changes nothing. */
enum owners_verdict owners_judge(struct owners *o, const char *party, const char *storage_id,
				 char ret_other[OWNERS_MAX_NAME + 1]);
bool owners_is_peer(const char *party);
/* The verdict as a word of the status; NULL: ITS. */
const char *owners_because(enum owners_verdict verdict);
/* Texts for the operator: what is wrong, and what to do. `verdict`: of the party `party`, not ITS.
 * The caller frees both texts; NULL: out of memory. */
void owners_explain(enum owners_verdict verdict, const char *party, const char *other,
		    const char *storage_id, char **ret_problem, char **ret_remedy);
/* Calls fn() for each storage in the record that belongs to the party, as long as it returns 0.
 * Returns the last value of fn(), or 0. fn() must not use `o`. */
typedef int owners_storage_fn(void *ctx, const char *party, const char *storage_id);
int owners_each(struct owners *o, const char *party, owners_storage_fn *fn, void *ctx);

/* Records, as the operator's word, that the storage belongs to the party; NULL: to no peer. Returns
 * 0; -ENOENT: no such party is configured; -EPERM: the configuration says otherwise; -EINVAL: not a
 * storage id; -ENOSPC or -ENOMEM. */
int owners_give(struct owners *o, const char *storage_id, const char *party);

/* The domain of the datanode has left this host for good: what the datanode has gives way, as that
 * of a datanode that does not come and go, once it is not configured any more. */
void owners_leave(struct owners *o, const char *datanode);

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
