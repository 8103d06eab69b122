// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * control.c - the control socket: reads requests and answers them.
 *
 * control/daemon.c starts and stops the socket (control.h); the event loop calls the rest.
 *
 * A client is read until a newline, answered and closed.  The number of clients, the bytes of a
 * request and the time of a client are bounded.  So no client can hold up the control thread or
 * fill its memory.
 */
#include "control/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timer.h"
#include "base/unix_listen.h"
#include "control/tracing.h"

#define MAX_CLIENTS 16
#define CLIENT_SECONDS 30 /* for the request, and for taking its answer */

struct client {
	struct control *control;
	int fd;
	sd_event_source *io;
	struct timer *timer;
	struct timer *patience; /* running while a status waits for answers */
	uint64_t question;      /* what it waits for; 0: nothing */
	char request[CONTROL_MAX_REQUEST];
	size_t request_length;
	char *reply; /* NULL while reading */
	size_t reply_length, reply_sent;
};

struct control {
	sd_event *event;
	char *path;
	int fd, spare_fd;
	sd_event_source *io;
	const struct control_commands *commands;
	void *ctx;
	struct client *clients[MAX_CLIENTS];
};

static void client_free(struct client *c)
{
	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		if (c->control->clients[i] == c)
			c->control->clients[i] = NULL;
	sd_event_source_disable_unref(c->io);
	timer_free(c->timer);
	timer_free(c->patience);
	close(c->fd);
	free(c->reply);
	free(c);
}

/* ---- replies -------------------------------------------------------------------------- */

/* Makes the text of a reply: one line.  Takes over reply.  False: out of memory. */
static bool make_text(struct client *c, json_t *reply)
{
	char *text = json_dumps(reply, JSON_COMPACT);

	json_decref(reply);
	if (!text)
		return false;
	/* The newline takes the place of the text's end: nothing needs one. */
	c->reply_length = strlen(text) + 1;
	text[c->reply_length - 1] = '\n';
	c->reply = text;
	return true;
}

/* True: call again when the socket is ready; false: the client can be freed. */
static bool client_write(struct client *c)
{
	while (c->reply_sent < c->reply_length) {
		ssize_t n = send(c->fd, c->reply + c->reply_sent, c->reply_length - c->reply_sent,
				 MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN &&
			       sd_event_source_set_io_events(c->io, EPOLLOUT) >= 0;
		c->reply_sent += (size_t)n;
	}
	return false;
}

/* ---- a status, which may wait a moment ------------------------------------------------ */

static void end_status(struct client *c)
{
	struct control *control = c->control;
	json_t *status = control->commands->status(control->ctx, c->question);

	c->question = 0;
	c->patience = timer_free(c->patience);
	if (!make_text(c, status) || !client_write(c))
		client_free(c);
}

static void on_impatience(void *client)
{
	end_status(client);
}

/* Returns the status; NULL: end_status() answers the client. */
static json_t *begin_status(struct client *c)
{
	struct control *control = c->control;
	uint64_t question = control->commands->ask(control->ctx);

	if (control->commands->is_known(control->ctx, question) ||
	    timer_start(&c->patience, control->event, CONTROL_STATUS_MS, on_impatience, c) < 0)
		return control->commands->status(control->ctx, question);
	c->question = question;
	return NULL;
}

void control_heard(struct control *control)
{
	for (unsigned i = 0; i < MAX_CLIENTS; i++) {
		struct client *c = control->clients[i];

		if (c && c->question && control->commands->is_known(control->ctx, c->question))
			end_status(c);
	}
}

/* ---- requests ------------------------------------------------------------------------- */

/* The answer to a command that returned r. */
static json_t *done(int r, char *error)
{
	json_t *reply =
		r ? json_pack("{s:s}", "error", error ? error : "out of memory") : json_object();

	free(error);
	return reply;
}

static json_t *give(struct control *control, const json_t *o)
{
	const char *storage = json_string_value(json_object_get(o, "storage"));
	const char *datanode = json_string_value(json_object_get(o, "datanode"));
	char *error = NULL;
	int r;

	if (!storage || !datanode)
		return json_pack("{s:s}", "error",
				 "expected a string \"storage\" and a string \"datanode\"");
	r = control->commands->give(control->ctx, storage, datanode, &error);
	return done(r, error);
}

static json_t *leave(struct control *control, const json_t *o)
{
	const char *datanode = json_string_value(json_object_get(o, "datanode"));

	if (!datanode)
		return json_pack("{s:s}", "error", "expected a string \"datanode\"");
	control->commands->leave(control->ctx, datanode);
	return json_object();
}

static json_t *move(struct control *control, const json_t *o)
{
	const char *storage = json_string_value(json_object_get(o, "storage"));
	const json_t *host = json_object_get(o, "host");
	char *error = NULL;
	int r;

	if (!storage || (!json_is_string(host) && !json_is_null(host)))
		return json_pack("{s:s}", "error",
				 "expected a string \"storage\", and \"host\", a string or null");
	r = control->commands->move(control->ctx, storage, json_string_value(host), &error);
	return done(r, error);
}

/* The answer to request o, NULL if it is not JSON; a new reference.  NULL: the answer comes
 * later. */
static json_t *answer(struct client *c, const json_t *o, const json_error_t *error)
{
	struct control *control = c->control;
	const char *command = json_string_value(json_object_get(o, "command"));

	if (!o)
		return json_pack("{s:s+}", "error", "the request is not JSON: ", error->text);
	if (!command)
		return json_pack("{s:s}", "error", "expected an object with a string \"command\"");
	if (strcmp(command, "status") == 0)
		return begin_status(c);
	if (strcmp(command, "move") == 0)
		return move(control, o);
	if (strcmp(command, "give") == 0)
		return give(control, o);
	if (strcmp(command, "leave") == 0)
		return leave(control, o);
	if (strcmp(command, "trace") == 0)
		return tracing_answer(o);
	if (strcmp(command, "reload") == 0)
		return control->commands->reload(control->ctx);
	return json_pack("{s:s}", "error",
			 "unknown command: expected \"status\", \"move\", \"give\", \"leave\", "
			 "\"trace\" or \"reload\"");
}

/* Takes a request of length bytes.  True, false: as client_write(). */
static bool take_request(struct client *c, size_t length)
{
	json_error_t error;
	json_t *request = json_loadb(c->request, length, 0, &error);
	json_t *reply = answer(c, request, &error);

	json_decref(request);
	if (reply)
		return make_text(c, reply) && client_write(c);
	return c->question && sd_event_source_set_io_events(c->io, 0) >= 0;
}

static bool client_read(struct client *c)
{
	ssize_t n =
		read(c->fd, c->request + c->request_length, sizeof(c->request) - c->request_length);
	char *newline;

	if (n < 0)
		return errno == EAGAIN;
	if (n == 0)
		return false;
	c->request_length += (size_t)n;
	newline = memchr(c->request, '\n', c->request_length);
	if (newline)
		return take_request(c, (size_t)(newline - c->request));
	if (c->request_length < sizeof(c->request))
		return true;
	log_warn("%s: a request longer than %u bytes was dropped", c->control->path,
		 CONTROL_MAX_REQUEST);
	return false;
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct client *c = userdata;

	(void)source, (void)fd, (void)events;
	if (!(c->reply ? client_write(c) : client_read(c)))
		client_free(c);
	return 0;
}

static void on_timeout(void *client)
{
	client_free(client);
}

static int client_start(struct client *c)
{
	sd_event *event = c->control->event;
	int r = sd_event_add_io(event, &c->io, c->fd, EPOLLIN, on_client, c);

	if (r < 0)
		return r;
	return timer_start(&c->timer, event, 1000ULL * CLIENT_SECONDS, on_timeout, c);
}

static int on_accept(sd_event_source *source, int listener, uint32_t events, void *userdata)
{
	struct control *control = userdata;
	int fd = unix_accept(listener, &control->spare_fd);
	struct client *c;
	unsigned i = 0;

	(void)source, (void)events;
	if (fd < 0)
		return 0;
	while (i < MAX_CLIENTS && control->clients[i])
		i++;
	c = i < MAX_CLIENTS ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		close(fd);
		return 0;
	}
	c->control = control;
	c->fd = fd;
	control->clients[i] = c;
	if (client_start(c) < 0)
		client_free(c);
	return 0;
}

int control_start(struct control **ret, sd_event *event, const char *path,
		  const struct control_commands *commands, void *ctx)
{
	struct control *c = calloc(1, sizeof(*c));
	int r = -ENOMEM;

	if (!c)
		return r;
	c->event = event;
	c->commands = commands;
	c->ctx = ctx;
	c->spare_fd = unix_spare_fd();
	c->fd = unix_listen(path, SOCK_STREAM, 0600);
	r = c->fd;
	if (r >= 0) {
		c->path = strdup(path);
		r = c->path ? sd_event_add_io(event, &c->io, c->fd, EPOLLIN, on_accept, c)
			    : -ENOMEM;
	}
	if (r < 0) {
		control_stop(c);
		return r;
	}
	*ret = c;
	return 0;
}

void control_stop(struct control *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		if (c->clients[i])
			client_free(c->clients[i]);
	sd_event_source_disable_unref(c->io);
	if (c->fd >= 0)
		close(c->fd);
	if (c->spare_fd >= 0)
		close(c->spare_fd);
	if (c->path)
		unlink(c->path);
	free(c->path);
	free(c);
}
