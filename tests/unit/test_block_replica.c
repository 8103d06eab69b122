// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the weight of a replica (read/replica.h) and the cache of replicas. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "read/replica_cache.h"
#include "datanode/basis.h"

#define UNIT (64U << 10)

static const char dir_a, dir_b;

static struct parser_basis *basis(bool clean)
{
	struct answer_basis answer = {.clean = clean};

	return basis_new(basis_state_new(&answer, 0));
}

static struct block_replica *make_of(struct served *v, const void *dir, int64_t id, uint64_t size)
{
	struct replica_key key = {dir, "BP-1", id, 1001};
	struct block_files files = {.data.size = size};
	struct block_replica *r = replica_new(v, NULL, &key, &files, basis(true));

	assert_non_null(r);
	return r;
}

static struct block_replica *make(const void *dir, int64_t id, uint64_t size)
{
	return make_of(NULL, dir, id, size);
}

static struct block_replica *find(struct replica_cache *c, const void *dir, int64_t id,
				  uint64_t genstamp, const char *pool)
{
	struct replica_key key = {dir, pool, id, genstamp};
	struct block_replica *r = replica_cache_find(c, &key);

	replica_put(r); /* the cache still holds it */
	return r;
}

/* The weight counts content in inodes: a guest may put all its blocks there. */
static void content_is_weighed(void **state)
{
	struct replica_key key = {&dir_a, "BP-1", 1, 1001};
	struct block_files files = {.data = {.size = 5 * UNIT, .content = calloc(5, UNIT)}};
	struct block_replica *plain = make(&dir_a, 1, 5 * UNIT);
	struct block_replica *r = replica_new(NULL, NULL, &key, &files, basis(true));

	(void)state;
	assert_non_null(r);
	assert_int_equal(replica_weight(r), replica_weight(plain) + 5 * UNIT);
	replica_put(plain);
	replica_put(r);
}

/* The weight counts the room of the array of extents: 65,000 pieces take 1.5 MiB. */
static void extents_are_weighed(void **state)
{
	struct replica_key key = {&dir_a, "BP-1", 1, 1001};
	struct block_files files = {.data = {.size = UNIT}};
	struct block_replica *plain = make(&dir_a, 1, UNIT), *r;

	(void)state;
	for (uint64_t i = 0; i < 65000; i++)
		assert_int_equal(fs_file_extend(&files.data, 1 << 30, 512 * i, 1024 * i, 512), 0);
	r = replica_new(NULL, NULL, &key, &files, basis(true));
	assert_int_equal(replica_weight(r) - replica_weight(plain), 65536 * 24);
	replica_put(plain);
	replica_put(r);
}

/* A later answer of the parser takes no more memory than the weight says. */
static void a_basis_grows_to_its_weight(void **state)
{
	static const uint8_t packed[4096];
	struct answer_basis small = {.packed = packed, .packed_length = 1000};
	struct answer_basis larger = {.packed = packed, .packed_length = 2000};
	struct answer_basis largest = {.packed = packed, .packed_length = sizeof(packed)};
	struct parser_basis *b = basis_new(basis_state_new(&small, 0));
	size_t weight = parser_basis_weight(b);

	(void)state;
	assert_true(basis_replace(b, basis_state_new(&larger, 0)));
	assert_false(basis_replace(b, basis_state_new(&largest, 0)));
	assert_int_equal(parser_basis_weight(b), weight);
	assert_true(weight > 2000);
	parser_basis_free(b);
}

static void found_by_whole_key(void **state)
{
	struct replica_cache *c = replica_cache_new();
	struct block_replica *r = make(&dir_a, 1, UNIT);

	(void)state;
	replica_cache_add(c, r);
	replica_put(r);
	assert_ptr_equal(find(c, &dir_a, 1, 1001, "BP-1"), r);
	assert_null(find(c, &dir_b, 1, 1001, "BP-1"));
	assert_null(find(c, &dir_a, 2, 1001, "BP-1"));
	assert_null(find(c, &dir_a, 1, 1002, "BP-1"));
	assert_null(find(c, &dir_a, 1, 1001, "BP-2"));
	replica_cache_free(c);
}

static void oldest_go_first(void **state)
{
	struct replica_cache *c = replica_cache_new();

	(void)state;
	for (int64_t id = 0; id < 10000; id++) {
		struct block_replica *r = make(&dir_a, id, UNIT);

		replica_cache_add(c, r);
		replica_put(r);
		assert_non_null(find(c, &dir_a, 0, 1001, "BP-1")); /* makes it the newest */
	}
	assert_non_null(find(c, &dir_a, 9999, 1001, "BP-1"));
	assert_null(find(c, &dir_a, 1, 1001, "BP-1"));
	replica_cache_free(c);
}

static void same_key_replaces(void **state)
{
	struct replica_cache *c = replica_cache_new();
	struct block_replica *first = make(&dir_a, 1, UNIT), *second = make(&dir_a, 1, UNIT);

	(void)state;
	replica_cache_add(c, first);
	replica_cache_add(c, second);
	replica_put(first);
	replica_put(second);
	assert_ptr_equal(find(c, &dir_a, 1, 1001, "BP-1"), second);
	replica_cache_free(c);
}

static struct served *make_served(void)
{
	struct served *v = calloc(1, sizeof(*v));

	assert_non_null(v);
	atomic_init(&v->references, 1);
	return v;
}

/* A replica names its directory by address.  The address stays taken while the replica is known,
 * and no longer. */
static void what_is_served_lives_as_long_as_its_replicas(void **state)
{
	struct replica_cache *c = replica_cache_new();
	struct served *v = make_served();
	struct block_replica *r = make_of(v, &dir_a, 1, UNIT);

	(void)state;
	replica_cache_add(c, r);
	assert_int_equal(atomic_load(&v->references), 2);
	replica_put(r);
	assert_int_equal(atomic_load(&v->references), 2);
	replica_cache_free(c);
	assert_int_equal(atomic_load(&v->references), 1);
	served_put(v);
}

static void no_longer_served_is_forgotten(void **state)
{
	struct replica_cache *c = replica_cache_new();
	struct served *old = make_served(), *now = make_served();

	(void)state;
	for (int64_t id = 0; id < 10; id++) {
		struct block_replica *r = make_of(id % 2 ? old : now, &dir_a, id, UNIT);

		replica_cache_add(c, r);
		replica_put(r);
	}
	atomic_store(&old->retired, true);
	replica_cache_forget(c, old);
	assert_int_equal(atomic_load(&old->references), 1);
	for (int64_t id = 0; id < 10; id++)
		assert_int_equal(!find(c, &dir_a, id, 1001, "BP-1"), id % 2);
	replica_cache_free(c);
	served_put(old);
	served_put(now);
}

/* The image may be another one by now.  Whoever holds the replica must open the block again. */
static void stale_when_no_longer_served(void **state)
{
	struct served *v = make_served();
	struct block_replica *r = make_of(v, &dir_a, 1, UNIT);

	(void)state;
	atomic_store(&v->retired, true);
	assert_int_equal(replica_check(r), -EAGAIN);
	replica_put(r);
	served_put(v);
}

/* A search ended after the datanode's image was examined again. */
static void late_for_what_was_served(void **state)
{
	struct replica_cache *c = replica_cache_new();
	struct served *v = make_served();
	struct block_replica *r = make_of(v, &dir_a, 1, UNIT);

	(void)state;
	atomic_store(&v->retired, true);
	replica_cache_forget(c, v);
	replica_cache_add(c, r);
	assert_null(find(c, &dir_a, 1, 1001, "BP-1"));
	replica_put(r);
	assert_int_equal(atomic_load(&v->references), 1);
	served_put(v);
	replica_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_is_weighed),
		cmocka_unit_test(extents_are_weighed),
		cmocka_unit_test(a_basis_grows_to_its_weight),
		cmocka_unit_test(found_by_whole_key),
		cmocka_unit_test(oldest_go_first),
		cmocka_unit_test(same_key_replaces),
		cmocka_unit_test(what_is_served_lives_as_long_as_its_replicas),
		cmocka_unit_test(no_longer_served_is_forgotten),
		cmocka_unit_test(stale_when_no_longer_served),
		cmocka_unit_test(late_for_what_was_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
