// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tokens of one datanode: mode, keys and counts; see tokens.h.  datanode/ owns them;
 * read/open.c checks tokens, read/publish.c brings keys.
 *
 * The pools are a short list under a lock.  Each has a slot of the key agent, where its keys are.
 *
 * The agent is asked, and the file is written, without that lock: a check waits for no disk, and a
 * status for neither.  Whoever changes `seen` calls settle() afterwards, which makes the file what
 * `seen` is by then.
 */
#include "policy/tokens.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shortage.h"
#include "policy/key_agent.h"
#include "policy/token_memory.h"

struct pool {
	char *id;
	bool on;
	uint32_t slot; /* of its keys */
	struct key_facts keys;
};

/* What is known of the file. */
enum file { FILE_ABSENT, FILE_PRESENT, FILE_UNKNOWN };

struct tokens {
	atomic_uint references;
	char *datanode, *folder;
	pthread_mutex_t taking; /* one KEYS at a time; taken before the locks below */
	pthread_rwlock_t lock;  /* protects the next eight */
	enum tokens_mode mode;
	bool seen;     /* the datanode said that tokens are on */
	int64_t since; /* of seen; ms since 1970, 0: unknown */
	bool says_off; /* and was refused */
	bool told;     /* says_off was logged; once, so that a datanode cannot fill the log */
	struct pool *pool[TOKENS_MAX_POOLS];
	unsigned num_pools;
	bool no_room;              /* for a pool with tokens, since the operator last said off */
	pthread_mutex_t file_lock; /* protects the next two; taken before lock */
	enum file file;
	char *problem; /* with the file; NULL: none */
	_Atomic uint64_t verdict[TOKEN_VERDICTS];
	_Atomic uint64_t epoch; /* changes, with the lock, when a grant may no longer hold */
};

/* ---- the memory on disk ----------------------------------------------------------------- */

static bool has_memory(const struct tokens *t)
{
	return t->folder && t->folder[0];
}

/* Notes the result of a call of token_memory.h.  Takes over error.  Logs each problem once. */
static void note_problem(struct tokens *t, char *error)
{
	if (error && (!t->problem || strcmp(error, t->problem) != 0))
		log_datanode(LOG_LEVEL_ERROR, t->datanode, "its block tokens: %s", error);
	free(t->problem);
	t->problem = error;
}

/* False: whether there is a file is not known, for a shortage of this host. */
static bool recall(struct tokens *t)
{
	char *error = NULL;
	int r = token_memory_read(t->folder, t->datanode, &t->since, &error);

	if (is_shortage(r)) {
		free(error);
		return false;
	}
	t->seen = r != 0;
	t->file = r < 0 ? FILE_UNKNOWN : r ? FILE_PRESENT : FILE_ABSENT;
	note_problem(t, error);
	if (r < 0)
		log_datanode(LOG_LEVEL_ERROR, t->datanode,
			     "block tokens are required, as if they had been on before; if HDFS "
			     "does not use them, say tokens = off in vread.conf");
	return true;
}

/* Makes the file what `seen` is. */
static void settle(struct tokens *t)
{
	char *error = NULL;
	int64_t since;
	bool seen;
	int r;

	if (!has_memory(t))
		return;
	pthread_mutex_lock(&t->file_lock);
	pthread_rwlock_rdlock(&t->lock);
	seen = t->seen;
	since = t->since;
	pthread_rwlock_unlock(&t->lock);
	if (t->file != (seen ? FILE_PRESENT : FILE_ABSENT)) {
		r = seen ? token_memory_write(t->folder, t->datanode, since, &error)
			 : token_memory_remove(t->folder, t->datanode, &error);
		t->file = r ? FILE_UNKNOWN : seen ? FILE_PRESENT : FILE_ABSENT;
		note_problem(t, error);
	}
	pthread_mutex_unlock(&t->file_lock);
}

/* ---- beginning and end ------------------------------------------------------------------ */

struct tokens *tokens_new(const char *datanode, const char *folder)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	atomic_init(&t->references, 1);
	pthread_mutex_init(&t->taking, NULL);
	pthread_rwlock_init(&t->lock, NULL);
	pthread_mutex_init(&t->file_lock, NULL);
	t->datanode = strdup(datanode);
	t->folder = strdup(folder ?: "");
	if (t->datanode && t->folder && (!has_memory(t) || recall(t)))
		return t;
	tokens_put(t);
	return NULL;
}

static void pool_free(struct pool *p)
{
	if (!p)
		return;
	key_agent_give_slot(p->slot);
	free(p->id);
	free(p);
}

struct tokens *tokens_get(struct tokens *t)
{
	atomic_fetch_add(&t->references, 1);
	return t;
}

void tokens_put(struct tokens *t)
{
	if (!t || atomic_fetch_sub(&t->references, 1) != 1)
		return;
	for (unsigned i = 0; i < t->num_pools; i++)
		pool_free(t->pool[i]);
	pthread_mutex_destroy(&t->file_lock);
	pthread_rwlock_destroy(&t->lock);
	pthread_mutex_destroy(&t->taking);
	free(t->problem);
	free(t->folder);
	free(t->datanode);
	free(t);
}

/* ---- what the operator and the datanode say ---------------------------------------------- */

/* Call it with the lock held for writing. */
static void set_seen(struct tokens *t, bool seen)
{
	if (seen && !t->seen)
		t->since = (int64_t)clock_wall_ms();
	t->seen = seen;
	t->says_off = false;
}

static bool any_on(const struct tokens *t)
{
	if (t->no_room)
		return true;
	for (unsigned i = 0; i < t->num_pools; i++)
		if (t->pool[i]->on)
			return true;
	return false;
}

/* While the mode is off the datanode's words count for its pools only.  So what it said last
 * decides when the mode is another again. */
void tokens_set_mode(struct tokens *t, enum tokens_mode mode)
{
	bool was_seen, changed;

	pthread_rwlock_wrlock(&t->lock);
	was_seen = t->seen;
	if (mode == TOKENS_OFF) {
		set_seen(t, false);
		t->no_room = false;
	} else if (t->mode == TOKENS_OFF) {
		set_seen(t, any_on(t));
	}
	t->mode = mode;
	t->epoch++;
	changed = t->seen != was_seen;
	pthread_rwlock_unlock(&t->lock);
	if (changed) /* else a damaged file stays, for the operator to see */
		settle(t);
}

static struct pool *find(const struct tokens *t, const char *pool_id)
{
	for (unsigned i = 0; i < t->num_pools; i++)
		if (strcmp(t->pool[i]->id, pool_id) == 0)
			return t->pool[i];
	return NULL;
}

static int make_pool(const char *pool_id, struct pool **ret)
{
	struct pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p || !(p->id = strdup(pool_id))) {
		free(p);
		return -ENOMEM;
	}
	r = key_agent_take_slot(&p->slot);
	if (r < 0) {
		pool_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

/* Refuses the word "off" from a datanode whose tokens were on.  Call it with the lock held for
 * writing. */
static int refuse_off(struct tokens *t)
{
	if (!t->told)
		log_datanode(
			LOG_LEVEL_WARN, t->datanode,
			"says that block tokens are off; they were on, so they stay required; if "
			"HDFS uses them no longer, say tokens = off in vread.conf");
	t->says_off = t->told = true;
	return -EPERM;
}

static int take_off(struct tokens *t, const char *pool_id)
{
	struct key_facts none = {0};
	struct pool *p;
	int r = 0;

	pthread_rwlock_wrlock(&t->lock);
	p = find(t, pool_id);
	if (t->seen) {
		r = refuse_off(t);
	} else if (p) {
		p->on = false;
		p->keys = none;
		t->epoch++;
	}
	pthread_rwlock_unlock(&t->lock);
	if (r == 0 && p)
		key_agent_keys(p->slot, NULL, 0, &none);
	return r;
}

/* Stores the pool's place in *ret, which is new if *ret_new.  Only a thread that takes changes the
 * list. */
static int find_or_make(struct tokens *t, const char *pool_id, struct pool **ret, bool *ret_new)
{
	*ret = find(t, pool_id);
	*ret_new = !*ret;
	if (*ret)
		return 0;
	return t->num_pools == TOKENS_MAX_POOLS ? -EMFILE : make_pool(pool_id, ret);
}

/* Tokens are on, whether or not there is room for the keys.  p: NULL if there is none. */
static void note_on(struct tokens *t, struct pool *p, bool is_new, const struct key_facts *facts)
{
	pthread_rwlock_wrlock(&t->lock);
	if (t->mode != TOKENS_OFF)
		set_seen(t, true);
	if (p) {
		p->on = true;
		p->keys = *facts;
		if (is_new)
			t->pool[t->num_pools++] = p;
	} else {
		t->no_room = true;
	}
	t->epoch++;
	pthread_rwlock_unlock(&t->lock);
}

static int take_on(struct tokens *t, const char *pool_id, const void *keys, size_t length)
{
	struct key_facts facts = {0};
	struct pool *p = NULL;
	bool is_new;
	int r = find_or_make(t, pool_id, &p, &is_new);

	if (r == 0)
		r = key_agent_keys(p->slot, keys, length, &facts);
	if (r == -EINVAL && is_new)
		pool_free(p);
	if (r == -EINVAL)
		return r;
	note_on(t, p, is_new, &facts);
	settle(t);
	return r;
}

int tokens_take(struct tokens *t, const char *pool_id, bool on, const void *keys, size_t length)
{
	int r;

	pthread_mutex_lock(&t->taking);
	r = on ? take_on(t, pool_id, keys, length) : take_off(t, pool_id);
	pthread_mutex_unlock(&t->taking);
	return r;
}

/* ---- checks ------------------------------------------------------------------------------ */

static bool is_required(const struct tokens *t)
{
	return t->mode == TOKENS_REQUIRED || (t->mode == TOKENS_AUTO && t->seen);
}

int tokens_check(struct tokens *t, const char *pool_id, int64_t block_id, const void *token,
		 size_t length, struct token_grant *ret)
{
	enum token_verdict verdict;
	const struct pool *p;
	bool required;
	uint32_t slot;

	pthread_rwlock_rdlock(&t->lock);
	p = find(t, pool_id);
	slot = p ? p->slot : KEY_AGENT_NO_KEYS;
	required = is_required(t);
	*ret = (struct token_grant){.epoch = t->epoch};
	pthread_rwlock_unlock(&t->lock);
	if (!required)
		return 0;
	verdict = key_agent_judge(slot, pool_id, block_id, token, length, &ret->key);
	atomic_fetch_add_explicit(&t->verdict[verdict], 1, memory_order_relaxed);
	return verdict == TOKEN_VALID ? 0 : -EPERM;
}

static bool has_key(const struct pool *p, uint64_t number)
{
	for (unsigned i = 0; p && i < p->keys.count; i++)
		if (p->keys.number[i] == number)
			return true;
	return false;
}

bool tokens_hold(struct tokens *t, const char *pool_id, struct token_grant *g)
{
	uint64_t epoch = atomic_load(&t->epoch);
	bool holds;

	if (atomic_load(&g->epoch) == epoch)
		return true;
	pthread_rwlock_rdlock(&t->lock);
	epoch = t->epoch;
	holds = !is_required(t) || (g->key && has_key(find(t, pool_id), g->key));
	pthread_rwlock_unlock(&t->lock);
	if (holds)
		atomic_store(&g->epoch, epoch);
	return holds;
}

/* ---- status ------------------------------------------------------------------------------ */

static json_t *count(struct tokens *t, enum token_verdict v)
{
	return json_integer((json_int_t)atomic_load_explicit(&t->verdict[v], memory_order_relaxed));
}

static json_t *pool_status(const struct tokens *t, const struct pool *p)
{
	json_t *o = json_pack("{s:s, s:b, s:i}", "pool", p->id, "required", is_required(t), "keys",
			      (int)p->keys.count);
	int64_t newest = p->keys.newest;

	if (newest)
		json_object_set_new(o, "expiry", json_integer(newest));
	if (newest >= (int64_t)clock_wall_ms())
		json_object_set_new(o, "until", json_integer(newest));
	return o;
}

/* What the operator and the datanode said. */
static json_t *words_status(struct tokens *t)
{
	static const char *const modes[] = {"auto", "required", "off"};
	json_t *pools = json_array(), *o;

	pthread_rwlock_rdlock(&t->lock);
	o = json_pack("{s:s, s:b, s:b}", "mode", modes[t->mode], "required", is_required(t), "seen",
		      t->seen);
	if (t->seen && t->since)
		json_object_set_new(o, "since", json_integer(t->since));
	if (t->says_off)
		json_object_set_new(o, "says-off", json_true());
	for (unsigned i = 0; i < t->num_pools; i++)
		json_array_append_new(pools, pool_status(t, t->pool[i]));
	pthread_rwlock_unlock(&t->lock);
	json_object_set_new(o, "pools", pools);
	return o;
}

static const char *verdict_name(int v)
{
	static const char *const names[TOKEN_VERDICTS] = {
		[TOKEN_VALID] = "valid",
		[TOKEN_MISSING] = "missing",
		[TOKEN_MALFORMED] = "malformed",
		[TOKEN_UNKNOWN_KEY] = "unknown-key",
		[TOKEN_FORGED] = "forged",
		[TOKEN_EXPIRED] = "expired",
		[TOKEN_OF_ANOTHER_BLOCK] = "of-another-block",
		[TOKEN_NOT_FOR_READING] = "not-for-reading",
		[TOKEN_NOT_JUDGED] = "not-judged",
	};

	return names[v];
}

json_t *tokens_status(struct tokens *t)
{
	json_t *o = words_status(t), *refused = json_object();

	pthread_mutex_lock(&t->file_lock);
	if (t->problem)
		json_object_set_new(o, "problem", json_string(t->problem));
	pthread_mutex_unlock(&t->file_lock);
	json_object_set_new(o, "valid", count(t, TOKEN_VALID));
	for (int v = TOKEN_VALID + 1; v < TOKEN_VERDICTS; v++)
		if (atomic_load(&t->verdict[v]))
			json_object_set_new(refused, verdict_name(v),
					    count(t, (enum token_verdict)v));
	json_object_set_new(o, "refused", refused);
	return o;
}
