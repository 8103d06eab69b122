// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peerctl: peer/peer.h behind a line protocol, as a host that asks others.  tests/support/peers.py
 * runs it.
 *
 *   peerctl CONFIG [POOL-BYTES]
 *
 * then on stdin, one per line.  TAG is any word.  A command with a TAG is answered when it ends,
 * whatever other commands are under way:
 *   policy DATANODES|* POOLS|*                        ("-" for none, commas between names)
 *   open TAG POOL ID GENSTAMP VISIBLE [STORAGE ...]   -> TAG ok HANDLE LENGTH GENSTAMP FLAGS
 *   encrypted TAG POOL ...    as open; the bytes must come encrypted
 *   mac TAG POOL ...          as open; the bytes must come encrypted or with a MAC
 *   read TAG HANDLE OFFSET PLACE LENGTH               -> TAG ok N CRC32C
 *   stat TAG HANDLE                                   -> TAG ok LENGTH GENSTAMP FLAGS
 *   close HANDLE
 *   move STORAGE HOST|-                               -> move ok
 *   fill                                              fills the pool with FILL
 *   bytes PLACE LENGTH                                -> bytes ok N, then N bytes of the pool
 *   pool N                                            uses the N-th pool from now on, at first 0;
 *                                                     all pools have the same memory
 *   stop                                              peer_pool_stop() of that pool
 *   status                                            -> status ok JSON
 *   reload                                            reads CONFIG -> reload ok JSON, the changes
 *
 * Failures: "TAG error ERRNO-NAME".
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "control/config.h"
#include "peer/peer.h"
#include "policy/policy.h"

#define MAX_HANDLES 1024
#define POOLS 4
#define FILL 0xa5

static const char *config_path;
static struct block_store *store;
static struct peers *peers;
static struct peer_pool *guests[POOLS];
static unsigned current; /* index of the pool in use */
static struct policy *policy;
static uint8_t *memory;
static size_t memory_length = 16U << 20;
static struct peer_handle *handles[MAX_HANDLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of handles, stdout and the next two */
static pthread_cond_t quiet = PTHREAD_COND_INITIALIZER;
static unsigned under_way;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void fail(const char *tag, int error)
{
	pthread_mutex_lock(&lock);
	say("%s error %s", tag, strerrorname_np(-error));
	pthread_mutex_unlock(&lock);
}

/* ---- what was begun -------------------------------------------------------------------- */

static void *begin(const char *tag)
{
	pthread_mutex_lock(&lock);
	under_way++;
	pthread_mutex_unlock(&lock);
	return strdup(tag);
}

static void told(char *tag)
{
	free(tag);
	if (--under_way == 0)
		pthread_cond_signal(&quiet);
}

/* error: returned when the operation was begun. */
static void begun(char *tag, int error)
{
	if (!error)
		return;
	fail(tag, error);
	pthread_mutex_lock(&lock);
	told(tag);
	pthread_mutex_unlock(&lock);
}

static void on_open(void *tag, int result, struct peer_handle *handle,
		    const struct block_info *info)
{
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (handles[i])
		i++;
	if (result == 0) {
		handles[i] = handle;
		say("%s ok %u %" PRIu64 " %" PRIu64 " %u", (char *)tag, i, info->length,
		    info->genstamp, info->flags);
	} else {
		say("%s error %s", (char *)tag, strerrorname_np(-result));
	}
	told(tag);
	pthread_mutex_unlock(&lock);
}

static void on_read(void *tag, ssize_t result, uint32_t crc32c)
{
	pthread_mutex_lock(&lock);
	if (result >= 0)
		say("%s ok %zd %" PRIu32, (char *)tag, result, crc32c);
	else
		say("%s error %s", (char *)tag, strerrorname_np((int)-result));
	told(tag);
	pthread_mutex_unlock(&lock);
}

static void on_stat(void *tag, int result, const struct block_info *info)
{
	pthread_mutex_lock(&lock);
	if (result == 0)
		say("%s ok %" PRIu64 " %" PRIu64 " %u", (char *)tag, info->length, info->genstamp,
		    info->flags);
	else
		say("%s error %s", (char *)tag, strerrorname_np(-result));
	told(tag);
	pthread_mutex_unlock(&lock);
}

/* ---- commands ---------------------------------------------------------------------------- */

static void set_policy(char *datanodes, char *pools)
{
	const char *error;

	for (char *c = datanodes; *c; c++)
		*c = *c == ',' ? ' ' : *c;
	policy_free(policy);
	policy = policy_new(POLICY_CLIENT, strcmp(datanodes, "-") ? datanodes : NULL,
			    strcmp(pools, "-") ? pools : NULL, &error);
}

static void do_open(char **word, unsigned n)
{
	struct block_name name = {
		.pool_id = word[2],
		.block_id = strtoll(word[3], NULL, 10),
		.genstamp = strtoull(word[4], NULL, 10),
		.visible_length = strtoull(word[5], NULL, 10),
		.storage_ids = (const char *const *)word + 6,
		.num_storages = n - 6,
	};
	char *tag = begin(word[1]);

	name.encrypt = word[0][0] == 'e';
	name.mac = word[0][0] == 'm';
	begun(tag, peer_open(peers, guests[current], policy, &name, on_open, tag));
}

static struct peer_handle *handle(const char *word)
{
	unsigned long i = strtoul(word, NULL, 10);
	struct peer_handle *h;

	if (i >= MAX_HANDLES)
		return NULL;
	pthread_mutex_lock(&lock);
	h = handles[i];
	pthread_mutex_unlock(&lock);
	return h;
}

static void do_read(char **word, struct peer_handle *h)
{
	char *tag = begin(word[1]);

	begun(tag, peer_read(h, strtoull(word[3], NULL, 10), strtoull(word[4], NULL, 10),
			     (uint32_t)strtoul(word[5], NULL, 10), on_read, tag));
}

static void do_stat(char **word, struct peer_handle *h)
{
	char *tag = begin(word[1]);

	begun(tag, peer_stat(h, on_stat, tag));
}

static void do_close(const char *word)
{
	struct peer_handle *h = handle(word);

	if (!h)
		return;
	pthread_mutex_lock(&lock);
	handles[strtoul(word, NULL, 10)] = NULL;
	pthread_mutex_unlock(&lock);
	peer_close(h);
}

static void do_move(const char *storage, const char *host)
{
	int r = peers_move(peers, storage, strcmp(host, "-") ? host : NULL);

	pthread_mutex_lock(&lock);
	if (r)
		say("move error %s", strerrorname_np(-r));
	else
		say("move ok");
	pthread_mutex_unlock(&lock);
}

static void do_bytes(size_t place, size_t length)
{
	if (place > memory_length || length > memory_length - place) {
		fail("bytes", -EINVAL);
		return;
	}
	pthread_mutex_lock(&lock);
	say("bytes ok %zu", length);
	fwrite(memory + place, 1, length, stdout);
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

static void do_status(void)
{
	json_t *status = peers_status(peers);
	char *text = json_dumps(status, JSON_COMPACT);

	pthread_mutex_lock(&lock);
	say("status ok %s", text);
	pthread_mutex_unlock(&lock);
	free(text);
	json_decref(status);
}

static struct config *load(const char *path)
{
	struct config *config = NULL;
	json_t *problems = NULL, *problem;
	size_t i;

	config_load(path, &config, &problems);
	json_array_foreach(problems, i, problem) config_problem_print(stderr, problem, "");
	json_decref(problems);
	return config;
}

static void do_reload(void)
{
	struct config *config = load(config_path);
	json_t *changes = json_array();
	char *text;

	if (!config) {
		fail("reload", -EINVAL);
		return;
	}
	peers_reload(peers, &config->peers, &(struct changes){changes, changes});
	config_free(config);
	text = json_dumps(changes, JSON_COMPACT);
	pthread_mutex_lock(&lock);
	say("reload ok %s", text);
	pthread_mutex_unlock(&lock);
	free(text);
	json_decref(changes);
}

static unsigned split(char *line, char **word, unsigned max)
{
	unsigned n = 0;

	for (char *w = strtok(line, " \n"); w && n < max; w = strtok(NULL, " \n"))
		word[n++] = w;
	return n;
}

static void run(char *line)
{
	char *word[80];
	unsigned n = split(line, word, 80);
	struct peer_handle *h = n > 2 ? handle(word[2]) : NULL;

	if (n == 3 && !strcmp(word[0], "policy"))
		set_policy(word[1], word[2]);
	else if (n >= 6 && (!strcmp(word[0], "open") || !strcmp(word[0], "encrypted") ||
			    !strcmp(word[0], "mac")))
		do_open(word, n);
	else if (n == 6 && h && !strcmp(word[0], "read"))
		do_read(word, h);
	else if (n == 3 && h && !strcmp(word[0], "stat"))
		do_stat(word, h);
	else if (n == 2 && !strcmp(word[0], "close"))
		do_close(word[1]);
	else if (n == 3 && !strcmp(word[0], "move"))
		do_move(word[1], word[2]);
	else if (n == 1 && !strcmp(word[0], "fill"))
		memset(memory, FILL, memory_length);
	else if (n == 3 && !strcmp(word[0], "bytes"))
		do_bytes(strtoull(word[1], NULL, 10), strtoull(word[2], NULL, 10));
	else if (n == 1 && !strcmp(word[0], "stop"))
		peer_pool_stop(guests[current]);
	else if (n == 2 && !strcmp(word[0], "pool"))
		current = (unsigned)strtoul(word[1], NULL, 10) % POOLS;
	else if (n == 1 && !strcmp(word[0], "status"))
		do_status();
	else if (n == 1 && !strcmp(word[0], "reload"))
		do_reload();
	else
		fail(n > 1 ? word[1] : "?", -EBADF);
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int start(const struct config *config)
{
	char *error = NULL;
	int r;

	store = block_store_new();
	memory = malloc(memory_length);
	memset(memory, FILL, memory_length);
	r = peers_new(&config->peers, store, &peers, &error);
	if (!r)
		r = peers_start(peers, NULL, &error);
	for (unsigned i = 0; !r && i < POOLS; i++)
		r = peer_pool_new(peers, memory, memory_length, &guests[i]);
	if (r)
		fprintf(stderr, "%s\n", error ? error : strerror(-r));
	free(error);
	return r;
}

/* Stops as a session does: waits until no operation is under way, then frees everything. */
static void stop(void)
{
	if (guests[POOLS - 1]) {
		for (unsigned i = 0; i < POOLS; i++)
			peer_pool_stop(guests[i]);
		pthread_mutex_lock(&lock);
		while (under_way)
			pthread_cond_wait(&quiet, &lock);
		pthread_mutex_unlock(&lock);
		for (unsigned i = 0; i < MAX_HANDLES; i++)
			if (handles[i])
				peer_close(handles[i]);
		for (unsigned i = 0; i < POOLS; i++)
			peer_pool_free(guests[i]);
	}
	free(memory);
	peers_free(peers);
	block_store_free(store);
	policy_free(policy);
}

int main(int argc, char **argv)
{
	static char line[16384];
	struct config *config = clock_start() == 0 && argc > 1 ? load(argv[1]) : NULL;
	const char *error;
	int r;

	if (!config)
		return 2;
	if (argc > 2)
		memory_length = strtoull(argv[2], NULL, 10);
	config_path = argv[1];
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_DEBUG);
	policy = policy_new(POLICY_CLIENT, "*", "*", &error);
	r = start(config);
	if (!r)
		say("ready");
	while (!r && fgets(line, sizeof(line), stdin))
		run(line);
	stop();
	config_free(config);
	return r ? 1 : 0;
}
