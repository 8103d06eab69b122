// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of storages and the judgement of owners.h. claims.c, registry.c and peer/ call it;
 * owners_file.c keeps the table in a file.
 */
#include "datanode/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "datanode/owners_private.h"
#include "layout/layout.h"

void owners_copy_name(char to[OWNERS_MAX_NAME + 1], const char *name)
{
	memset(to, 0, OWNERS_MAX_NAME + 1);
	memcpy(to, name, strnlen(name, OWNERS_MAX_NAME));
}

/* ---- tables ------------------------------------------------------------------- */

static unsigned bucket_of(const char *text)
{
	return hash_text(text) % OWNERS_BUCKETS;
}

struct owned *owned_find(const struct owned_table *t, const char *storage_id)
{
	struct owned *e = t->buckets[bucket_of(storage_id)];

	while (e && strcmp(e->storage, storage_id))
		e = e->next;
	return e;
}

struct owned *owned_add(struct owned_table *t, const char *storage_id, const char *owner)
{
	struct owned **bucket = &t->buckets[bucket_of(storage_id)];
	size_t size = strlen(storage_id) + 1;
	struct owned *e = calloc(1, sizeof(*e) + size);

	if (!e)
		return NULL;
	memcpy(e->storage, storage_id, size);
	owners_copy_name(e->owner, owner);
	e->next = *bucket;
	*bucket = e;
	t->count++;
	return e;
}

static void owned_remove(struct owned_table *t, struct owned *e)
{
	struct owned **at = &t->buckets[bucket_of(e->storage)];

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	t->count--;
	free(e);
}

void owned_clear(struct owned_table *t)
{
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		while (t->buckets[i])
			owned_remove(t, t->buckets[i]);
}

/* ---- beginning and end ------------------------------------------------------------ */

bool owners_is_peer(const char *party)
{
	return party[0] == '@';
}

bool owners_name_valid(const char *text, bool with_peers)
{
	const char *name = text + (with_peers && owners_is_peer(text));
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._-");

	return length > 0 && length < OWNERS_MAX_NAME && !name[length] && name[0] != '.';
}

struct owners *owners_new(void)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	pthread_mutex_init(&o->lock, NULL);
	o->look = OWNERS_FIRST_LOOK;
	o->unsettled[OWNERS_DATANODES] = true;
	return o;
}

static void free_names(struct owners_names *n)
{
	owned_clear(&n->pins);
	for (size_t i = 0; i < n->count; i++)
		free(n->name[i].name);
	free(n->name);
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	owned_clear(&o->table);
	free_names(&o->names[OWNERS_DATANODES]);
	free_names(&o->names[OWNERS_PEERS]);
	free(o->path);
	free(o->problem);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void owners_changed(struct owners *o)
{
	atomic_fetch_add(&o->generation, 1);
}

const _Atomic uint64_t *owners_generation(const struct owners *o)
{
	return &o->generation;
}

/* ---- the operator's word ----------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct owners_name *)a)->name, ((const struct owners_name *)b)->name);
}

static struct owners_name *find_name(const struct owners *o, const char *party)
{
	const struct owners_names *n =
		&o->names[owners_is_peer(party) ? OWNERS_PEERS : OWNERS_DATANODES];
	const struct owners_name key = {.name = (char *)party};

	return n->count ? bsearch(&key, n->name, n->count, sizeof(*n->name), by_name) : NULL;
}

static bool is_configured(const struct owners *o, const char *party)
{
	return find_name(o, party);
}

/* True if storages are pinned to the datanode. */
static bool lists(const struct owners *o, const char *party)
{
	const struct owners_name *n = find_name(o, party);

	return n && n->lists;
}

/* True if the party may have a storage that is not pinned, and that the look or list `look` found
 * last. */
static bool may_have(const struct owners *o, const char *party, uint64_t look)
{
	const struct owners_name *n = find_name(o, party);

	return n && !n->lists && look >= n->heard;
}

static bool comes_and_goes(const struct owners *o, const char *party)
{
	const struct owners_name *n = find_name(o, party);

	return n && n->comes_and_goes;
}

static const struct owned *find_pin(const struct owners *o, const char *storage_id)
{
	const struct owned *pin = owned_find(&o->names[OWNERS_DATANODES].pins, storage_id);

	return pin ? pin : owned_find(&o->names[OWNERS_PEERS].pins, storage_id);
}

static bool add_pins(struct owned_table *t, const struct owners_pins *p)
{
	const char *at = p->storages;

	while (*(at += strspn(at, " "))) {
		size_t length = strcspn(at, " ");
		const char *slash = memchr(at, '/', length), *id = slash ? slash + 1 : at;
		size_t id_length = (size_t)(at + length - id);
		char storage[256];

		if (id_length < sizeof(storage)) {
			memcpy(storage, id, id_length);
			storage[id_length] = '\0';
			if (!owned_find(t, storage) && !owned_add(t, storage, p->name))
				return false;
		}
		at += length;
	}
	return true;
}

/* With the lock.  A datanode may come by a section now and by keys the next time, or the other way
 * round, without being looked into.  What an owner has that is not configured stays as it is. */
static void mark_what_stays(struct owners *o)
{
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i]; e; e = e->next) {
			const struct owners_name *n = find_name(o, e->owner);

			if (!n || n->comes_and_goes == e->stays)
				continue;
			e->stays = n->comes_and_goes;
			o->changed = true;
		}
}

/* Makes the names of `all`. False: out of memory. */
static bool make_names(struct owners_names *n, enum owners_kind kind, const struct owners_pins *all,
		       size_t count)
{
	n->name = calloc(count + 1, sizeof(*n->name));
	for (size_t i = 0; n->name && i < count; i++) {
		if (!add_pins(&n->pins, &all[i]))
			return false;
		if (all[i].is_silent)
			continue;
		n->name[n->count] = (struct owners_name){
			.name = strdup(all[i].name),
			.lists = kind == OWNERS_DATANODES && all[i].storages[0],
			.comes_and_goes = all[i].comes_and_goes,
		};
		if (!n->name[n->count++].name)
			return false;
	}
	if (n->name)
		qsort(n->name, n->count, sizeof(*n->name), by_name);
	return n->name;
}

int owners_configure(struct owners *o, enum owners_kind kind, const struct owners_pins *all,
		     size_t count)
{
	struct owners_names new = {0}, old;

	if (!make_names(&new, kind, all, count)) {
		free_names(&new);
		return -ENOMEM;
	}
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < new.count; i++) {
		const struct owners_name *was = find_name(o, new.name[i].name);

		new.name[i].list = was ? was->list : 0;
		new.name[i].heard = was ? was->heard : OWNERS_FIRST_LOOK;
	}
	old = o->names[kind];
	o->names[kind] = new;
	mark_what_stays(o);
	owners_changed(o);
	pthread_mutex_unlock(&o->lock);
	free_names(&old);
	return 0;
}

void owners_unsettle(struct owners *o, enum owners_kind kind)
{
	pthread_mutex_lock(&o->lock);
	o->unsettled[kind] = true;
	pthread_mutex_unlock(&o->lock);
}

static bool is_unsettled(const struct owners *o)
{
	return o->unsettled[OWNERS_DATANODES] || o->unsettled[OWNERS_PEERS] || o->damaged;
}

/* Storages of a damaged record stay unsure: the record may have named another. */
void owners_settle(struct owners *o, enum owners_kind kind)
{
	bool ends;

	pthread_mutex_lock(&o->lock);
	ends = o->unsettled[kind];
	o->unsettled[kind] = false;
	if (ends)
		owners_changed(o);
	for (unsigned i = 0; ends && !is_unsettled(o) && i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i]; e; e = e->next) {
			o->changed |= e->unsure;
			e->unsure = false;
		}
	pthread_mutex_unlock(&o->lock);
}

/* ---- judging: with the lock ---------------------------------------------------------- */

/* Sets or removes (NULL) the rival. */
static void set_rival(struct owned *e, const char *party, uint64_t look)
{
	owners_copy_name(e->rival, party ?: "");
	e->rival_look = look;
}

static void set_owner(struct owners *o, struct owned *e, const char *party, bool unsure)
{
	owners_copy_name(e->owner, party);
	set_rival(e, NULL, 0);
	e->stays = comes_and_goes(o, party);
	e->unsure = unsure;
	e->look = o->look;
	o->changed = true;
	owners_changed(o);
}

static bool owner_may_have(const struct owners *o, const struct owned *e)
{
	return may_have(o, e->owner, e->look);
}

static bool rival_may_have(const struct owners *o, const struct owned *e)
{
	return e->rival[0] && may_have(o, e->rival, e->rival_look);
}

/* Whose a storage is that is not pinned. Those of a record who are configured no more, have only
 * pinned storages, or have withdrawn the storage, have no say in it. */
static const char *owner_of(const struct owners *o, const struct owned *e)
{
	if (owner_may_have(o, e) || (e->stays && !is_configured(o, e->owner)))
		return e->owner;
	return rival_may_have(o, e) ? e->rival : NULL;
}

static bool is_contested(const struct owners *o, const struct owned *e)
{
	return rival_may_have(o, e) && owner_may_have(o, e);
}

/* `e`: the record of the storage, or NULL. The result FULL is left to record(). */
static enum owners_verdict judge(const struct owners *o, const struct owned *e, const char *party,
				 const char *storage_id, const char **ret_other)
{
	const struct owned *pin = find_pin(o, storage_id);
	const char *owner = e ? owner_of(o, e) : NULL;

	*ret_other = pin ? pin->owner : "";
	if (pin)
		return strcmp(pin->owner, party) ? OWNERS_PINNED : OWNERS_ITS;
	if (lists(o, party))
		return OWNERS_UNLISTED;
	if (e && is_contested(o, e)) {
		*ret_other = strcmp(e->owner, party) ? e->owner : e->rival;
		return OWNERS_CONTESTED;
	}
	if (!owner || !strcmp(owner, party))
		return owner && e->unsure && o->unsettled[OWNERS_PEERS] ? OWNERS_AWAITED
									: OWNERS_ITS;
	*ret_other = owner;
	return e->unsure ? OWNERS_CONTESTED : OWNERS_RECORDED;
}

enum owners_verdict owners_judge(struct owners *o, const char *party, const char *storage_id,
				 char ret_other[OWNERS_MAX_NAME + 1])
{
	enum owners_verdict verdict;
	const char *other;

	pthread_mutex_lock(&o->lock);
	verdict = judge(o, owned_find(&o->table, storage_id), party, storage_id, &other);
	owners_copy_name(ret_other, other);
	pthread_mutex_unlock(&o->lock);
	return verdict;
}

bool owners_is_unsure(struct owners *o, const char *storage_id)
{
	const struct owned *e;
	bool unsure;

	pthread_mutex_lock(&o->lock);
	e = owned_find(&o->table, storage_id);
	unsure = e && e->unsure;
	pthread_mutex_unlock(&o->lock);
	return unsure;
}

int owners_each(struct owners *o, const char *party, owners_storage_fn *fn, void *ctx)
{
	int r = 0;

	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (const struct owned *e = o->table.buckets[i]; e && !r; e = e->next) {
			const char *owner = is_contested(o, e) ? NULL : owner_of(o, e);

			if (owner && !strcmp(owner, party))
				r = fn(ctx, party, e->storage);
		}
	pthread_mutex_unlock(&o->lock);
	return r;
}

/* ---- recording: with the lock ----------------------------------------------------------- */

/* Forgets the records of datanodes that are not configured any more. */
static void drop_strangers(struct owners *o)
{
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i], *next; e; e = next) {
			next = e->next;
			if (!owner_of(o, e))
				owned_remove(&o->table, e);
		}
}

/* The number of the look or list in which the party shows storages now. */
static uint64_t look_of(const struct owners *o, const char *party)
{
	const struct owners_name *n = owners_is_peer(party) ? find_name(o, party) : NULL;

	return n ? n->list : o->look;
}

/* Makes room for one more storage of the party, if need be by forgetting the one that was not shown
 * for the longest time. */
static bool make_room(struct owners *o, const char *party)
{
	size_t most = owners_is_peer(party) ? OWNERS_MAX_OF_PEERS : OWNERS_MAX;
	size_t each = owners_is_peer(party) ? OWNERS_MAX_EACH_PEER : OWNERS_MAX_EACH;
	uint64_t look = look_of(o, party);
	struct owned *oldest = NULL;
	size_t count = 0;

	if (o->table.count >= most)
		drop_strangers(o);
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i]; e; e = e->next) {
			if (strcmp(e->owner, party))
				continue;
			count++;
			if (!e->rival[0] && e->look < look && (!oldest || e->look < oldest->look))
				oldest = e;
		}
	if (count >= each) {
		if (!oldest)
			return false;
		owned_remove(&o->table, oldest);
	}
	return o->table.count < most;
}

static struct owned *add(struct owners *o, const char *party, const char *storage_id)
{
	return make_room(o, party) ? owned_add(&o->table, storage_id, party) : NULL;
}

/* The party gets the storage of another. A peer that has withdrawn it may have been away, and may
 * show it again. */
static void take_over(struct owners *o, struct owned *e, const char *party, bool unsure)
{
	char before[OWNERS_MAX_NAME + 1];

	owners_copy_name(before, strcmp(e->owner, party) ? e->owner : e->rival);
	set_owner(o, e, party, unsure);
	if (owners_is_peer(before) && is_configured(o, before))
		set_rival(e, before, OWNERS_WITHDRAWN);
}

/* The storage belongs to the party, and the look or list `look` has found it there. */
static enum owners_verdict record(struct owners *o, struct owned *e, const char *party,
				  const char *storage_id, uint64_t look)
{
	bool pinned = find_pin(o, storage_id), unsure = !pinned && is_unsettled(o);

	if (!e) {
		e = add(o, party, storage_id);
		if (!e)
			return pinned ? OWNERS_ITS : OWNERS_FULL;
		set_owner(o, e, party, unsure);
	} else if (strcmp(e->owner, party) || (e->rival[0] && !owners_is_peer(e->rival))) {
		take_over(o, e, party, unsure);
	}
	e->look = look;
	return e->unsure && o->unsettled[OWNERS_PEERS] ? OWNERS_AWAITED : OWNERS_ITS;
}

static void contest(struct owners *o, struct owned *e, const char *party)
{
	if (e->rival[0] || !strcmp(e->owner, party))
		return;
	set_rival(e, party, look_of(o, party));
	e->unsure = false;
	o->changed = true;
	owners_changed(o);
}

void owners_begin_look(struct owners *o)
{
	pthread_mutex_lock(&o->lock);
	o->look++;
	pthread_mutex_unlock(&o->lock);
}

void owners_begin_list(struct owners *o, const char *peer)
{
	struct owners_name *n;

	pthread_mutex_lock(&o->lock);
	n = find_name(o, peer);
	if (n)
		n->list = ++o->look;
	pthread_mutex_unlock(&o->lock);
}

void owners_end_list(struct owners *o, const char *peer)
{
	struct owners_name *n;

	pthread_mutex_lock(&o->lock);
	n = find_name(o, peer);
	if (n)
		n->heard = n->list;
	owners_changed(o);
	pthread_mutex_unlock(&o->lock);
}

/* A peer that shows a storage again has not withdrawn it any more. */
static void note_shown(struct owners *o, struct owned *e, const char *party)
{
	uint64_t *look = !strcmp(e->owner, party)   ? &e->look
			 : !strcmp(e->rival, party) ? &e->rival_look
						    : NULL;

	if (!look)
		return;
	if (owners_is_peer(party) && !may_have(o, party, *look)) {
		o->changed = true;
		owners_changed(o);
	}
	*look = look_of(o, party);
}

enum owners_verdict owners_show(struct owners *o, const char *party, const char *storage_id,
				char ret_other[OWNERS_MAX_NAME + 1])
{
	enum owners_verdict verdict;
	const char *other;
	struct owned *e;

	pthread_mutex_lock(&o->lock);
	e = owned_find(&o->table, storage_id);
	if (e)
		note_shown(o, e, party);
	verdict = judge(o, e, party, storage_id, &other);
	owners_copy_name(ret_other, other);
	if (verdict == OWNERS_ITS)
		verdict = record(o, e, party, storage_id, look_of(o, party));
	else if (verdict == OWNERS_CONTESTED)
		contest(o, e, party);
	pthread_mutex_unlock(&o->lock);
	return verdict;
}

bool owners_keep(struct owners *o, const char *peer, const char *storage_id)
{
	const struct owners_name *n;
	enum owners_verdict verdict;
	const char *other;
	struct owned *e;

	pthread_mutex_lock(&o->lock);
	n = find_name(o, peer);
	e = owned_find(&o->table, storage_id);
	verdict = n ? judge(o, e, peer, storage_id, &other) : OWNERS_RECORDED;
	if (verdict == OWNERS_ITS && (!e || strcmp(e->owner, peer)))
		verdict = record(o, e, peer, storage_id, n->heard);
	pthread_mutex_unlock(&o->lock);
	return verdict == OWNERS_ITS;
}

/* Peers have the storage no more. */
static void take_from_peers(struct owners *o, const char *storage_id)
{
	struct owned *e = owned_find(&o->table, storage_id);

	if (!e)
		return;
	if (owners_is_peer(e->rival))
		set_rival(e, NULL, 0);
	if (owners_is_peer(e->owner))
		owned_remove(&o->table, e);
	o->changed = true;
	owners_changed(o);
}

static int give(struct owners *o, const char *storage_id, const char *party)
{
	/* A peer's pin does not bind the operator who moves the storage to another peer. */
	const struct owned *pin = owners_is_peer(party)
					  ? owned_find(&o->names[OWNERS_DATANODES].pins, storage_id)
					  : find_pin(o, storage_id);
	struct owned *e = owned_find(&o->table, storage_id);

	if (!is_configured(o, party) || !owners_name_valid(party, true))
		return -ENOENT;
	if (pin ? strcmp(pin->owner, party) != 0 : lists(o, party))
		return -EPERM;
	if (!e)
		e = add(o, party, storage_id);
	if (!e)
		return -ENOSPC;
	set_owner(o, e, party, false);
	return 0;
}

int owners_give(struct owners *o, const char *storage_id, const char *party)
{
	int r = 0;

	if (!layout_storage_id_valid(storage_id))
		return -EINVAL;
	pthread_mutex_lock(&o->lock);
	if (party)
		r = give(o, storage_id, party);
	else
		take_from_peers(o, storage_id);
	pthread_mutex_unlock(&o->lock);
	return r;
}

void owners_leave(struct owners *o, const char *datanode)
{
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i]; e; e = e->next)
			if (e->stays && !strcmp(e->owner, datanode)) {
				e->stays = false;
				o->changed = true;
			}
	owners_changed(o);
	pthread_mutex_unlock(&o->lock);
}
