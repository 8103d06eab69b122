// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests volumes made of pieces of two images: which byte lies where, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/volume.h"

#define SIZE 65536U
#define STRIPE 4096U

static char path[2][32];
static struct image *image[2];

/* The byte at offset `at` of image n. */
static uint8_t content(unsigned n, uint64_t at)
{
	return (uint8_t)(at * 7 + at / 251 + n * 101);
}

static int make_images(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		char *error = NULL;
		FILE *f;

		strcpy(path[n], "/tmp/volume-XXXXXX");
		f = fdopen(mkstemp(path[n]), "w");
		for (unsigned i = 0; i < SIZE; i++)
			putc(content(n, i), f);
		fclose(f);
		assert_int_equal(image_open(path[n], SOURCE_AUTO, &image[n], &error), 0);
	}
	return 0;
}

static int drop_images(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		image_close(image[n]);
		unlink(path[n]);
	}
	return 0;
}

static void range(void **state)
{
	struct volume *v;
	uint8_t buf[100];

	(void)state;
	assert_int_equal(volume_new_range(image[1], 512, 1024, &v), 0);
	assert_int_equal(volume_size(v), 1024);
	assert_int_equal(volume_read(v, 924, buf, 100), 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(buf[i], content(1, 512 + 924 + i));
	assert_int_equal(volume_read(v, 925, buf, 100), -EIO);
	assert_int_equal(volume_read(v, UINT64_MAX, buf, 2), -EIO);
	volume_free(v);
	assert_int_equal(volume_new_range(image[1], 512, SIZE, &v), -ERANGE);
	assert_int_equal(volume_new_range(image[1], UINT64_MAX, 2, &v), -ERANGE);
	assert_int_equal(volume_new_range(image[1], 0, 0, &v), -EINVAL);
}

/* First two stripes over both images, then a linear part at the beginning of the first image. */
static const struct volume_stripe striped[] = {{NULL, 8192}, {NULL, 4096}}, linear[] = {{NULL, 0}};

static struct volume *two_segments(void)
{
	struct volume_stripe a[] = {striped[0], striped[1]}, b[] = {linear[0]};
	struct volume_segment segments[] = {{4 * STRIPE, STRIPE, 2, a}, {1000, 0, 1, b}};
	struct volume *v;

	a[0].image = b[0].image = image[0];
	a[1].image = image[1];
	assert_int_equal(volume_new(segments, 2, &v), 0);
	return v;
}

static uint8_t expected(uint64_t at)
{
	uint64_t stripe = at / STRIPE;

	if (at >= 4 * STRIPE)
		return content(0, at - 4 * STRIPE);
	return content(stripe % 2, striped[stripe % 2].offset + stripe / 2 * STRIPE + at % STRIPE);
}

static void stripes(void **state)
{
	struct volume *v = two_segments();
	static uint8_t buf[4 * STRIPE + 1000];
	const size_t lengths[] = {1, 511, STRIPE, STRIPE + 1, 3 * STRIPE, sizeof(buf)};

	(void)state;
	assert_int_equal(volume_size(v), sizeof(buf));
	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (uint64_t at = 0; at + lengths[l] <= sizeof(buf); at += 333) {
			assert_int_equal(volume_read(v, at, buf, lengths[l]), 0);
			for (size_t i = 0; i < lengths[l]; i++)
				assert_int_equal(buf[i], expected(at + i));
		}
	volume_free(v);
}

static void located(void **state)
{
	struct volume *v = two_segments();
	struct volume_stripe at;
	uint64_t length;

	(void)state;
	volume_locate(v, STRIPE + 10, SIZE, &at, &length);
	assert_ptr_equal(at.image, image[1]);
	assert_int_equal(at.offset, 4096 + 10);
	assert_int_equal(length, STRIPE - 10);
	volume_locate(v, 4 * STRIPE + 1, 5, &at, &length);
	assert_ptr_equal(at.image, image[0]);
	assert_int_equal(at.offset, 1);
	assert_int_equal(length, 5);
	volume_free(v);
}

static void refused(void **state)
{
	struct volume_stripe two[] = {{image[0], 0}, {image[1], SIZE - STRIPE}};
	const struct {
		struct volume_segment segment;
		int error;
	} bad[] = {
		{{4 * STRIPE, STRIPE, 2, two}, -ERANGE},
		{{2 * STRIPE, 0, 2, two}, -EINVAL},
		{{2 * STRIPE + 1, STRIPE, 2, two}, -EINVAL},
		{{3 * STRIPE, STRIPE, 2, two}, -EINVAL},
		{{STRIPE, STRIPE, 0, two}, -EINVAL},
		{{0, STRIPE, 1, two}, -EINVAL},
		{{STRIPE, STRIPE, VOLUME_MAX_STRIPES + 1, two}, -EINVAL},
	};
	struct volume *v;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(volume_new(&bad[i].segment, 1, &v), bad[i].error);
	assert_int_equal(volume_new(&bad[0].segment, 0, &v), -EINVAL);
}

static void changes(void **state)
{
	struct volume *v = two_segments();
	uint64_t before, after;
	FILE *f;

	(void)state;
	assert_int_equal(volume_changes(v, &before), 0);
	assert_int_equal(volume_changes(v, &after), 0);
	assert_int_equal(before, after);
	f = fopen(path[1], "a");
	putc('x', f);
	fclose(f);
	assert_int_equal(volume_changes(v, &after), 0);
	assert_true(after != before);
	volume_free(v);
}

/* Guards detect a change also on the image that the volume does not use. */
static void guards(void **state)
{
	struct volume_guard guard[] = {{image[0], 512, {0}}, {image[1], SIZE - 512, {0}}};
	struct volume *v;
	FILE *f;

	(void)state;
	assert_int_equal(volume_new_range(image[1], 512, 1024, &v), 0);
	assert_int_equal(volume_check(v), 0);
	for (unsigned n = 0; n < 2; n++)
		assert_int_equal(image_read(guard[n].image, guard[n].offset, guard[n].bytes, 512),
				 0);
	assert_int_equal(volume_set_guards(v, guard, 2), 0);
	assert_int_equal(volume_check(v), 0);
	f = fopen(path[0], "r+");
	fseek(f, 512 + 511, SEEK_SET);
	putc(content(0, 1023) ^ 1, f);
	fclose(f);
	assert_int_equal(volume_check(v), -ESTALE);
	assert_int_equal(volume_set_guards(v, &guard[1], 1), 0);
	assert_int_equal(volume_check(v), 0);
	guard[0].offset = SIZE - 511;
	assert_int_equal(volume_set_guards(v, guard, 2), -ERANGE);
	assert_int_equal(volume_set_guards(v, guard, VOLUME_MAX_GUARDS + 1), -E2BIG);
	assert_int_equal(volume_check(v), 0);
	volume_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range),   cmocka_unit_test(stripes), cmocka_unit_test(located),
		cmocka_unit_test(refused), cmocka_unit_test(guards),  cmocka_unit_test(changes),
	};

	return cmocka_run_group_tests(tests, make_images, drop_images);
}
