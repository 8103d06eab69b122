// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements key_agent.h. */
#include "policy/key_agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

#define ANSWER_MS 10000U /* limit of an answer */

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER; /* held from question to answer */
static int channel = -1, process = -1;
static atomic_bool usable; /* there is an agent, and it has not ended */

static pthread_mutex_t slots = PTHREAD_MUTEX_INITIALIZER; /* guards the next */
static bool taken[KEY_AGENT_SLOTS] = {[KEY_AGENT_NO_KEYS] = true};

/* ---- messages ---------------------------------------------------------------------- */

static int send_request(const struct key_agent_request *q, const void *bytes, size_t length,
			int flags)
{
	struct iovec parts[2] = {{(void *)q, sizeof(*q)}, {(void *)bytes, length}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	do
		n = sendmsg(channel, &m, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int receive_answer(struct key_agent_answer *ret)
{
	struct pollfd answer = {.fd = channel, .events = POLLIN};
	int ready = clock_poll(&answer, 1, clock_ms() + ANSWER_MS);
	ssize_t n;

	if (ready <= 0)
		return ready < 0 ? -errno : -ETIMEDOUT;
	do
		n = recv(channel, ret, sizeof(*ret), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(*ret) ? 0 : -EBADMSG;
}

/* An answer that came later would be taken for that of the next question.  So the agent ends. */
static void end(void)
{
	if (!atomic_exchange(&usable, false))
		return;
	shutdown(channel, SHUT_RDWR);
	syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
}

static int ask(const struct key_agent_request *q, const void *bytes, size_t length,
	       struct key_agent_answer *ret)
{
	int r = 0;

	pthread_mutex_lock(&asking);
	if (!atomic_load(&usable))
		r = -EPIPE;
	if (r == 0)
		r = send_request(q, bytes, length, 0);
	if (r == 0)
		r = receive_answer(ret);
	if (r < 0)
		end();
	pthread_mutex_unlock(&asking);
	return r;
}

/* ---- the agent --------------------------------------------------------------------- */

int key_agent_use(int given, int agent)
{
	struct key_agent_answer ready;
	int r;

	channel = given;
	process = agent;
	r = receive_answer(&ready);
	if (r == 0 && ready.result != 0)
		r = -EBADMSG;
	atomic_store(&usable, r == 0);
	return r;
}

/* The channel stays open: somebody may be about to ask. */
void key_agent_end(void)
{
	end();
}

/* ---- slots ------------------------------------------------------------------------- */

int key_agent_take_slot(uint32_t *ret)
{
	int r = -EMFILE;

	pthread_mutex_lock(&slots);
	for (uint32_t i = 0; r < 0 && i < KEY_AGENT_SLOTS; i++) {
		if (taken[i])
			continue;
		taken[i] = true;
		*ret = i;
		r = 0;
	}
	pthread_mutex_unlock(&slots);
	return r;
}

/* If the channel is full, the agent does not read, and is about to be killed with its keys. */
void key_agent_give_slot(uint32_t slot)
{
	const struct key_agent_request q = {.kind = KEY_AGENT_FORGET, .slot = slot};

	if (slot == KEY_AGENT_NO_KEYS)
		return;
	if (atomic_load(&usable))
		send_request(&q, NULL, 0, MSG_DONTWAIT);
	pthread_mutex_lock(&slots);
	taken[slot] = false;
	pthread_mutex_unlock(&slots);
}

/* ---- questions --------------------------------------------------------------------- */

int key_agent_keys(uint32_t slot, const void *raw, size_t length, struct key_facts *ret)
{
	const struct key_agent_request q = {.kind = KEY_AGENT_KEYS, .slot = slot};
	struct key_agent_answer a;

	if (length > KEY_AGENT_MAX_BYTES)
		return -EINVAL;
	if (ask(&q, raw, length, &a) < 0)
		return -EIO;
	if (a.result < 0 || a.count > VREAD_MAX_KEYS)
		return a.result == -EINVAL ? -EINVAL : -EIO;
	*ret = (struct key_facts){a.count, a.newest};
	return 0;
}

enum token_verdict key_agent_judge(uint32_t slot, const char *pool_id, int64_t block_id,
				   const void *token, size_t length)
{
	struct key_agent_request q = {.kind = KEY_AGENT_JUDGE, .slot = slot, .block_id = block_id};
	struct key_agent_answer a;

	if (length == 0)
		return TOKEN_MISSING;
	if (length > VREAD_MAX_TOKEN)
		return TOKEN_MALFORMED;
	if (strlen(pool_id) > VREAD_MAX_POOL_ID)
		return TOKEN_OF_ANOTHER_BLOCK;
	strcpy(q.pool_id, pool_id);
	if (ask(&q, token, length, &a) < 0 || a.result < 0 || a.result >= TOKEN_NOT_JUDGED)
		return TOKEN_NOT_JUDGED;
	return (enum token_verdict)a.result;
}
