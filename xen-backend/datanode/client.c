// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks a parser questions and checks its answers. Implements parser.h, which the rest of
 * datanode/ and read/ call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shortage.h"
#include "parser-protocol/answer.h"
#include "datanode/basis.h"
#include "datanode/process.h"

#define MAX_REASON 1024U

/* ---- layouts --------------------------------------------------------------- */

struct loading {
	struct parser *parser;
	struct image_layout *layout; /* the layout to use, its path and its text */
	const char *layout_path;
	char *layout_text;
	const char *const *dirs; /* or the directories to discover */
	unsigned num_dirs;

	struct image_layout *found;
	struct parser_states *states;
	char *error; /* the error, or what is missing */
};

void parser_states_clear(struct parser_states *s)
{
	for (unsigned i = 0; i < LAYOUT_MAX_FILESYSTEMS; i++)
		free(s->reason[i]);
	*s = (struct parser_states){0};
}

static bool get_state(struct wire_in *in, enum fs_state *ret, char **ret_reason)
{
	uint32_t state = wire_get32(in);

	*ret = (enum fs_state)state;
	*ret_reason = wire_get_plain_text(in, MAX_REASON);
	return *ret_reason && state <= FS_UNREADABLE;
}

static bool get_guard(struct wire_in *in, const struct parser *p, struct layout_guard *ret)
{
	unsigned num_images;
	struct image *const *images = parser_images(p, &num_images);
	const uint8_t *bytes;
	uint64_t size;

	ret->image = wire_get32(in);
	ret->offset = wire_get64(in);
	bytes = wire_get(in, sizeof(ret->bytes));
	if (!bytes || ret->image >= num_images || !images[ret->image])
		return false;
	memcpy(ret->bytes, bytes, sizeof(ret->bytes));
	size = image_size(images[ret->image]);
	return ret->offset <= size && sizeof(ret->bytes) <= size - ret->offset;
}

static bool get_guards(struct wire_in *in, const struct parser *p, struct layout_guards *ret)
{
	uint32_t count = wire_get32(in);
	bool good = count <= VOLUME_MAX_GUARDS;

	layout_guards_clear(ret);
	for (uint32_t i = 0; i < count && good; i++) {
		struct layout_guard g;

		good = get_guard(in, p, &g) && layout_guards_add(ret, &g) == 0;
	}
	return good;
}

static bool get_states(struct wire_in *in, const struct loading *l, struct image_layout *layout)
{
	struct parser_states *states = l->states;

	parser_states_clear(states);
	for (unsigned i = 0; i < layout->num_filesystems; i++)
		if (!get_state(in, &states->state[i], &states->reason[i]) ||
		    !get_guards(in, l->parser, &layout->filesystems[i].guards))
			return false;
	return true;
}

static void put_layout(void *ctx, struct wire_out *out)
{
	const struct loading *l = ctx;

	parser_put_use(out, true, l->layout_path, l->layout_text);
}

/* Makes the layout known to every later process. This is called while an answer is being read,
 * and no process is started meanwhile. So the next process gets this layout. */
static void remember(struct loading *l)
{
	if (l->layout_text)
		parser_remember_layout(l->parser, l->layout_text);
	l->layout_text = NULL;
}

static bool get_fit(void *ctx, int result, struct wire_in *in)
{
	struct loading *l = ctx;

	if (result < 0) {
		free(l->error);
		l->error = wire_get_plain_text(in, PARSER_MAX_TEXT);
		return l->error != NULL;
	}
	if (!get_states(in, l, l->layout))
		return false;
	remember(l);
	return true;
}

/* Sets `*ret_error` to the parser's text, or, on an error without a text, to one made here.
 * Returns `error`, but never -ENOMEM for a parser's answer: what a parser lacks comes from the
 * images. -ENOBUFS: this host lacked something to start the parser. */
static int explain(struct loading *l, int error, char **ret_error)
{
	unsigned count;

	if (error == -ENOMEM && l->error)
		error = -EIO;
	if (error < 0 && !l->error && error == -EBUSY) {
		if (parser_lacks(l->parser))
			error = -ENOBUFS;
		l->error = parser_why_away(l->parser);
	}
	if (error < 0 && !l->error)
		error_text(&l->error, error, "image %s: %s",
			   image_path(parser_images(l->parser, &count)[0]), strerror(-error));
	*ret_error = l->error;
	return error;
}

int parser_use(struct parser *p, struct image_layout *layout, const char *layout_path,
	       struct parser_states *ret, char **ret_error)
{
	json_t *json = layout_to_json(layout);
	struct loading l = {.parser = p,
			    .layout = layout,
			    .layout_path = layout_path,
			    .layout_text = json_dumps(json, JSON_COMPACT),
			    .states = ret};
	struct parser_question q = {PARSER_USE, true, put_layout, get_fit, &l};
	int r = l.layout_text ? parser_ask(p, &q) : -ENOMEM;

	json_decref(json);
	free(l.layout_text);
	if (r < 0)
		parser_states_clear(ret);
	return explain(&l, r, ret_error);
}

static void put_dirs(void *ctx, struct wire_out *out)
{
	const struct loading *l = ctx;

	wire_put32(out, l->num_dirs);
	for (unsigned i = 0; i < l->num_dirs; i++)
		wire_put_text(out, l->dirs[i]);
}

/* True if a parser may have found these file systems: their images are there, and there are not
 * more directories than were asked for. Their paths may differ, because of symbolic links. */
static bool is_sensible(const struct loading *l, const struct image_layout *layout)
{
	unsigned num_images;
	struct image *const *images = parser_images(l->parser, &num_images);

	if (layout->num_images != num_images)
		return false;
	for (unsigned i = 0; i < layout->num_filesystems; i++)
		if (!images[layout->filesystems[i].image] ||
		    layout->filesystems[i].num_data_dirs > l->num_dirs)
			return false;
	return true;
}

static bool get_layout(struct loading *l, struct wire_in *in)
{
	l->layout_text = wire_get_text(in, LAYOUT_MAX_FILE_BYTES);
	return l->layout_text &&
	       layout_parse(l->layout_text, strlen(l->layout_text), "found", &l->found, NULL) ==
		       0 &&
	       is_sensible(l, l->found) && get_states(in, l, l->found);
}

static void forget(struct loading *l)
{
	free(l->error);
	free(l->layout_text);
	layout_free(l->found);
	l->error = l->layout_text = NULL;
	l->found = NULL;
}

static bool get_discovery(void *ctx, int result, struct wire_in *in)
{
	struct loading *l = ctx;

	forget(l);
	l->error = wire_get_plain_text(in, PARSER_MAX_TEXT);
	if (!l->error)
		return false;
	if (result < 0)
		return true;
	if (!get_layout(l, in))
		return false;
	remember(l);
	return true;
}

int parser_discover(struct parser *p, const char *const *dirs, unsigned num_dirs,
		    struct image_layout **ret, struct parser_states *ret_states, char **ret_missing)
{
	struct loading l = {.parser = p, .dirs = dirs, .num_dirs = num_dirs, .states = ret_states};
	struct parser_question q = {PARSER_DISCOVER, true, put_dirs, get_discovery, &l};
	int r = parser_ask(p, &q);

	if (r < 0) {
		layout_free(l.found);
		free(l.layout_text);
		parser_states_clear(ret_states);
		if (r == -EBUSY) {
			free(l.error);
			l.error = NULL;
		}
		return explain(&l, r, ret_missing);
	}
	*ret = l.found;
	*ret_missing = l.error[0] ? l.error : NULL;
	if (!l.error[0])
		free(l.error);
	return 0;
}

/* ---- states ------------------------------------------------------------------ */

struct stating {
	unsigned number;
	enum fs_state state;
	char *reason;
};

static void put_number(void *ctx, struct wire_out *out)
{
	const struct stating *s = ctx;

	wire_put32(out, s->number);
}

static bool get_one_state(void *ctx, int result, struct wire_in *in)
{
	struct stating *s = ctx;

	free(s->reason);
	s->reason = NULL;
	return result < 0 ? answer_is_error(result) : get_state(in, &s->state, &s->reason);
}

enum fs_state parser_fs_state(const struct parser_fs *fs, char **ret_reason)
{
	struct stating s = {.number = fs->number};
	struct parser_question q = {PARSER_STATE, false, put_number, get_one_state, &s};
	int r = parser_ask(fs->parser, &q);

	if (r < 0) {
		free(s.reason);
		*ret_reason = r == -EBUSY ? parser_why_away(fs->parser) : strdup(strerror(-r));
		return FS_UNREADABLE;
	}
	*ret_reason = s.reason;
	return s.state;
}

/* ---- blocks ------------------------------------------------------------------ */

/* Returns `r` if the volume has stayed where it was found until now, else the error of
 * volume_check(). An answer about a volume that may have moved is worth nothing. -EBUSY and a
 * shortage, which say nothing about the volume, are returned unchecked. */
static int settle(const struct parser_fs *fs, int r)
{
	int moved = r == -EBUSY || is_shortage(r) ? 0 : volume_check(fs->volume);

	return moved < 0 ? moved : r;
}

struct locating {
	const struct parser_fs *fs;
	const char *dir, *pool;
	int64_t id;
	uint64_t genstamp;
	uint64_t changes; /* volume_changes() before the question was asked */

	bool found;
	struct block_files files;
	struct basis_state *state;
};

static void forget_location(struct locating *l)
{
	if (l->found)
		block_files_clear(&l->files);
	basis_state_put(l->state);
	l->found = false;
	l->state = NULL;
}

static void put_location(void *ctx, struct wire_out *out)
{
	const struct locating *l = ctx;

	wire_put32(out, l->fs->number);
	wire_put_text(out, l->dir);
	wire_put_text(out, l->pool);
	wire_put64(out, (uint64_t)l->id);
	wire_put64(out, l->genstamp);
}

static bool get_location(void *ctx, int result, struct wire_in *in)
{
	struct locating *l = ctx;
	uint64_t length = volume_size(l->fs->volume);
	struct answer_basis basis;

	forget_location(l);
	if (result < 0)
		return answer_is_error(result);
	l->found = answer_get_files(in, length, &l->files);
	if (!l->found || !answer_get_basis(in, length, &basis))
		return false;
	l->state = basis_state_new(&basis, l->changes);
	return true;
}

int parser_locate(const struct parser_fs *fs, const char *dir, const char *pool, int64_t id,
		  uint64_t genstamp, struct block_files *ret, struct parser_basis **ret_basis)
{
	struct locating l = {.fs = fs, .dir = dir, .pool = pool, .id = id, .genstamp = genstamp};
	struct parser_question q = {PARSER_LOCATE, false, put_location, get_location, &l};
	int r = volume_changes(fs->volume, &l.changes);

	if (r == 0)
		r = settle(fs, parser_ask(fs->parser, &q));
	if (r < 0) {
		forget_location(&l);
		return r;
	}
	*ret_basis = basis_new(l.state);
	if (!*ret_basis) {
		block_files_clear(&l.files);
		return -ENOMEM;
	}
	*ret = l.files;
	return 0;
}

struct checking {
	const struct parser_fs *fs;
	const struct block_files *files;
	const struct basis_state *old;
	uint64_t changes;
	struct basis_state *state;
};

static void put_check(void *ctx, struct wire_out *out)
{
	const struct checking *c = ctx;

	wire_put32(out, c->fs->number);
	answer_put_file(out, &c->files->data);
	answer_put_file(out, &c->files->meta);
	wire_put32(out, (uint32_t)c->old->answer.packed_length);
	wire_put(out, c->old->answer.packed, c->old->answer.packed_length);
}

/* A clean basis must stay clean, a live one live: another answer would be about another moment. */
static bool get_check(void *ctx, int result, struct wire_in *in)
{
	struct checking *c = ctx;
	struct answer_basis basis;

	basis_state_put(c->state);
	c->state = NULL;
	if (result < 0)
		return answer_is_error(result);
	if (!answer_get_basis(in, volume_size(c->fs->volume), &basis) ||
	    basis.clean != c->old->answer.clean)
		return false;
	c->state = basis_state_new(&basis, c->changes);
	return true;
}

static int ask_again(const struct parser_fs *fs, struct parser_basis *b,
		     const struct block_files *files, const struct basis_state *old)
{
	struct checking c = {.fs = fs, .files = files, .old = old};
	struct parser_question q = {PARSER_CHECK, false, put_check, get_check, &c};
	int r = volume_changes(fs->volume, &c.changes);

	if (r == 0)
		r = parser_ask(fs->parser, &q);
	if (r == 0 && !c.state)
		r = -ENOMEM;
	if (r == 0)
		return basis_replace(b, c.state) ? 0 : -EAGAIN;
	basis_state_put(c.state);
	return r;
}

int parser_check(const struct parser_fs *fs, struct parser_basis *b,
		 const struct block_files *files)
{
	struct basis_state *s = basis_get(b);
	int r = basis_compare(fs->volume, s);

	if (r == -EAGAIN)
		r = ask_again(fs, b, files, s);
	basis_state_put(s);
	return settle(fs, r);
}

/* ---- listing ----------------------------------------------------------------------- */

struct folder_question {
	unsigned number;
	const char *path;
	bool finalized;
	struct folder_block *blocks;
	size_t count;
};

static void put_folder(void *ctx, struct wire_out *out)
{
	const struct folder_question *f = ctx;

	wire_put32(out, f->number);
	wire_put_text(out, f->path);
	wire_put32(out, f->finalized);
}

static void get_block(struct wire_in *in, struct folder_block *ret)
{
	char *problem;

	ret->id = (int64_t)wire_get64(in);
	ret->genstamp = wire_get64(in);
	ret->length = wire_get64(in);
	ret->status = -(int)(wire_get32(in) & 0xfff);
	problem = wire_get_plain_text(in, sizeof(ret->problem) - 1);
	if (problem)
		strcpy(ret->problem, problem);
	free(problem);
}

static bool get_folder(void *ctx, int result, struct wire_in *in)
{
	struct folder_question *f = ctx;
	uint32_t count;

	free(f->blocks);
	f->blocks = NULL;
	if (result < 0)
		return answer_is_error(result);
	count = wire_get32(in);
	if (count > FOLDER_MAX_NAMES)
		return false;
	f->blocks = calloc(count + 1, sizeof(*f->blocks));
	f->count = count;
	if (!f->blocks)
		return false;
	for (uint32_t i = 0; i < count && !in->failed; i++)
		get_block(in, &f->blocks[i]);
	return true;
}

int parser_list(const struct parser_fs *fs, const char *path, bool finalized,
		struct folder_block **ret, size_t *ret_count)
{
	struct folder_question f = {.number = fs->number, .path = path, .finalized = finalized};
	struct parser_question q = {PARSER_LIST, true, put_folder, get_folder, &f};
	int r = settle(fs, parser_ask(fs->parser, &q));

	if (r < 0) {
		free(f.blocks);
		return r;
	}
	*ret = f.blocks;
	*ret_count = f.count;
	return 0;
}

struct newest_question {
	unsigned number;
	const char *path;
	struct replica_name *names;
	unsigned count;
};

static void put_newest(void *ctx, struct wire_out *out)
{
	const struct newest_question *q = ctx;

	wire_put32(out, q->number);
	wire_put_text(out, q->path);
}

static bool get_newest(void *ctx, int result, struct wire_in *in)
{
	struct newest_question *q = ctx;

	q->count = 0;
	if (result < 0)
		return answer_is_error(result);
	q->count = wire_get32(in);
	if (q->count > NEWEST_MAX)
		return false;
	for (unsigned i = 0; i < q->count; i++) {
		q->names[i].id = (int64_t)wire_get64(in);
		q->names[i].genstamp = wire_get64(in);
	}
	return true;
}

int parser_newest(const struct parser_fs *fs, const char *path, struct replica_name ret[NEWEST_MAX],
		  unsigned *ret_count)
{
	struct newest_question n = {.number = fs->number, .path = path, .names = ret};
	struct parser_question q = {PARSER_NEWEST, true, put_newest, get_newest, &n};
	int r = settle(fs, parser_ask(fs->parser, &q));

	*ret_count = r == 0 ? n.count : 0;
	return r;
}
