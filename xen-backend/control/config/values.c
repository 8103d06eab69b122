// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * values.c - parsers of the values of vread.conf(5), one for each kind of value.
 *
 * config_key_see() calls them through the table in keys.c; config.c frees the paths.
 */
#include "control/config/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/words.h"
#include "control/config/data_dirs.h"
#include "disk/image.h"
#include "layout/layout.h"
#include "peer/wire/address.h"
#include "peer/wire/message.h"
#include "policy/policy.h"
#include "read/store.h"
#include "vread-ring-user.h"

const char *value_limit(const char *value, void *field, const struct config_key *k)
{
	static char expected[64];

	if (parse_number(value, k->min, k->max, field))
		return NULL;
	snprintf(expected, sizeof(expected), "a number from %u to %u", k->min, k->max);
	return expected;
}

const char *value_transports(const char *value, void *field, const struct config_key *k)
{
	static const struct {
		const char *text;
		unsigned transports;
	} known[] = {
		{"tcp", MESSAGE_TRANSPORT_TLS},
		{"rdma", MESSAGE_TRANSPORT_RDMA},
		{"rdma tcp", MESSAGE_TRANSPORT_RDMA | MESSAGE_TRANSPORT_TLS},
	};

	(void)k;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(value, known[i].text) == 0) {
			*(unsigned *)field = known[i].transports;
			return NULL;
		}
	}
	return "tcp, rdma or rdma tcp";
}

/* The names are those of Hadoop's dfs.data.transfer.protection. */
const char *value_protection(const char *value, void *field, const struct config_key *k)
{
	static const struct {
		const char *text;
		unsigned frames;
	} known[] = {
		{"privacy", 0},
		{"integrity", MESSAGE_TRANSPORT_MAC},
		{"authentication", MESSAGE_TRANSPORT_MAC | MESSAGE_TRANSPORT_BARE},
	};

	(void)k;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(value, known[i].text) == 0) {
			*(unsigned *)field = known[i].frames;
			return NULL;
		}
	}
	return "privacy, integrity or authentication";
}

/* The key's min and max are in MiB. */
const char *value_size(const char *value, void *field, const struct config_key *k)
{
	static char expected[96];
	uint64_t bytes;

	if (parse_bytes(value, &bytes) && bytes >= (uint64_t)k->min << 20 &&
	    bytes <= (uint64_t)k->max << 20) {
		*(size_t *)field = (size_t)bytes;
		return NULL;
	}
	snprintf(expected, sizeof(expected), "bytes, or a number and K, M or G, from %uM to %uM",
		 k->min, k->max);
	return expected;
}

/* As value_size(), or auto. */
const char *value_cache(const char *value, void *field, const struct config_key *k)
{
	static char expected[128];
	const char *size;

	if (!strcmp(value, "auto")) {
		*(size_t *)field = CACHE_AUTO;
		return NULL;
	}
	size = value_size(value, field, k);
	if (!size)
		return NULL;
	snprintf(expected, sizeof(expected), "auto, or %s", size);
	return expected;
}

/* As value_size(), and a power of two. */
const char *value_memory(const char *value, void *field, const struct config_key *k)
{
	static char expected[128];
	const char *size = value_size(value, field, k);

	if (!size && (*(size_t *)field & (*(size_t *)field - 1)) == 0)
		return NULL;
	snprintf(expected, sizeof(expected),
		 "a power of two: bytes, or a number and K, M or G, "
		 "from %uM to %uM",
		 k->min, k->max);
	return expected;
}

const char *value_mode(const char *value, void *field, const struct config_key *k)
{
	mode_t mode = 0;

	(void)k;
	if (strlen(value) != 4 || value[0] != '0')
		return "four octal digits, the first 0, for example 0600";
	for (const char *p = value; *p; p++) {
		if (*p < '0' || *p > '7')
			return "four octal digits, the first 0, for example 0600";
		mode = mode << 3 | (mode_t)(*p - '0');
	}
	*(mode_t *)field = mode;
	return NULL;
}

const char *value_log_level(const char *value, void *field, const struct config_key *k)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};

	(void)k;
	for (unsigned i = 0; i < 4; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum log_level *)field = (enum log_level)i;
			return NULL;
		}
	return "error, warn, info or debug";
}

const char *value_yes(const char *value, void *field, const struct config_key *k)
{
	(void)k;
	*(bool *)field = strcmp(value, "yes") == 0;
	return *(bool *)field || strcmp(value, "no") == 0 ? NULL : "yes or no";
}

const char *value_role(const char *value, void *field, const struct config_key *k)
{
	bool datanode = strcmp(value, "datanode") == 0;

	(void)k;
	*(enum policy_role *)field = datanode ? POLICY_DATANODE : POLICY_CLIENT;
	return datanode || strcmp(value, "client") == 0 ? NULL : "client or datanode";
}

const char *value_enabled(const char *value, void *field, const struct config_key *k)
{
	static const char *const names[] = {"no", "yes", "auto"};

	(void)k;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum config_enabled *)field = (enum config_enabled)i;
			return NULL;
		}
	return "yes, no or auto";
}

const char *value_image_mode(const char *value, void *field, const struct config_key *k)
{
	static const char *const names[] = {"auto", "buffered", "direct"};

	(void)k;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum source_mode *)field = (enum source_mode)i;
			return NULL;
		}
	return "auto, buffered or direct";
}

const char *value_tokens(const char *value, void *field, const struct config_key *k)
{
	static const char *const names[] = {"auto", "required", "off"};

	(void)k;
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(value, names[i]) == 0) {
			*(enum tokens_mode *)field = (enum tokens_mode)i;
			return NULL;
		}
	return "auto, required or off";
}

static const char *set_string(const char *value, void *field)
{
	char *copy = strdup(value);

	if (!copy)
		return "more memory";
	free(*(char **)field);
	*(char **)field = copy;
	return NULL;
}

const char *value_user(const char *value, void *field, const struct config_key *k)
{
	(void)k;
	if (strlen(value) > 32 || value[strspn(value, "abcdefghijklmnopqrstuvwxyz"
						      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		return "the name of a user, or nothing";
	return set_string(value, field);
}

const char *value_path(const char *value, void *field, const struct config_key *k)
{
	(void)k;
	if (value[0] != '/')
		return "a path that starts with /";
	return set_string(value, field);
}

/* An empty value: no folder. */
const char *value_folder(const char *value, void *field, const struct config_key *k)
{
	(void)k;
	if (*value && value[0] != '/')
		return "a folder's path that starts with /, or nothing";
	return set_string(value, field);
}

/* An empty value: no file. */
const char *value_file(const char *value, void *field, const struct config_key *k)
{
	size_t length = strlen(value);

	(void)k;
	if (length && (value[0] != '/' || value[length - 1] == '/'))
		return "a file's path that starts with /, or nothing";
	return set_string(value, field);
}

void config_paths_free(struct config_paths *paths)
{
	for (unsigned i = 0; i < paths->count; i++)
		free(paths->path[i]);
	free(paths->path);
	*paths = (struct config_paths){0};
}

/* Adds a copy of the first length bytes of path.  NULL, or what was expected. */
static const char *grow_paths(struct config_paths *paths, const char *path, size_t length)
{
	char **grown = reallocarray(paths->path, paths->count + 1, sizeof(*grown));

	if (!grown)
		return "more memory";
	paths->path = grown;
	paths->path[paths->count] = strndup(path, length);
	if (!paths->path[paths->count])
		return "more memory";
	paths->count++;
	return NULL;
}

static bool has_path(const struct config_paths *paths, const char *path, size_t length)
{
	for (unsigned i = 0; i < paths->count; i++)
		if (strlen(paths->path[i]) == length && !memcmp(paths->path[i], path, length))
			return true;
	return false;
}

/* Adds an image to the field. */
const char *value_image(const char *value, void *field, const struct config_key *k)
{
	struct config_paths *images = field;
	static char expected[160];
	const char *path;

	if (!image_spec_split(value, &path) || path[0] != '/') {
		snprintf(expected, sizeof(expected),
			 "a path that starts with /, or one of the formats %s, a colon and a path",
			 image_format_names());
		return expected;
	}
	if (images->count == k->max)
		return "fewer images";
	if (has_path(images, value, strlen(value)))
		return "each image once";
	return grow_paths(images, value, strlen(value));
}

static const char *add_folder(struct config_paths *folders, const char *path, size_t length,
			      const struct config_key *k)
{
	const char *error;

	if (folders->count == k->max)
		return "fewer folders";
	if (has_path(folders, path, length))
		return "each folder once";
	error = grow_paths(folders, path, length);
	if (error || image_folder_valid(folders->path[folders->count - 1]))
		return error;
	return "paths of this host that start with /, go through no \"..\" and are not / itself";
}

/* Returns the length of a folder's path, with blanks at its end.  A blank before anything but a '/'
 * is part of the path. */
static size_t folder_length(const char *path)
{
	size_t length = 0;

	while (path[length]) {
		size_t blanks = strspn(path + length, " \t");

		if (blanks && path[length + blanks] == '/')
			break;
		length += blanks ? blanks : 1;
	}
	return length;
}

/* Adds folders to the field. */
const char *value_backing_folders(const char *value, void *field, const struct config_key *k)
{
	const char *error = NULL;

	if (!*value)
		return "at least one folder of this host, for example /srv/bases";
	while (!error && *(value += strspn(value, " \t"))) {
		size_t length = folder_length(value), next = length;

		while (strchr(" \t", value[length - 1]))
			length--;
		error = add_folder(field, value, length, k);
		value += next;
	}
	return error;
}

const char *value_data_dirs(const char *value, void *field, const struct config_key *k)
{
	struct config_paths paths = {0};
	const char *error = NULL;
	char *path;
	int r = 1;

	while (!error && (r = data_dirs_take(&value, &path)) > 0) {
		if (paths.count == k->max)
			error = "fewer paths";
		else if (has_path(&paths, path, strlen(path)))
			error = "each path once";
		else
			error = grow_paths(&paths, path, strlen(path));
		free(path);
	}
	if (r == -EINVAL)
		error = "paths inside the image that start with / and contain no \"..\", or the "
			"value of dfs.datanode.data.dir";
	else if (r < 0)
		error = "more memory";
	if (!error && paths.count == 0)
		error = "at least one path inside the image, for example /dfs/data";
	if (error)
		config_paths_free(&paths);
	else
		*(struct config_paths *)field = paths;
	return error;
}

/* The path must fit into sockaddr_un.  An empty value: no socket; not allowed if the key's min is
 * not 0. */
const char *value_socket(const char *value, void *field, const struct config_key *k)
{
	if (k->min && (value[0] != '/' || strlen(value) > 107))
		return "a path that starts with / of at most 107 bytes";
	if (*value && (value[0] != '/' || strlen(value) > 107))
		return "a path that starts with / of at most 107 bytes, or nothing";
	return set_string(value, field);
}

const char *value_names(const char *value, void *field, const struct config_key *k)
{
	const char *error;
	struct policy *p = policy_new(POLICY_CLIENT, value, NULL, &error);

	(void)k;
	if (!p)
		return error;
	policy_free(p);
	return set_string(value, field);
}

const char *value_uids(const char *value, void *field, const struct config_key *k)
{
	size_t length = strlen(value);
	char *copy = strdup(value), *rest = length ? copy : NULL, *word;
	uint32_t uid;
	bool wrong = false;

	(void)k;
	if (!copy)
		return "more memory";
	while ((word = strsep(&rest, " ")))
		wrong |= !parse_number(word, 0, UINT32_MAX - 1, &uid);
	free(copy);
	if (wrong)
		return "numbers of users (id -u NAME), separated by exactly one space";
	return set_string(value, field);
}

const char *value_peer_name(const char *value, void *field, const struct config_key *k)
{
	static char expected[80];

	(void)k;
	if (config_name_valid(value))
		return set_string(value, field);
	snprintf(expected, sizeof(expected), "1 to %u letters, digits, '.', '_', '-'",
		 CONFIG_MAX_NAME);
	return expected;
}

const char *value_address(const char *value, void *field, const struct config_key *k)
{
	struct address a;

	(void)k;
	if (!address_parse(value, &a))
		return "IP:PORT, the IP a number, or [IP]:PORT for IPv6";
	return set_string(value, field);
}

/* True if the length bytes at text are one DATANODE/STORAGE. */
static bool storage_valid(const char *text, size_t length)
{
	const char *slash = memchr(text, '/', length);
	size_t datanode = slash ? (size_t)(slash - text) : 0;

	return datanode > 0 && datanode <= MESSAGE_MAX_DATANODE && length > datanode + 1 &&
	       length - datanode - 1 <= VREAD_MAX_STORAGE_ID &&
	       !memchr(slash + 1, '/', length - datanode - 1);
}

/* Lists are separated by spaces or tabs in vread.conf, and by spaces everywhere else. */
static void tabs_to_spaces(char *list)
{
	for (; *list; list++)
		if (*list == '\t')
			*list = ' ';
}

/* Adds storages to the field. */
const char *value_storages(const char *value, void *field, const struct config_key *k)
{
	char **all = field, *longer;

	(void)k;
	for (const char *at = value; *(at += strspn(at, " \t"));) {
		size_t length = strcspn(at, " \t");

		if (!storage_valid(at, length))
			return "storages as DATANODE/STORAGE-ID, separated by blanks";
		at += length;
	}
	if (asprintf(&longer, "%s %s", *all, value) < 0)
		return "more memory";
	tabs_to_spaces(longer);
	free(*all);
	*all = longer;
	return NULL;
}

/* Adds one id to the list. */
static const char *add_id(char **list, const char *id, size_t length)
{
	char *longer, *copy = strndup(id, length);
	bool valid = copy && layout_storage_id_valid(copy);

	free(copy);
	if (!valid)
		return "ids of storages (DS-...), separated by blanks";
	if (*list && words_have(*list, id, length))
		return "each storage once";
	if (asprintf(&longer, "%s %.*s", *list ? *list : "", (int)length, id) < 0)
		return "more memory";
	free(*list);
	*list = longer;
	return NULL;
}

/* Adds ids of storages to the field. */
const char *value_storage_ids(const char *value, void *field, const struct config_key *k)
{
	const char *error = NULL;
	bool any = false;

	(void)k;
	for (const char *at = value; !error && *(at += strspn(at, " \t")); any = true) {
		size_t length = strcspn(at, " \t");

		error = add_id(field, at, length);
		at += length;
	}
	return any ? error : "ids of storages (DS-...), separated by blanks";
}

const char *value_patterns(const char *value, void *field, const struct config_key *k)
{
	const char *wrong = set_string(value, field);

	(void)k;
	if (!wrong)
		tabs_to_spaces(*(char **)field);
	return wrong;
}
