// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements keyed.h.
 *
 * Who had a name first is in the status that was written before, "accepted: NAME".  So it is known
 * after a restart of vreadd, too.
 */
#include "control/keyed.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define ACCEPTED "accepted: "
#define MAX_LINES (KEYS_MAX_DISKS + KEYS_NODES)

struct judge {
	const struct config *file;
	struct keyed *keyed;
	const struct keys *keys; /* that are judged */
	char *status;            /* KEYED_MAX_STATUS bytes */
};

__attribute__((format(printf, 2, 3))) static void say(struct judge *j, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(j->status, KEYED_MAX_STATUS, format, ap);
	va_end(ap);
}

static const struct config_datanode *at(const struct judge *j, size_t i)
{
	return i < j->file->num_datanodes
		       ? &j->file->datanodes[i]
		       : &j->keyed->config[i - j->file->num_datanodes]->datanodes[0];
}

static size_t count(const struct judge *j)
{
	return j->file->num_datanodes + j->keyed->count;
}

static bool name_is_free(struct judge *j, const char *name)
{
	for (size_t i = 0; i < count(j); i++)
		if (strcmp(at(j, i)->name, name) == 0) {
			say(j,
			    "refused: name: %.63s is in %.256s already: each datanode needs its "
			    "own",
			    name, at(j, i)->file);
			return false;
		}
	return true;
}

/* pins: ids, each behind a space.  NULL: none. */
static bool pins_are_free(struct judge *j, const char *pins)
{
	for (size_t i = 0; i < count(j); i++)
		for (const char *id = pins; id && *(id += strspn(id, " "));) {
			size_t length = strcspn(id, " ");

			if (at(j, i)->storages && words_have(at(j, i)->storages, id, length)) {
				say(j, "refused: storages: %.*s is pinned to datanode %s already",
				    (int)length, id, at(j, i)->name);
				return false;
			}
			id += length;
		}
	return true;
}

/* ---- configurations ------------------------------------------------------------------ */

static struct config *make(struct judge *j)
{
	static const enum keys_node nodes[] = {KEYS_DATA_DIRS, KEYS_BACKING_FOLDERS,
					       KEYS_IMAGE_MODE, KEYS_TOKENS, KEYS_STORAGES};
	const struct keys *k = j->keys;
	struct config_line lines[MAX_LINES];
	struct config *made = NULL;
	char *error = NULL;
	size_t n = 0;

	for (unsigned i = 0; i < k->num_images; i++)
		lines[n++] = (struct config_line){"image", k->image[i]};
	for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (k->value[nodes[i]])
			lines[n++] =
				(struct config_line){keys_node_name(nodes[i]), k->value[nodes[i]]};
	if (config_of_datanode(k->path, k->value[KEYS_NAME], lines, n, &made, &error))
		say(j, "refused: %.600s", error ?: "out of memory");
	free(error);
	return made;
}

static void accept(struct judge *j, struct config *made)
{
	const struct keys *k = j->keys;

	j->keyed->config[j->keyed->count++] = made;
	say(j, ACCEPTED "%.63s%s%.32s%s", k->value[KEYS_NAME], k->missing ? "; waiting: disk " : "",
	    k->missing ?: "", k->missing ? ": dom0 serves no disk of that name yet" : "");
}

static void judge(struct judge *j)
{
	const struct keys *k = j->keys;
	struct config *made;

	if (*k->problem)
		say(j, "refused: %s", k->problem);
	else if (!name_is_free(j, k->value[KEYS_NAME]))
		return;
	else if (!k->num_images)
		say(j, "waiting: disk %.32s: dom0 serves no disk of that name yet",
		    k->missing ?: "");
	else if (count(j) >= CONFIG_MAX_DATANODES)
		say(j, "refused: expected at most %u datanodes", CONFIG_MAX_DATANODES);
	else if ((made = make(j)) && !pins_are_free(j, made->datanodes[0].storages))
		config_free(made);
	else if (made)
		accept(j, made);
}

/* ---- all of them ------------------------------------------------------------------------ */

bool keyed_accepted(const struct keys *k)
{
	const char *status = k->value[KEYS_STATUS], *name = k->value[KEYS_NAME];
	size_t length = name ? strlen(name) : 0;

	if (!status || !name || strncmp(status, ACCEPTED, strlen(ACCEPTED)) != 0)
		return false;
	status += strlen(ACCEPTED);
	return strncmp(status, name, length) == 0 && (!status[length] || status[length] == ';');
}

static void judge_those(struct judge *j, const struct keys_list *keys, bool with_name,
			char (*status)[KEYED_MAX_STATUS])
{
	for (size_t i = 0; i < keys->count; i++) {
		if (keyed_accepted(&keys->keys[i]) != with_name)
			continue;
		j->keys = &keys->keys[i];
		j->status = status[i];
		judge(j);
	}
}

int keyed_judge(const struct config *file, const struct keys_list *keys, struct keyed *ret,
		char (*status)[KEYED_MAX_STATUS])
{
	struct judge j = {.file = file, .keyed = ret};

	*ret = (struct keyed){.config = calloc(keys->count + 1, sizeof(*ret->config))};
	if (!ret->config)
		return -ENOMEM;
	judge_those(&j, keys, true, status);
	judge_those(&j, keys, false, status);
	return 0;
}

void keyed_free(struct keyed *k)
{
	for (size_t i = 0; i < k->count; i++)
		config_free(k->config[i]);
	free(k->config);
	*k = (struct keyed){0};
}
