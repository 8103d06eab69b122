// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements store.h: creates the store and its caches, and drops cached replicas and bytes that
 * are no longer served. control/ creates and configures the store.
 */
#include "read/store.h"

#include <errno.h>
#include <stdlib.h>

#include "datanode/registry.h"
#include "disk/source_queue.h"
#include "read/cache_size.h"
#include "read/read_private.h"

static void forget(void *ctx, const struct served *v)
{
	struct block_store *s = ctx;

	replica_cache_forget(s->cache, v);
	verified_cache_forget(s->ahead.cache, v);
}

struct block_store *block_store_new(void)
{
	struct block_store *s = calloc(1, sizeof(*s));
	struct registry_listener listener = {.retired = forget, .ctx = s};

	if (!s)
		return NULL;
	s->cache_limited_by = "configuration";
	s->cache = replica_cache_new();
	s->ahead.shares = shares_new();
	s->ahead.cache = verified_cache_new(0);
	s->registry = registry_new(&listener);
	if (!s->cache || !s->ahead.shares || !s->ahead.cache || !s->registry) {
		block_store_free(s);
		return NULL;
	}
	return s;
}

void block_store_free(struct block_store *s)
{
	if (!s)
		return;
	registry_free(s->registry); /* also drops everything from the caches */
	shares_free(s->ahead.shares);
	verified_cache_free(s->ahead.cache);
	replica_cache_free(s->cache);
	free(s);
}

struct registry *block_store_registry(struct block_store *s)
{
	return s->registry;
}

void block_store_set_read_ahead(struct block_store *s, size_t read_ahead)
{
	atomic_store(&s->ahead.window, read_ahead);
}

void block_store_set_handle_memory(struct block_store *s, size_t bytes)
{
	atomic_store(&s->handle_memory, bytes);
}

size_t block_store_handle_memory(struct block_store *s)
{
	return atomic_load(&s->handle_memory);
}

void block_store_set_cache(struct block_store *s, size_t cache)
{
	s->cache_fits = cache == CACHE_AUTO;
	if (s->cache_fits) {
		block_store_fit_cache(s);
		return;
	}
	s->cache_limited_by = "configuration";
	verified_cache_resize(s->ahead.cache, cache);
}

void block_store_fit_cache(struct block_store *s)
{
	if (!s->cache_fits)
		return;
	verified_cache_resize(s->ahead.cache,
			      cache_size_now("", verified_cache_used(s->ahead.cache),
					     &s->cache_limited_by));
}

static json_t *cache_status(struct block_store *s)
{
	json_t *status = verified_cache_status(s->ahead.cache);

	json_object_set_new(status, "limited_by", json_string(s->cache_limited_by));
	return status;
}

json_t *block_store_reading_status(struct block_store *s)
{
	const char *why = NULL;
	bool works = source_queue_works(&why);

	return json_pack("{s:I, s:o, s:o, s:s}", "read_ahead",
			 (json_int_t)atomic_load(&s->ahead.window), "disks",
			 shares_status(s->ahead.shares), "cache", cache_status(s), "io_uring",
			 works ? "ok" : why);
}
