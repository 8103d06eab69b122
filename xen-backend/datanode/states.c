// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements states.h: a thread for each question.
 */
#include "datanode/states.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/background.h"

struct states_bell {
	atomic_uint references;
	int fd; /* eventfd */
};

/* What a thread is given. */
struct question {
	struct served *served;
	struct states_bell *bell;
	uint64_t number;
};

struct states_bell *states_bell_new(void)
{
	struct states_bell *bell = calloc(1, sizeof(*bell));

	if (!bell)
		return NULL;
	atomic_init(&bell->references, 1);
	bell->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell->fd >= 0)
		return bell;
	free(bell);
	return NULL;
}

static struct states_bell *bell_get(struct states_bell *bell)
{
	atomic_fetch_add(&bell->references, 1);
	return bell;
}

void states_bell_put(struct states_bell *bell)
{
	if (!bell || atomic_fetch_sub(&bell->references, 1) != 1)
		return;
	close(bell->fd);
	free(bell);
}

int states_bell_fd(const struct states_bell *bell)
{
	return bell->fd;
}

static json_t *state_of(const struct parser_fs *fs)
{
	static const char *const names[] = {"clean", "live", "refused", "unreadable"};
	char *reason;
	enum fs_state state = parser_fs_state(fs, &reason);
	json_t *text = reason && reason[0] ? json_sprintf("%s: %s", names[state], reason)
					   : json_string(names[state]);

	free(reason);
	return text;
}

static json_t *ask_all(const struct served *v)
{
	json_t *states = json_array();

	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		json_array_append_new(states, state_of(&v->fs[i]));
	return states;
}

/* Stores the answer to question `number`. Returns the question asked meanwhile, or 0. */
static uint64_t keep(struct served *v, json_t *states, uint64_t number)
{
	uint64_t next = 0;

	pthread_mutex_lock(&v->datanode->lock);
	json_decref(v->states.texts);
	v->states.texts = states;
	v->states.answered = number;
	if (v->states.asked > number)
		next = v->states.asked;
	else
		v->states.asking = false;
	pthread_mutex_unlock(&v->datanode->lock);
	return next;
}

static void ask(void *arg)
{
	struct question *q = arg;

	while (q->number) {
		q->number = keep(q->served, ask_all(q->served), q->number);
		eventfd_write(q->bell->fd, 1);
	}
	served_put(q->served);
	states_bell_put(q->bell);
	free(q);
}

/* Returns true if a thread must be started. */
static bool note_question(struct served *v, uint64_t number)
{
	bool start;

	pthread_mutex_lock(&v->datanode->lock);
	start = !v->states.asking;
	v->states.asking = true;
	if (v->states.asked < number)
		v->states.asked = number;
	pthread_mutex_unlock(&v->datanode->lock);
	return start;
}

void states_ask(struct served *v, struct states_bell *bell, uint64_t number)
{
	struct question *q;

	if (!note_question(v, number))
		return;
	q = malloc(sizeof(*q));
	if (q) {
		*q = (struct question){served_get(v), bell_get(bell), number};
		if (!background_start(ask, q))
			return;
		served_put(q->served);
		states_bell_put(q->bell);
		free(q);
	}
	pthread_mutex_lock(&v->datanode->lock);
	v->states.asking = false;
	pthread_mutex_unlock(&v->datanode->lock);
}

bool states_known(struct served *v, uint64_t number)
{
	bool known;

	pthread_mutex_lock(&v->datanode->lock);
	known = v->states.answered >= number;
	pthread_mutex_unlock(&v->datanode->lock);
	return known;
}

json_t *states_answer(struct served *v, uint64_t number)
{
	json_t *texts = NULL;

	pthread_mutex_lock(&v->datanode->lock);
	if (v->states.answered >= number)
		texts = json_incref(v->states.texts);
	pthread_mutex_unlock(&v->datanode->lock);
	return texts;
}
