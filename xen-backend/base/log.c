// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logging to stderr; see log.h.  The level and the destination are read by any
 * thread and change rarely, hence atomics and no lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static _Atomic(const char *) program;
static atomic_int threshold = LOG_LEVEL_INFO;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool to_journal;

/* $JOURNAL_STREAM is inherited by children whose stderr was redirected since:
 * only a match with stderr's own device and inode counts. */
static void find_destination(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &dev, &ino) != 2)
		return;
	if (fstat(STDERR_FILENO, &st) == 0)
		to_journal = st.st_dev == dev && st.st_ino == ino;
}

void log_set_name(const char *name)
{
	atomic_store(&program, name);
}

void log_set_level(enum log_level level)
{
	atomic_store(&threshold, (int)level);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load(&threshold);
}

static int prefix(char *line, size_t size, enum log_level level)
{
	static const char priority[] = {'3', '4', '6', '7'};
	static const char *const label[] = {"error: ", "warning: ", "", "debug: "};
	const char *name = atomic_load(&program);

	if (to_journal)
		return snprintf(line, size, "<%c>", priority[level]);
	return snprintf(line, size, "%.64s: %s", name ? name : program_invocation_short_name,
			label[level]);
}

/* Printable ASCII and UTF-8 pass. */
static void defuse(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
}

static void log_line(enum log_level level, const char *format, va_list args)
{
	int saved_errno = errno;
	char line[2048];
	size_t start, length;
	int n;

	if ((int)level > atomic_load(&threshold))
		return;
	pthread_once(&once, find_destination);

	start = (size_t)prefix(line, sizeof(line), level);
	n = vsnprintf(line + start, sizeof(line) - start - 1, format, args);
	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof(line) - start - 2)
		n = (int)(sizeof(line) - start - 2);
	defuse(line + start, (size_t)n);
	length = start + (size_t)n;
	line[length++] = '\n';

	if (write(STDERR_FILENO, line, length) < 0)
		errno = EIO; /* nobody is left to tell when stderr is gone */
	errno = saved_errno;
}

#define DEFINE_LOG(name, level)                \
	void name(const char *format, ...)     \
	{                                      \
		va_list args;                  \
                                               \
		va_start(args, format);        \
		log_line(level, format, args); \
		va_end(args);                  \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
