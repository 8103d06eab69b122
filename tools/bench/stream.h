/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream.h - shared by the programs blockstream and tlsstream: a TCP server and client over IPv4,
 * and the line of JSON with a client's result.
 *
 * An error ends the program, with its name and what failed.
 */
#ifndef VREAD_BENCH_STREAM_H
#define VREAD_BENCH_STREAM_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

#define STREAM_CONNECT_TRIES 100
#define STREAM_CONNECT_STEP_US 100000

static inline _Noreturn void stream_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* Returns a listening socket, and tells so on standard output. */
static inline int stream_listen(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		stream_fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 8))
		stream_fail("listen");
	signal(SIGPIPE, SIG_IGN); /* a client may leave early */
	printf("listening\n");
	fflush(stdout);
	return fd;
}

static inline int stream_accept(int listener)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (client < 0)
		stream_fail("accept");
	return client;
}

/* Connects.  The server may still be starting: there are several tries. */
static inline int stream_connect(const char *host, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
		fprintf(stderr, "%s: %s: expected an IPv4 address\n", program_invocation_short_name,
			host);
		exit(2);
	}
	for (int i = 0; i < STREAM_CONNECT_TRIES; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			stream_fail("socket");
		if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
			return fd;
		close(fd);
		usleep(STREAM_CONNECT_STEP_US);
	}
	stream_fail(host);
}

/* Prints what a client has read since `start`, on standard error. */
static inline void stream_report(struct measure start, uint64_t bytes)
{
	struct measure end = measure_now();

	fprintf(stderr, "{\"bytes\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
		(unsigned long long)bytes, end.seconds - start.seconds,
		end.cpu_seconds - start.cpu_seconds);
}

#endif
