// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file of the record of owners.h: a strict parser, and a writer that replaces the file whole.
 * registry.c and refresh.c call the functions.
 *
 * The file is text. The first line is "vread-storages 1 COUNT". COUNT lines follow, each
 * "STORAGE DATANODE", or "STORAGE DATANODE DATANODE" for a contested storage. The count shows that
 * the end of the file is not missing.
 *
 * If the storage stays the first datanode's while that datanode is not configured, an asterisk
 * follows its name, and the first line says 2 for 1. If another host has a storage, '@' and the
 * name of the peer stand for a datanode, and the first line says 3. A minus before the second name
 * says that this peer has withdrawn the storage, so that the storage is not contested. An older
 * vreadd, which would give such storages away, refuses the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/number.h"
#include "base/state_file.h"
#include "datanode/owners_private.h"
#include "layout/layout.h"

#define HEADER "vread-storages "
#define MAX_STORAGE 127U
#define MAX_LINE (MAX_STORAGE + 2 * (OWNERS_MAX_NAME + 1) + 3)
#define MAX_BYTES (sizeof(HEADER) + 16 + (size_t)OWNERS_MAX * MAX_LINE)

/* ---- parsing ------------------------------------------------------------------ */

static int malformed(char **ret_error, unsigned line, const char *expected)
{
	return error_text(ret_error, -EINVAL, "line %u: expected %s", line, expected);
}

/* Takes the next word of a line. Words are separated by one space. NULL: none, or a space too
 * many. */
static char *take_word(char **rest)
{
	char *word = strsep(rest, " ");

	return word && *word ? word : NULL;
}

/* Cuts the asterisk behind a name.  False: there is none. */
static bool take_mark(char *owner)
{
	size_t length = owner ? strlen(owner) : 0;
	bool marked = length && owner[length - 1] == '*';

	if (marked)
		owner[length - 1] = '\0';
	return marked;
}

/* Cuts the minus in front of a peer's name.  False: there is none. */
static bool take_minus(const char **rival)
{
	bool withdrawn = *rival && (*rival)[0] == '-' && owners_is_peer(*rival + 1);

	*rival += withdrawn;
	return withdrawn;
}

static int parse_line(char *text, unsigned line, unsigned version, struct owned_table *t,
		      char **ret_error)
{
	bool marks = version >= 2, peers = version >= 3;
	char *rest = text;
	const char *storage = take_word(&rest), *rival = NULL;
	char *owner = take_word(&rest);
	bool has_rival = rest != NULL, stays = marks && take_mark(owner), withdrawn = false;
	struct owned *e;

	if (has_rival) {
		rival = take_word(&rest);
		withdrawn = peers && take_minus(&rival);
	}
	if (!storage || !layout_storage_id_valid(storage) || !owner ||
	    !owners_name_valid(owner, peers) || rest ||
	    (has_rival && (!rival || !owners_name_valid(rival, peers) || !strcmp(owner, rival))))
		return malformed(ret_error, line, "STORAGE DATANODE, or STORAGE and two DATANODEs");
	if (owned_find(t, storage))
		return malformed(ret_error, line, "each storage once");
	e = owned_add(t, storage, owner);
	if (!e)
		return -ENOMEM;
	e->stays = stays;
	e->look = OWNERS_FIRST_LOOK;
	if (rival)
		owners_copy_name(e->rival, rival);
	e->rival_look = withdrawn ? OWNERS_WITHDRAWN : OWNERS_FIRST_LOOK;
	return 0;
}

/* Takes the next line of a text, without its newline. NULL: there is no whole line. */
static char *take_line(char **rest)
{
	char *line = *rest, *newline = strchr(line, '\n');

	if (!newline)
		return NULL;
	*newline = '\0';
	*rest = newline + 1;
	return line;
}

static bool parse_header(const char *line, unsigned *ret_version, uint32_t *ret_count)
{
	const char *version = line + strlen(HEADER);

	if (strncmp(line, HEADER, strlen(HEADER)) || *version < '1' || *version > '3' ||
	    version[1] != ' ')
		return false;
	*ret_version = (unsigned)(*version - '0');
	return parse_number(version + 2, 0, OWNERS_MAX, ret_count);
}

/* True for a version that this release does not know. */
static bool is_later(const char *line)
{
	const char *version = line + strlen(HEADER);
	size_t digits;

	if (strncmp(line, HEADER, strlen(HEADER)))
		return false;
	digits = strspn(version, "0123456789");
	return version[digits] == ' ' && (digits > 1 || (digits == 1 && *version > '3'));
}

static int parse(char *text, struct owned_table *ret, char **ret_error)
{
	char *rest = text, *line = take_line(&rest);
	unsigned version;
	uint32_t count;
	int r = 0;

	if (line && is_later(line))
		return error_text(ret_error, -EINVAL,
				  "it is of a later release of vRead: expected \"" HEADER
				  "\" and a "
				  "version from 1 to 3, not \"%.32s\"",
				  line);
	if (!line || !parse_header(line, &version, &count))
		return malformed(ret_error, 1,
				 "\"" HEADER "\", a version from 1 to 3 and the number of lines "
				 "that follow");
	for (unsigned i = 0; i < count && !r; i++) {
		line = take_line(&rest);
		r = line ? parse_line(line, i + 2, version, ret, ret_error)
			 : malformed(ret_error, i + 2, "another line, as the first line says");
	}
	if (!r && *rest)
		r = malformed(ret_error, count + 2, "the end of the file, as the first line says");
	return r;
}

int owners_parse(const char *text, size_t length, struct owned_table *ret, char **ret_error)
{
	char *copy;
	int r;

	if (strlen(text) != length)
		return error_text(ret_error, -EINVAL, "it has a byte 0");
	copy = strdup(text);
	r = copy ? parse(copy, ret, ret_error) : -ENOMEM;
	free(copy);
	if (r)
		owned_clear(ret);
	return r;
}

/* ---- reading -------------------------------------------------------------------- */

static int read_record(const char *path, struct owned_table *ret, char **ret_error)
{
	size_t length = 0;
	char *text = NULL;
	int r = state_file_read(path, MAX_BYTES, &text, &length);

	if (r == -ENOENT)
		return 0;
	if (!r)
		r = owners_parse(text, length, ret, ret_error);
	else
		error_text(ret_error, r, "%s",
			   r == -EINVAL ? "it is not a regular file" : strerror(-r));
	free(text);
	return r;
}

/* With the lock. Takes over `why`. */
static void set_problem(struct owners *o, char *why)
{
	free(o->problem);
	o->problem = why;
	if (why)
		log_error("%s", why);
}

/* With the lock. */
static void load(struct owners *o)
{
	struct owned_table found = {0};
	char *error = NULL, *why = NULL;
	int r = read_record(o->path, &found, &error);

	o->damaged = r != 0;
	if (r)
		error_text(
			&why, r,
			"the record of storages %s cannot be used: %s. A storage that two "
			"datanodes show is served from neither; correct the file, or install the "
			"release that wrote it, or remove it, and run xl-vread reload",
			o->path, error ? error : strerror(-r));
	set_problem(o, why);
	free(error);
	if (r)
		return;
	owned_clear(&o->table);
	o->table = found;
	o->changed = false;
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++) /* nobody has withdrawn what it says */
		for (struct owned *e = found.buckets[i]; e; e = e->next) {
			e->look = o->look;
			if (e->rival_look != OWNERS_WITHDRAWN)
				e->rival_look = o->look;
		}
	owners_changed(o);
}

int owners_keep_in(struct owners *o, const char *path)
{
	pthread_mutex_lock(&o->lock);
	o->path = strdup(path);
	if (o->path)
		load(o);
	pthread_mutex_unlock(&o->lock);
	return o->path ? 0 : -ENOMEM;
}

bool owners_read_again(struct owners *o)
{
	bool was_damaged, is_good;

	pthread_mutex_lock(&o->lock);
	was_damaged = o->damaged;
	if (was_damaged)
		load(o);
	is_good = !o->damaged;
	pthread_mutex_unlock(&o->lock);
	return was_damaged && is_good;
}

/* ---- writing ---------------------------------------------------------------------- */

/* A storage that another datanode may have shown first is not the record's business yet. */
static bool is_written(const struct owned *e)
{
	return !e->unsure;
}

static void put_lines(FILE *out, const struct owned_table *t)
{
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (const struct owned *e = t->buckets[i]; e; e = e->next)
			if (is_written(e))
				fprintf(out, "%s %s%s%s%s%s\n", e->storage, e->owner,
					e->stays ? "*" : "", e->rival[0] ? " " : "",
					e->rival[0] && e->rival_look == OWNERS_WITHDRAWN ? "-" : "",
					e->rival);
}

static unsigned version_of(const struct owned *e)
{
	if (owners_is_peer(e->owner) || owners_is_peer(e->rival))
		return 3;
	return e->stays ? 2 : 1;
}

char *owners_text(const struct owned_table *t)
{
	char *text = NULL;
	size_t size, count = 0;
	unsigned version = 1;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < OWNERS_BUCKETS; i++)
		for (const struct owned *e = t->buckets[i]; e; e = e->next)
			if (is_written(e)) {
				count++;
				version = version_of(e) > version ? version_of(e) : version;
			}
	fprintf(out, HEADER "%u %zu\n", version, count);
	put_lines(out, t);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* With the lock. The text to write, or NULL: nothing has changed, or there is no file. */
static char *text_to_write(struct owners *o)
{
	char *text = o->path && !o->damaged && o->changed ? owners_text(&o->table) : NULL;

	if (text)
		o->changed = false;
	return text;
}

/* The result of writing. A problem is logged once, until the record could be written again. */
static void note_written(struct owners *o, int r)
{
	char *why = NULL;

	pthread_mutex_lock(&o->lock);
	if (r)
		o->changed = true;
	if (r && !o->problem) {
		error_text(&why, r,
			   "the record of storages %s cannot be written: %s. After a restart a "
			   "storage that two datanodes show is served from neither",
			   o->path, strerror(-r));
		set_problem(o, why);
	} else if (!r && !o->damaged) {
		set_problem(o, NULL);
	}
	pthread_mutex_unlock(&o->lock);
}

void owners_save(struct owners *o)
{
	char *text;

	pthread_mutex_lock(&o->lock);
	text = text_to_write(o);
	pthread_mutex_unlock(&o->lock);
	if (text)
		note_written(o, state_file_replace(o->path, text));
	free(text);
}

json_t *owners_status(struct owners *o)
{
	json_t *status;

	pthread_mutex_lock(&o->lock);
	status = json_pack("{s:s?, s:I, s:s?}", "file", o->path, "storages",
			   (json_int_t)o->table.count, "problem", o->problem);
	pthread_mutex_unlock(&o->lock);
	return status;
}
