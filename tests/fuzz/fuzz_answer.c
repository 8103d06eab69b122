// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes what vreadd reads from a parser that a hostile image controls: channel.c, wire.c and
 * answer.c of parser-protocol/, exchange.c, basis.c and client.c of datanode/.  An accepted answer
 * must keep the promises of its question: extents ascend and lie inside the volume, counts are
 * bounded, texts are printable, layouts fit the question.
 *
 * The input: one byte for the question, then answers.  An answer is one byte that says what is
 * wrong with it, 4 bytes for its result, 2 for the length of its payload, and the payload.  Unless
 * the first byte forbids it, the payload is made to end where its reader ends, padded with zeros.
 * So a changed length or count does not turn all of the answer into nonsense.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parser-protocol/blocks.h"
#include "layout/place.h"
#include "memory.h"
#include "datanode/basis.h"
#include "datanode/process.h"

#define IMAGE_BYTES (1U << 20)
#define NUM_IMAGES 3U /* the last one is missing */
#define LIMIT_MS 10000U
#define MAX_TEXT 200000U
#define MAX_CONTENT 65536U

#define MAX_PAYLOAD 16384U

enum { BAD_KIND = 1, BAD_LENGTH = 2, SHORT_HEADER = 4, ANY_END = 8 };

static const char *const dirs[] = {"/dfs/data", "/dfs/more"};
#define NUM_DIRS (sizeof(dirs) / sizeof(dirs[0]))

/* A layout file as an operator writes it. */
#define UUID "11111111-2222-4333-8444-555555555555"
#define FILESYSTEM(image)                                                                     \
	"{\"image\": " image ", \"partition\": \"gpt:1\", \"offset\": 512, \"length\": 4096," \
	" \"type\": \"ext4\", \"uuid\": \"" UUID "\", \"data-dirs\": []}"
static const char own_layout[] =
	"{\"layout-version\": 2, \"images\": [{\"size\": 1048576}, {\"size\": 1048576}],"
	" \"filesystems\": [" FILESYSTEM("0") ", " FILESYSTEM("1") "]}";

static struct memory memory[2];
static struct image *images[NUM_IMAGES];
static struct volume *volume;

/* The answers that have not been read yet. */
static struct bytes answers;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	for (unsigned i = 0; i < 2; i++) {
		memory_new(&memory[i], IMAGE_BYTES);
		images[i] = memory[i].image;
	}
	check(volume_new_range(images[0], 0, IMAGE_BYTES, &volume) == 0);
	return 0;
}

/* ---- a parser ------------------------------------------------------------------ */

static void put(int fd, const void *bytes, size_t length)
{
	check(send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length);
}

/* Takes a payload from the input, padded with zeros to MAX_PAYLOAD.  Returns its length. */
static size_t take_payload(uint8_t **ret)
{
	size_t length = take16(&answers) % MAX_PAYLOAD;

	if (length > answers.left)
		length = answers.left;
	*ret = calloc(1, MAX_PAYLOAD);
	check(*ret);
	memcpy(*ret, answers.at, length);
	answers.at += length;
	answers.left -= length;
	return length;
}

/* Returns where the reader of the payload ends; length if it fails.  May call the reader twice. */
static size_t find_end(const struct parser_question *q, int result, const uint8_t *payload,
		       size_t length)
{
	struct wire_in in = {payload, MAX_PAYLOAD, false};

	if (result > 0 || result < -4095 || !q->read(q->ctx, result, &in) || in.failed)
		return length;
	return MAX_PAYLOAD - in.left;
}

static void answer(int fd, const struct parser_question *q)
{
	uint8_t wrong = take8(&answers), *padded, *payload;
	struct parser_header header = {.kind = q->kind, .result = (int32_t)take32(&answers)};
	size_t length = take_payload(&padded);

	if (!(wrong & ANY_END))
		length = find_end(q, header.result, padded, length);
	payload = bytes_of(padded, length);
	header.length = (uint32_t)length;
	if (wrong & BAD_KIND)
		header.kind++;
	if (wrong & BAD_LENGTH)
		header.length = (uint32_t)header.result;
	put(fd, &header, wrong & SHORT_HEADER ? sizeof(header) / 2 : sizeof(header));
	put(fd, payload, length);
	shutdown(fd, SHUT_WR);
	free(padded);
	free(payload);
}

/* As in process.c, but the answers come from the input instead of a process. */
int parser_ask(struct parser *p, const struct parser_question *q)
{
	(void)p;
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		struct channel c = {.fd = -1};
		int pair[2], result = 0, r;

		check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
		c.fd = pair[0];
		answer(pair[1], q);
		r = parser_exchange(&c, q, LIMIT_MS, -1, &result);
		channel_clear(&c);
		close(pair[1]);
		check(result <= 0 && result >= -4095);
		if (r == 0)
			return result;
	}
	return -EBUSY;
}

/* The real function keeps the layout for parsers that are started later. */
void parser_remember_layout(struct parser *p, char *layout_text)
{
	struct image_layout *layout = NULL;

	(void)p;
	check(layout_parse(layout_text, strlen(layout_text), "kept", &layout, NULL) == 0);
	layout_free(layout);
	free(layout_text);
}

char *parser_why_away(struct parser *p)
{
	(void)p;
	return strdup("it is away");
}

bool parser_lacks(struct parser *p)
{
	(void)p;
	return false;
}

struct image *const *parser_images(const struct parser *p, unsigned *ret_count)
{
	(void)p;
	*ret_count = NUM_IMAGES;
	return images;
}

void parser_put_use(struct wire_out *out, bool check_fit, const char *layout_path,
		    const char *layout_text)
{
	wire_put32(out, check_fit);
	wire_put_text(out, layout_path);
	wire_put_text(out, layout_text);
}

/* ---- what must hold --------------------------------------------------------------- */

static void check_text(const char *text)
{
	size_t length = strnlen(text, MAX_TEXT);

	check(length < MAX_TEXT);
	for (size_t i = 0; i < length; i++)
		check(text[i] >= ' ' && text[i] <= '~');
}

static void check_states(const struct parser_states *s, const struct image_layout *layout)
{
	for (unsigned i = 0; i < LAYOUT_MAX_FILESYSTEMS; i++) {
		check(!s->reason[i] == (i >= layout->num_filesystems));
		check(s->state[i] <= FS_UNREADABLE);
		if (s->reason[i])
			check_text(s->reason[i]);
	}
}

static void check_extents(const struct fs_file *f)
{
	uint64_t end = 0;

	check(f->num_extents <= FS_MAX_EXTENTS);
	for (unsigned i = 0; i < f->num_extents; i++) {
		const struct fs_extent *e = &f->extents[i];

		check(e->length && e->logical >= end && e->length <= UINT64_MAX - e->logical);
		check(e->physical <= IMAGE_BYTES && e->length <= IMAGE_BYTES - e->physical);
		end = e->logical + e->length;
	}
	check(f->size <= INT64_MAX);
}

static void check_file(const struct parser_fs *fs, const struct fs_file *f)
{
	uint8_t buf[64];
	size_t length = f->size < sizeof(buf) ? (size_t)f->size : sizeof(buf);

	check_extents(f);
	if (f->content)
		check(f->num_extents == 0 && f->size <= MAX_CONTENT);
	check(fs_file_read_at(fs->volume, f, 0, buf, length) == 0);
	check(fs_file_read_at(fs->volume, f, f->size - length, buf, length) == 0);
	check(fs_file_read_at(fs->volume, f, f->size, buf, 1) == -ENODATA);
}

static void check_basis(struct parser_basis *b)
{
	struct basis_state *s = basis_get(b);

	check(parser_basis_weight(b) < 4 * WIRE_MAX_BYTES);
	check(s->answer.num_watched <= FS_MAX_WATCHED);
	for (unsigned i = 0; i < s->answer.num_watched; i++) {
		check(s->answer.watched[i].length <= FS_SUPER_BYTES);
		check(s->answer.watched[i].offset <= IMAGE_BYTES - s->answer.watched[i].length);
	}
	(void)parser_data_settled(b, 0, 1);
	(void)parser_meta_settled(b, UINT64_MAX, UINT64_MAX);
	basis_state_put(s);
}

/* ---- questions -------------------------------------------------------------------- */

static void ask_state(const struct parser_fs *fs)
{
	char *reason = NULL;

	check(parser_fs_state(fs, &reason) <= FS_UNREADABLE);
	check(reason);
	check_text(reason);
	free(reason);
}

static void ask_newest(const struct parser_fs *fs)
{
	struct replica_name names[NEWEST_MAX];
	unsigned count;
	int r = parser_newest(fs, "/dfs/data", names, &count);

	check(count <= NEWEST_MAX && (r == 0 || count == 0));
}

static void ask_list(const struct parser_fs *fs)
{
	struct folder_block *blocks = NULL;
	size_t count = 0;

	if (parser_list(fs, "/dfs/data", true, &blocks, &count) < 0)
		return;
	check(count <= FOLDER_MAX_NAMES);
	for (size_t i = 0; i < count; i++) {
		check(blocks[i].status <= 0 && blocks[i].status >= -4095);
		check(memchr(blocks[i].problem, '\0', sizeof(blocks[i].problem)));
		check_text(blocks[i].problem);
	}
	free(blocks);
}

static void ask_locate(const struct parser_fs *fs)
{
	struct parser_basis *basis = NULL;
	struct block_files files;

	if (parser_locate(fs, dirs[0], "BP-1", 1, 1001, &files, &basis) < 0)
		return;
	check(files.header.type == META_CRC32 || files.header.type == META_CRC32C);
	check(files.header.chunk >= META_MIN_CHUNK && files.header.chunk <= META_MAX_CHUNK);
	check_file(fs, &files.data);
	check_file(fs, &files.meta);
	check_basis(basis);
	for (unsigned i = 0; i < 2; i++) {
		bool clean = parser_basis_is_clean(basis);

		(void)parser_check(fs, basis, &files);
		check(parser_basis_is_clean(basis) == clean);
		check_basis(basis);
	}
	parser_basis_free(basis);
	block_files_clear(&files);
}

static void check_volume(const struct layout_filesystem *lfs)
{
	uint8_t byte;
	struct volume *v;

	if (layout_volume(images, lfs, &v) < 0)
		return;
	check(volume_read(v, 0, &byte, 1) == 0);
	check(volume_read(v, volume_size(v) - 1, &byte, 1) == 0);
	check(volume_read(v, volume_size(v), &byte, 1) < 0);
	volume_free(v);
}

static void check_data_dir(const struct layout_data_dir *d)
{
	check(layout_path_valid(d->path));
	check(layout_storage_id_valid(d->storage_id));
	for (unsigned i = 0; i < d->num_pools; i++)
		check(layout_pool_valid(d->pools[i]));
}

static void check_guards(const struct layout_guards *g)
{
	check(g->count <= VOLUME_MAX_GUARDS);
	for (unsigned i = 0; i < g->count; i++) {
		check(g->list[i].image < NUM_IMAGES && images[g->list[i].image]);
		check(g->list[i].offset <= IMAGE_BYTES - VOLUME_GUARD_BYTES);
	}
}

static void check_layout(const struct image_layout *layout)
{
	check(layout->num_images == NUM_IMAGES);
	check(layout->num_filesystems <= LAYOUT_MAX_FILESYSTEMS);
	for (unsigned i = 0; i < layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &layout->filesystems[i];

		check(layout_type_valid(lfs->type) && lfs->image < NUM_IMAGES &&
		      images[lfs->image]);
		check_guards(&lfs->guards);
		check_volume(lfs);
		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			check_data_dir(&lfs->data_dirs[k]);
	}
}

static void ask_discover(void)
{
	struct parser_states states = {0};
	struct image_layout *layout = NULL;
	char *missing = NULL;

	if (parser_discover(NULL, dirs, NUM_DIRS, &layout, &states, &missing) < 0) {
		check(missing);
	} else {
		check_layout(layout);
		check_states(&states, layout);
		layout_free(layout);
	}
	if (missing)
		check_text(missing);
	free(missing);
	parser_states_clear(&states);
}

static void ask_use(void)
{
	struct image_layout *layout = NULL;
	struct parser_states states = {0};
	char *error = NULL;

	check(layout_parse(own_layout, strlen(own_layout), "own", &layout, &error) == 0);
	if (parser_use(NULL, layout, "/dn.json", &states, &error) < 0) {
		check(error);
		check_text(error);
	} else {
		check_states(&states, layout);
		for (unsigned i = 0; i < layout->num_filesystems; i++)
			check_guards(&layout->filesystems[i].guards);
	}
	free(error);
	parser_states_clear(&states);
	layout_free(layout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parser_fs fs = {NULL, 0, volume};

	answers = (struct bytes){data, size};
	switch (take8(&answers) % 6) {
	case 0:
		ask_state(&fs);
		break;
	case 1:
		ask_list(&fs);
		break;
	case 2:
		ask_discover();
		break;
	case 3:
		ask_use();
		break;
	case 5:
		ask_newest(&fs);
		break;
	default:
		ask_locate(&fs);
	}
	return 0;
}
