// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements key_agent.h. */
#include "policy/key_agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shortage.h"

#define ANSWER_MS 10000U /* limit of an answer */
#define START_MS 60000U  /* limit of a start, on a very busy host */

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER; /* held from question to answer */
static int channel = -1;
static atomic_bool usable; /* there is an agent, and it has not ended */

/* TO_FORGET: the channel had no room to say that its keys are to be wiped. */
enum slot_state { FREE, TAKEN, TO_FORGET };

static pthread_mutex_t slots = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static uint8_t state[KEY_AGENT_SLOTS] = {[KEY_AGENT_NO_KEYS] = TAKEN};
static unsigned num_to_forget;

/* ---- messages ---------------------------------------------------------------------- */

/* Never waits.  -EAGAIN: the channel has no room. */
static int try_to_send(const struct key_agent_request *q, const void *bytes, size_t length)
{
	struct iovec parts[2] = {{(void *)q, sizeof(*q)}, {(void *)bytes, length}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	do
		n = sendmsg(channel, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int wait_for(short event, uint64_t until)
{
	struct pollfd fd = {.fd = channel, .events = event};
	int n = clock_poll(&fd, 1, until);

	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

static int send_request(const struct key_agent_request *q, const void *bytes, size_t length,
			uint64_t until)
{
	int r = try_to_send(q, bytes, length);

	while (r == -EAGAIN) {
		r = wait_for(POLLOUT, until);
		if (r == 0)
			r = try_to_send(q, bytes, length);
	}
	return r;
}

static int receive_answer(struct key_agent_answer *ret, uint64_t until)
{
	int r = wait_for(POLLIN, until);
	ssize_t n;

	if (r < 0)
		return r;
	do
		n = recv(channel, ret, sizeof(*ret), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(*ret) ? 0 : -EBADMSG;
}

/* ---- slots ------------------------------------------------------------------------- */

/* Returns a slot in that state, or KEY_AGENT_SLOTS.  Call it with the lock held. */
static uint32_t find_slot(enum slot_state wanted)
{
	uint32_t i = 0;

	while (i < KEY_AGENT_SLOTS && state[i] != wanted)
		i++;
	return i;
}

static void set_state(uint32_t slot, enum slot_state to)
{
	pthread_mutex_lock(&slots);
	num_to_forget += (to == TO_FORGET) - (state[slot] == TO_FORGET);
	state[slot] = (uint8_t)to;
	pthread_mutex_unlock(&slots);
}

int key_agent_take_slot(uint32_t *ret)
{
	pthread_mutex_lock(&slots);
	*ret = find_slot(FREE);
	if (*ret < KEY_AGENT_SLOTS)
		state[*ret] = TAKEN;
	pthread_mutex_unlock(&slots);
	return *ret < KEY_AGENT_SLOTS ? 0 : -EMFILE;
}

void key_agent_give_slot(uint32_t slot)
{
	const struct key_agent_request q = {.kind = KEY_AGENT_FORGET, .slot = slot};

	if (slot == KEY_AGENT_NO_KEYS)
		return;
	set_state(slot,
		  atomic_load(&usable) && try_to_send(&q, NULL, 0) == -EAGAIN ? TO_FORGET : FREE);
}

/* Says what the channel had no room for. */
static int forget_the_rest(uint64_t until)
{
	struct key_agent_request q = {.kind = KEY_AGENT_FORGET};
	int r = 0;

	while (r == 0) {
		pthread_mutex_lock(&slots);
		q.slot = num_to_forget ? find_slot(TO_FORGET) : KEY_AGENT_SLOTS;
		pthread_mutex_unlock(&slots);
		if (q.slot == KEY_AGENT_SLOTS)
			break;
		r = send_request(&q, NULL, 0, until);
		if (r == 0)
			set_state(q.slot, FREE);
	}
	return r;
}

/* ---- the agent --------------------------------------------------------------------- */

static void free_forgotten(void)
{
	pthread_mutex_lock(&slots);
	for (uint32_t i = 0; i < KEY_AGENT_SLOTS; i++)
		if (state[i] == TO_FORGET)
			state[i] = FREE;
	num_to_forget = 0;
	pthread_mutex_unlock(&slots);
}

/* An answer that came later would be taken for that of the next question.  So the agent ends, and
 * its keys with it. */
static void end(void)
{
	if (!atomic_exchange(&usable, false))
		return;
	shutdown(channel, SHUT_RDWR);
	free_forgotten();
}

static int ask(const struct key_agent_request *q, const void *bytes, size_t length,
	       struct key_agent_answer *ret)
{
	uint64_t until;
	int r = 0;

	pthread_mutex_lock(&asking);
	until = clock_ms() + ANSWER_MS;
	if (!atomic_load(&usable))
		r = -EPIPE;
	if (r == 0)
		r = forget_the_rest(until);
	if (r == 0)
		r = send_request(q, bytes, length, until);
	if (r < 0 && !is_shortage(r)) /* in a shortage nothing was sent */
		end();
	if (r == 0) {
		r = receive_answer(ret, until);
		if (r < 0)
			end();
	}
	pthread_mutex_unlock(&asking);
	return r;
}

int key_agent_use(int given)
{
	struct key_agent_answer ready;
	int r;

	channel = given;
	r = receive_answer(&ready, clock_ms() + START_MS);
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
	*ret = (struct key_facts){a.count, a.newest, {0}};
	memcpy(ret->number, a.number, a.count * sizeof(a.number[0]));
	return 0;
}

enum token_verdict key_agent_judge(uint32_t slot, const char *pool_id, int64_t block_id,
				   const void *token, size_t length, uint64_t *ret_number)
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
	if (ask(&q, token, length, &a) < 0 || a.result < 0 || a.result >= TOKEN_NOT_JUDGED ||
	    (a.result == TOKEN_VALID && !a.number[0]))
		return TOKEN_NOT_JUDGED;
	if (a.result == TOKEN_VALID)
		*ret_number = a.number[0];
	return (enum token_verdict)a.result;
}
