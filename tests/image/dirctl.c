// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dirctl - looks names up in the directories of an ext4, by their index alone and as the parser
 * does.  tests/image/test_ext4_index.py compares the answers.
 *
 *   dirctl IMAGE      a raw image that is an ext4 as a whole
 *
 * Commands on stdin, one a line; all are answered from one view of the file system:
 *   list PATH         -> "NAME INODE" for each name, then an empty line
 *   find PATH NAME    -> "INDEX LOOKUP BYTES": each an inode or the name of an errno, and how much
 *                        metadata LOOKUP read
 * At the end: "confirmed" or the name of an errno.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "parser/fs/ext4.h"

static struct fs_view *view;

static struct ext4_view *ext4(void)
{
	return (struct ext4_view *)view;
}

static void put(int r, uint64_t inode, const char *end)
{
	if (r == 0)
		printf("%" PRIu64 "%s", inode, end);
	else
		printf("%s%s", strerrorname_np(-r), end);
}

static int find_dir(const char *path, uint64_t *ret)
{
	/* A view is for one question, and its budget, too; here it is for thousands. */
	ext4()->budget = UINT64_MAX;
	return fs_view_lookup(view, fs_view_root(view), path, ret);
}

static int put_entry(void *ctx, const char *name, uint64_t inode)
{
	(void)ctx;
	printf("%s %" PRIu64 "\n", name, inode);
	return 0;
}

static void do_list(const char *path)
{
	uint64_t dir;
	int r = find_dir(path, &dir);

	if (r == 0)
		r = fs_view_list(view, dir, put_entry, NULL);
	if (r < 0)
		put(r, 0, "\n");
	puts("");
}

static void do_find(const char *path, const char *name)
{
	ext2_ino_t inode = 0;
	uint64_t dir, found = 0, before;
	int r = find_dir(path, &dir);

	if (r < 0) {
		put(r, 0, "\n");
		return;
	}
	r = ext4_index_lookup(ext4(), (ext2_ino_t)dir, name, strlen(name), &inode);
	put(r, inode, " ");
	before = ext4()->budget;
	r = fs_view_lookup(view, dir, name, &found);
	put(r, found, " ");
	printf("%" PRIu64 "\n", before - ext4()->budget);
}

static void run(char *line)
{
	char *word[4];
	unsigned n = 0;

	for (char *w = strtok(line, " \n"); w && n < 4; w = strtok(NULL, " \n"))
		word[n++] = w;
	if (n == 2 && !strcmp(word[0], "list"))
		do_list(word[1]);
	else if (n == 3 && !strcmp(word[0], "find"))
		do_find(word[1], word[2]);
	else
		put(-EBADF, 0, "\n");
}

/* Opens a file system with the UUID that its superblock names. */
static int open_fs(struct volume *volume, struct fs **ret)
{
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	const char *reason;
	char uuid[37];
	int r = volume_read(volume, EXT4_SUPER_OFFSET, raw, sizeof(raw));

	if (r < 0 || !ext4_super_parse(raw, volume_size(volume), &super, &reason))
		return -EIO;
	uuid_unparse_lower(super.uuid, uuid);
	return fs_new(volume, "ext4", uuid, ret);
}

int main(int argc, char **argv)
{
	static char line[8192];
	struct volume *volume = NULL;
	struct image *image = NULL;
	struct fs *fs = NULL;
	char *error = NULL;
	int r = argc == 2 ? image_open(argv[1], SOURCE_BUFFERED, &image, &error) : -EINVAL;

	if (r == 0)
		r = volume_new_range(image, 0, image_size(image), &volume);
	if (r == 0)
		r = open_fs(volume, &fs);
	if (r == 0)
		r = fs_view_open(fs, &view, NULL);
	while (r == 0 && fgets(line, sizeof(line), stdin))
		run(line);
	if (r == 0)
		r = fs_view_confirm(view, NULL, NULL);
	puts(r < 0 ? strerrorname_np(-r) : "confirmed");
	fs_view_close(view);
	fs_free(fs);
	volume_free(volume);
	image_close(image);
	free(error);
	return r < 0;
}
