// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server.c - starts and stops the answering side, and tells its status: see server.h.  peers.c
 * calls these functions.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <linux/in6.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/unix_listen.h"
#include "read/handles.h"

/* bind(), also to an address that this host does not have yet, as at boot. */
static int bind_to(int fd, const struct address *a, const char *text)
{
	bool v6 = a->socket.ss_family == AF_INET6;
	int one = 1;

	if (bind(fd, (const struct sockaddr *)&a->socket, a->length) == 0)
		return 0;
	if (errno != EADDRNOTAVAIL)
		return -1;
	setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, &one,
		   sizeof(one));
	if (bind(fd, (const struct sockaddr *)&a->socket, a->length) < 0)
		return -1;
	log_warn("[peers] listen: %s: this host has no such address yet; other hosts can connect "
		 "once it has",
		 text);
	return 0;
}

static int listen_at(struct peer_server *s, const char *text, char **ret_error)
{
	int one = 1;

	if (!address_parse(text, &s->address))
		return error_text(ret_error, -EINVAL, "[peers] listen: %s: expected IP:PORT", text);
	s->listener =
		socket(s->address.socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listener >= 0)
		setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (s->listener < 0 || bind_to(s->listener, &s->address, text) < 0 ||
	    listen(s->listener, SOMAXCONN) < 0)
		return error_text(
			ret_error, -errno,
			"[peers] listen: %s: %s: expected an address of this host and a free port",
			text, strerror(errno));
	return 0;
}

static size_t pages_length(const struct peer_server *s)
{
	return (size_t)s->config->buffers * ANSWER_BUFFER_BYTES;
}

/* Listens for RDMA too, at the same address and port number as TLS. */
static int listen_rdma(struct peer_server *s, struct rdma *rdma, char **ret_error)
{
	size_t length = pages_length(s);
	char *error = NULL;
	int r = rdma_listener_new(rdma, (struct sockaddr *)&s->address.socket, &s->rdma, &error);

	if (r) {
		r = error_text(ret_error, r, "[peers] listen: %s", error ? error : "out of memory");
		free(error);
		return r;
	}
	s->pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->pages == MAP_FAILED) {
		s->pages = NULL;
		return error_text(ret_error, -ENOMEM, "out of memory");
	}
	if (rdma_memory_new(rdma, RDMA_ANSWERS, s->pages, length, &s->memory))
		return error_text(ret_error, -ENOMEM, "out of memory");
	return 0;
}

static int start_threads(struct peer_server *s, char **ret_error)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = &s->listener};
	int r = 0;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->spare_fd = unix_spare_fd();
	if (s->epoll < 0 || s->wake < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &e) < 0)
		return error_text(ret_error, -errno, "[peers] listen: %s", strerror(errno));
	e.data.ptr = &s->wake;
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake, &e);
	e.data.ptr = &s->rdma;
	if (s->rdma && epoll_ctl(s->epoll, EPOLL_CTL_ADD, rdma_listener_fd(s->rdma), &e) < 0)
		return error_text(ret_error, -errno, "[peers] listen: %s", strerror(errno));
	while (!r && s->num_workers < s->config->workers) {
		r = pthread_create(&s->workers[s->num_workers], NULL, server_work, s);
		s->num_workers += !r;
	}
	if (!r)
		r = pthread_create(&s->thread, NULL, server_receive, s);
	s->have_thread = !r;
	return r ? error_text(ret_error, -r, "cannot start a thread: %s", strerror(r)) : 0;
}

int peer_server_start(const struct peers_config *config, struct block_store *store,
		      struct tls_context *tls, struct rdma *rdma, struct peer_server **ret,
		      char **ret_error)
{
	struct peer_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_text(ret_error, -ENOMEM, "out of memory");
	s->config = config;
	s->store = store;
	s->tls = tls;
	s->listener = s->spare_fd = s->epoll = s->wake = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	server_storages_changed(s); /* changes count from now on */
	server_begin_refusals(s);
	s->workers = calloc(config->workers, sizeof(*s->workers));
	s->pieces = calloc(config->buffers, sizeof(*s->pieces));
	r = s->workers && s->pieces ? 0 : error_text(ret_error, -ENOMEM, "out of memory");
	if (!r)
		r = server_make_clients(s, ret_error);
	if (!r)
		r = listen_at(s, config->listen, ret_error);
	if (!r && rdma)
		r = listen_rdma(s, rdma, ret_error);
	if (!r)
		r = start_threads(s, ret_error);
	if (r)
		peer_server_stop(s);
	else
		*ret = s;
	return r;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void stop_threads(struct peer_server *s)
{
	uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (s->wake >= 0 && write(s->wake, &one, sizeof(one)) < 0)
		log_warn("peers: %s", strerror(errno));
	/* The receiver thread ends first: it releases what workers have sent. */
	if (s->have_thread)
		pthread_join(s->thread, NULL);
	for (unsigned i = 0; i < s->num_workers; i++)
		pthread_join(s->workers[i], NULL);
}

void peer_server_stop(struct peer_server *s)
{
	if (!s)
		return;
	stop_threads(s);
	for (unsigned i = 0; s->pieces && i < s->config->buffers; i++)
		answer_buffer_free(s->pieces[i].buffer);
	rdma_memory_free(s->memory);
	if (s->pages)
		munmap(s->pages, pages_length(s));
	rdma_listener_free(s->rdma);
	server_free_clients(s);
	free(s->workers);
	free(s->pieces);
	close_fd(s->listener);
	close_fd(s->spare_fd);
	close_fd(s->epoll);
	close_fd(s->wake);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void peer_server_client_status(struct peer_server *s, size_t peer, json_t *o)
{
	struct client *client = s->clients[peer];
	json_t *counters = counters_json(&client->counters);
	size_t bytes = atomic_load(&client->handle_memory.used);
	unsigned open = 0;

	json_object_del(counters, "published");
	json_object_update(o, counters);
	json_decref(counters);
	pthread_mutex_lock(&s->lock);
	for (const struct conn *c = s->conns; c; c = c->next)
		if (c->have_hello && c->client == client)
			open += handles_count(c->blocks);
	json_object_set_new(o, "open_handles", json_integer(open));
	json_object_set_new(o, "handle_bytes", json_integer((json_int_t)bytes));
	json_object_set_new(o, "connections", json_integer(client->connections));
	json_object_set_new(o, "workers", json_integer(client->workers));
	json_object_set_new(o, "buffers", json_integer(client->buffers));
	pthread_mutex_unlock(&s->lock);
}

/* With the lock. */
static json_t *strangers_status(const struct peer_server *s)
{
	static const char *const names[STRANGER_ENDS] = {
		[STRANGER_HUNG_UP] = "hung_up",
		[STRANGER_DISPLACED] = "displaced",
		[STRANGER_LATE] = "late",
		[STRANGER_FAILED] = "failed",
	};
	json_t *ended = json_object();

	for (unsigned i = 0; i < STRANGER_ENDS; i++)
		json_object_set_new(ended, names[i], json_integer((json_int_t)s->ended[i]));
	return json_pack("{s:i, s:o}", "waiting", (int)s->num_strangers, "ended", ended);
}

json_t *peer_server_status(struct peer_server *s)
{
	char address[ADDRESS_TEXT];
	json_t *o;

	pthread_mutex_lock(&s->lock);
	o = json_pack("{s:s, s:i, s:i, s:i, s:I, s:s?, s:o}", "listen",
		      address_text(&s->address, address), "connections", (int)s->num_conns,
		      "buffers", (int)s->config->buffers, "buffers_used", (int)s->pieces_used,
		      "refused", (json_int_t)s->refused, "last_refused",
		      s->last_refused[0] ? s->last_refused : NULL, "strangers",
		      strangers_status(s));
	pthread_mutex_unlock(&s->lock);
	return o;
}
