// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libhdfs_read - reads a file of HDFS through libhdfs, as C programs do. test_libhdfs.py runs it.
 *
 *   libhdfs_read THREAD HOW PATH
 *
 * Writes the bytes of PATH to standard output, closes standard output, and ends when standard
 * input ends. HOW is
 *
 *   sequential    hdfsRead from the beginning
 *   positional    hdfsPread of pieces of many sizes, the last piece first
 *
 * and THREAD says which thread makes the file system:
 *
 *   main      the thread that made the Java virtual machine
 *   other     another thread, which has no context class loader in Java
 *
 * The program ends without destroying the virtual machine, as C programs do.
 */
#include <errno.h>
#include <fcntl.h>
#include <hdfs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "libhdfs_read: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the file system ------------------------------------------------------ */

static void *make_fs(void *context)
{
	hdfsFS *ret = context;
	struct hdfsBuilder *builder = hdfsNewBuilder();

	hdfsBuilderSetNameNode(builder, "default");
	*ret = hdfsBuilderConnect(builder);
	if (!*ret)
		fail("hdfsBuilderConnect");
	return NULL;
}

static hdfsFS connect_on(const char *thread)
{
	hdfsFS fs = NULL;
	char *value = NULL;
	pthread_t other;

	if (!strcmp(thread, "main")) {
		make_fs(&fs);
		return fs;
	}
	hdfsConfGetStr("fs.defaultFS", &value); /* makes the virtual machine */
	hdfsConfStrFree(value);
	if (pthread_create(&other, NULL, make_fs, &fs) || pthread_join(other, NULL))
		fail("thread");
	return fs;
}

/* ---- reading -------------------------------------------------------------- */

static void write_out(const char *data, size_t length)
{
	while (length) {
		ssize_t n = write(STDOUT_FILENO, data, length);

		if (n < 0)
			fail("standard output");
		data += n;
		length -= (size_t)n;
	}
}

static void read_sequentially(hdfsFS fs, hdfsFile file)
{
	static char buffer[100000];
	tSize n;

	while ((n = hdfsRead(fs, file, buffer, sizeof(buffer))) > 0)
		write_out(buffer, (size_t)n);
	if (n < 0)
		fail("hdfsRead");
}

static void read_positions(hdfsFS fs, hdfsFile file, tOffset size)
{
	static const tSize sizes[] = {1, 4096, 65536, 1000, 700000, 512};
	char *content = malloc((size_t)size + 1);
	tOffset end = size;

	if (!content)
		fail("memory");
	for (unsigned i = 0; end > 0; i++) {
		tSize want = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
		tOffset start;

		if (want > end)
			want = (tSize)end;
		start = end - want;
		for (tSize done = 0; done < want;) {
			tSize n = hdfsPread(fs, file, start + done, content + start + done,
					    want - done);

			if (n <= 0)
				fail("hdfsPread");
			done += n;
		}
		end = start;
	}
	write_out(content, (size_t)size);
	free(content);
}

int main(int argc, char **argv)
{
	hdfsFileInfo *info;
	hdfsFile file;
	hdfsFS fs;
	char end;

	if (argc != 4) {
		fprintf(stderr, "usage: libhdfs_read main|other|loader sequential|positional "
				"PATH\n");
		return 2;
	}
	fs = connect_on(argv[1]);
	info = hdfsGetPathInfo(fs, argv[3]);
	file = hdfsOpenFile(fs, argv[3], O_RDONLY, 0, 0, 0);
	if (!info || !file)
		fail(argv[3]);
	if (!strcmp(argv[2], "positional"))
		read_positions(fs, file, info->mSize);
	else
		read_sequentially(fs, file);
	close(STDOUT_FILENO);
	while (read(STDIN_FILENO, &end, 1) > 0)
		;
	hdfsFreeFileInfo(info, 1);
	hdfsCloseFile(fs, file);
	hdfsDisconnect(fs);
	return 0;
}
