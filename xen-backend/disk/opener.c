// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements opener.h: a table of channels, each with one question at a time.  A thread that finds
 * all channels busy waits for one, but not for ever: files on storage that hangs may keep them all.
 */
#include "disk/opener.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define WAIT_MS 10000U /* for a channel */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `asked` and `ended` */
static pthread_cond_t one_is_idle = PTHREAD_COND_INITIALIZER;
static int channels[OPENER_CHANNELS];
static const char
	*asked[OPENER_CHANNELS]; /* the path that is asked for; NULL: the channel is idle */
static bool used, ended;

struct answer {
	struct opener_answer fixed;
	char *text; /* with a NUL; free() it */
	int fd;     /* -1: none */
};

/* ---- messages ---------------------------------------------------------------------- */

static int send_request(int channel, enum opener_kind kind, const char *const texts[OPENER_TEXTS])
{
	struct opener_request fixed = {.kind = kind};
	struct iovec parts[1 + OPENER_TEXTS] = {{&fixed, sizeof(fixed)}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 1 + OPENER_TEXTS};
	ssize_t n;

	for (unsigned i = 0; i < OPENER_TEXTS; i++)
		parts[1 + i] = (struct iovec){(char *)texts[i], strlen(texts[i]) + 1};
	do
		n = sendmsg(channel, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Returns the first descriptor of the message, or -1. */
static int descriptor_of(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* ret->text has room. */
static int receive_answer(int channel, struct answer *ret)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec parts[2] = {{&ret->fixed, sizeof(ret->fixed)}, {ret->text, OPENER_MAX_TEXT}};
	struct msghdr m = {.msg_iov = parts,
			   .msg_iovlen = 2,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	ret->fd = descriptor_of(&m);
	return n < (ssize_t)sizeof(ret->fixed) ? -EBADMSG : 0;
}

static int prepare(struct answer *ret)
{
	*ret = (struct answer){.fd = -1, .text = calloc(1, OPENER_MAX_TEXT + 1)};
	return ret->text ? 0 : -ENOMEM;
}

static void clear(struct answer *a)
{
	free(a->text);
	if (a->fd >= 0)
		close(a->fd);
}

/* ---- channels ---------------------------------------------------------------------- */

int opener_use(const int given[OPENER_CHANNELS])
{
	struct answer ready;
	int r;

	memcpy(channels, given, sizeof(channels));
	r = prepare(&ready);
	if (r == 0)
		r = receive_answer(channels[0], &ready);
	if (r == 0 && ready.fixed.result != 0)
		r = -EBADMSG;
	clear(&ready);
	used = r == 0;
	for (unsigned i = 0; i < OPENER_CHANNELS && r < 0; i++)
		close(channels[i]);
	return r;
}

bool opener_is_used(void)
{
	return used;
}

void opener_end(void)
{
	pthread_mutex_lock(&lock);
	ended = true;
	for (unsigned i = 0; used && i < OPENER_CHANNELS; i++)
		shutdown(channels[i], SHUT_RDWR);
	pthread_cond_broadcast(&one_is_idle);
	pthread_mutex_unlock(&lock);
}

/* Call with the lock held.  Returns a negative number if all are busy. */
static int idle_channel(void)
{
	for (int i = 0; i < (int)OPENER_CHANNELS; i++)
		if (!asked[i])
			return i;
	return -1;
}

/* Call with the lock held. */
static int all_are_busy(const char *path, char **ret_error)
{
	return error_text(
		ret_error, -EBUSY,
		"image %s: vread-opener waits for %u other files, among them %s: check the "
		"storage below these",
		path, OPENER_CHANNELS, asked[0]);
}

/* Returns a channel, or negative errno with *ret_error. */
static int take_channel(const char *path, char **ret_error)
{
	uint64_t until = clock_ms() + WAIT_MS;
	bool in_time = true;
	int i = -1;

	pthread_mutex_lock(&lock);
	while (!ended && (i = idle_channel()) < 0 && in_time)
		in_time = clock_wait(&one_is_idle, &lock, until);
	if (ended)
		i = error_text(ret_error, -EPIPE, "image %s: vread-opener has ended", path);
	else if (i < 0)
		i = all_are_busy(path, ret_error);
	else
		asked[i] = path;
	pthread_mutex_unlock(&lock);
	return i;
}

static void give_back(int i)
{
	pthread_mutex_lock(&lock);
	asked[i] = NULL;
	pthread_cond_signal(&one_is_idle);
	pthread_mutex_unlock(&lock);
}

/* ---- questions --------------------------------------------------------------------- */

/* An opener that cannot be asked on one channel has ended, or is made to end: an answer that comes
 * later would be taken for that of the next question. */
static int exchange(int channel, enum opener_kind kind, const char *const texts[OPENER_TEXTS],
		    struct answer *ret)
{
	int r = send_request(channels[channel], kind, texts);

	if (r == 0)
		r = receive_answer(channels[channel], ret);
	if (r < 0)
		opener_end();
	give_back(channel);
	return r;
}

static int check_lengths(const char *const texts[OPENER_TEXTS])
{
	for (unsigned i = 0; i < OPENER_TEXTS; i++)
		if (strlen(texts[i]) >= PATH_MAX)
			return -ENAMETOOLONG;
	return 0;
}

/* Returns 0 if there is an answer, or negative errno with *ret_error.  clear() *ret either way. */
static int ask(enum opener_kind kind, const char *const texts[OPENER_TEXTS], struct answer *ret,
	       char **ret_error)
{
	int channel, r = prepare(ret);

	if (r == 0)
		r = check_lengths(texts);
	if (r == 0) {
		channel = take_channel(texts[0], ret_error);
		if (channel < 0)
			return channel;
		r = exchange(channel, kind, texts, ret);
	}
	if (r < 0)
		error_text(ret_error, r, "image %s: vread-opener cannot be asked: %s", texts[0],
			   strerror(-r));
	return r;
}

static int ask_for_file(enum opener_kind kind, const char *const texts[OPENER_TEXTS],
			char **ret_error)
{
	struct answer a;
	int r = ask(kind, texts, &a, ret_error), fd = a.fd;

	if (r == 0 && a.fixed.result < 0)
		r = error_text(ret_error, a.fixed.result, "%s", a.text);
	else if (r == 0 && fd < 0)
		r = error_text(ret_error, -EMFILE, "image %s: vread-opener sent no descriptor",
			       texts[0]);
	else if (r == 0)
		a.fd = -1;
	clear(&a);
	return r < 0 ? r : fd;
}

int opener_image(const char *path, char **ret_error)
{
	return ask_for_file(OPENER_IMAGE, (const char *const[]){path, "", ""}, ret_error);
}

int opener_named(const struct naming *n, const char *path, char **ret_error)
{
	return ask_for_file(OPENER_NAMED, (const char *const[]){path, n->top, n->image}, ret_error);
}

int opener_stat(const char *path, struct stat *ret)
{
	struct answer a;
	char *error = NULL;
	int r;

	if (!used)
		return stat(path, ret);
	r = ask(OPENER_STAT, (const char *const[]){path, "", ""}, &a, &error);
	free(error);
	if (r == 0)
		r = a.fixed.result;
	*ret = (struct stat){.st_mode = (mode_t)a.fixed.mode,
			     .st_dev = (dev_t)a.fixed.dev,
			     .st_ino = (ino_t)a.fixed.ino,
			     .st_rdev = (dev_t)a.fixed.rdev};
	clear(&a);
	errno = -r;
	return r < 0 ? -1 : 0;
}
