/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parser.h - asking a confined process what a guest's images say.
 *
 * Partition tables, file systems and what lies in them are written by guests, and
 * code that interprets such things has mistakes.  So it runs in a process of its
 * own, vread-parser, one for each datanode's images, which may do nothing but read
 * those images and answer (sandbox.h).  Taken over by its image it can say
 * anything, but only of that image: here every answer is bounded, checked against
 * the volume's size, and waited for a limited time.
 *
 * A parser that dies, hangs or answers nonsense is ended and started again, at
 * once the first time and after growing pauses if it goes on; meanwhile
 * questions fail with -EBUSY.  What an earlier one has said is good as long as
 * parser_check() says so without asking.
 *
 * What is concluded about a file system is worth something only while its volume lies where it was
 * found: that is looked at after all else (volume_check()).
 *
 * Threads: any, but parser_free() is the last call.  Errors: as fs.h, -EBUSY as above, and of blocks
 * -ESTALE: the volume may lie elsewhere now, its images are to be looked into again.
 */
#ifndef VREAD_PARSER_PARSER_H
#define VREAD_PARSER_PARSER_H

#include <jansson.h>

#include "disk/volume.h"
#include "layout/layout.h"
#include "parser-protocol/blocks.h"
#include "parser-protocol/protocol.h"

struct parser;
struct parser_basis; /* what an answer rests on */

/* One of the file systems a parser knows. */
struct parser_fs {
	struct parser *parser;
	unsigned number; /* in the layout */
	struct volume *volume;
};

/* The usual limit for an answer about one block, on a disk under load. */
#define PARSER_ANSWER_MS 10000U

struct parser_settings {
	const char *program; /* NULL: vread-parser beside the running program, or as installed */
	unsigned answer_ms;  /* the limit for an answer; 0: PARSER_ANSWER_MS */
};

/* A parser for images, which must outlive it; name is the datanode's, for the log.  settings may be
 * NULL.  It is started, but not waited for.  0, -ENOMEM, -EAGAIN: no thread. */
int parser_new(const char *name, struct image *const *images, unsigned num_images,
	       const struct parser_settings *settings, struct parser **ret);
void parser_free(struct parser *p); /* NULL is ignored */

/* New reference: {"state": "running", "starting" or "waiting", "pid", "questions" it was asked,
 * "restarts", "last-end": why it ended last}; the pid while it runs, the last if there was an
 * end. */
json_t *parser_status(struct parser *p);

/* The state of each file system of a layout. */
struct parser_states {
	enum fs_state state[LAYOUT_MAX_FILESYSTEMS];
	char *reason[LAYOUT_MAX_FILESYSTEMS];
};
void parser_states_clear(struct parser_states *s);

/* First one of these two, each as its namesake of layout/ and with the states of what it found:
 * layout_check_fit(), discover(). */
int parser_use(struct parser *p, struct image_layout *layout, const char *layout_path,
	       struct parser_states *ret, char **ret_error);
int parser_discover(struct parser *p, const char *const *dirs, unsigned num_dirs,
		    struct image_layout **ret, struct parser_states *ret_states,
		    char **ret_missing);

/* As fs_state(); *ret_reason, "" for the first two, is to be freed; NULL: out of memory. */
enum fs_state parser_fs_state(const struct parser_fs *fs, char **ret_reason);

/* As block_locate(), in one committed state, and what that rests on. */
int parser_locate(const struct parser_fs *fs, const char *dir, const char *pool, int64_t id,
		  uint64_t genstamp, struct block_files *ret, struct parser_basis **ret_basis);

/* Whether what was located still is so and was ever since: 0, -EAGAIN, or other errors.  Asks only
 * if something was committed meanwhile. */
int parser_check(const struct parser_fs *fs, struct parser_basis *b,
		 const struct block_files *files);
/* As of the last check that was asked: whether those bytes are where the file says. */
bool parser_data_settled(struct parser_basis *b, uint64_t offset, uint64_t length);
bool parser_meta_settled(struct parser_basis *b, uint64_t offset, uint64_t length);
/* Nobody could write: content does not change either while b holds. */
bool parser_basis_is_clean(const struct parser_basis *b);
size_t parser_basis_weight(const struct parser_basis *b); /* about how much memory it holds */
void parser_basis_free(struct parser_basis *b);           /* NULL is ignored */

/* As fs_file_read(). */
int parser_read(const struct parser_fs *fs, const struct fs_file *f, uint64_t offset, void *buf,
		size_t length);

/* As folder_list() (parser/hdfs/folder.h). */
struct folder_block;
int parser_list(const struct parser_fs *fs, const char *path, bool finalized,
		struct folder_block **ret, size_t *ret_count);

#endif
