/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_agent.h - the key agent of a unit test: the code of vread-key-agent, in a thread.
 *
 * Call own_agent_start() once, before keys are given, and own_agent_end() when the test ends.
 */
#ifndef VREAD_TEST_OWN_AGENT_H
#define VREAD_TEST_OWN_AGENT_H

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "key-agent/answer.h"
#include "key-agent/token.h"
#include "policy/key_agent.h"
#include "policy/tokens.h"

static struct {
	pthread_t thread;
	int pair[2];
} own_agent;

static inline void *own_agent_run(void *arg)
{
	(void)arg;
	assert(answer_ready(own_agent.pair[1]) == 0);
	answer_requests(own_agent.pair[1]);
	return NULL;
}

static inline int own_agent_start(void **state)
{
	(void)state;
	if (answer_prepare() < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, own_agent.pair) < 0 ||
	    pthread_create(&own_agent.thread, NULL, own_agent_run, NULL))
		return -1;
	return key_agent_use(own_agent.pair[0]);
}

static inline int own_agent_end(void **state)
{
	(void)state;
	key_agent_end();
	pthread_join(own_agent.thread, NULL);
	close(own_agent.pair[0]);
	close(own_agent.pair[1]);
	return 0;
}

/* As tokens_take(), with keys that are not yet packed. */
static inline int own_agent_take(struct tokens *t, const char *pool_id, bool on,
				 const struct token_keys *keys)
{
	uint8_t raw[KEY_AGENT_MAX_BYTES];
	size_t length = 0;

	for (unsigned i = 0; i < keys->count; i++) {
		const struct token_key *key = &keys->key[i];
		const struct vread_key header = {key->id, key->algorithm, key->length, 0,
						 key->expiry};

		memcpy(raw + length, &header, sizeof(header));
		memcpy(raw + length + sizeof(header), key->bytes, key->length);
		length += sizeof(header) + key->length;
	}
	return tokens_take(t, pool_id, on, raw, length);
}

#endif
