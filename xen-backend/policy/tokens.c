// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tokens of one datanode: mode, keys and counts; see tokens.h.  datanode/ owns them;
 * read/open.c checks tokens, read/publish.c brings keys.
 *
 * The pools are a short list under a lock.  A check holds the lock for reading while it computes
 * one HMAC, which takes a microsecond or two.  So keys are never copied.
 */
#include "policy/tokens.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/token.h"

struct pool {
	char *id;
	bool on;
	struct token_keys keys;
};

struct tokens {
	atomic_uint references;
	_Atomic enum tokens_mode mode;
	pthread_rwlock_t lock; /* protects the pools */
	struct pool *pool[TOKENS_MAX_POOLS];
	unsigned num_pools;
	_Atomic uint64_t verdict[TOKEN_VERDICTS];
};

struct tokens *tokens_new(void)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	atomic_init(&t->references, 1);
	pthread_rwlock_init(&t->lock, NULL);
	return t;
}

static void pool_free(struct pool *p)
{
	if (!p)
		return;
	OPENSSL_cleanse(&p->keys, sizeof(p->keys));
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
	pthread_rwlock_destroy(&t->lock);
	free(t);
}

void tokens_set_mode(struct tokens *t, enum tokens_mode mode)
{
	atomic_store(&t->mode, mode);
}

static struct pool *find(const struct tokens *t, const char *pool_id)
{
	for (unsigned i = 0; i < t->num_pools; i++)
		if (strcmp(t->pool[i]->id, pool_id) == 0)
			return t->pool[i];
	return NULL;
}

static int add(struct tokens *t, const char *pool_id, struct pool **ret)
{
	struct pool *p;

	if (t->num_pools == TOKENS_MAX_POOLS)
		return -EMFILE;
	p = calloc(1, sizeof(*p));
	if (!p || !(p->id = strdup(pool_id))) {
		free(p);
		return -ENOMEM;
	}
	t->pool[t->num_pools++] = *ret = p;
	return 0;
}

int tokens_take(struct tokens *t, const char *pool_id, bool on, const struct token_keys *keys)
{
	struct pool *p;
	int err = 0;

	pthread_rwlock_wrlock(&t->lock);
	p = find(t, pool_id);
	if (!p)
		err = add(t, pool_id, &p);
	if (!err) {
		OPENSSL_cleanse(&p->keys, sizeof(p->keys));
		p->on = on;
		if (on)
			p->keys = *keys;
	}
	pthread_rwlock_unlock(&t->lock);
	return err;
}

static bool is_required(const struct tokens *t, const struct pool *p)
{
	enum tokens_mode mode = atomic_load(&t->mode);

	return mode == TOKENS_REQUIRED || (mode == TOKENS_AUTO && p && p->on);
}

int tokens_check(struct tokens *t, const char *pool_id, int64_t block_id, const void *token,
		 size_t length)
{
	static const struct token_keys none;
	enum token_verdict verdict = TOKEN_VALID;
	const struct pool *p;
	bool required;

	pthread_rwlock_rdlock(&t->lock);
	p = find(t, pool_id);
	required = is_required(t, p);
	/* The time is that of Hadoop's Time.now().  So the clocks of this host and the NameNode
	 * must agree, as a datanode's and a NameNode's must. */
	if (required)
		verdict = token_judge(token, length, p ? &p->keys : &none, pool_id, block_id,
				      (int64_t)clock_wall_ms());
	pthread_rwlock_unlock(&t->lock);
	if (required)
		atomic_fetch_add_explicit(&t->verdict[verdict], 1, memory_order_relaxed);
	return verdict == TOKEN_VALID ? 0 : -EPERM;
}

static json_t *count(struct tokens *t, enum token_verdict v)
{
	return json_integer((json_int_t)atomic_load_explicit(&t->verdict[v], memory_order_relaxed));
}

static json_t *pool_status(const struct tokens *t, const struct pool *p)
{
	json_t *o = json_pack("{s:s, s:b, s:i}", "pool", p->id, "required", is_required(t, p),
			      "keys", (int)p->keys.count);
	int64_t newest = 0;

	for (unsigned i = 0; i < p->keys.count; i++)
		if (p->keys.key[i].expiry > newest)
			newest = p->keys.key[i].expiry;
	if (newest)
		json_object_set_new(o, "expiry", json_integer(newest));
	return o;
}

json_t *tokens_status(struct tokens *t)
{
	static const char *const modes[] = {"auto", "required", "off"};
	json_t *pools = json_array(), *refused = json_object();

	pthread_rwlock_rdlock(&t->lock);
	for (unsigned i = 0; i < t->num_pools; i++)
		json_array_append_new(pools, pool_status(t, t->pool[i]));
	pthread_rwlock_unlock(&t->lock);
	for (int v = TOKEN_VALID + 1; v < TOKEN_VERDICTS; v++)
		if (atomic_load(&t->verdict[v]))
			json_object_set_new(refused, token_verdict_name(v), count(t, v));
	return json_pack("{s:s, s:o, s:o, s:o}", "mode", modes[atomic_load(&t->mode)], "pools",
			 pools, "valid", count(t, TOKEN_VALID), "refused", refused);
}
