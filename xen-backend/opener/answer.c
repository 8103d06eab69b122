// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements answer.h.
 *
 * Whoever asks counts as hostile: vreadd, which handles what guests and other hosts send, may have
 * been taken over.  So a request is checked whole before anything is looked up, and the operator's
 * files and keys (named.h) decide what is opened.
 */
#include "opener/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shortage.h"
#include "disk/naming.h"
#include "disk/opener_protocol.h"
#include "opener/named.h"

/* A request, checked. */
struct request {
	enum opener_kind kind;
	const char *path, *top, *image;
};

/* ---- messages ---------------------------------------------------------------------- */

static int malformed(char **ret_error, const char *what)
{
	return error_text(ret_error, -EBADMSG, "vread-opener: malformed request: %s", what);
}

/* Points texts at the texts in the bytes, which must be exactly as many. */
static bool split(const char *bytes, size_t length, const char *texts[OPENER_TEXTS])
{
	for (unsigned i = 0; i < OPENER_TEXTS; i++) {
		const char *end = memchr(bytes, '\0', length);

		if (!end || end - bytes >= PATH_MAX)
			return false;
		texts[i] = bytes;
		length -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	return length == 0;
}

static int parse(const char *bytes, size_t length, struct request *ret, char **ret_error)
{
	struct opener_request fixed;
	const char *texts[OPENER_TEXTS];

	if (length < sizeof(fixed))
		return malformed(ret_error, "it is too short");
	memcpy(&fixed, bytes, sizeof(fixed));
	if (fixed.kind < OPENER_IMAGE || fixed.kind > OPENER_STAT)
		return malformed(ret_error, "no such kind");
	if (!split(bytes + sizeof(fixed), length - sizeof(fixed), texts))
		return malformed(ret_error, "expected three texts, each shorter than PATH_MAX");
	*ret = (struct request){fixed.kind, texts[0], texts[1], texts[2]};
	if (ret->path[0] != '/')
		return malformed(ret_error, "expected a path that starts with /");
	return 0;
}

/* fd: -1 for none.  A text that is too long is cut. */
static int send_answer(int channel, const struct opener_answer *fixed, const char *text, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec parts[2] = {{(void *)fixed, sizeof(*fixed)},
				 {(char *)text, strnlen(text, OPENER_MAX_TEXT)}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(sizeof(fd))};
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	do
		n = sendmsg(channel, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* ---- requests ---------------------------------------------------------------------- */

static int refuse(const char *path, char **ret_error)
{
	return error_text(
		ret_error, -EACCES,
		"image %s: neither a section [datanode NAME] of the configuration nor keys in "
		"xenstore name it; only images that one of these names are opened",
		path);
}

static int open_image(const struct request *q, char **ret_error)
{
	if (!named_is_image(q->path))
		named_look();
	if (!named_is_image(q->path))
		return refuse(q->path, ret_error);
	return naming_open_image(q->path, ret_error);
}

/* Opens the file if a section that names the image allows it.  -ENOENT without *ret_error: no
 * section names the image. */
static int open_by_sections(const struct request *q, char **ret_error)
{
	const struct named *n;
	int r = -ENOENT;

	for (unsigned i = 0; r < 0 && (n = named_get(i)); i++) {
		const struct image_folders folders = {(const char *const *)n->folder,
						      n->num_folders};
		const struct naming naming = {q->image, q->top, &folders};

		if (!strcmp(n->image, q->top))
			r = naming_open(&naming, q->path, ret_error);
	}
	return r;
}

static int open_named(const struct request *q, char **ret_error)
{
	int r = open_by_sections(q, ret_error);

	if (r < 0) {
		named_look();
		r = open_by_sections(q, ret_error);
	}
	return r < 0 && !*ret_error ? refuse(q->top, ret_error) : r;
}

/* Tells what a file is; of anything but regular files and block devices, nothing. */
static int tell(const struct request *q, struct opener_answer *ret, char **ret_error)
{
	int found = naming_find_image(q->path, ret_error), r;
	struct stat st = {0};

	if (found < 0)
		return found;
	r = fstat(found, &st) < 0 ? -errno : naming_check_kind(q->path, st.st_mode, ret_error);
	close(found);
	if (r == 0) {
		ret->mode = st.st_mode;
		ret->dev = st.st_dev;
		ret->ino = st.st_ino;
		ret->rdev = st.st_rdev;
	}
	return r;
}

/* Returns a descriptor; 0 for OPENER_STAT; or negative errno with *ret_error. */
static int carry_out(const char *bytes, size_t length, struct opener_answer *ret, char **ret_error)
{
	struct request q = {0};
	int r = parse(bytes, length, &q, ret_error);

	if (r < 0)
		return r;
	if (q.kind == OPENER_STAT)
		return tell(&q, ret, ret_error);
	return q.kind == OPENER_IMAGE ? open_image(&q, ret_error) : open_named(&q, ret_error);
}

static int answer_one(int channel, const char *bytes, size_t length)
{
	struct opener_answer fixed = {0};
	char *error = NULL;
	int r = carry_out(bytes, length, &fixed, &error);
	bool opened = r > 0;
	int fd = opened ? r : -1;

	fixed.result = r < 0 ? r : 0;
	r = send_answer(channel, &fixed, r < 0 && error ? error : "", fd);
	if (is_shortage(r)) {
		char text[128];

		snprintf(text, sizeof(text), "vread-opener cannot send the descriptor: %s",
			 strerror(-r));
		fixed.result = r;
		r = send_answer(channel, &fixed, text, -1);
	}
	if (fd >= 0)
		close(fd);
	free(error);
	return r;
}

int answer_ready(int channel)
{
	const struct opener_answer ready = {0};

	return send_answer(channel, &ready, "", -1);
}

void answer_requests(int channel)
{
	/* One byte more than a request, so that a longer one is seen. */
	char bytes[OPENER_MAX_REQUEST + 1];
	ssize_t n;

	for (;;) {
		struct iovec part = {bytes, sizeof(bytes)};
		/* Without room for them, descriptors that come along are dropped. */
		struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

		n = recvmsg(channel, &m, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || answer_one(channel, bytes, (size_t)n) < 0)
			return;
	}
}
