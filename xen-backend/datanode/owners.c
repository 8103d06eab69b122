// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of storages and the judgement of owners.h. claims.c and registry.c call it;
 * owners_file.c keeps the table in a file.
 */
#include "datanode/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "datanode/owners_private.h"
#include "layout/layout.h"

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
	strncpy(e->owner, owner, OWNERS_MAX_NAME);
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

bool owners_name_valid(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._-");

	return length > 0 && length <= OWNERS_MAX_NAME && !text[length] && text[0] != '.';
}

struct owners *owners_new(void)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	pthread_mutex_init(&o->lock, NULL);
	o->unsettled = true;
	return o;
}

static void free_names(struct owners_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i].name);
	free(names);
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	owned_clear(&o->table);
	owned_clear(&o->pins);
	free_names(o->names, o->num_names);
	free(o->path);
	free(o->problem);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

/* ---- the operator's word ----------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct owners_name *)a)->name, ((const struct owners_name *)b)->name);
}

static const struct owners_name *find_name(const struct owners *o, const char *name)
{
	const struct owners_name key = {.name = (char *)name};

	return bsearch(&key, o->names, o->num_names, sizeof(*o->names), by_name);
}

static bool is_configured(const struct owners *o, const char *name)
{
	return find_name(o, name);
}

/* True if storages are pinned to the datanode. */
static bool lists(const struct owners *o, const char *datanode)
{
	const struct owners_name *n = find_name(o, datanode);

	return n && n->lists;
}

/* True if the datanode may have storages that are not pinned. */
static bool may_have(const struct owners *o, const char *datanode)
{
	const struct owners_name *n = find_name(o, datanode);

	return n && !n->lists;
}

static bool comes_and_goes(const struct owners *o, const char *datanode)
{
	const struct owners_name *n = find_name(o, datanode);

	return n && n->comes_and_goes;
}

static bool add_pins(struct owned_table *t, const struct owners_pins *p)
{
	const char *at = p->storages;

	while (*(at += strspn(at, " "))) {
		char storage[256];
		size_t length = strcspn(at, " ");

		if (length < sizeof(storage)) {
			memcpy(storage, at, length);
			storage[length] = '\0';
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

int owners_configure(struct owners *o, const struct owners_pins *all, size_t count)
{
	struct owned_table pins = {0};
	struct owners_name *names = calloc(count + 1, sizeof(*names));
	bool good = names != NULL;

	for (size_t i = 0; good && i < count; i++) {
		names[i] = (struct owners_name){strdup(all[i].name), all[i].storages[0],
						all[i].comes_and_goes};
		good = names[i].name && add_pins(&pins, &all[i]);
	}
	if (!good) {
		owned_clear(&pins);
		free_names(names, names ? count : 0);
		return -ENOMEM;
	}
	qsort(names, count, sizeof(*names), by_name);
	pthread_mutex_lock(&o->lock);
	owned_clear(&o->pins);
	o->pins = pins;
	free_names(o->names, o->num_names);
	o->names = names;
	o->num_names = count;
	mark_what_stays(o);
	pthread_mutex_unlock(&o->lock);
	return 0;
}

void owners_unsettle(struct owners *o)
{
	pthread_mutex_lock(&o->lock);
	o->unsettled = true;
	pthread_mutex_unlock(&o->lock);
}

/* Storages of a damaged record stay unsure: the record may have named another. */
void owners_settle(struct owners *o)
{
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; o->unsettled && !o->damaged && i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i]; e; e = e->next) {
			o->changed |= e->unsure;
			e->unsure = false;
		}
	o->unsettled = false;
	pthread_mutex_unlock(&o->lock);
}

/* ---- judging: with the lock ---------------------------------------------------------- */

static void set_owner(struct owners *o, struct owned *e, const char *datanode, bool unsure)
{
	memset(e->owner, 0, sizeof(e->owner));
	strncpy(e->owner, datanode, OWNERS_MAX_NAME);
	e->rival[0] = '\0';
	e->stays = comes_and_goes(o, datanode);
	e->unsure = unsure;
	e->look = o->look;
	o->changed = true;
}

/* Whose a storage is that is not pinned. Those of a record who are configured no more, or have only
 * pinned storages, have no say in it. */
static const char *owner_of(const struct owners *o, const struct owned *e)
{
	if (may_have(o, e->owner) || (e->stays && !is_configured(o, e->owner)))
		return e->owner;
	return e->rival[0] && may_have(o, e->rival) ? e->rival : NULL;
}

static bool is_contested(const struct owners *o, const struct owned *e)
{
	return e->rival[0] && may_have(o, e->owner) && may_have(o, e->rival);
}

/* `e`: the record of the storage, or NULL. The result FULL is left to record(). */
static enum owners_verdict judge(const struct owners *o, const struct owned *e,
				 const char *datanode, const char *storage_id,
				 const char **ret_other)
{
	const struct owned *pin = owned_find(&o->pins, storage_id);
	const char *owner = e ? owner_of(o, e) : NULL;

	*ret_other = pin ? pin->owner : "";
	if (pin)
		return strcmp(pin->owner, datanode) ? OWNERS_PINNED : OWNERS_ITS;
	if (lists(o, datanode))
		return OWNERS_UNLISTED;
	if (e && is_contested(o, e)) {
		*ret_other = strcmp(e->owner, datanode) ? e->owner : e->rival;
		return OWNERS_CONTESTED;
	}
	if (!owner || !strcmp(owner, datanode))
		return OWNERS_ITS;
	*ret_other = owner;
	return e->unsure ? OWNERS_CONTESTED : OWNERS_RECORDED;
}

enum owners_verdict owners_judge(struct owners *o, const char *datanode, const char *storage_id)
{
	enum owners_verdict verdict;
	const char *other;

	pthread_mutex_lock(&o->lock);
	verdict = judge(o, owned_find(&o->table, storage_id), datanode, storage_id, &other);
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

/* Makes room for one more storage of the datanode, if need be by forgetting the one that was not
 * shown for the longest time. */
static bool make_room(struct owners *o, const char *datanode)
{
	struct owned *oldest = NULL;
	size_t count = 0;

	if (o->table.count >= OWNERS_MAX)
		drop_strangers(o);
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (struct owned *e = o->table.buckets[i]; e; e = e->next) {
			if (strcmp(e->owner, datanode))
				continue;
			count++;
			if (!e->rival[0] && e->look < o->look &&
			    (!oldest || e->look < oldest->look))
				oldest = e;
		}
	if (count >= OWNERS_MAX_EACH) {
		if (!oldest)
			return false;
		owned_remove(&o->table, oldest);
	}
	return o->table.count < OWNERS_MAX;
}

static struct owned *add(struct owners *o, const char *datanode, const char *storage_id)
{
	return make_room(o, datanode) ? owned_add(&o->table, storage_id, datanode) : NULL;
}

/* The storage belongs to the datanode. */
static enum owners_verdict record(struct owners *o, struct owned *e, const char *datanode,
				  const char *storage_id)
{
	bool pinned = owned_find(&o->pins, storage_id);

	if (!e) {
		e = add(o, datanode, storage_id);
		if (!e)
			return pinned ? OWNERS_ITS : OWNERS_FULL;
		set_owner(o, e, datanode, !pinned && (o->unsettled || o->damaged));
	} else if (strcmp(e->owner, datanode) || e->rival[0]) {
		set_owner(o, e, datanode, !pinned && (o->unsettled || o->damaged));
	}
	e->look = o->look;
	return OWNERS_ITS;
}

static void contest(struct owners *o, struct owned *e, const char *datanode)
{
	if (e->rival[0] || !strcmp(e->owner, datanode))
		return;
	strncpy(e->rival, datanode, OWNERS_MAX_NAME);
	e->unsure = false;
	o->changed = true;
}

void owners_begin_look(struct owners *o)
{
	pthread_mutex_lock(&o->lock);
	o->look++;
	pthread_mutex_unlock(&o->lock);
}

enum owners_verdict owners_show(struct owners *o, const char *datanode, const char *storage_id,
				char ret_other[OWNERS_MAX_NAME + 1])
{
	enum owners_verdict verdict;
	const char *other;
	struct owned *e;

	pthread_mutex_lock(&o->lock);
	e = owned_find(&o->table, storage_id);
	verdict = judge(o, e, datanode, storage_id, &other);
	memset(ret_other, 0, OWNERS_MAX_NAME + 1);
	strncpy(ret_other, other, OWNERS_MAX_NAME);
	if (verdict == OWNERS_ITS)
		verdict = record(o, e, datanode, storage_id);
	else if (verdict == OWNERS_CONTESTED)
		contest(o, e, datanode);
	pthread_mutex_unlock(&o->lock);
	return verdict;
}

static int give(struct owners *o, const char *storage_id, const char *datanode)
{
	const struct owned *pin = owned_find(&o->pins, storage_id);
	struct owned *e = owned_find(&o->table, storage_id);

	if (!is_configured(o, datanode) || !owners_name_valid(datanode))
		return -ENOENT;
	if (pin ? strcmp(pin->owner, datanode) != 0 : lists(o, datanode))
		return -EPERM;
	if (!e)
		e = add(o, datanode, storage_id);
	if (!e)
		return -ENOSPC;
	set_owner(o, e, datanode, false);
	return 0;
}

int owners_give(struct owners *o, const char *storage_id, const char *datanode)
{
	int r;

	if (!layout_storage_id_valid(storage_id))
		return -EINVAL;
	pthread_mutex_lock(&o->lock);
	r = give(o, storage_id, datanode);
	pthread_mutex_unlock(&o->lock);
	return r;
}
