// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements clones.h: samples of replicas, their comparison, and the notices.
 *
 * Only complete replicas are compared. On a file system that is in use, the end of a file may not
 * be committed yet. Then its .meta does not have exactly the length that the data needs, because
 * the committed length of a file that is being written back is a multiple of a page, or the final
 * one.
 */
#include "datanode/clones.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "datanode/datanode_private.h"
#include "datanode/looker.h"

/* Guests decide how many of these their images show. */
#define MAX_POOLS 16U
#define MAX_UUIDS 16U
#define MAX_QUESTIONS 512U   /* to the parser, of one comparison */
#define COMPARISON_MS 10000U /* no question is asked after this time */
#define MAX_SUMS (64U << 10) /* bytes of checksums that are read at each end of a .meta */

/* A finalized replica, and what is compared of it. */
struct sample {
	struct replica_name name;
	uint64_t length;
	uint64_t digest; /* of the checksums */
};

struct difference {
	const struct datanode *other; /* NULL: was removed */
	struct replica_name name;
	bool in_length; /* else in the checksums */
};

struct shown_pool {
	char *id;
	unsigned num_samples;
	struct sample samples[NEWEST_MAX];
	unsigned num_differences; /* one for each other datanode at most */
	struct difference *differences;
};

/* What one datanode shows. */
struct shown {
	struct shown *next;
	struct datanode *dn;
	unsigned num_pools, num_uuids;
	struct shown_pool pools[MAX_POOLS];
	char *uuids[MAX_UUIDS];
};

struct clones {
	pthread_mutex_t lock; /* held only to copy or change what follows */
	struct shown *all;    /* ordered by the names of the datanodes */
	json_t *notices;
};

struct clones *clones_new(void)
{
	struct clones *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->notices = json_array();
	return c;
}

static void shown_free(struct shown *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->num_pools; i++) {
		free(s->pools[i].differences);
		free(s->pools[i].id);
	}
	for (unsigned i = 0; i < s->num_uuids; i++)
		free(s->uuids[i]);
	free(s);
}

void clones_free(struct clones *c)
{
	if (!c)
		return;
	while (c->all) {
		struct shown *s = c->all;

		c->all = s->next;
		shown_free(s);
	}
	json_decref(c->notices);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- what a datanode shows ----------------------------------------------------------- */

static struct shown_pool *find_pool(struct shown *s, const char *id)
{
	for (unsigned i = 0; i < s->num_pools; i++)
		if (!strcmp(s->pools[i].id, id))
			return &s->pools[i];
	return NULL;
}

static void add_pool(struct shown *s, const char *id)
{
	if (!id || s->num_pools == MAX_POOLS || find_pool(s, id))
		return;
	s->pools[s->num_pools].id = strdup(id);
	s->num_pools += s->pools[s->num_pools].id != NULL;
}

static bool has_uuid(const struct shown *s, const char *uuid)
{
	for (unsigned i = 0; i < s->num_uuids; i++)
		if (!strcmp(s->uuids[i], uuid))
			return true;
	return false;
}

static void add_uuid(struct shown *s, const char *uuid)
{
	if (!uuid || !*uuid || s->num_uuids == MAX_UUIDS || has_uuid(s, uuid))
		return;
	s->uuids[s->num_uuids] = strdup(uuid);
	s->num_uuids += s->uuids[s->num_uuids] != NULL;
}

static void add_dir(struct shown *s, const struct layout_data_dir *d)
{
	add_uuid(s, d->datanode_uuid);
	for (unsigned i = 0; i < d->num_pools; i++)
		add_pool(s, d->pools[i]);
}

/* Clones have equal storage ids, too, unless somebody changed these. Then one of the two is not
 * served. */
static void add_refused(struct shown *s, const json_t *refused)
{
	json_t *dir, *pool;
	size_t i, k;

	json_array_foreach(refused, i, dir)
	{
		add_uuid(s, json_string_value(json_object_get(dir, "datanode-uuid")));
		json_array_foreach(json_object_get(dir, "pools"), k, pool)
		{
			add_pool(s, json_string_value(pool));
		}
	}
}

static struct shown *shown_new(struct datanode *dn, const struct served *v)
{
	struct shown *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dn = dn;
	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		for (unsigned k = 0; k < v->layout->filesystems[i].num_data_dirs; k++)
			add_dir(s, &v->layout->filesystems[i].data_dirs[k]);
	add_refused(s, v->refused);
	return s;
}

/* ---- reading replicas ------------------------------------------------------------------ */

/* One comparison. */
struct comparison {
	struct served *served;
	struct shown *shown;
	unsigned questions;
	unsigned found; /* replicas that another datanode has, too */
	uint64_t until;
};

/* A data directory that has the pool. */
struct place {
	const struct parser_fs *fs;
	const struct layout_data_dir *dir;
};

static bool has_pool(const struct layout_data_dir *d, const char *pool)
{
	for (unsigned i = 0; i < d->num_pools; i++)
		if (!strcmp(d->pools[i], pool))
			return true;
	return false;
}

/* True if another question may be asked. */
static bool may_ask(struct comparison *c)
{
	return c->questions++ < MAX_QUESTIONS && clock_ms() < c->until;
}

/* Adds [start, end) of the .meta file to the digest. */
static int add_sums(const struct place *p, const struct fs_file *meta, uint64_t start, uint64_t end,
		    uint64_t *digest)
{
	size_t length = (size_t)(end - start);
	uint8_t *sums = malloc(length + 1);
	int r = sums ? fs_file_read_at(p->fs->volume, meta, start, sums, length) : -ENOMEM;

	for (size_t i = 0; i < length && r == 0; i++)
		*digest = (*digest ^ sums[i]) * UINT64_C(1099511628211); /* FNV-1a */
	free(sums);
	return r;
}

/* The digest covers both ends of the checksums, and the header. */
static int digest_sums(const struct place *p, const struct fs_file *meta, uint64_t length,
		       uint64_t *ret)
{
	uint64_t head = length < MAX_SUMS ? length : MAX_SUMS;
	uint64_t tail = length - head < MAX_SUMS ? head : length - MAX_SUMS;
	int r;

	*ret = UINT64_C(14695981039346656037);
	r = add_sums(p, meta, 0, head, ret);
	return r < 0 ? r : add_sums(p, meta, tail, length, ret);
}

static int read_sample(const struct place *p, const struct block_files *f, struct parser_basis *b,
		       struct sample *ret)
{
	uint64_t expected;
	int r;

	if (!f->finalized || !meta_expected_length(&f->header, f->data.size, &expected) ||
	    expected != f->meta.size || fs_file_first_hole(&f->meta, 0, expected) < expected ||
	    !parser_meta_settled(b, 0, expected))
		return -ENODATA;
	ret->length = f->data.size;
	r = digest_sums(p, &f->meta, expected, &ret->digest);
	return r < 0 ? r : parser_check(p->fs, b, f);
}

/* Completes ret, of which the name is set. */
static int find_sample(struct comparison *c, const struct place *p, const char *pool,
		       struct sample *ret)
{
	struct parser_basis *basis;
	struct block_files files;
	int r;

	if (!may_ask(c))
		return -ETIMEDOUT;
	r = parser_locate(p->fs, p->dir->path, pool, ret->name.id, ret->name.genstamp, &files,
			  &basis);
	if (r < 0)
		return r;
	r = read_sample(p, &files, basis, ret);
	block_files_clear(&files);
	parser_basis_free(basis);
	return r;
}

/* Calls fn for each of the datanode's directories that have the pool, while fn returns false. */
static bool each_place(struct comparison *c, const char *pool,
		       bool (*fn)(struct comparison *c, const struct place *p, const char *pool,
				  void *ctx),
		       void *ctx)
{
	const struct image_layout *l = c->served->layout;

	for (unsigned i = 0; i < l->num_filesystems; i++)
		for (unsigned k = 0; k < l->filesystems[i].num_data_dirs; k++) {
			struct place p = {&c->served->fs[i], &l->filesystems[i].data_dirs[k]};

			if (has_pool(p.dir, pool) && fn(c, &p, pool, ctx))
				return true;
		}
	return false;
}

/* ---- samples ------------------------------------------------------------------------- */

/* Keeps the newest of all directories. */
static void keep_sample(struct shown_pool *pool, const struct sample *s)
{
	unsigned at = pool->num_samples;

	while (at > 0 && pool->samples[at - 1].name.id < s->name.id)
		at--;
	if (at == NEWEST_MAX)
		return;
	if (pool->num_samples < NEWEST_MAX)
		pool->num_samples++;
	memmove(&pool->samples[at + 1], &pool->samples[at],
		(pool->num_samples - at - 1) * sizeof(*s));
	pool->samples[at] = *s;
}

static bool sample_place(struct comparison *c, const struct place *p, const char *pool, void *ctx)
{
	struct replica_name names[NEWEST_MAX];
	char path[LAYOUT_MAX_PATH * 3];
	unsigned count = 0;

	if (!may_ask(c))
		return true;
	snprintf(path, sizeof(path), "%s/current/%s/current/finalized", p->dir->path, pool);
	if (parser_newest(p->fs, path, names, &count) < 0)
		return false;
	for (unsigned i = 0; i < count; i++) {
		struct sample s = {.name = names[i]};

		if (find_sample(c, p, pool, &s) == 0)
			keep_sample(ctx, &s);
	}
	return false;
}

/* ---- differences --------------------------------------------------------------------- */

/* The samples of another datanode. */
struct rival {
	struct datanode *dn; /* a reference */
	char *pool;
	unsigned num_samples;
	struct sample samples[NEWEST_MAX];
};

struct rivals {
	struct rival *list;
	unsigned count, room;
};

static void rivals_clear(struct rivals *r)
{
	for (unsigned i = 0; i < r->count; i++)
		datanode_put(r->list[i].dn);
	free(r->list);
}

static struct rival *add_rival(struct rivals *r)
{
	if (r->count == r->room) {
		unsigned room = r->room ? 2 * r->room : 8;
		struct rival *grown = reallocarray(r->list, room, sizeof(*grown));

		if (!grown)
			return NULL;
		r->list = grown;
		r->room = room;
	}
	return &r->list[r->count++];
}

/* With the lock. Copies what others show of the pools of mine. */
static void copy_rivals(const struct clones *c, struct shown *mine, struct rivals *ret)
{
	for (struct shown *s = c->all; s; s = s->next)
		for (unsigned i = 0; i < s->num_pools && s->dn != mine->dn; i++) {
			struct shown_pool *pool = find_pool(mine, s->pools[i].id);
			struct rival *r = pool ? add_rival(ret) : NULL;

			if (!r)
				continue;
			r->dn = datanode_get(s->dn);
			r->pool = pool->id;
			r->num_samples = s->pools[i].num_samples;
			memcpy(r->samples, s->pools[i].samples, sizeof(r->samples));
		}
}

/* ctx: the sample of the other. True: this datanode has the replica, too. */
static bool find_same(struct comparison *c, const struct place *p, const char *pool, void *ctx)
{
	return find_sample(c, p, pool, ctx) == 0;
}

static void add_difference(struct shown_pool *pool, const struct difference *d)
{
	struct difference *grown =
		reallocarray(pool->differences, pool->num_differences + 1, sizeof(*grown));

	if (!grown)
		return;
	pool->differences = grown;
	grown[pool->num_differences++] = *d;
}

/* Looks for the first replica of the other that this datanode has with other content. */
static void compare_with(struct comparison *c, const struct rival *other)
{
	struct shown_pool *pool = find_pool(c->shown, other->pool);

	for (unsigned i = 0; i < other->num_samples; i++) {
		const struct sample *theirs = &other->samples[i];
		struct sample own = {.name = theirs->name};
		struct difference d = {.other = other->dn, .name = theirs->name};

		if (!each_place(c, other->pool, find_same, &own))
			continue;
		c->found++;
		d.in_length = own.length != theirs->length;
		if (!d.in_length && own.digest == theirs->digest)
			continue;
		add_difference(pool, &d);
		return;
	}
}

/* ---- notices ------------------------------------------------------------------------- */

/* With the lock. Takes over the texts. */
static void add_notice(json_t *notices, const struct shown *a, const struct shown *b,
		       const char *pool, const char *because, char *problem)
{
	json_array_append_new(
		notices,
		json_pack("{s:[s, s], s:s*, s:s, s:s*, s:s}", "datanodes", a->dn->name, b->dn->name,
			  "pool", pool, "because", because, "problem", problem, "remedy",
			  "serve each cluster by a vreadd of its own, or leave one of the two out "
			  "of the configuration; clients that name storages get right bytes "
			  "meanwhile"));
	free(problem);
}

static const struct difference *find_difference(const struct shown_pool *pool,
						const struct datanode *other)
{
	for (unsigned i = 0; i < pool->num_differences; i++)
		if (pool->differences[i].other == other)
			return &pool->differences[i];
	return NULL;
}

/* With the lock. */
static void judge_pool(json_t *notices, const struct shown *a, const struct shown_pool *pool,
		       struct shown *b)
{
	const struct shown_pool *other = find_pool(b, pool->id);
	const struct difference *d = find_difference(pool, b->dn);
	char *problem = NULL;

	if (!other)
		return;
	d = d ?: find_difference(other, a->dn);
	if (!d)
		return;
	error_text(&problem, 0,
		   "their finalized replicas of block %" PRId64 ", generation stamp %" PRIu64
		   ", differ in %s",
		   d->name.id, d->name.genstamp, d->in_length ? "length" : "checksums");
	add_notice(notices, a, b, pool->id, d->in_length ? "length" : "checksums", problem);
}

/* With the lock. */
static void judge_pair(json_t *notices, struct shown *a, struct shown *b)
{
	const char *shared = NULL;
	char *problem = NULL;

	for (unsigned i = 0; i < a->num_pools; i++) {
		if (!shared && find_pool(b, a->pools[i].id))
			shared = a->pools[i].id;
		judge_pool(notices, a, &a->pools[i], b);
	}
	for (unsigned i = 0; i < a->num_uuids; i++) {
		if (!has_uuid(b, a->uuids[i]))
			continue;
		error_text(&problem, 0, "both have the datanodeUuid %s", a->uuids[i]);
		add_notice(notices, a, b, shared, "datanode-uuid", problem);
		return;
	}
}

static bool is_equal(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x == y || json_equal(x, y);
}

/* True if there is a notice about the same datanodes and pool. Which replicas differ may change
 * with each comparison. */
static bool contains(const json_t *notices, const json_t *notice)
{
	json_t *other;
	size_t i;

	json_array_foreach(notices, i, other)
	{
		if (is_equal(notice, other, "datanodes") && is_equal(notice, other, "pool"))
			return true;
	}
	return false;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "none";
}

static void log_notice(const json_t *notice)
{
	const json_t *names = json_object_get(notice, "datanodes");

	log_warn("datanodes %s and %s look like clones of one cluster (pool %s): %s; %s",
		 json_string_value(json_array_get(names, 0)),
		 json_string_value(json_array_get(names, 1)), text_of(notice, "pool"),
		 text_of(notice, "problem"), text_of(notice, "remedy"));
}

/* With the lock. */
static void judge_all(struct clones *c)
{
	json_t *notices = json_array(), *notice;
	size_t i;

	for (struct shown *a = c->all; a; a = a->next)
		for (struct shown *b = a->next; b; b = b->next)
			judge_pair(notices, a, b);
	json_array_foreach(notices, i, notice)
	{
		if (!contains(c->notices, notice))
			log_notice(notice);
	}
	json_decref(c->notices);
	c->notices = notices;
}

json_t *clones_status(struct clones *c)
{
	json_t *copy;

	pthread_mutex_lock(&c->lock);
	copy = json_deep_copy(c->notices);
	pthread_mutex_unlock(&c->lock);
	return copy;
}

/* ---- comparing ----------------------------------------------------------------------- */

/* With the lock. Takes the entry of the datanode out of the list. NULL: there is none. */
static struct shown *take_out(struct clones *c, const struct datanode *dn)
{
	for (struct shown **link = &c->all; *link; link = &(*link)->next) {
		struct shown *s = *link;

		if (s->dn != dn)
			continue;
		*link = s->next;
		return s;
	}
	return NULL;
}

/* With the lock. */
static void insert(struct clones *c, struct shown *s)
{
	struct shown **link = &c->all;

	while (*link && strcmp((*link)->dn->name, s->dn->name) < 0)
		link = &(*link)->next;
	s->next = *link;
	*link = s;
}

/* True if `new` has a pool, or samples of a pool, that `old` had not. */
static bool shows_more(struct shown *new, struct shown *old)
{
	for (unsigned i = 0; i < new->num_pools; i++) {
		const struct shown_pool *before = old ? find_pool(old, new->pools[i].id) : NULL;

		if (!before || (new->pools[i].num_samples && !before->num_samples))
			return true;
	}
	return false;
}

static void wake_others(struct datanode *dn)
{
	struct roster *all = registry_roster(dn->registry);

	for (unsigned i = 0; i < all->count; i++) {
		struct datanode *other = all->datanode[i];

		if (other == dn)
			continue;
		atomic_store(&other->compare, true);
		looker_wake(other);
	}
	roster_put(all);
}

/* With the lock. */
static bool is_shown(const struct clones *c, const struct datanode *dn)
{
	for (const struct shown *s = c->all; s; s = s->next)
		if (s->dn == dn)
			return true;
	return false;
}

/* With the lock. Forgets differences to datanodes that were removed. */
static void drop_differences(const struct clones *c, struct shown *s)
{
	for (unsigned i = 0; i < s->num_pools; i++)
		for (unsigned k = 0; k < s->pools[i].num_differences; k++) {
			struct difference *d = &s->pools[i].differences[k];

			if (!is_shown(c, d->other))
				d->other = NULL;
		}
}

/* Takes over `mine`. A datanode may have been removed during the comparison. */
static void replace(struct datanode *dn, struct shown *mine)
{
	struct clones *c = dn->registry->clones;
	struct shown *old;
	bool more;

	pthread_mutex_lock(&c->lock);
	old = take_out(c, dn);
	more = shows_more(mine, old);
	drop_differences(c, mine);
	insert(c, mine);
	judge_all(c);
	pthread_mutex_unlock(&c->lock);
	shown_free(old);
	if (more)
		wake_others(dn);
}

static void compare_pools(struct comparison *c, struct rivals *rivals)
{
	for (unsigned i = 0; i < rivals->count; i++) {
		struct shown_pool *pool = find_pool(c->shown, rivals->list[i].pool);

		if (!pool->num_samples)
			each_place(c, pool->id, sample_place, pool);
	}
	for (unsigned i = 0; i < rivals->count; i++)
		compare_with(c, &rivals->list[i]);
}

static unsigned num_samples(const struct rivals *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->count; i++)
		n += r->list[i].num_samples;
	return n;
}

void clones_compare(struct datanode *dn)
{
	struct clones *c = dn->registry->clones;
	struct served *v = datanode_served(dn);
	struct shown *mine = v ? shown_new(dn, v) : NULL;
	struct comparison comparison = {.served = v,
					.shown = mine,
					.until = clock_ms() + COMPARISON_MS};
	struct rivals rivals = {0};

	if (mine) {
		pthread_mutex_lock(&c->lock);
		copy_rivals(c, mine, &rivals);
		pthread_mutex_unlock(&c->lock);
		compare_pools(&comparison, &rivals);
		replace(dn, mine);
		log_datanode(LOG_LEVEL_DEBUG, dn->name,
			     "compared with other datanodes: %u samples, %u replicas of both",
			     num_samples(&rivals), comparison.found);
	}
	rivals_clear(&rivals);
	served_put(v);
}

void clones_forget(struct datanode *dn)
{
	struct clones *c = dn->registry->clones;
	struct shown *old;

	pthread_mutex_lock(&c->lock);
	old = take_out(c, dn);
	for (struct shown *s = c->all; s; s = s->next)
		drop_differences(c, s);
	judge_all(c);
	pthread_mutex_unlock(&c->lock);
	shown_free(old);
}
