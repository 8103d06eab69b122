/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spec.c - implements spec.h: parses, checks and writes the description of a device. */
#include "spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "control/config.h"
#include "control/config/data_dirs.h"
#include "disk/image.h"
#include "layout/layout.h"
#include "policy/policy.h"
#include "toolstack/limits.h"
#include "vread-ring-user.h"

#define MAX_ID 255U
#define MAX_LIST 2048U /* characters; a xenstore value may be that long */
#define DISK_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

enum {
	KEY_ROLE,
	KEY_DATANODES,
	KEY_POOLS,
	KEY_PUBLISH,
	KEY_UNNAMED,
	KEY_QUEUES,
	KEY_POOL_SIZE,
	KEY_DATA_DIRS,
	KEY_DISKS,
	KEY_BACKING_FOLDERS,
	KEY_TOKENS,
	KEY_ID,
	NUM_KEYS
};
static const char *const keys[NUM_KEYS] = {"role",
					   "datanodes",
					   "pools",
					   "publish-datanodes",
					   "unnamed-datanodes",
					   "queues",
					   "pool-size",
					   "data-dirs",
					   "disks",
					   "backing-folders",
					   "tokens",
					   "id"};

static char *trimmed(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

static int find_key(const char *name)
{
	int k = 0;

	while (k < NUM_KEYS && strcmp(name, keys[k]) != 0)
		k++;
	return k;
}

static int unknown_key(const char *name, char **ret_error)
{
	char known[256] = "";

	for (int k = 0; k < NUM_KEYS; k++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 k == 0             ? ""
			 : k < NUM_KEYS - 1 ? ", "
					    : " or ",
			 keys[k]);
	return error_text(ret_error, -EINVAL, "%s: expected %s", name, known);
}

/* Takes one key=value into values[], which has the earlier ones. */
static int take_pair(char *pair, const char **values, char **ret_error)
{
	char *equals = strchr(pair, '=');
	const char *name;
	int k;

	if (!equals)
		return error_text(ret_error, -EINVAL, "'%s': expected KEY=VALUE", trimmed(pair));
	*equals = '\0';
	name = trimmed(pair);
	k = find_key(name);
	if (k == NUM_KEYS)
		return unknown_key(name, ret_error);
	if (values[k])
		return error_text(ret_error, -EINVAL, "%s: given twice", name);
	values[k] = trimmed(equals + 1);
	return 0;
}

static bool is_taken(const struct specs *s, unsigned id)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->spec[i].id == id)
			return true;
	return false;
}

static int set_id(const struct specs *s, const char *value, unsigned *ret, char **ret_error)
{
	unsigned long long id = 0;

	if (!value)
		while (is_taken(s, (unsigned)id))
			id++;
	else if (!cli_number(value, 0, MAX_ID, &id))
		return error_text(ret_error, -EINVAL, "id=%s: expected a number from 0 to %u",
				  value, MAX_ID);
	if (is_taken(s, (unsigned)id))
		return error_text(ret_error, -EINVAL, "id=%s: another device has this id", value);
	*ret = (unsigned)id;
	return 0;
}

/* Refuses lists that vreadd would refuse, so that the operator sees the error. */
static int check_policy(const struct xs_device_policy *p, char **ret_error)
{
	const char *error;
	struct policy *policy;

	if (strcmp(p->role, "client") != 0 && strcmp(p->role, "datanode") != 0)
		return error_text(ret_error, -EINVAL, "role=%s: expected client or datanode",
				  p->role);
	if (!*p->allow_datanodes)
		return error_text(
			ret_error, -EINVAL,
			"expected datanodes=: names of vread.conf separated by one space, or *");
	if (strlen(p->allow_datanodes) > MAX_LIST || strlen(p->allow_pools) > MAX_LIST)
		return error_text(ret_error, -EINVAL, "expected lists of at most %u characters",
				  MAX_LIST);
	policy = policy_new(POLICY_CLIENT, p->allow_datanodes, p->allow_pools, &error);
	if (!policy)
		return error_text(ret_error, -EINVAL, "datanodes=%s, pools=%s: %s",
				  p->allow_datanodes, p->allow_pools, error);
	policy_free(policy);
	return 0;
}

/* Refuses a list of datanodes that vreadd would refuse. */
static int check_list(const char *key, const char *value, char **ret_error)
{
	const char *error;
	struct policy *policy;

	if (strlen(value) > MAX_LIST)
		return error_text(ret_error, -EINVAL, "expected lists of at most %u characters",
				  MAX_LIST);
	policy = policy_new(POLICY_CLIENT, value, NULL, &error);
	if (!policy)
		return error_text(ret_error, -EINVAL, "%s=%s: %s", key, value, error);
	policy_free(policy);
	return 0;
}

/*
 * Sets for which datanodes the device may publish.  To read several datanodes is no right to
 * publish for all of them, so the operator must name those.
 */
static int set_publish(const char *value, struct xs_device_policy *p, char **ret_error)
{
	p->publish_datanodes = value ?: "";
	if (strcmp(p->role, "datanode") != 0)
		return value ? error_text(ret_error, -EINVAL,
					  "publish-datanodes: expected role=datanode")
			     : 0;
	if (!value && config_name_valid(p->allow_datanodes))
		p->publish_datanodes = p->allow_datanodes;
	if (!*p->publish_datanodes)
		return error_text(ret_error, -EINVAL,
				  "role=datanode, datanodes=%s: expected publish-datanodes=, the "
				  "datanodes that run in this domain",
				  p->allow_datanodes);
	return check_list(keys[KEY_PUBLISH], p->publish_datanodes, ret_error);
}

static int set_limits(const char *const *values, struct xs_device_policy *p, char **ret_error)
{
	const char *queues = values[KEY_QUEUES], *size = values[KEY_POOL_SIZE];
	const char *wrong = queues ? limits_parse_queues(queues, &p->limit_queues) : NULL;

	if (wrong)
		return error_text(ret_error, -EINVAL, "queues=%s: expected %s", queues, wrong);
	wrong = size ? limits_parse_pool_size(size, &p->limit_pool_pages) : NULL;
	if (wrong)
		return error_text(ret_error, -EINVAL, "pool-size=%s: expected %s", size, wrong);
	return 0;
}

/* Calls check for each word of a list. */
static int check_words(const char *list, int (*check)(const char *word, char **ret_error),
		       char **ret_error)
{
	char *copy = strdup(list), *rest = copy, *word;
	int r = copy ? 0 : -ENOMEM;

	while (!r && (word = strsep(&rest, " \t")))
		if (*word)
			r = check(word, ret_error);
	free(copy);
	return r;
}

/* A path is not valid if vread.conf(5) would cut it, or read it as two paths. */
bool spec_data_dir_valid(const char *path)
{
	return layout_path_valid(path) && !strpbrk(path, " ;,");
}

static int check_data_dirs(const char *list, char **ret_error)
{
	const char *at = list, *rest = list;
	char *path;
	int r;

	while ((r = data_dirs_take(&rest, &path)) > 0) {
		bool cut = strchr(path, ';');

		free(path);
		if (cut)
			break;
		at = rest;
	}
	if (r == -ENOMEM)
		return r;
	return r == 0 ? 0
		      : error_text(ret_error, -EINVAL,
				   "data-dirs: '%s': expected paths inside the disks' file systems "
				   "that start with /, contain no \"..\" and have no ';', or auto "
				   "alone; file:///my%%20data is a path with a blank",
				   at);
}

static int check_folder(const char *path, char **ret_error)
{
	if (image_folder_valid(path) && !strpbrk(path, ";"))
		return 0;
	return error_text(ret_error, -EINVAL,
			  "backing-folders: '%s': expected paths of dom0 that start with /, go "
			  "through no \"..\", have no ';' and are not / itself",
			  path);
}

/* Checks backing_folders. */
static int check_folders(const struct spec *s, char **ret_error)
{
	const char *folders = s->backing_folders;

	if (!folders)
		return 0;
	if (!s->data_dirs)
		return error_text(ret_error, -EINVAL, "backing-folders: expected data-dirs, too");
	if (!*folders || strlen(folders) > SPEC_MAX_WORDS)
		return error_text(ret_error, -EINVAL,
				  "backing-folders: expected 1 to %u characters", SPEC_MAX_WORDS);
	return check_words(folders, check_folder, ret_error);
}

static int check_disk(const char *name, char **ret_error)
{
	if (strspn(name, DISK_CHARACTERS) == strlen(name))
		return 0;
	return error_text(ret_error, -EINVAL,
			  "disks: '%s': expected names as in the domain's disk = [ ... ], for "
			  "example xvdb",
			  name);
}

static int check_tokens(const struct spec *s, char **ret_error)
{
	if (!s->tokens)
		return 0;
	if (strcmp(s->tokens, "auto") && strcmp(s->tokens, "required") && strcmp(s->tokens, "off"))
		return error_text(ret_error, -EINVAL, "tokens=%s: expected auto, required or off",
				  s->tokens);
	return s->data_dirs ? 0
			    : error_text(ret_error, -EINVAL,
					 "tokens: expected data-dirs, too; a datanode with a "
					 "section in vread.conf(5) has the key there");
}

/* Checks data_dirs and disks. */
static int check_disks(const struct spec *s, char **ret_error)
{
	const char *name = s->policy.allow_datanodes;
	int r;

	if (!s->data_dirs)
		return s->disks ? error_text(ret_error, -EINVAL, "disks: expected data-dirs, too")
				: 0;
	if (strcmp(s->policy.role, "datanode") != 0 || !config_name_valid(name))
		return error_text(ret_error, -EINVAL,
				  "data-dirs: expected role=datanode and one name in datanodes=");
	if (!*s->data_dirs || (s->disks && !*s->disks))
		return error_text(ret_error, -EINVAL, "%s: expected a value",
				  *s->data_dirs ? "disks" : "data-dirs");
	if (strlen(s->data_dirs) > SPEC_MAX_WORDS)
		return error_text(ret_error, -EINVAL,
				  "data-dirs: expected at most %u characters; more fit into a "
				  "layout of vread-provision(8) and a section in vread.conf(5)",
				  SPEC_MAX_WORDS);
	if (s->disks && strlen(s->disks) > SPEC_MAX_WORDS)
		return error_text(ret_error, -EINVAL, "disks: expected at most %u characters",
				  SPEC_MAX_WORDS);
	r = strcmp(s->data_dirs, SPEC_DATA_DIRS_AUTO) ? check_data_dirs(s->data_dirs, ret_error)
						      : 0;
	if (!r && s->disks)
		r = check_words(s->disks, check_disk, ret_error);
	return r;
}

/* *ret: the words of value, separated by one space, as keys have them; NULL: no value. */
static bool copy_words(const char *value, char **ret)
{
	char *to;

	*ret = to = value ? strdup(value) : NULL;
	for (; to && *value; value++)
		if (!isblank((unsigned char)*value))
			*to++ = *value;
		else if (!isblank((unsigned char)value[1]))
			*to++ = ' ';
	if (to)
		*to = '\0';
	return *ret || !value;
}

static int parse(const struct specs *s, struct spec *ret, char **ret_error)
{
	const char *values[NUM_KEYS] = {0};
	char *rest = ret->text, *pair;
	int r = 0;

	while (!r && (pair = strsep(&rest, ",")))
		r = take_pair(pair, values, ret_error);
	if (!r)
		r = set_id(s, values[KEY_ID], &ret->id, ret_error);
	if (r)
		return r;
	ret->policy = (struct xs_device_policy){
		.role = values[KEY_ROLE] ?: "client",
		.allow_datanodes = values[KEY_DATANODES] ?: "",
		.allow_pools = values[KEY_POOLS] ?: "*",
		.unnamed_datanodes = values[KEY_UNNAMED] ?: "",
	};
	ret->tokens = values[KEY_TOKENS];
	if (!copy_words(values[KEY_DATA_DIRS], &ret->data_dirs) ||
	    !copy_words(values[KEY_DISKS], &ret->disks) ||
	    !copy_words(values[KEY_BACKING_FOLDERS], &ret->backing_folders))
		return -ENOMEM;
	return set_limits(values, &ret->policy, ret_error)
		?: check_policy(&ret->policy, ret_error)
		?: check_tokens(ret, ret_error)
		?: check_disks(ret, ret_error)
		?: check_folders(ret, ret_error)
		?: set_publish(values[KEY_PUBLISH], &ret->policy, ret_error)
		?: check_list(keys[KEY_UNNAMED], ret->policy.unnamed_datanodes, ret_error);
}

static void free_spec(struct spec *s)
{
	free(s->data_dirs);
	free(s->disks);
	free(s->backing_folders);
	free(s->text);
}

int specs_add(struct specs *s, const char *text, char **ret_error)
{
	struct spec spec = {0};
	int r;

	*ret_error = NULL;
	if (s->count == SPECS_MAX)
		return error_text(ret_error, -EINVAL, "expected at most %u devices", SPECS_MAX);
	spec.text = strdup(text);
	if (!spec.text)
		return -ENOMEM;
	r = parse(s, &spec, ret_error);
	if (r)
		free_spec(&spec);
	else
		s->spec[s->count++] = spec;
	return r;
}

bool specs_remove(struct specs *s, unsigned id)
{
	for (unsigned i = 0; i < s->count; i++) {
		if (s->spec[i].id != id)
			continue;
		free_spec(&s->spec[i]);
		s->spec[i] = s->spec[--s->count];
		return true;
	}
	return false;
}

void specs_free(struct specs *s)
{
	for (unsigned i = 0; i < s->count; i++)
		free_spec(&s->spec[i]);
	s->count = 0;
}

int spec_settle(struct spec *s, const char *data_dirs, const char *disks)
{
	char *dirs = strdup(data_dirs), *names = strdup(disks);

	if (!dirs || !names) {
		free(dirs);
		free(names);
		return -ENOMEM;
	}
	free(s->data_dirs);
	free(s->disks);
	s->data_dirs = dirs;
	s->disks = names;
	return 0;
}

char *spec_text(const struct spec *s)
{
	const struct xs_device_policy *p = &s->policy;
	char queues[32] = "", size[32] = "", *text;
	int n;

	if (p->limit_queues)
		snprintf(queues, sizeof(queues), ",queues=%u", p->limit_queues);
	if (p->limit_pool_pages)
		snprintf(size, sizeof(size), ",pool-size=%uK",
			 p->limit_pool_pages * (VREAD_PAGE_SIZE >> 10));
	n = asprintf(&text, "id=%u,role=%s,datanodes=%s,pools=%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s",
		     s->id, p->role, p->allow_datanodes, p->allow_pools,
		     *p->publish_datanodes ? ",publish-datanodes=" : "", p->publish_datanodes,
		     *p->unnamed_datanodes ? ",unnamed-datanodes=" : "", p->unnamed_datanodes,
		     queues, size, s->data_dirs ? ",data-dirs=" : "", s->data_dirs ?: "",
		     s->disks ? ",disks=" : "", s->disks ?: "",
		     s->backing_folders ? ",backing-folders=" : "", s->backing_folders ?: "",
		     s->tokens ? ",tokens=" : "", s->tokens ?: "");
	return n < 0 ? NULL : text;
}
