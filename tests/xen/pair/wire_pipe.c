// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wire-pipe HOST PORT COMMAND: sends COMMAND and a line feed to a TCP port, then standard input,
 * and writes what comes back to standard output. wire-shell runs it in dom0. busybox's nc does the
 * same a KiB at a time, which for a guest's memory takes minutes on an emulated host.
 */
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void write_all(int fd, const char *data, size_t length)
{
	while (length) {
		ssize_t n = write(fd, data, length);

		if (n <= 0)
			exit(1);
		data += n;
		length -= (size_t)n;
	}
}

static void copy(int from, int to)
{
	static char buffer[1 << 18];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		write_all(to, buffer, (size_t)n);
}

static int dial(const char *host, const char *port)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found;
	int fd;

	if (getaddrinfo(host, port, &wanted, &found))
		return -1;
	fd = socket(found->ai_family, found->ai_socktype, 0);
	return fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	int fd = argc == 4 ? dial(argv[1], argv[2]) : -1;
	pid_t sender;

	if (fd < 0) {
		fprintf(stderr, "wire-pipe: cannot reach %s\n", argc > 1 ? argv[1] : "nobody");
		return 1;
	}
	write_all(fd, argv[3], strlen(argv[3]));
	write_all(fd, "\n", 1);
	sender = fork();
	if (sender < 0) {
		perror("wire-pipe: fork");
		return 1;
	}
	if (sender == 0) {
		copy(STDIN_FILENO, fd);
		shutdown(fd, SHUT_WR);
		_exit(0);
	}
	copy(fd, STDOUT_FILENO);
	kill(sender, SIGKILL);
	return 0;
}
