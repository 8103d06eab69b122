// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests what all image formats share, with a format that makes mistakes: no read runs for ever or
 * writes outside its buffer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/image_impl.h"

#define SIZE 65536U
#define PATIENCE 60 /* seconds: a read that does not end kills the test */

/* What the format returns next. */
static struct {
	uint64_t length; /* of the run or of the unpacked bytes */
	int error;
	unsigned asked;
	bool zeros;
} next;

static int wrong_open(struct image *img, char **ret_error)
{
	(void)ret_error;
	img->size = SIZE;
	return 0;
}

static int wrong_map(struct image *img, uint64_t offset, uint64_t length, struct image_run *ret)
{
	(void)length;
	next.asked++;
	*ret = (struct image_run){next.zeros ? NULL : img->source, offset, next.length};
	return next.error;
}

static int wrong_unpack(struct image *img, uint64_t offset, void *buf, size_t length,
			size_t *ret_done)
{
	(void)img, (void)offset;
	memset(buf, 1, length);
	*ret_done = (size_t)next.length;
	return 0;
}

static const struct image_ops ops = {
	.open = wrong_open,
	.map = wrong_map,
	.unpack = wrong_unpack,
};
static const struct image_format format = {"wrong", &ops};

static char path[] = "/tmp/image-XXXXXX";
static struct image *image;

static int open_image(void **state)
{
	char *error = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(ftruncate(fd, SIZE), 0);
	close(fd);
	assert_int_equal(image_open_layer(&format, path, SOURCE_AUTO, NULL, NULL, &image, &error),
			 0);
	alarm(PATIENCE);
	return 0;
}

static int close_image(void **state)
{
	(void)state;
	image_close(image);
	return unlink(path);
}

static void runs(void **state)
{
	uint8_t buf[2048];

	(void)state;
	for (unsigned zeros = 0; zeros < 2; zeros++) {
		next.error = 0;
		next.zeros = zeros;
		next.length = 0;
		assert_int_equal(image_read(image, 512, buf, 1024), -EIO);
		next.length = 1025;
		memset(buf, 0xa5, sizeof(buf));
		assert_int_equal(image_read(image, 512, buf, 1024), -EIO);
		assert_int_equal(buf[1024], 0xa5);
		next.length = 512;
		next.asked = 0;
		assert_int_equal(image_read(image, 512, buf, 1024), 0);
		assert_int_equal(next.asked, 2);
	}
}

static void unpacking(void **state)
{
	uint8_t buf[1024];

	(void)state;
	next.error = -EOPNOTSUPP;
	next.length = 0;
	assert_int_equal(image_read(image, 512, buf, sizeof(buf)), -EIO);
	next.length = sizeof(buf) + 1;
	assert_int_equal(image_read(image, 512, buf, sizeof(buf)), -EIO);
	next.length = sizeof(buf);
	assert_int_equal(image_read(image, 512, buf, sizeof(buf)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),
		cmocka_unit_test(unpacking),
	};

	return cmocka_run_group_tests(tests, open_image, close_image);
}
