// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens and reads one file or block device; see source.h.  Called by the formats of disk/ and by
 * read/ahead.c.
 *
 * O_DIRECT wants offset, length and memory aligned to the device's logical block.  An aligned read
 * goes straight into the caller's memory; another read goes through a bounce buffer of the thread.
 *
 * A buffered read first asks for the bytes in the page cache only (RWF_NOWAIT).  If all bytes are
 * there, this costs nothing.  If not, the read waits for a disk, and is counted and announced
 * (base/waiting.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/scratch.h"
#include "base/waiting.h"
#include "disk/naming.h"
#include "disk/opener.h"
#include "disk/source_impl.h"

#define BOUNCE_BYTES (256U << 10)

static _Thread_local uint64_t waits;

static int measure(struct source *s, const struct stat *st)
{
	uint64_t bytes;

	if (S_ISREG(st->st_mode)) {
		s->size = (uint64_t)st->st_size;
		s->align = 4096; /* files are not asked; good for all file systems */
		return 0;
	}
	unsigned int sector = 0;

	if (ioctl(s->fd, BLKGETSIZE64, &bytes) < 0 || ioctl(s->fd, BLKSSZGET, &sector) < 0)
		return -errno;
	s->size = bytes;
	if (sector < 512 || sector > 65536 || (sector & (sector - 1)))
		return -EINVAL;
	s->align = sector;
	return 0;
}

/* Reads the read-ahead setting of a disk, of the disk of a partition, or of a file system without a
 * disk. */
static uint64_t kernel_ahead(dev_t disk)
{
	static const char *const places[] = {
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
		"/sys/class/bdi/%u:%u/read_ahead_kb",
	};
	unsigned long kib = 0;
	bool found = false;

	for (unsigned i = 0; i < 3 && !found; i++) {
		char name[64];
		FILE *f;

		snprintf(name, sizeof(name), places[i], major(disk), minor(disk));
		f = fopen(name, "re");
		if (!f)
			continue;
		found = fscanf(f, "%lu", &kib) == 1;
		fclose(f);
	}
	return found ? (uint64_t)kib << 10 : 0;
}

/* True if another host may write the file, and this host keeps pages of it for a while without
 * asking whether they are still right. */
static bool is_shared(const struct source *s)
{
	struct statfs on;

	if (s->block_device || fstatfs(s->fd, &on) < 0)
		return false;
	switch ((uint32_t)on.f_type) {
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
	case V9FS_MAGIC:
		return true;
	default:
		return false;
	}
}

static int go_direct(struct source *s)
{
	if (fcntl(s->fd, F_GETFL) & O_DIRECT)
		return 0;
	return fcntl(s->fd, F_SETFL, O_DIRECT) < 0 ? -errno : 0;
}

static int check(struct source *s, enum source_mode mode, char **ret_error)
{
	struct stat st;
	int r;

	if (fstat(s->fd, &st) < 0)
		return error_text(ret_error, -errno, "image %s: %s", s->path, strerror(errno));
	r = naming_check_kind(s->path, st.st_mode, ret_error);
	if (r < 0)
		return r;
	s->block_device = S_ISBLK(st.st_mode);
	s->disk = s->block_device ? st.st_rdev : st.st_dev;
	s->direct = mode == SOURCE_DIRECT || (mode == SOURCE_AUTO && s->block_device);
	r = measure(s, &st);
	if (r < 0)
		return error_text(ret_error, r, "image %s: cannot find out its size: %s", s->path,
				  strerror(-r));
	if (s->size == 0)
		return error_text(ret_error, -ENODATA, "image %s is empty (0 bytes)", s->path);
	r = s->direct ? go_direct(s) : 0;
	if (r < 0)
		return error_text(ret_error, r, "image %s: cannot read it with O_DIRECT: %s",
				  s->path, strerror(-r));
	if (mode == SOURCE_AUTO && is_shared(s))
		s->direct = go_direct(s) == 0;
	return 0;
}

/* ---- given descriptors: one list per process, without a lock ------------------------ */

static struct given {
	char *path;
	int fd;
} given[SOURCE_MAX_GIVEN];
static unsigned num_given;
static bool only_given; /* this process may not open files */

int source_give(const char *path, int fd)
{
	char *copy = num_given < SOURCE_MAX_GIVEN ? strdup(path) : NULL;

	if (!copy)
		return num_given < SOURCE_MAX_GIVEN ? -ENOMEM : -ENOSPC;
	given[num_given++] = (struct given){copy, fd};
	only_given = true;
	return 0;
}

static int take_given(const char *path)
{
	for (unsigned i = 0; i < num_given; i++) {
		int fd = given[i].fd;

		if (strcmp(given[i].path, path))
			continue;
		free(given[i].path);
		given[i] = given[--num_given];
		return fd;
	}
	return -1;
}

/* Opens a file that the operator named.  O_NONBLOCK: a FIFO or tape at path must not hang the
 * daemon. */
static int open_path(const char *path, char **ret_error)
{
	int fd;

	if (opener_is_used())
		return opener_image(path, ret_error);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	return error_text(ret_error, -errno, "image %s: %s%s", path, strerror(errno),
			  errno == ENOENT || errno == EACCES ? naming_hint(-errno) : "");
}

static int open_named(const char *path, const struct naming *naming, char **ret_error)
{
	if (only_given)
		return error_text(ret_error, -ESTALE,
				  "image %s names %s as its backing file, and did not before",
				  naming->image, path);
	if (opener_is_used())
		return opener_named(naming, path, ret_error);
	return naming_open(naming, path, ret_error);
}

/* naming: NULL if the operator named the file. */
static int open_source(const char *path, enum source_mode mode, const struct naming *naming,
		       struct source **ret, char **ret_error)
{
	struct source *s = calloc(1, sizeof(*s));
	bool was_given;
	int r;

	if (!s || !(s->path = strdup(path))) {
		free(s);
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", path);
	}
	s->fd = take_given(path);
	was_given = s->fd >= 0;
	if (!was_given)
		s->fd = naming ? open_named(path, naming, ret_error) : open_path(path, ret_error);
	r = s->fd < 0 ? s->fd : check(s, mode, ret_error);
	if (r == 0 && !was_given) /* a process that is given files may open none */
		s->kernel_ahead = kernel_ahead(s->disk);
	if (r < 0) {
		source_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int source_open(const char *path, enum source_mode mode, struct source **ret, char **ret_error)
{
	return open_source(path, mode, NULL, ret, ret_error);
}

int source_open_named(const char *path, enum source_mode mode, const struct naming *naming,
		      struct source **ret, char **ret_error)
{
	return open_source(path, mode, naming, ret, ret_error);
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s);
}

int source_fd(const struct source *s)
{
	return s->fd;
}

const char *source_path(const struct source *s)
{
	return s->path;
}

uint64_t source_size(const struct source *s)
{
	return s->size;
}

uint64_t source_size_now(struct source *s)
{
	uint64_t now = 0;
	struct stat st;

	if (s->block_device)
		ioctl(s->fd, BLKGETSIZE64, &now);
	else if (fstat(s->fd, &st) == 0)
		now = (uint64_t)st.st_size;
	if (now > s->size)
		s->size = now;
	return s->size;
}

bool source_is_direct(const struct source *s)
{
	return s->direct;
}

static int read_fully(int fd, uint64_t offset, uint8_t *buf, size_t length)
{
	while (length > 0) {
		ssize_t n = pread(fd, buf, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO; /* 0: the file was truncated meanwhile */
		buf += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

/* Reads the bytes from offset on that are in the page cache.  Returns how many, or -1 if the file
 * system cannot tell. */
static ssize_t read_cached(struct source *s, uint64_t offset, void *buf, size_t length)
{
	struct iovec to = {buf, length};
	ssize_t n;

	if (atomic_load_explicit(&s->silent, memory_order_relaxed))
		return -1;
	n = preadv2(s->fd, &to, 1, (off_t)offset, RWF_NOWAIT);
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	atomic_store_explicit(&s->silent, true, memory_order_relaxed);
	return -1;
}

static int read_buffered(struct source *s, uint64_t offset, uint8_t *buf, size_t length)
{
	ssize_t n = read_cached(s, offset, buf, length);

	if (n == (ssize_t)length)
		return 0;
	if (n < 0)
		return read_fully(s->fd, offset, buf, length);
	waits++;
	waiting_announce();
	return read_fully(s->fd, offset + (uint64_t)n, buf + n, length - (size_t)n);
}

/* O_DIRECT reads up to the end of the file only.  So a read at the end of an image comes back short
 * if the image's size is not a multiple of the alignment.  A short read is fine if it covers the
 * wanted bytes. */
static int read_aligned_span(struct source *s, uint64_t start, uint8_t *bounce, size_t span,
			     size_t wanted)
{
	size_t got = 0;

	while (got < wanted) {
		ssize_t n = pread(s->fd, bounce + got, span - got, (off_t)(start + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		got += (size_t)n;
		if (got < wanted && got % s->align)
			return -EIO;
	}
	return 0;
}

static int read_bounced(struct source *s, uint64_t offset, uint8_t *buf, size_t length)
{
	uint8_t *bounce = scratch_get(SCRATCH_BOUNCE, BOUNCE_BYTES);
	uint64_t mask = s->align - 1;

	if (!bounce)
		return -ENOMEM;
	while (length > 0) {
		uint64_t start = offset & ~mask;
		size_t skip = (size_t)(offset - start);
		size_t n = length < BOUNCE_BYTES - skip ? length : BOUNCE_BYTES - skip;
		size_t span = (skip + n + mask) & ~mask;
		int r = read_aligned_span(s, start, bounce, span, skip + n);

		if (r < 0)
			return r;
		memcpy(buf, bounce + skip, n);
		buf += n;
		offset += n;
		length -= n;
	}
	return 0;
}

int source_read(struct source *s, uint64_t offset, void *buf, size_t length)
{
	if (offset > s->size || length > s->size - offset)
		return -EIO;
	if (!s->direct)
		return read_buffered(s, offset, buf, length);
	waiting_announce();
	if (!((offset | length | (uintptr_t)buf) & (s->align - 1)))
		return read_fully(s->fd, offset, buf, length);
	return read_bounced(s, offset, buf, length);
}

dev_t source_disk(const struct source *s)
{
	return s->disk;
}

uint64_t source_kernel_ahead(const struct source *s)
{
	return s->kernel_ahead;
}

uint64_t source_waits(void)
{
	return waits;
}

bool source_fetch(struct source *s, uint64_t offset, uint64_t length)
{
	uint8_t last;

	if (s->direct || length == 0 || offset > s->size || length > s->size - offset)
		return false;
	/* The last byte is in the page cache only if the whole range is, or was asked for. */
	if (read_cached(s, offset + length - 1, &last, 1) != 0)
		return false;
	waiting_announce(); /* for a disk that takes no further request now */
	return posix_fadvise(s->fd, (off_t)offset, (off_t)length, POSIX_FADV_WILLNEED) == 0;
}

int source_identity(struct source *s, struct source_identity *ret)
{
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->size = s->block_device ? s->size : (uint64_t)st.st_size;
	if (!s->block_device) {
		ret->mtime = st.st_mtim;
		ret->ctime = st.st_ctim;
	}
	return 0;
}
