// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements named.h: an array of images that only grows.
 *
 * The lines that count are "image = ..." and "backing-folders = ..." below "[datanode NAME]",
 * "datanode-files = ..." below "[vreadd]", and "enabled = no" and "datanode-keys = no" below
 * "[xen]".
 */
#include "opener/named.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "keys/keys.h"

#define DATANODE_FILES "/var/lib/vread/datanodes" /* the default of vread.conf(5) */
#define SUFFIX ".conf"
#define MAX_IMAGES 65536U
#define BLANKS " \t\r\n"
#define MAX_DOMID 32751U

enum section { OTHER, VREADD, XEN, DATANODE };

struct reader {
	enum section section;
	struct named found[64]; /* images of the section; LAYOUT_MAX_IMAGES */
	unsigned num_found;
	char *folder[IMAGE_MAX_FOLDERS]; /* of the section */
	unsigned num_folders;
	char files[PATH_MAX]; /* the folder of datanodes' own files; "": none */
	bool no_keys;
};

static const char *config;
static struct xs_handle *store;

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* one thread looks at a time */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* guards all below */
static struct named **all;
static unsigned count;

void named_begin(const char *config_path, struct xs_handle *xs)
{
	config = config_path;
	store = xs;
}

/* ---- the array --------------------------------------------------------------------- */

static bool same(const struct named *a, const struct named *b)
{
	if (strcmp(a->image, b->image) != 0 || a->num_folders != b->num_folders)
		return false;
	for (unsigned i = 0; i < a->num_folders; i++)
		if (strcmp(a->folder[i], b->folder[i]) != 0)
			return false;
	return true;
}

static bool is_known(const struct named *n)
{
	for (unsigned i = 0; i < count; i++)
		if (same(all[i], n))
			return true;
	return false;
}

static void free_named(struct named *n)
{
	for (unsigned i = 0; i < n->num_folders; i++)
		free(n->folder[i]);
	free(n->image);
	free(n);
}

/* Takes over n.  False: there is no room, or no memory. */
static bool append(struct named *n)
{
	struct named **grown = NULL;

	pthread_mutex_lock(&lock);
	if (count < MAX_IMAGES)
		grown = reallocarray(all, count + 1, sizeof(struct named *));
	if (grown) {
		all = grown;
		all[count++] = n;
	}
	pthread_mutex_unlock(&lock);
	return grown;
}

/* For the thread that looks: no other changes the array. */
static void add(const struct named *n)
{
	struct named *copy = is_known(n) ? NULL : calloc(1, sizeof(*copy));
	bool whole;

	if (!copy)
		return;
	copy->image = strdup(n->image);
	whole = copy->image;
	for (; whole && copy->num_folders < n->num_folders; copy->num_folders += whole) {
		copy->folder[copy->num_folders] = strdup(n->folder[copy->num_folders]);
		whole = copy->folder[copy->num_folders];
	}
	if (!whole || !append(copy))
		free_named(copy);
}

/* ---- the files --------------------------------------------------------------------- */

/* Ends a section: adds its images with its folders. */
static void end_section(struct reader *r)
{
	for (unsigned i = 0; i < r->num_found; i++) {
		memcpy(r->found[i].folder, r->folder, sizeof(r->folder));
		r->found[i].num_folders = r->num_folders;
		add(&r->found[i]);
		free(r->found[i].image);
	}
	for (unsigned i = 0; i < r->num_folders; i++)
		free(r->folder[i]);
	r->num_found = r->num_folders = 0;
	r->section = OTHER;
}

static void begin_section(struct reader *r, const char *line)
{
	end_section(r);
	if (!strcmp(line, "[vreadd]"))
		r->section = VREADD;
	else if (!strcmp(line, "[xen]"))
		r->section = XEN;
	else if (!strncmp(line, "[datanode ", 10))
		r->section = DATANODE;
}

static void see_image(struct reader *r, const char *value)
{
	const char *path = value[0] == '/' ? value : strchr(value, ':');

	if (path && *path == ':')
		path++;
	if (!path || *path != '/' || r->num_found == sizeof(r->found) / sizeof(r->found[0]))
		return;
	r->found[r->num_found].image = strdup(path);
	r->num_found += r->found[r->num_found].image != NULL;
}

static void see_folders(struct reader *r, char *value)
{
	for (char *folder; (folder = strsep(&value, BLANKS));) {
		if (!*folder || !image_folder_valid(folder) || r->num_folders == IMAGE_MAX_FOLDERS)
			continue;
		r->folder[r->num_folders] = strdup(folder);
		r->num_folders += r->folder[r->num_folders] != NULL;
	}
}

/* Cuts blanks at both ends. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Cuts a comment behind a value: a blank and a semicolon. */
static void cut_comment(char *value)
{
	for (char *at = value; (at = strchr(at, ';')); at++)
		if (at > value && strchr(BLANKS, at[-1])) {
			*at = '\0';
			return;
		}
}

static void see_line(struct reader *r, char *line)
{
	char *key = trim(line), *value;

	if (*key == '[') {
		key[strcspn(key, "]") + (strchr(key, ']') != NULL)] = '\0';
		begin_section(r, key);
		return;
	}
	if (*key == '#' || *key == ';')
		return;
	value = strpbrk(key, "=:");
	if (!value)
		return;
	*value++ = '\0';
	cut_comment(value);
	key = trim(key);
	value = trim(value);
	if (r->section == DATANODE && !strcmp(key, "image"))
		see_image(r, value);
	else if (r->section == DATANODE && !strcmp(key, "backing-folders"))
		see_folders(r, value);
	else if (r->section == VREADD && !strcmp(key, "datanode-files"))
		snprintf(r->files, sizeof(r->files), "%s", value);
	else if (r->section == XEN && (!strcmp(key, "enabled") || !strcmp(key, "datanode-keys")))
		r->no_keys |= !strcmp(value, "no");
}

static void read_file(struct reader *r, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0)
		see_line(r, line);
	end_section(r);
	free(line);
	if (file)
		fclose(file);
}

static void read_folder(struct reader *r, const char *folder)
{
	DIR *dir = *folder ? opendir(folder) : NULL;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		size_t length = strlen(entry->d_name);
		char path[PATH_MAX];

		if (length <= strlen(SUFFIX) || entry->d_name[0] == '.' ||
		    strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0 ||
		    snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			    (int)sizeof(path))
			continue;
		read_file(r, path);
	}
	if (dir)
		closedir(dir);
}

/* ---- keys -------------------------------------------------------------------------- */

static uint32_t own_domid(void)
{
	unsigned length;
	char *text = xs_read(store, XBT_NULL, "domid", &length);
	uint32_t domid = 0;

	if (text)
		parse_number(text, 0, MAX_DOMID, &domid);
	free(text);
	return domid;
}

/* Adds the images of one datanode, as a section with these lines would. */
static void add_keys(struct reader *r, const struct keys *k)
{
	for (unsigned i = 0; i < k->num_images; i++)
		see_image(r, k->image[i]);
	if (k->value[KEYS_BACKING_FOLDERS])
		see_folders(r, k->value[KEYS_BACKING_FOLDERS]);
	end_section(r);
}

static void read_keys(struct reader *r)
{
	struct keys_list found;

	if (!store || r->no_keys || keys_read(store, own_domid(), &found))
		return;
	for (size_t i = 0; i < found.count; i++)
		if (!*found.keys[i].problem)
			add_keys(r, &found.keys[i]);
	keys_free(&found);
}

void named_look(void)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	snprintf(r->files, sizeof(r->files), DATANODE_FILES);
	pthread_mutex_lock(&looking);
	read_file(r, config);
	read_folder(r, r->files);
	read_keys(r);
	pthread_mutex_unlock(&looking);
	free(r);
}

/* ---- questions --------------------------------------------------------------------- */

const struct named *named_get(unsigned i)
{
	const struct named *n;

	pthread_mutex_lock(&lock);
	n = i < count ? all[i] : NULL;
	pthread_mutex_unlock(&lock);
	return n;
}

bool named_is_image(const char *path)
{
	const struct named *n;

	for (unsigned i = 0; (n = named_get(i)); i++)
		if (!strcmp(n->image, path))
			return true;
	return false;
}
