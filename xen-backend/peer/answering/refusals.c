// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * refusals.c - counts connections that are refused, and logs why.  The receiver thread calls these
 * functions; server.c reads the counts.
 *
 * Anybody who reaches the port can be refused as often as he likes.  So a connection that is not
 * authenticated has no log line of its own, but there is at most one line in a while for all of a
 * kind.  Connections of addresses in [peer] sections are a kind of their own: a line about a
 * certificate that is wrong there is not lost among strangers.
 */
#include "peer/answering/server_private.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

static const unsigned pauses[REFUSAL_KINDS] = {
	[REFUSAL_BARE] = 3600U * 1000,
	[REFUSAL_STRANGER] = 60U * 1000,
	[REFUSAL_EXPECTED] = 60U * 1000,
};

void server_begin_refusals(struct peer_server *s)
{
	/* That a connection sent nothing is no news at once, as the other kinds are. */
	s->held[REFUSAL_BARE].next = clock_ms() + pauses[REFUSAL_BARE];
}

static void tell(struct refusals_held *held, enum refusal_kind kind)
{
	if (kind == REFUSAL_BARE)
		log_info("%u connections sent nothing; the last one: %s", held->count, held->last);
	else if (held->count == 1)
		log_warn("a connection of %s", held->last);
	else
		log_warn("%u connections were refused before they were authenticated; the last "
			 "one of %s",
			 held->count, held->last);
	held->count = 0;
	held->next = clock_ms() + pauses[kind];
}

void server_tell_refusals(struct peer_server *s)
{
	for (enum refusal_kind kind = 0; kind < REFUSAL_KINDS; kind++)
		if (s->held[kind].count && clock_ms() >= s->held[kind].next)
			tell(&s->held[kind], kind);
}

static enum refusal_kind kind_of(const struct conn *c)
{
	if (!c->spoke)
		return REFUSAL_BARE;
	return c->expected ? REFUSAL_EXPECTED : REFUSAL_STRANGER;
}

/* Notes a line, to be logged now or later. */
static void hold(struct conn *c, const char *text)
{
	enum refusal_kind kind = kind_of(c);
	struct refusals_held *held = &c->server->held[kind];

	held->count++;
	snprintf(held->last, sizeof(held->last), "%s %s", c->address, text);
	if (kind != REFUSAL_BARE)
		server_tell_refusals(c->server);
}

static void count_stranger(struct conn *c, enum stranger_end end)
{
	pthread_mutex_lock(&c->server->lock);
	c->server->ended[end]++;
	pthread_mutex_unlock(&c->server->lock);
}

void conn_hung_up(struct conn *c)
{
	count_stranger(c, STRANGER_HUNG_UP);
	hold(c, "hung up");
}

__attribute__((format(printf, 3, 4))) void conn_refuse(struct conn *c, enum stranger_end end,
						       const char *format, ...)
{
	struct peer_server *s = c->server;
	char text[160], line[192];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "was refused: %s", text);
	if (c->client) {
		log_peer(LOG_LEVEL_WARN, c->client->name, "a connection of %s %s", c->address,
			 line);
	} else {
		count_stranger(c, end);
		hold(c, line);
	}
	pthread_mutex_lock(&s->lock);
	s->refused++;
	if (c->spoke)
		snprintf(s->last_refused, sizeof(s->last_refused), "%s: %s", c->address, text);
	pthread_mutex_unlock(&s->lock);
}
