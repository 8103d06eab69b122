// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers vreadd's questions (protocol.h) in a parser's process. parser/main.c calls it. This
 * file, and what it calls, is all the code that interprets what a guest wrote.
 */
#include "parser/serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/version.h"
#include "parser/hdfs/folder.h"
#include "parser/hdfs/locate.h"
#include "parser/hdfs/newest.h"
#include "parser/hdfs/discover.h"
#include "parser/disks/partition.h"
#include "layout/place.h"
#include "parser-protocol/answer.h"
#include "parser-protocol/channel.h"

#define MAX_PATH 4096U

/* What this process serves. FILE, SETUP, USE and DISCOVER, which come before all other
 * questions, write it under the lock. */
static struct {
	pthread_rwlock_t lock;
	uint64_t instance; /* a basis of another process is not valid here */
	struct image *images[LAYOUT_MAX_IMAGES];
	unsigned num_images;
	struct image_layout *layout; /* NULL: none yet */
	struct volume *volumes[LAYOUT_MAX_FILESYSTEMS];
	struct fs *fs[LAYOUT_MAX_FILESYSTEMS];
} own = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* One question, and its answer while it is being written. */
struct question {
	struct wire_in in;
	struct wire_out *out;
	int fd; /* a descriptor that came with the question; -1: none */
};

/* ---- what to serve ---------------------------------------------------------------- */

static int answer_error(struct question *q, int error, char *reason)
{
	wire_put_text(q->out, reason ? reason : strerror(-error));
	free(reason);
	return error;
}

static int answer_file(struct question *q)
{
	char *path = wire_get_text(&q->in, MAX_PATH);
	int r = path && q->fd >= 0 ? source_give(path, q->fd) : -EINVAL;

	if (r == 0)
		q->fd = -1;
	free(path);
	return r;
}

static int open_image(struct question *q, char **ret_error)
{
	char *format = wire_get_text(&q->in, 16), *path = wire_get_text(&q->in, MAX_PATH);
	uint32_t mode = wire_get32(&q->in);
	struct image **place = &own.images[own.num_images];
	char *spec = NULL;
	int r = format && path && !q->in.failed ? 0 : -EINVAL;

	if (r == 0 && asprintf(&spec, "%s:%s", format, path) < 0)
		r = -ENOMEM;
	if (r == 0 && format[0])
		r = image_open(spec, (enum source_mode)mode, place, ret_error);
	if (r == 0)
		own.num_images++;
	free(spec);
	free(path);
	free(format);
	return r;
}

static int answer_setup(struct question *q)
{
	uint32_t protocol = wire_get32(&q->in);
	char *version = wire_get_text(&q->in, 64);
	uint32_t count;
	char *error = NULL;
	int r = 0;

	own.instance = wire_get64(&q->in);
	count = wire_get32(&q->in);
	if (!version || protocol != PARSER_PROTOCOL || strcmp(version, VREAD_VERSION) != 0)
		r = error_text(&error, -EPROTO,
			       "vread-parser is of version " VREAD_VERSION
			       " and vreadd of %s: restart vreadd",
			       version ? version : "another");
	else if (count > LAYOUT_MAX_IMAGES || own.num_images)
		r = -EINVAL;
	for (uint32_t i = 0; i < count && r == 0; i++)
		r = open_image(q, &error);
	free(version);
	return r < 0 ? answer_error(q, r, error) : 0;
}

static void put_state(struct wire_out *out, enum fs_state state, const char *reason)
{
	wire_put32(out, state);
	wire_put_text(out, state == FS_REFUSED || state == FS_UNREADABLE ? reason : "");
}

static void put_guards(struct wire_out *out, const struct layout_guards *guards)
{
	wire_put32(out, guards->count);
	for (unsigned i = 0; i < guards->count; i++) {
		wire_put32(out, guards->list[i].image);
		wire_put64(out, guards->list[i].offset);
		wire_put(out, guards->list[i].bytes, sizeof(guards->list[i].bytes));
	}
}

static void open_filesystem(struct question *q, unsigned i)
{
	const struct layout_filesystem *lfs = &own.layout->filesystems[i];
	enum fs_state state = FS_UNREADABLE;
	const char *reason = "its place or its UUID is invalid";
	int r = layout_volume(own.images, lfs, &own.volumes[i]);

	if (r == 0)
		r = fs_new(own.volumes[i], lfs->type, lfs->uuid, &own.fs[i]);
	if (r == 0)
		state = fs_state(own.fs[i], &reason);
	put_state(q->out, state, reason);
	put_guards(q->out, &lfs->guards);
}

/* Opens all file systems and puts their states and guards into the answer. */
static void open_filesystems(struct question *q)
{
	for (unsigned i = 0; i < own.layout->num_filesystems; i++)
		open_filesystem(q, i);
}

static int answer_use(struct question *q)
{
	uint32_t check_fit = wire_get32(&q->in);
	char *path = wire_get_text(&q->in, MAX_PATH);
	char *text = wire_get_text(&q->in, LAYOUT_MAX_FILE_BYTES);
	char *error = NULL;
	int r = path && text && !own.layout ? 0 : -EINVAL;

	if (r == 0)
		r = layout_parse(text, strlen(text), path, &own.layout, &error);
	if (r == 0 && check_fit)
		r = layout_check_fit(own.images, own.num_images, own.layout, path, &error);
	else if (r == 0 && own.layout->num_images != own.num_images)
		r = -ESTALE;
	free(path);
	free(text);
	if (r < 0) {
		layout_free(own.layout);
		own.layout = NULL;
		return answer_error(q, r, error);
	}
	open_filesystems(q);
	return 0;
}

static int answer_layout(struct question *q)
{
	json_t *json = layout_to_json(own.layout);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	if (!text)
		return -ENOMEM;
	wire_put_text(q->out, text);
	free(text);
	open_filesystems(q);
	return 0;
}

static int answer_discover(struct question *q)
{
	char *dirs[LAYOUT_MAX_DATA_DIRS];
	uint32_t count = wire_get32(&q->in), got = 0;
	char *missing = NULL;
	int r = count <= LAYOUT_MAX_DATA_DIRS && !own.layout ? 0 : -EINVAL;

	while (r == 0 && got < count) {
		dirs[got] = wire_get_text(&q->in, LAYOUT_MAX_PATH);
		r = dirs[got] ? 0 : -EINVAL;
		got += dirs[got] != NULL;
	}
	if (r == 0)
		r = discover(own.images, own.num_images, (const char *const *)dirs, count,
			     &own.layout, &missing);
	while (got > 0)
		free(dirs[--got]);
	if (r < 0)
		return answer_error(q, r, missing);
	wire_put_text(q->out, missing);
	free(missing);
	return answer_layout(q);
}

/* ---- blocks ------------------------------------------------------------------------ */

static struct fs *get_fs(struct question *q)
{
	uint32_t number = wire_get32(&q->in);

	if (!own.layout || number >= own.layout->num_filesystems || !own.fs[number])
		return NULL;
	return own.fs[number];
}

static int answer_state(struct question *q)
{
	struct fs *fs = get_fs(q);
	enum fs_state state = FS_UNREADABLE;
	const char *reason = "its place or its UUID is invalid";

	if (fs)
		state = fs_state(fs, &reason);
	put_state(q->out, state, reason);
	return 0;
}

/* Puts the basis `b` into the answer. `b` was just confirmed; `watch` says which bytes can
 * confirm it again. */
static int put_basis(struct question *q, struct fs *fs, const struct fs_basis *b,
		     const struct fs_watch *watch, const struct fs_file *data,
		     const struct fs_file *meta)
{
	struct answer_basis a = {.clean = fs_basis_is_clean(b), .num_watched = watch->count};
	const void *packed;
	size_t length = fs_basis_pack(b, &packed);
	uint8_t *own_form = malloc(sizeof(own.instance) + length);

	if (!own_form)
		return -ENOMEM;
	memcpy(own_form, &own.instance, sizeof(own.instance));
	memcpy(own_form + sizeof(own.instance), packed, length);
	a.packed = own_form;
	a.packed_length = sizeof(own.instance) + length;
	fs_file_unsettled(fs, data, &a.data.start, &a.data.end);
	fs_file_unsettled(fs, meta, &a.meta.start, &a.meta.end);
	for (unsigned i = 0; i < watch->count; i++) {
		a.watched[i].offset = watch->piece[i].offset;
		a.watched[i].length = watch->piece[i].length;
		a.watched[i].bytes = watch->piece[i].bytes;
	}
	answer_put_basis(q->out, &a);
	free(own_form);
	return 0;
}

struct name {
	char *dir, *pool;
	int64_t id;
	uint64_t genstamp;
};

/* Locates a block in one committed state. The view is confirmed also if there is no such
 * replica: that, too, must have been true at one moment. */
static int look(struct fs *fs, const struct name *n, struct block_files *ret,
		struct fs_basis **ret_basis, struct fs_watch *watch)
{
	struct fs_view *view;
	int r, confirmed;
	bool live;

	*ret_basis = NULL;
	r = fs_view_open(fs, &view, NULL);
	if (r < 0)
		return r;
	r = block_locate(fs, view, n->dir, n->pool, n->id, n->genstamp, ret);
	confirmed = fs_view_confirm(view, r == 0 ? ret_basis : NULL, watch);
	live = !fs_view_is_clean(view);
	fs_view_close(view);
	if (confirmed == 0)
		return live ? block_not_yet(r) : r;
	if (r == 0)
		block_files_clear(ret);
	return confirmed;
}

static int locate(struct question *q, struct fs *fs, const struct name *n)
{
	struct block_files files;
	struct fs_basis *basis;
	struct fs_watch watch;
	int r = -EAGAIN;

	for (unsigned i = 0; i < FS_ATTEMPTS && r == -EAGAIN; i++)
		r = look(fs, n, &files, &basis, &watch);
	if (r < 0)
		return r;
	answer_put_files(q->out, &files);
	r = put_basis(q, fs, basis, &watch, &files.data, &files.meta);
	block_files_clear(&files);
	fs_basis_free(basis);
	return r;
}

static int answer_locate(struct question *q)
{
	struct fs *fs = get_fs(q);
	struct name n = {.dir = wire_get_text(&q->in, LAYOUT_MAX_PATH)};
	int r;

	n.pool = wire_get_text(&q->in, LAYOUT_MAX_PATH);
	n.id = (int64_t)wire_get64(&q->in);
	n.genstamp = wire_get64(&q->in);
	r = fs && !q->in.failed ? locate(q, fs, &n) : -EIO;
	free(n.dir);
	free(n.pool);
	return r;
}

static struct fs_basis *get_basis(struct question *q)
{
	uint32_t length = wire_get32(&q->in);
	const uint8_t *packed = wire_get(&q->in, length);

	if (!packed || length < sizeof(own.instance) ||
	    memcmp(packed, &own.instance, sizeof(own.instance)) != 0)
		return NULL;
	return fs_basis_unpack(packed + sizeof(own.instance), length - sizeof(own.instance));
}

static int answer_check(struct question *q)
{
	struct fs *fs = get_fs(q);
	struct block_files files = {0};
	struct fs_basis *basis = NULL;
	struct fs_watch watch;
	int r = fs ? 0 : -EIO;

	if (r == 0 && (!answer_get_file(&q->in, volume_size(fs_volume(fs)), &files.data) ||
		       !answer_get_file(&q->in, volume_size(fs_volume(fs)), &files.meta)))
		r = -EINVAL;
	if (r == 0) {
		basis = get_basis(q);
		r = basis ? fs_basis_check(fs, basis, &watch) : -EAGAIN;
	}
	if (r == 0)
		r = put_basis(q, fs, basis, &watch, &files.data, &files.meta);
	fs_basis_free(basis);
	block_files_clear(&files);
	return r;
}

static int answer_list(struct question *q)
{
	struct fs *fs = get_fs(q);
	char *path = wire_get_text(&q->in, MAX_PATH);
	bool finalized = wire_get32(&q->in) != 0;
	struct folder_block *blocks = NULL;
	size_t count = 0;
	int r = fs && path ? folder_list(fs, path, finalized, &blocks, &count) : -EIO;

	if (r == 0)
		wire_put32(q->out, (uint32_t)count);
	for (size_t i = 0; i < count && r == 0; i++) {
		wire_put64(q->out, (uint64_t)blocks[i].id);
		wire_put64(q->out, blocks[i].genstamp);
		wire_put64(q->out, blocks[i].length);
		wire_put32(q->out, (uint32_t)-blocks[i].status);
		wire_put_text(q->out, blocks[i].problem);
	}
	free(blocks);
	free(path);
	return r;
}

static int answer_newest(struct question *q)
{
	struct fs *fs = get_fs(q);
	char *path = wire_get_text(&q->in, MAX_PATH);
	struct replica_name names[NEWEST_MAX];
	unsigned count = 0;
	int r = fs && path ? newest_replicas(fs, path, names, &count) : -EIO;

	wire_put32(q->out, count);
	for (unsigned i = 0; i < count; i++) {
		wire_put64(q->out, (uint64_t)names[i].id);
		wire_put64(q->out, names[i].genstamp);
	}
	free(path);
	return r;
}

/* ---- dispatch ------------------------------------------------------------------------ */

static const struct {
	int (*answer)(struct question *q);
	bool changes_what_is_served;
	bool explains; /* the payload of an error is a text */
} kinds[] = {
	[PARSER_FILE] = {answer_file, true, false},
	[PARSER_SETUP] = {answer_setup, true, true},
	[PARSER_USE] = {answer_use, true, true},
	[PARSER_DISCOVER] = {answer_discover, true, true},
	[PARSER_STATE] = {answer_state, false, false},
	[PARSER_LOCATE] = {answer_locate, false, false},
	[PARSER_CHECK] = {answer_check, false, false},
	[PARSER_LIST] = {answer_list, false, false},
	[PARSER_NEWEST] = {answer_newest, false, false},
};

static bool explains(uint32_t kind)
{
	return kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind].explains;
}

static int answer(uint32_t kind, struct question *q)
{
	int r;

	if (kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[kind].answer)
		return -ENOSYS;
	if (kinds[kind].changes_what_is_served)
		pthread_rwlock_wrlock(&own.lock);
	else
		pthread_rwlock_rdlock(&own.lock);
	r = kinds[kind].answer(q);
	pthread_rwlock_unlock(&own.lock);
	return r;
}

/* Any other error becomes -EIO for a question about blocks. */
static int result_of(uint32_t kind, int r)
{
	return r == 0 || explains(kind) || answer_is_error(r) ? r : -EIO;
}

int serve_ready(int fd)
{
	struct channel c = {.fd = fd};
	int r;

	channel_begin(&c);
	r = channel_send(&c, PARSER_READY, 0, -1);
	free(c.out.data);
	return r;
}

void serve(int fd)
{
	struct channel c = {.fd = fd};
	struct parser_header header;
	struct question q = {.out = &c.out};

	while (channel_receive(&c, &header, &q.in, &q.fd) == 0) {
		size_t start;
		int r;

		channel_begin(&c);
		start = c.out.length;
		r = answer(header.kind, &q);
		if (q.fd >= 0)
			close(q.fd);
		if (c.out.failed) {
			channel_begin(&c);
			r = -ENOMEM;
		}
		r = result_of(header.kind, r);
		if (r < 0 && !explains(header.kind))
			c.out.length = start;
		if (channel_send(&c, header.kind, r, -1) < 0)
			break;
	}
	channel_clear(&c);
}
