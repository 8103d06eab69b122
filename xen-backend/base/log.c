// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logging to stderr; see log.h.  All of vreadd calls it.
 *
 * Any thread reads the level and the destination, and both change rarely.  So they are atomics
 * without a lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION /* the location would always be this file */
#include <systemd/sd-journal.h>

#include "base/log.h"

#define MAX_LINE 2048U
#define MAX_FIELDS 8

static const char *const message_ids[LOG_EVENTS] = {
	[LOG_EVENT_READY] = "6a25eaf8e3514bfcb2452b58a29004f3",
	[LOG_EVENT_DATANODE_REFUSED] = "05e92e3160704b718c76938ab6a803ef",
	[LOG_EVENT_DATANODE_MISSING] = "fec302f2d8c74d80828d9abf25eed7b8",
	[LOG_EVENT_PARSER_RESTARTED] = "ad9e6cfef4fb4b438cbc018fc93f2197",
	[LOG_EVENT_DEVICE_CONNECTED] = "6aebf6d58fc9449cb59008926f12a4a6",
	[LOG_EVENT_DEVICE_REFUSED] = "d086335d9a5c431486e6f3cf5b88e3dd",
	[LOG_EVENT_PEER_FAILED] = "8f0d2e4216464435b38ba06f6ce2502c",
};

static _Atomic(const char *) program;
static atomic_int threshold = LOG_LEVEL_INFO;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool to_journal;
static atomic_bool with_fields;

/* $JOURNAL_STREAM is inherited by children, even if their stderr is redirected.  So it counts only
 * if it matches the device and inode of stderr. */
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

void log_use_journal(void)
{
	atomic_store(&with_fields, true);
}

static const char priority[] = {'3', '4', '6', '7'};

static int prefix(char *line, size_t size, enum log_level level)
{
	static const char *const label[] = {"error: ", "warning: ", "", "debug: "};
	const char *name = atomic_load(&program);

	if (to_journal)
		return snprintf(line, size, "<%c>", priority[level]);
	return snprintf(line, size, "%.64s: %s", name ? name : program_invocation_short_name,
			label[level]);
}

/* Replaces control characters.  Printable ASCII and UTF-8 pass. */
static void defuse(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
}

/* ---- entries of the journal --------------------------------------------------------- */

struct entry {
	struct iovec fields[MAX_FIELDS];
	int count;
	char text[MAX_FIELDS][128]; /* storage of all fields but the message */
};

static void add_field(struct entry *e, const char *name, const char *value, size_t length)
{
	char *text = e->text[e->count];
	int n = snprintf(text, sizeof(e->text[0]), "%s=%.*s", name, (int)length, value);

	if (n >= (int)sizeof(e->text[0]))
		n = sizeof(e->text[0]) - 1;
	e->fields[e->count++] = (struct iovec){text, (size_t)n};
}

/* Adds the object that the message names first, up to ":", "," or a space, as a field. */
static void add_object(struct entry *e, const char *message)
{
	static const char *const kinds[][2] = {{"datanode ", "VREAD_DATANODE"},
					       {"peer ", "VREAD_PEER"}};

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(kinds[i][0]);

		if (!strncmp(message, kinds[i][0], n))
			add_field(e, kinds[i][1], message + n, strcspn(message + n, ":, "));
	}
	if (!strncmp(message, "xen:", 4))
		add_field(e, "VREAD_DOMID", message + 4, strspn(message + 4, "0123456789"));
	if (!strncmp(message, "xen:", 4) || !strncmp(message, "local:", 6))
		add_field(e, "VREAD_DEVICE", message,
			  strcspn(message, ":") + 1 +
				  strspn(strchr(message, ':') + 1, "0123456789/"));
}

/* line is "MESSAGE=" and the message.  Returns false if the journal did not take the entry. */
static bool send_entry(enum log_level level, enum log_event event, char *line, size_t length)
{
	const char *name = atomic_load(&program);
	struct entry e = {.count = 0};

	e.fields[e.count++] = (struct iovec){line, length};
	add_field(&e, "PRIORITY", &priority[level], 1);
	if (!name)
		name = program_invocation_short_name;
	add_field(&e, "SYSLOG_IDENTIFIER", name, strlen(name));
	if (event != LOG_EVENTS)
		add_field(&e, "MESSAGE_ID", message_ids[event], 32);
	add_object(&e, line + strlen("MESSAGE="));
	return sd_journal_sendv(e.fields, e.count) == 0;
}

/* ---- lines -------------------------------------------------------------------------- */

/* Writes line in one write(2).  line has room for the newline. */
static void write_line(char *line, size_t length)
{
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0)
		errno = EIO; /* nobody is left to tell when stderr is gone */
}

/* Writes "MESSAGE=text" as "<4>text", if the journal did not take the entry. */
static void write_plain(enum log_level level, char *line, size_t length)
{
	const size_t start = strlen("MESSAGE=") - 3;

	line[start] = '<';
	line[start + 1] = priority[level];
	line[start + 2] = '>';
	write_line(line + start, length - start);
}

static void log_line(enum log_level level, enum log_event event, const char *format, va_list args)
{
	int saved_errno = errno;
	char line[MAX_LINE];
	bool entry;
	size_t start, length;
	int n;

	if ((int)level > atomic_load(&threshold))
		return;
	pthread_once(&once, find_destination);

	entry = to_journal && atomic_load(&with_fields);
	start = (size_t)(entry ? snprintf(line, sizeof(line), "MESSAGE=")
			       : prefix(line, sizeof(line), level));
	errno = saved_errno; /* for %m */
	n = vsnprintf(line + start, sizeof(line) - start - 1, format, args);
	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof(line) - start - 2)
		n = (int)(sizeof(line) - start - 2);
	defuse(line + start, (size_t)n);
	length = start + (size_t)n;
	line[length] = '\0';
	if (!entry)
		write_line(line, length);
	else if (!send_entry(level, event, line, length))
		write_plain(level, line, length);
	errno = saved_errno;
}

#define DEFINE_LOG(name, level)                            \
	void name(const char *format, ...)                 \
	{                                                  \
		va_list args;                              \
                                                           \
		va_start(args, format);                    \
		log_line(level, LOG_EVENTS, format, args); \
		va_end(args);                              \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)

void log_event(enum log_event event, enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(level, event, format, args);
	va_end(args);
}
