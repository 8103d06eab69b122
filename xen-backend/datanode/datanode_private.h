/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode_private.h - the structures of the registry and its datanodes, for the files of this
 * folder only.
 */
#ifndef VREAD_DATANODE_PRIVATE_H
#define VREAD_DATANODE_PRIVATE_H

#include <pthread.h>
#include <stdint.h>

#include "datanode/datanode.h"
#include "datanode/errands.h"
#include "datanode/published.h"
#include "datanode/registry.h"
#include "datanode/served.h"
#include "disk/usage.h"
#include "policy/tokens.h"

/* One datanode. What it serves changes; how it is configured never does. When the configuration
 * changes, another struct datanode takes its place. */
struct datanode {
	atomic_uint references; /* held by rosters, and by each `served` of this datanode */
	struct registry *registry;
	char *name;
	char **images; /* specs for image_open_within() */
	unsigned num_images;
	char **folders; /* for files that the images name */
	unsigned num_folders;
	char *layout_path; /* NULL: use data_dirs instead */
	char **data_dirs;
	unsigned num_data_dirs;
	struct published *published; /* shared with datanodes of this name before and after it */
	struct tokens *tokens;       /* shared likewise */

	pthread_mutex_t
		lock; /* guards all up to the next comment; held only to copy or change it */
	pthread_cond_t wake, first_look;
	bool removed; /* nothing is served any more, nor will be */
	bool seen;    /* somebody has looked into it */
	struct served *served;
	char shortage[256];     /* why the last look learnt nothing; "": it did not lack anything */
	struct parser *looking; /* a question about all images is asked of it; NULL: none */
	struct image_usage *usage; /* one per image, as of the last usage_update() */
	bool usage_changed;        /* the usage of its images is to be asked for again */
	uint64_t added;            /* ms: when its looker was started; 0: it has none */
	struct errands errands;

	/* The rest belongs to the datanode's looker; others set what is atomic. */
	atomic_bool wanted;      /* a request missed something: look soon */
	atomic_bool anew;        /* whose its storages are has changed: look at once */
	atomic_bool compare;     /* another datanode shows something to compare with */
	uint64_t compare_after;  /* ms: when it may be compared with others again */
	bool unannounced;        /* it has a looker, and nobody has heard of its storages */
	bool doubted;            /* the last look found less than is served */
	_Atomic uint64_t looked; /* ms: when the last look ended; 0: there was none */
	uint64_t took, cpu;      /* ms: how long it took, and the CPU time that its parser used */
};

struct registry {
	struct registry_listener listener;
	pthread_mutex_t lock; /* guards the next three; held only to copy or change them */
	struct roster *roster;
	unsigned unseen;      /* datanodes with a looker that nobody has looked into */
	unsigned unannounced; /* of these, whose storages nobody has heard of */
	pthread_cond_t announced;
	pthread_mutex_t ending; /* guards `threads`; no other lock is taken while it is held */
	unsigned threads;       /* of datanodes, that have not ended */
	pthread_cond_t thread_ended;
	bool started;            /* datanodes get lookers; for the control thread */
	atomic_bool settle;      /* refresh_settle() is to be called */
	pthread_mutex_t judging; /* held while storages are judged, and served by that judgement */
	pthread_mutex_t saving;  /* held while the record of owners is written */
	image_usage_fn *usage;   /* NULL: the kind of a file decides how it is read */
	void *usage_ctx;
	char *token_files;     /* NULL: none */
	struct owners *owners; /* of storages */
	struct clones *clones;
	atomic_bool judges;   /* registry_change() was called: storages are judged */
	atomic_bool changing; /* between registry_change() and registry_changed() */
	struct states_bell *bell;
	uint64_t states_asked; /* the last question for states */
};

/* Makes a datanode that takes the place of `old`, or a new one if `old` is NULL. Returns the
 * caller's reference, or NULL if out of memory. */
struct datanode *datanode_new(struct registry *r, const char *name,
			      const struct registry_disks *disks, const struct datanode *old);
/* Copies `from`. Returns false if out of memory; then `*ret` holds the `*ret_count` texts copied
 * so far. */
bool registry_copy_texts(struct registry_texts from, char ***ret, unsigned *ret_count);
struct datanode *datanode_get(struct datanode *dn);
void datanode_put(struct datanode *dn); /* NULL is ignored */
/* Replaces what the datanode serves by `v` and tells the registry's listener to forget what was
 * found through the previous one. If the datanode was removed, `v` itself is given up. Takes
 * over `v`, which may be NULL. */
void datanode_serve(struct datanode *dn, struct served *v);
/* A thread of a datanode begins, or ends: its last act. */
void registry_thread_begins(struct registry *r);
void registry_thread_ends(struct registry *r);
/* Waits until the threads of all datanodes have ended. The datanodes must have been removed. */
void registry_await_threads(struct registry *r);
/* The storages of the datanode were announced (claims.h), or never will be. For its looker. */
void registry_announced(struct datanode *dn);
/* Serves nothing from each datanode that serves a storage of another, until the datanode was looked
 * into again. Any thread. */
void registry_drop_lost(struct registry *r);

#endif
