/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parser.h - asks vread-parser, a confined process, what a guest's images hold. The rest of
 * datanode/ and read/ call it.
 *
 * Guests write the partition tables, file systems and files in their images, and code that
 * interprets such data has bugs. So this code runs in a process of its own, one for each
 * datanode's images. The process can only read those images and answer (parser/sandbox.h). If an
 * image takes the process over, the process can give any answer, but only about that image. So
 * every answer is limited in size, checked against the volume's size, and waited for a limited
 * time.
 *
 * A parser that dies, hangs or answers nonsense is killed and started again: at once the first
 * time, after growing pauses if it keeps failing. Meanwhile questions fail with -EBUSY. An
 * answer of an earlier process stays good as long as parser_check() confirms it without asking.
 *
 * A conclusion about a file system is worth something only while its volume lies where it was
 * found. volume_check() tests that after everything else.
 *
 * Threads: any; parser_free() must be the last call, and no other call may be under way. Errors: as
 * in fs.h; -EBUSY as above; questions about blocks also -ESTALE: the volume may lie elsewhere now,
 * look into its images again.
 */
#ifndef VREAD_PARSER_PARSER_H
#define VREAD_PARSER_PARSER_H

#include <jansson.h>
#include <stdbool.h>

#include "disk/volume.h"
#include "layout/layout.h"
#include "parser-protocol/blocks.h"
#include "parser-protocol/protocol.h"

struct parser;
struct parser_basis; /* what an answer rests on; see basis.h */

/* One of the file systems that a parser knows. */
struct parser_fs {
	struct parser *parser;
	unsigned number; /* its number in the layout */
	struct volume *volume;
};

/* The default time limit for an answer about one block, long enough for a disk under load. */
#define PARSER_ANSWER_MS 10000U

struct parser_settings {
	const char *program; /* NULL: vread-parser beside the running program, else as installed */
	unsigned answer_ms;  /* time limit of an answer; 0: PARSER_ANSWER_MS */
};

/* Makes a parser for `images`, which must stay open until the parser has ended. `name` is the
 * datanode's, for the log. `settings` may be NULL. The process is started, but not waited for.
 * Returns 0, -ENOMEM, or -EAGAIN if no thread can be made. */
int parser_new(const char *name, struct image *const *images, unsigned num_images,
	       const struct parser_settings *settings, struct parser **ret);
/* Kills the process and does not wait for its end: a process in a read of a disk that hangs ends
 * when the disk answers. When the process has ended, and nothing uses the images any more, calls
 * `ended` on a thread of its own. If `p` is NULL, calls `ended` at once. */
void parser_free(struct parser *p, void (*ended)(void *ctx), void *ctx);

/* Kills the process for good: every question, those too that are being asked, fails with -EBUSY. */
void parser_abandon(struct parser *p);

/* CPU time in ms that the parser's processes have used so far, as the kernel counts it. */
uint64_t parser_cpu_ms(struct parser *p);

/* Returns a new reference: {"state": "running", "starting" or "waiting", "pid", "questions": how
 * many were asked, "restarts", "last-end": why the process ended last}. "pid" is there only
 * while there is a process, "last-end" only after an end. */
json_t *parser_status(struct parser *p);

/* The state of each file system of a layout. */
struct parser_states {
	enum fs_state state[LAYOUT_MAX_FILESYSTEMS];
	char *reason[LAYOUT_MAX_FILESYSTEMS];
};
void parser_states_clear(struct parser_states *s);

/* Call one of these two first. Each does what its namesake does, layout_check_fit() or
 * discover(), and also returns the state of each file system (parser_states_clear() it). */
int parser_use(struct parser *p, struct image_layout *layout, const char *layout_path,
	       struct parser_states *ret, char **ret_error);
int parser_discover(struct parser *p, const char *const *dirs, unsigned num_dirs,
		    struct image_layout **ret, struct parser_states *ret_states,
		    char **ret_missing);

/* As fs_state(). `*ret_reason` (free() it) is "" for FS_CLEAN and FS_LIVE, and NULL if out of
 * memory. */
enum fs_state parser_fs_state(const struct parser_fs *fs, char **ret_reason);

/* As block_locate(), in one committed state of the file system. Also returns the basis of the
 * answer (parser_basis_free() it). */
int parser_locate(const struct parser_fs *fs, const char *dir, const char *pool, int64_t id,
		  uint64_t genstamp, struct block_files *ret, struct parser_basis **ret_basis);

/* Checks that what parser_locate() found has been true ever since. Returns 0, -EAGAIN if it may
 * not be, or another error. Asks the process only if something was committed meanwhile. */
int parser_check(const struct parser_fs *fs, struct parser_basis *b,
		 const struct block_files *files);
/* True if those bytes lie where the file's extents say, as of the last answer of the process. */
bool parser_data_settled(struct parser_basis *b, uint64_t offset, uint64_t length);
bool parser_meta_settled(struct parser_basis *b, uint64_t offset, uint64_t length);
/* True if the file system was clean: nobody could write, so content does not change either while
 * `b` holds. */
bool parser_basis_is_clean(const struct parser_basis *b);
size_t parser_basis_weight(const struct parser_basis *b); /* bytes of memory, at most */
void parser_basis_free(struct parser_basis *b);           /* NULL is ignored */

/* As folder_list() (parser/hdfs/folder.h): `*ret` is to be freed. */
struct folder_block;
int parser_list(const struct parser_fs *fs, const char *path, bool finalized,
		struct folder_block **ret, size_t *ret_count);
/* As newest_replicas() (parser/hdfs/newest.h). */
int parser_newest(const struct parser_fs *fs, const char *path, struct replica_name ret[NEWEST_MAX],
		  unsigned *ret_count);

#endif
