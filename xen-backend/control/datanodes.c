// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * datanodes.c - adds the datanodes to the block store, and changes them on a reload and when keys
 * in xenstore change.
 *
 * Called by daemon.c and reload.c (datanodes.h).
 */
#include "control/datanodes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "datanode/owners.h"
#include "datanode/parser.h"
#include "datanode/registry.h"
#include "disk/backing.h"
#include "disk/image.h"
#include "read/store.h"
#include "port/xen/disks.h"
#include "port/xen/provisioned.h"

#define CHECK_MS (2 * (int)PARSER_ANSWER_MS)

static struct registry_texts texts(const struct config_paths *paths)
{
	return (struct registry_texts){(const char *const *)paths->path, paths->count};
}

static struct registry_disks disks_of(const struct config_datanode *n)
{
	return (struct registry_disks){texts(&n->images), texts(&n->backing_folders)};
}

/* Serves n from now on. */
static int serve(struct datanodes *d, const struct config_datanode *n)
{
	struct registry_disks disks = disks_of(n);

	return registry_replace(block_store_registry(d->store), n->name, &disks, n->layout,
				texts(&n->data_dirs), n->tokens);
}

/* ---- all sections --------------------------------------------------------------- */

static const struct config_datanode *find(const struct sections *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->section[i]->name, name))
			return s->section[i];
	return NULL;
}

static bool has_failed(const struct sections *s, const struct config_datanode *n)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->section[i] == n)
			return s->failed[i];
	return false;
}

static void add_section(struct sections *s, const struct config_datanode *n)
{
	if (s->count < SECTIONS_MAX && !find(s, n->name))
		s->section[s->count++] = n;
}

/* Fills the sections that are not in use, and returns them. */
static struct sections *fill_sections(struct datanodes *d, const struct config *c,
				      const struct keyed *k)
{
	struct sections *s = &d->room[d->sections == &d->room[0]];

	*s = (struct sections){0};
	for (size_t i = 0; i < c->num_datanodes; i++)
		add_section(s, &c->datanodes[i]);
	for (size_t i = 0; i < k->count; i++)
		add_section(s, &k->config[i]->datanodes[0]);
	return s;
}

static bool is_by_keys(const struct config_datanode *n)
{
	return !n->line;
}

/* ---- how images are read -------------------------------------------------------- */

static enum source_mode configured_mode(struct datanodes *d, const char *datanode)
{
	const struct config_datanode *n;
	enum source_mode mode;

	pthread_mutex_lock(&d->lock);
	n = find(d->sections, datanode);
	mode = n ? n->image_mode : SOURCE_AUTO;
	pthread_mutex_unlock(&d->lock);
	return mode;
}

/*
 * Applies the operator's image-mode.  O_DIRECT is right for every writer: the kernel first writes
 * back what is dirty in its page cache.  Reads through the page cache may be stale if the writes go
 * past it, so image-mode is not followed there.
 */
static void force(struct image_usage *u, enum source_mode mode)
{
	if (mode == SOURCE_BUFFERED && u->mode == SOURCE_DIRECT) {
		snprintf(u->warning, sizeof(u->warning),
			 "image-mode = buffered is not followed, because the image is %s: these "
			 "writes may bypass the page cache, and reads would be stale; remove "
			 "image-mode",
			 u->because);
		return;
	}
	snprintf(u->because, sizeof(u->because), "set by image-mode");
	u->mode = mode;
}

/*
 * Without xenstore nobody tells who writes an image, and how.  The kernel drops the cached pages of
 * a file that a direct write replaced, but not those of a block device if the write is
 * asynchronous, as a QEMU's with cache=none are.  This host must not write an image beside a guest.
 */
static void host_usage(const char *path, struct image_usage *u)
{
	struct backing image;
	char where[200];
	int r = backing_of_path(path, OPENER_OURS, &image);

	if (r < 0)
		return;
	*u = (struct image_usage){.mode = SOURCE_AUTO, .owner = IMAGE_NO_OWNER};
	if (r > 0 && (image.block_device || image.loop)) {
		u->mode = SOURCE_DIRECT;
		snprintf(u->because, sizeof(u->because), "a block device");
	}
	if (r > 0 && backing_mounted(&image, where, sizeof(where)))
		snprintf(u->warning, sizeof(u->warning),
			 "mounted on this host, at %s: if a guest has it, too, unmount it, or its "
			 "file system will be destroyed",
			 where);
}

static void usage_of(void *ctx, const char *datanode, const char *path, struct image_usage *usage)
{
	struct datanodes *d = ctx;
	enum source_mode mode = configured_mode(d, datanode);

	if (d->disks)
		xen_disks_usage(d->disks, path, usage);
	else
		host_usage(path, usage);
	if (mode != SOURCE_AUTO)
		force(usage, mode);
}

/* ---- whose storages are --------------------------------------------------------- */

/* Tells the registry the names and pins of all sections. Returns 0 or -ENOMEM. */
static int begin_change(struct datanodes *d, const struct sections *s)
{
	struct owners_pins *all = calloc(s->count + 1, sizeof(*all));
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; all && i < s->count; i++)
		all[i] = (struct owners_pins){
			.name = s->section[i]->name,
			.storages = s->section[i]->storages ? s->section[i]->storages : "",
			.comes_and_goes = is_by_keys(s->section[i]),
		};
	if (!r)
		r = registry_change(block_store_registry(d->store), all, s->count);
	free(all);
	return r;
}

int datanodes_give(struct datanodes *d, const char *storage_id, const char *datanode)
{
	return registry_give(block_store_registry(d->store), storage_id, datanode);
}

json_t *datanodes_record_status(const struct datanodes *d)
{
	return registry_record_status(block_store_registry(d->store));
}

json_t *datanodes_clones_status(const struct datanodes *d)
{
	return registry_clones_status(block_store_registry(d->store));
}

/* ---- keys ------------------------------------------------------------------------ */

/* Finds out which keys count beside the file, and writes into xenstore what became of all keys. */
static int judge_keys(struct datanodes *d, const struct config *file, struct keyed *ret)
{
	static const struct keys_list none;
	const struct keys_list *keys =
		d->provisioned ? xen_provisioned_keys(d->provisioned) : &none;
	char(*status)[KEYED_MAX_STATUS] = calloc(keys->count + 1, sizeof(*status));
	int r = status ? keyed_judge(file, keys, ret, status) : -ENOMEM;

	for (size_t i = 0; !r && i < keys->count; i++) {
		const char *before = keys->keys[i].value[KEYS_STATUS];

		if (!before || strcmp(before, status[i]) != 0)
			log_info("%s: %s", keys->keys[i].path, status[i]);
		xen_provisioned_tell(d->provisioned, i, status[i]);
	}
	free(status);
	return r;
}

json_t *datanodes_keys_status(const struct datanodes *d)
{
	const struct keys_list *keys = d->provisioned ? xen_provisioned_keys(d->provisioned) : NULL;
	json_t *all = json_array();

	for (size_t i = 0; keys && i < keys->count; i++) {
		const struct keys *k = &keys->keys[i];

		json_array_append_new(all,
				      json_pack("{s:s, s:i, s:s?, s:s?}", "path", k->path, "domain",
						(int)k->domid, "datanode", k->value[KEYS_NAME],
						"status", k->value[KEYS_STATUS]));
	}
	return all;
}

/* ---- opening ------------------------------------------------------------------ */

/* Judges storages from now on. */
static int keep_owners(struct datanodes *d)
{
	const char *path = d->config->storage_record;
	int r = 0;

	if (path[0])
		r = registry_keep_record(block_store_registry(d->store), path);
	else
		log_warn("no storage-record in [vreadd]: which datanode showed a storage first is "
			 "forgotten when vreadd ends");
	return r ? r : begin_change(d, d->sections);
}

static int serve_all(struct datanodes *d)
{
	int r = keep_owners(d);

	for (size_t i = 0; i < d->sections->count && !r; i++)
		r = serve(d, d->sections->section[i]);
	if (!r)
		registry_changed(block_store_registry(d->store));
	return r;
}

int datanodes_open(struct datanodes *d, const struct config *config, struct xen_disks *disks,
		   struct xen_provisioned *provisioned)
{
	int r;

	pthread_mutex_init(&d->lock, NULL);
	d->config = config;
	d->disks = disks;
	d->provisioned = provisioned;
	d->store = block_store_new();
	r = d->store ? judge_keys(d, config, &d->keyed) : -ENOMEM;
	d->sections = fill_sections(d, config, &d->keyed);
	if (!r)
		r = registry_set_token_files(block_store_registry(d->store), config->token_files);
	if (!r) {
		block_store_set_cache(d->store, config->cache);
		block_store_set_read_ahead(d->store, config->read_ahead);
		block_store_set_handle_memory(d->store, config->handle_memory);
		registry_set_usage(block_store_registry(d->store), usage_of, d);
		r = serve_all(d);
	}
	if (r)
		datanodes_close(d);
	return r;
}

void datanodes_close(struct datanodes *d)
{
	if (d->store)
		block_store_free(d->store);
	keyed_free(&d->keyed);
	pthread_mutex_destroy(&d->lock);
	*d = (struct datanodes){0};
}

/* ---- checking ------------------------------------------------------------------ */

static int check(struct registry *r, const struct config_datanode *n, char **ret_error)
{
	struct registry_disks disks = disks_of(n);

	if (n->layout)
		return registry_add(r, n->name, &disks, n->layout, ret_error);
	return registry_add_data_dirs(r, n->name, &disks, texts(&n->data_dirs), ret_error);
}

/* Whoever may not read an image cannot tell whether vreadd, whose opener may, serves it. */
static void tell_unreadable(const struct config_datanode *n)
{
	for (unsigned i = 0; i < n->images.count; i++) {
		const char *path;

		if (image_spec_split(n->images.path[i], &path) && access(path, R_OK) < 0 &&
		    errno == EACCES)
			log_datanode(LOG_LEVEL_WARN, n->name,
				     "image %s cannot be checked by uid %u, who may not read it: "
				     "run this as root",
				     path, (unsigned)geteuid());
	}
}

/* True if the file system is not read.  state: as in the status. */
static bool tell_filesystem(const char *datanode, const char *state)
{
	if (!strcmp(state, "clean") || !strcmp(state, "live"))
		return false;
	log_datanode(LOG_LEVEL_WARN, datanode, "a file system is not read: %s", state);
	return true;
}

/* True if a part of the datanode, or all of it, is not served.  The rest was logged already. */
static bool is_lacking(const json_t *datanode)
{
	const char *name = json_string_value(json_object_get(datanode, "datanode"));
	bool lacking = json_object_get(datanode, "missing");
	json_t *fs;
	size_t i;

	json_array_foreach(json_object_get(datanode, "filesystems"), i, fs) lacking |=
		tell_filesystem(name, json_string_value(json_object_get(fs, "state")));
	return lacking;
}

/* Waits for the parsers, which answer in bounded time or are killed. */
static json_t *status_now(struct registry *r)
{
	uint64_t question = registry_ask_states(r);
	struct pollfd answered = {.fd = registry_states_fd(r), .events = POLLIN};
	eventfd_t count;

	while (!registry_states_known(r, question) && poll(&answered, 1, CHECK_MS) == 1)
		eventfd_read(answered.fd, &count);
	return registry_status(r, question);
}

static unsigned count_lacking(struct registry *r)
{
	json_t *all = status_now(r), *datanode;
	unsigned lacking = 0;
	size_t i;

	json_array_foreach(all, i, datanode) lacking += is_lacking(datanode);
	json_decref(all);
	return lacking;
}

unsigned datanodes_check(const struct config *config)
{
	struct block_store *store = block_store_new();
	unsigned lacking = 0;

	for (size_t i = 0; store && i < config->num_datanodes; i++) {
		const struct config_datanode *n = &config->datanodes[i];
		char *error = NULL;
		int r = check(block_store_registry(store), n, &error);

		if (r)
			log_event(LOG_EVENT_DATANODE_REFUSED, LOG_LEVEL_ERROR, n->name,
				  "refused: %s", error ? error : strerror(-r));
		lacking += r != 0;
		free(error);
		tell_unreadable(n);
	}
	if (!store)
		log_error("out of memory");
	else
		lacking += count_lacking(block_store_registry(store));
	block_store_free(store);
	return store ? lacking : 1;
}

/* ---- reloading --------------------------------------------------------------- */

static bool same_paths(const struct config_paths *a, const struct config_paths *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (strcmp(a->path[i], b->path[i]) != 0)
			return false;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* True if both are served from the same images, layout and data directories.  With other folders
 * for backing files the images may be others. */
static bool same_places(const struct config_datanode *a, const struct config_datanode *b)
{
	if (!a->layout != !b->layout || (a->layout && strcmp(a->layout, b->layout) != 0))
		return false;
	return same_paths(&a->images, &b->images) && same_paths(&a->data_dirs, &b->data_dirs) &&
	       same_paths(&a->backing_folders, &b->backing_folders);
}

static void note(const struct changes *changes, const char *datanode, bool made, const char *what)
{
	changes_add(changes, made, json_sprintf("[datanode %s]: %s", datanode, what));
}

/* Serves n in the place of old.  old NULL: the datanode is new.  False: nothing was changed. */
static bool replace(struct datanodes *d, const struct config_datanode *old,
		    const struct config_datanode *n, const struct changes *changes)
{
	int r = serve(d, n);

	note(changes, n->name, r == 0,
	     r == -EAGAIN ? "out of threads: nothing was changed; reload to try again"
	     : r          ? "out of memory: nothing was changed; reload to try again"
	     : old        ? "changed"
			  : "added");
	return r == 0;
}

/* Changes the settings of a datanode that is served from the same places as before. */
static void adjust(struct datanodes *d, const struct config_datanode *old,
		   const struct config_datanode *n, const struct changes *changes)
{
	if (old->tokens != n->tokens) {
		registry_set_tokens(block_store_registry(d->store), n->name, n->tokens);
		note(changes, n->name, true, "tokens changed");
	}
	if (!same_text(old->storages, n->storages))
		note(changes, n->name, true, "storages changed");
	if (old->image_mode != n->image_mode) {
		registry_usage_changed(block_store_registry(d->store));
		note(changes, n->name, true, "image-mode changed");
	}
}

static void remove_others(struct datanodes *d, const struct sections *old,
			  const struct sections *now, const struct changes *changes)
{
	for (size_t i = 0; i < old->count; i++) {
		const char *name = old->section[i]->name;

		bool removed;

		if (find(now, name))
			continue;
		removed = registry_remove(block_store_registry(d->store), name) != -ENOMEM;
		note(changes, name, removed,
		     removed ? "removed" : "out of memory: nothing was changed");
	}
}

/* Serves the sections `now` in the place of d->sections, which stay valid. */
static void change_to(struct datanodes *d, struct sections *now, const struct changes *changes)
{
	const struct sections *old = d->sections;

	pthread_mutex_lock(&d->lock);
	d->sections = now;
	pthread_mutex_unlock(&d->lock);
	if (begin_change(d, now))
		changes_add(changes, false,
			    json_string("out of memory: the owners of storages "
					"stay as they were"));
	remove_others(d, old, now, changes);
	for (size_t i = 0; i < now->count; i++) {
		const struct config_datanode *n = now->section[i], *was = find(old, n->name);

		if (!was || has_failed(old, was) || !same_places(was, n))
			now->failed[i] = !replace(d, was, n, changes);
		else
			adjust(d, was, n, changes);
	}
	registry_changed(block_store_registry(d->store));
}

/* Judges the keys beside the configuration, and serves what there is now.  The old configuration
 * must be valid until this returns. */
static void follow(struct datanodes *d, const struct config *config, const struct changes *changes)
{
	struct keyed before = d->keyed, keyed;

	if (judge_keys(d, config, &keyed)) {
		changes_add(changes, false,
			    json_string("out of memory: the datanodes of keys "
					"stay as they were"));
		keyed = before;
		before = (struct keyed){0};
	}
	d->keyed = keyed;
	d->config = config;
	change_to(d, fill_sections(d, config, &keyed), changes);
	keyed_free(&before);
}

void datanodes_follow_keys(struct datanodes *d)
{
	json_t *changes = json_array(), *change;
	size_t i;

	follow(d, d->config, &(struct changes){changes, changes});
	json_array_foreach(changes, i, change) log_info("keys: %s", json_string_value(change));
	json_decref(changes);
}

void datanodes_reload(struct datanodes *d, const struct config *config,
		      const struct changes *changes)
{
	const struct config *old = d->config;

	if (old->read_ahead != config->read_ahead) {
		block_store_set_read_ahead(d->store, config->read_ahead);
		changes_add(changes, true, json_string("[vreadd]: read-ahead changed"));
	}
	if (old->cache != config->cache) {
		block_store_set_cache(d->store, config->cache);
		changes_add(changes, true, json_string("[vreadd]: cache changed"));
	}
	if (old->handle_memory != config->handle_memory) {
		block_store_set_handle_memory(d->store, config->handle_memory);
		changes_add(changes, true,
			    json_string("[vreadd]: handle-memory changed, for "
					"devices that connect from now on"));
	}
	follow(d, config, changes);
}

static void tell_file(const struct datanodes *d, json_t *entry)
{
	const char *name = json_string_value(json_object_get(entry, "datanode"));
	const struct config_datanode *n = name ? find(d->sections, name) : NULL;

	if (n)
		json_object_set_new(entry, "file", json_string(n->file));
}

json_t *datanodes_status(const struct datanodes *d, uint64_t question)
{
	json_t *all = registry_status(block_store_registry(d->store), question), *entry;
	size_t i;

	json_array_foreach(all, i, entry) tell_file(d, entry);
	return all;
}
