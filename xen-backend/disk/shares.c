// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares of a disk for read-ahead; see shares.h.  read/ahead.c calls it.
 *
 * The list has one member per client and disk.  The list is as long as there are clients that read
 * from a disk at the moment, and is searched once per some hundred KiB.
 */
#include "disk/shares.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

struct member {
	struct member *next;
	dev_t disk;
	const void *client;
	unsigned streams;
};

struct shares {
	pthread_mutex_t lock;
	struct member *members;
};

struct shares *shares_new(void)
{
	struct shares *s = calloc(1, sizeof(*s));

	if (s)
		pthread_mutex_init(&s->lock, NULL);
	return s;
}

void shares_free(struct shares *s)
{
	if (!s)
		return;
	for (struct member *m = s->members, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Returns the pointer to the member, or the NULL pointer at the end of the list. */
static struct member **find(struct shares *s, dev_t disk, const void *client)
{
	struct member **p = &s->members;

	while (*p && !((*p)->disk == disk && (*p)->client == client))
		p = &(*p)->next;
	return p;
}

int shares_join(struct shares *s, dev_t disk, const void *client)
{
	struct member **p;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	p = find(s, disk, client);
	if (!*p) {
		*p = calloc(1, sizeof(**p));
		if (*p)
			**p = (struct member){.disk = disk, .client = client};
	}
	if (*p)
		(*p)->streams++;
	else
		r = -ENOMEM;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void shares_leave(struct shares *s, dev_t disk, const void *client)
{
	struct member **p, *gone;

	pthread_mutex_lock(&s->lock);
	p = find(s, disk, client);
	gone = *p;
	if (gone && --gone->streams == 0) {
		*p = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&s->lock);
}

static unsigned clients_of(const struct shares *s, dev_t disk)
{
	unsigned n = 0;

	for (const struct member *m = s->members; m; m = m->next)
		n += m->disk == disk;
	return n;
}

uint64_t shares_window(struct shares *s, dev_t disk, const void *client, uint64_t window)
{
	struct member *m;
	uint64_t share = 0;

	pthread_mutex_lock(&s->lock);
	m = *find(s, disk, client);
	if (m) {
		share = SHARES_MOST / clients_of(s, disk);
		if (share < SHARES_LEAST)
			share = SHARES_LEAST;
		if (share > window)
			share = window;
		share /= m->streams;
	}
	pthread_mutex_unlock(&s->lock);
	return share;
}

json_t *shares_status(struct shares *s)
{
	json_t *disks = json_object(), *array = json_array(), *entry;
	const char *name;

	pthread_mutex_lock(&s->lock);
	for (const struct member *m = s->members; m; m = m->next) {
		char disk[32];
		json_t *d;
		json_int_t clients, streams;

		snprintf(disk, sizeof(disk), "%u:%u", major(m->disk), minor(m->disk));
		d = json_object_get(disks, disk);
		clients = json_integer_value(json_object_get(d, "clients")) + 1;
		streams = json_integer_value(json_object_get(d, "streams")) + m->streams;
		json_object_set_new(disks, disk,
				    json_pack("{s:s, s:I, s:I}", "disk", disk, "clients", clients,
					      "streams", streams));
	}
	pthread_mutex_unlock(&s->lock);
	json_object_foreach(disks, name, entry) json_array_append(array, entry);
	json_decref(disks);
	return array;
}
