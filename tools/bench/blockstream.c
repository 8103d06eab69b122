/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blockstream.c - moves block files without vRead: through a datanode's disk and
 * kernel, its network interface and the client's kernel. vanilla.py and wire.py run it.
 *
 *   blockstream serve PORT        sends the files named on standard input, one per
 *                                 line, by sendfile to each client; does not end
 *   blockstream serve PORT BYTES  the same, BYTES bytes of memory instead of files
 *   blockstream fetch HOST PORT   reads all that a server sends and discards it
 *   blockstream cat HOST PORT     the same to standard output
 *   blockstream read              reads the files named on standard input
 *
 * fetch, cat and read end with a line of JSON on standard error: bytes,
 * seconds, cpu_seconds.
 *
 * The server does only what a datanode does: it asks for 4 MiB of read-ahead
 * (the default of dfs.datanode.readahead.bytes) and has the kernel send pages of
 * the page cache.  Neither side has packet headers, checksums or Java, so this is
 * faster than HDFS, never slower.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"

#define REQUEST (1U << 20)
#define READ_AHEAD (4U << 20)
#define FILES_MAX 4096
#define MEMORY_MAX (1ULL << 40)

struct file_list {
	char *names[FILES_MAX];
	size_t count;
};

static struct file_list *read_names(void)
{
	static struct file_list list;
	size_t size;
	ssize_t n;

	while (list.count < FILES_MAX) {
		char *line = NULL;

		size = 0;
		n = getline(&line, &size, stdin);
		if (n <= 0) {
			free(line);
			break;
		}
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		list.names[list.count++] = line;
	}
	if (!list.count || list.count == FILES_MAX) {
		fprintf(stderr, "blockstream: standard input: expected 1 .. %d file names\n",
			FILES_MAX - 1);
		exit(2);
	}
	return &list;
}

static int open_block(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		stream_fail(name);
	return fd;
}

/* False when the client is gone. */
static bool send_file(int socket, const char *name)
{
	int fd = open_block(name);
	off_t offset = 0, asked = 0;
	ssize_t n = 1;

	while (n > 0) {
		if (offset + READ_AHEAD / 2 >= asked) {
			posix_fadvise(fd, asked, READ_AHEAD, POSIX_FADV_WILLNEED);
			asked += READ_AHEAD;
		}
		n = sendfile(socket, fd, &offset, REQUEST);
	}
	if (n < 0)
		fprintf(stderr, "blockstream: sending %s: %s\n", name, strerror(errno));
	close(fd);
	return n == 0;
}

static void send_memory(int socket, uint64_t bytes)
{
	const char *buffer = measure_buffer(REQUEST);
	ssize_t n = 1;

	for (; bytes && n > 0; bytes -= (uint64_t)n)
		n = send(socket, buffer, bytes < REQUEST ? bytes : REQUEST, MSG_NOSIGNAL);
	munmap((void *)(uintptr_t)buffer, REQUEST);
}

static _Noreturn void serve(uint16_t port, uint64_t memory)
{
	struct file_list *files = memory ? NULL : read_names();
	int listener = stream_listen(port);

	for (;;) {
		int client = stream_accept(listener);

		if (memory)
			send_memory(client, memory);
		for (size_t i = 0; files && i < files->count; i++)
			if (!send_file(client, files->names[i]))
				break;
		close(client);
	}
}

static void write_out(const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(STDOUT_FILENO, data, size);

		if (n < 0)
			stream_fail("standard output");
		data += n;
		size -= (size_t)n;
	}
}

/* Reads to the end; returns the bytes. */
static uint64_t drain(int fd, char *buffer, bool output, const char *what)
{
	uint64_t bytes = 0;
	ssize_t n;

	while ((n = read(fd, buffer, REQUEST)) > 0) {
		bytes += (uint64_t)n;
		if (output)
			write_out(buffer, (size_t)n);
	}
	if (n < 0)
		stream_fail(what);
	close(fd);
	return bytes;
}

static int fetch(const char *host, uint16_t port, bool output)
{
	char *buffer = measure_buffer(REQUEST);
	struct measure start = measure_now();

	stream_report(start, drain(stream_connect(host, port), buffer, output, host));
	return 0;
}

static int read_files(void)
{
	struct file_list *files = read_names();
	char *buffer = measure_buffer(REQUEST);
	struct measure start = measure_now();
	uint64_t bytes = 0;

	for (size_t i = 0; i < files->count; i++) {
		int fd = open_block(files->names[i]);

		posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		bytes += drain(fd, buffer, false, files->names[i]);
	}
	stream_report(start, bytes);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool cat = !strcmp(mode, "cat");

	if (!strcmp(mode, "serve") && (argc == 3 || argc == 4))
		serve((uint16_t)measure_count("port", argv[2], 65535),
		      argc == 4 ? measure_count("bytes", argv[3], MEMORY_MAX) : 0);
	if ((cat || !strcmp(mode, "fetch")) && argc == 4)
		return fetch(argv[2], (uint16_t)measure_count("port", argv[3], 65535), cat);
	if (!strcmp(mode, "read") && argc == 2)
		return read_files();
	fprintf(stderr, "usage: blockstream serve PORT [BYTES] | fetch HOST PORT | "
			"cat HOST PORT | read\n");
	return 2;
}
