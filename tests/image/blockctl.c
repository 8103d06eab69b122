// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blockctl - vreadd's block and image code behind a line protocol. Tests can change an image
 * between two steps of a read. tests/support/disk.py runs it.
 *
 *   blockctl DATANODE=IMAGE[+IMAGE...]:LAYOUT|DATANODE=IMAGE[+IMAGE...],DIR,DIR ...
 *
 * Commands on stdin, one a line:
 *   policy DATANODES|* POOLS|* UNNAMED|*   ("-" for none)
 *   open POOL ID GENSTAMP VISIBLE [STORAGE ...]  -> ok HANDLE LENGTH GENSTAMP FLAGS
 *   read HANDLE OFFSET LENGTH              -> ok N, then N bytes
 *   stat HANDLE                            -> ok LENGTH GENSTAMP FLAGS
 *   close HANDLE                           -> ok
 *   list                                   -> ok JSON
 *   status                                 -> ok JSON
 *   look                                   -> ok, after all images were examined again
 *   storage ID                             -> ok DATANODE ...: the datanodes that have it
 *
 * A failure is answered with "error ERRNO-NAME". For a failed read, "exposed N" follows: how many
 * bytes of the destination changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "read/block.h"
#include "read/checksum.h"
#include "read/read_private.h"
#include "datanode/list.h"
#include "datanode/refresh.h"
#include "datanode/datanode.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "policy/policy.h"

#define MAX_HANDLES 64
#define MAX_LENGTH (8U << 20)
#define FILL 0xa5

static struct block_store *store;
static struct policy *policy;
static struct block_handle *handles[MAX_HANDLES];
static uint8_t buffer[MAX_LENGTH];

static void fail(int error)
{
	printf("error %s\n", strerrorname_np(-error));
}

static void set_policy(char *datanodes, char *pools, char *unnamed)
{
	const char *error = NULL;

	policy_free(policy);
	policy = policy_new(POLICY_CLIENT, strcmp(datanodes, "-") ? datanodes : NULL,
			    strcmp(pools, "-") ? pools : NULL, &error);
	if (policy && strcmp(unnamed, "-") != 0)
		error = policy_set_unnamed(policy, unnamed);
	puts(policy && !error ? "ok" : error);
}

static unsigned split(char *line, char **word, unsigned max)
{
	unsigned n = 0;

	for (char *w = strtok(line, " \n"); w && n < max; w = strtok(NULL, " \n"))
		word[n++] = w;
	return n;
}

static void do_open(char **word, unsigned n)
{
	struct block_name name = {
		.pool_id = word[1],
		.block_id = strtoll(word[2], NULL, 10),
		.genstamp = strtoull(word[3], NULL, 10),
		.visible_length = strtoull(word[4], NULL, 10),
		.storage_ids = (const char *const *)word + 5,
		.num_storages = n - 5,
	};
	struct block_info info;
	unsigned slot = 0;
	int r;

	while (slot < MAX_HANDLES && handles[slot])
		slot++;
	if (slot == MAX_HANDLES) {
		fail(-EMFILE);
		return;
	}
	r = block_open(store, policy, &name, &handles[slot], &info);
	if (r < 0)
		fail(r);
	else
		printf("ok %u %" PRIu64 " %" PRIu64 " %u\n", slot, info.length, info.genstamp,
		       info.flags);
}

static struct block_handle *handle(const char *word)
{
	unsigned long slot = strtoul(word, NULL, 10);

	return slot < MAX_HANDLES ? handles[slot] : NULL;
}

static void report_exposed(uint32_t from, uint32_t length)
{
	uint32_t changed = 0;

	for (uint32_t i = from; i < length; i++)
		changed += buffer[i] != FILL;
	printf("exposed %u\n", changed);
}

static void do_read(struct block_handle *h, uint64_t offset, uint32_t length)
{
	uint32_t sum;
	ssize_t r;

	if (length > sizeof(buffer)) {
		fail(-EINVAL);
		return;
	}
	memset(buffer, FILL, length);
	r = block_read(h, offset, buffer, length, &sum);
	if (r < 0) {
		printf("error %s ", strerrorname_np((int)-r));
		report_exposed(0, length);
		return;
	}
	if (sum != checksum_crc32c(buffer, (size_t)r)) {
		fprintf(stderr, "the CRC32C of a read is not that of its bytes\n");
		abort();
	}
	printf("ok %zd\n", r);
	fwrite(buffer, 1, (size_t)r, stdout);
}

static void do_stat(struct block_handle *h)
{
	struct block_info info;
	int r = block_stat(h, &info);

	if (r < 0)
		fail(r);
	else
		printf("ok %" PRIu64 " %" PRIu64 " %u\n", info.length, info.genstamp, info.flags);
}

static int add_listing(void *ctx, const struct block_listing *b)
{
	json_array_append_new(ctx,
			      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s, s:s*}",
					"datanode", b->datanode, "storage", b->storage_id, "pool",
					b->pool_id, "id", (json_int_t)b->block_id, "genstamp",
					(json_int_t)b->genstamp, "length", (json_int_t)b->length,
					"finalized", (int)b->finalized, "status",
					b->status ? strerrorname_np(-b->status) : "ok", "problem",
					b->problem));
	return 0;
}

static void print_json(json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);

	printf("ok %s\n", text);
	free(text);
	json_decref(value);
}

static void do_list(void)
{
	json_t *array = json_array();
	int r = registry_list(block_store_registry(store), add_listing, array);

	if (r == 0) {
		print_json(array);
		return;
	}
	json_decref(array);
	fail(r);
}

static void do_look(void)
{
	struct roster *all = registry_roster(block_store_registry(store));

	for (unsigned i = 0; i < all->count; i++)
		refresh_look(all->datanode[i]);
	roster_put(all);
	puts("ok");
}

static int print_name(void *ctx, struct datanode *dn)
{
	(void)ctx;
	printf(" %s", datanode_name(dn));
	return 0;
}

static void do_storage(const char *id)
{
	fputs("ok", stdout);
	registry_find_storage(block_store_registry(store), id, print_name, NULL);
	putchar('\n');
}

static void do_status(void)
{
	struct registry *r = block_store_registry(store);
	uint64_t question = registry_ask_states(r);
	struct pollfd answer = {.fd = registry_states_fd(r), .events = POLLIN};
	eventfd_t count;

	while (!registry_states_known(r, question) && poll(&answer, 1, -1) >= 0)
		eventfd_read(answer.fd, &count);
	print_json(registry_status(r, question));
}

static void run(char *line)
{
	char *word[80];
	unsigned n = split(line, word, 80);
	struct block_handle *h = n > 1 ? handle(word[1]) : NULL;

	if (n == 4 && !strcmp(word[0], "policy"))
		set_policy(word[1], word[2], word[3]);
	else if (n >= 5 && !strcmp(word[0], "open"))
		do_open(word, n);
	else if (n == 4 && h && !strcmp(word[0], "read"))
		do_read(h, strtoull(word[2], NULL, 10), (uint32_t)strtoul(word[3], NULL, 10));
	else if (n == 2 && h && !strcmp(word[0], "stat"))
		do_stat(h);
	else if (n == 2 && h && !strcmp(word[0], "close")) {
		block_close(h);
		handles[strtoul(word[1], NULL, 10)] = NULL;
		puts("ok");
	} else if (n == 1 && !strcmp(word[0], "list"))
		do_list();
	else if (n == 1 && !strcmp(word[0], "status"))
		do_status();
	else if (n == 1 && !strcmp(word[0], "look"))
		do_look();
	else if (n == 2 && !strcmp(word[0], "storage"))
		do_storage(word[1]);
	else
		fail(-EBADF);
	fflush(stdout);
}

/* Splits "IMAGE+IMAGE". */
static struct registry_texts split_images(char *images, const char *list[LAYOUT_MAX_IMAGES])
{
	unsigned n = 0;

	for (char *i = strtok(images, "+"); i && n < LAYOUT_MAX_IMAGES; i = strtok(NULL, "+"))
		list[n++] = i;
	return (struct registry_texts){list, n};
}

static int add_by_layout(const char *name, char *images, char **ret_error)
{
	const char *list[LAYOUT_MAX_IMAGES];
	char *layout = strrchr(images, ':');
	struct registry_disks disks = {0};

	if (!layout)
		return -EINVAL;
	*layout++ = '\0';
	disks.images = split_images(images, list);
	return registry_add(block_store_registry(store), name, &disks, layout, ret_error);
}

static int add_by_data_dirs(const char *name, char *images, char **ret_error)
{
	const char *dirs[LAYOUT_MAX_DATA_DIRS], *list[LAYOUT_MAX_IMAGES];
	struct registry_disks disks = {0};
	unsigned n = 0;
	char *dir;

	strtok(images, ",");
	while (n < LAYOUT_MAX_DATA_DIRS && (dir = strtok(NULL, ",")))
		dirs[n++] = dir;
	disks.images = split_images(images, list);
	return registry_add_data_dirs(block_store_registry(store), name, &disks,
				      (struct registry_texts){dirs, n}, ret_error);
}

static int add(char *argument)
{
	char *image = strchr(argument, '=');
	char *error = NULL;
	int r;

	if (!image) {
		fprintf(stderr,
			"blockctl: expected DATANODE=IMAGE:LAYOUT or DATANODE=IMAGE,DIR, not %s\n",
			argument);
		return 2;
	}
	*image++ = '\0';
	r = (strchr(image, ',') ? add_by_data_dirs : add_by_layout)(argument, image, &error);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", strerrorname_np(-r), error);
	free(error);
	return r < 0;
}

int main(int argc, char **argv)
{
	static char line[16384];
	const char *error;
	int status = 0;

	log_set_level(LOG_LEVEL_WARN);
	status = clock_start();
	store = block_store_new();
	policy = policy_new(POLICY_CLIENT, "*", "*", &error);
	for (int i = 1; i < argc && status == 0; i++)
		status = add(argv[i]);
	if (status == 0)
		puts("ready");
	fflush(stdout);
	while (status == 0 && fgets(line, sizeof(line), stdin))
		run(line);
	for (unsigned i = 0; i < MAX_HANDLES; i++)
		block_close(handles[i]);
	policy_free(policy);
	block_store_free(store);
	return status;
}
