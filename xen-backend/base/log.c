// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logging to stderr; see log.h.  All of vreadd calls it.
 *
 * Any thread reads the level and the destination, and both change rarely.  So they are atomics
 * without a lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION /* the location would always be this file */
#include <systemd/sd-journal.h>

#include "base/log.h"
#include "base/log_limit.h"

#define MAX_LINE 2048U
#define MAX_FIELDS (7 + LOG_MAX_FIELDS)

/* What a line is about. */
enum subject { NOTHING, SOURCE, DATANODE, PEER, DEVICE };

static const struct {
	const char *label; /* in front of the subject's name */
	const char *field; /* of the journal */
} subjects[] = {
	[NOTHING] = {"", NULL},
	[SOURCE] = {"", NULL}, /* the name is not shown */
	[DATANODE] = {"datanode ", "VREAD_DATANODE"},
	[PEER] = {"peer ", "VREAD_PEER"},
	[DEVICE] = {"", "VREAD_DEVICE"},
};

static const struct {
	const char *message_id;
	enum subject subject;
} events[LOG_EVENTS] = {
	[LOG_EVENT_READY] = {"6a25eaf8e3514bfcb2452b58a29004f3", NOTHING},
	[LOG_EVENT_DATANODE_REFUSED] = {"05e92e3160704b718c76938ab6a803ef", DATANODE},
	[LOG_EVENT_DATANODE_MISSING] = {"fec302f2d8c74d80828d9abf25eed7b8", DATANODE},
	[LOG_EVENT_STORAGE_REFUSED] = {"a3188cebd90f4a42ae2d2a1d3ae2afdb", DATANODE},
	[LOG_EVENT_PARSER_RESTARTED] = {"ad9e6cfef4fb4b438cbc018fc93f2197", DATANODE},
	[LOG_EVENT_DEVICE_CONNECTED] = {"6aebf6d58fc9449cb59008926f12a4a6", DEVICE},
	[LOG_EVENT_DEVICE_REFUSED] = {"d086335d9a5c431486e6f3cf5b88e3dd", DEVICE},
	[LOG_EVENT_PEER_FAILED] = {"8f0d2e4216464435b38ba06f6ce2502c", PEER},
	[LOG_EVENT_OPENED] = {"0d5e3f6a1f0b4b5f9d5c1a2ed20f7c44", DEVICE},
	[LOG_EVENT_OPENED_BY_PEER] = {"b7c6a5b0c5364f3c8f0f4e1d6c3a9e58", PEER},
};

/* Where a line belongs. */
struct heading {
	enum log_level level;
	enum log_event event; /* LOG_EVENTS: none */
	enum subject subject;
	const char *name;               /* of the subject, or of the source */
	const struct log_field *fields; /* more of them */
	unsigned num_fields;
	bool waits; /* rather than be lost */
};

static _Atomic(const char *) program;
static atomic_int threshold = LOG_LEVEL_INFO;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool to_journal;
static atomic_bool with_fields;
/* Set before the first line. */
static int out = STDERR_FILENO;
static bool out_is_socket;
static int journal_probe = -1; /* is writable if the journal takes an entry; -1: there is none */
static atomic_uint_fast64_t lost;
static atomic_uint_fast64_t lost_untold;

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

/* A pipe is opened once more, because O_NONBLOCK counts for all who have the same open file. */
static void begin_never_to_wait(void)
{
	static const struct sockaddr_un journal = {AF_UNIX, "/run/systemd/journal/socket"};
	struct stat st = {0};

	if (fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode)) {
		int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);

		out = fd >= 0 ? fd : STDERR_FILENO;
	}
	out_is_socket = S_ISSOCK(st.st_mode);
	journal_probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (journal_probe >= 0 &&
	    connect(journal_probe, (const struct sockaddr *)&journal, sizeof(journal)) < 0) {
		close(journal_probe);
		journal_probe = -1;
	}
}

void log_use_journal(void)
{
	begin_never_to_wait();
	atomic_store(&with_fields, true);
}

uint64_t log_lost(void)
{
	return atomic_load(&lost);
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

static void lose(void)
{
	atomic_fetch_add(&lost, 1);
	atomic_fetch_add(&lost_untold, 1);
}

/* ---- entries of the journal --------------------------------------------------------- */

struct entry {
	struct iovec fields[MAX_FIELDS];
	int count;
	char text[MAX_FIELDS][288]; /* storage of all fields but the message */
};

static void add_field(struct entry *e, const char *name, const char *value, size_t length)
{
	char *text = e->text[e->count];
	int n = snprintf(text, sizeof(e->text[0]), "%s=%.*s", name, (int)length, value);

	if (n >= (int)sizeof(e->text[0]))
		n = sizeof(e->text[0]) - 1;
	defuse(text, (size_t)n);
	e->fields[e->count++] = (struct iovec){text, (size_t)n};
}

static void add_subject(struct entry *e, enum subject subject, const char *name)
{
	if (subject == NOTHING || subject == SOURCE)
		return;
	if (subject == DEVICE && !strncmp(name, "xen:", 4))
		add_field(e, "VREAD_DOMID", name + 4, strspn(name + 4, "0123456789"));
	add_field(e, subjects[subject].field, name, strlen(name));
}

/* line is "MESSAGE=" and the message.  Returns false if the journal did not take the entry. */
static bool send_entry(const struct heading *h, char *line, size_t length)
{
	const char *name = atomic_load(&program);
	struct pollfd probe = {.fd = journal_probe, .events = POLLOUT};
	struct entry e = {.count = 0};

	if (!h->waits && journal_probe >= 0 && poll(&probe, 1, 0) == 0) {
		lose();
		return true;
	}
	e.fields[e.count++] = (struct iovec){line, length};
	add_field(&e, "PRIORITY", &priority[h->level], 1);
	if (!name)
		name = program_invocation_short_name;
	add_field(&e, "SYSLOG_IDENTIFIER", name, strlen(name));
	if (h->event != LOG_EVENTS)
		add_field(&e, "MESSAGE_ID", events[h->event].message_id, 32);
	add_subject(&e, h->subject, h->name);
	for (unsigned i = 0; i < h->num_fields; i++)
		add_field(&e, h->fields[i].name, h->fields[i].value, strlen(h->fields[i].value));
	return sd_journal_sendv(e.fields, e.count) == 0;
}

/* ---- lines -------------------------------------------------------------------------- */

/* Writes line in one system call.  line has room for the newline. */
static void write_line(const struct heading *h, char *line, size_t length)
{
	ssize_t n;

	line[length++] = '\n';
	n = h->waits        ? write(STDERR_FILENO, line, length)
	    : out_is_socket ? send(out, line, length, MSG_DONTWAIT | MSG_NOSIGNAL)
			    : write(out, line, length);
	if (n < 0)
		lose(); /* nobody takes it */
}

/* Writes "MESSAGE=text" as "<4>text", if the journal did not take the entry. */
static void write_plain(const struct heading *h, char *line, size_t length)
{
	const size_t start = strlen("MESSAGE=") - 3;

	line[start] = '<';
	line[start + 1] = priority[h->level];
	line[start + 2] = '>';
	write_line(h, line + start, length - start);
}

/* Writes the beginning of a line: "MESSAGE=" or a prefix, and the subject. */
static size_t begin_line(char line[MAX_LINE], const struct heading *h, bool entry)
{
	int n = entry ? snprintf(line, MAX_LINE, "MESSAGE=") : prefix(line, MAX_LINE, h->level);

	if (h->subject != NOTHING && h->subject != SOURCE)
		n += snprintf(line + n, MAX_LINE - (size_t)n,
			      "%s%.255s: ", subjects[h->subject].label, h->name);
	return (size_t)n;
}

static void write_about(const struct heading *h, const char *format, va_list args)
{
	int saved_errno = errno;
	char line[MAX_LINE];
	bool entry;
	size_t start, length;
	int n;

	pthread_once(&once, find_destination);

	entry = to_journal && atomic_load(&with_fields);
	start = begin_line(line, h, entry);
	errno = saved_errno; /* for %m */
	n = vsnprintf(line + start, sizeof(line) - start - 1, format, args);
	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof(line) - start - 2)
		n = (int)(sizeof(line) - start - 2);
	defuse(line, start + (size_t)n);
	length = start + (size_t)n;
	line[length] = '\0';
	if (!entry)
		write_line(h, line, length);
	else if (!send_entry(h, line, length))
		write_plain(h, line, length);
	errno = saved_errno;
}

static void write_one(const struct heading *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_about(h, format, args);
	va_end(args);
}

/* Writes a line, and one after it about lines that nobody took before. */
static void write_and_tell(const struct heading *h, const char *format, va_list args)
{
	const struct heading about = {.level = LOG_LEVEL_WARN,
				      .event = LOG_EVENTS,
				      .subject = NOTHING};
	uint64_t before = atomic_load(&lost), gone;

	write_about(h, format, args);
	if (atomic_load(&lost) != before)
		return;
	gone = atomic_exchange(&lost_untold, 0);
	if (!gone)
		return;
	write_one(&about, "%" PRIu64 " lines were lost before this one: nobody took them", gone);
	if (atomic_load(&lost) != before)
		atomic_fetch_add(&lost_untold, gone);
}

/* ---- limits ------------------------------------------------------------------------- */

static void say(const struct heading *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_about(h, format, args);
	va_end(args);
}

/* The length of the part of a device's name that names the guest or user, who may have several
 * devices and may make new ones: "xen:7" of "xen:7/0", "local:1000" of "local:1000/12". */
static int owner_of(const char *device)
{
	return (int)strcspn(device, "/");
}

/* True if the line may go out. */
static bool may_pass(const struct heading *h)
{
	bool stranger = h->subject == SOURCE ||
			(h->subject == DEVICE && strncmp(h->name, "local:", 6) == 0);
	char source[80];
	uint64_t left_out;
	int length = h->subject == DEVICE ? owner_of(h->name) : INT_MAX;

	if (h->subject == NOTHING || h->level == LOG_LEVEL_DEBUG)
		return true;
	snprintf(source, sizeof(source), "%s%.*s", subjects[h->subject].label, length, h->name);
	if (!log_limit_pass(source, stranger, &left_out))
		return false;
	if (left_out)
		say(&(struct heading){.level = LOG_LEVEL_WARN,
				      .event = LOG_EVENTS,
				      .subject = h->subject,
				      .name = h->name},
		    "%" PRIu64 " lines of %s were left out: more than %u a %s", left_out, source,
		    stranger ? 1 : LOG_LIMIT_EACH_SECOND, stranger ? "minute" : "second");
	return true;
}

static void log_line(const struct heading *h, const char *format, va_list args)
{
	int saved_errno = errno;
	bool passes = (int)h->level <= atomic_load(&threshold) && may_pass(h);

	errno = saved_errno;
	if (passes)
		write_and_tell(h, format, args);
}

#define DEFINE_LOG(name, level_)                               \
	void name(const char *format, ...)                     \
	{                                                      \
		const struct heading h = {.level = level_,     \
					  .event = LOG_EVENTS, \
					  .subject = NOTHING}; \
		va_list args;                                  \
                                                               \
		va_start(args, format);                        \
		log_line(&h, format, args);                    \
		va_end(args);                                  \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)

#define DEFINE_LOG_ABOUT(function, subject_)                                           \
	void function(enum log_level level, const char *name, const char *format, ...) \
	{                                                                              \
		const struct heading h = {.level = level,                              \
					  .event = LOG_EVENTS,                         \
					  .subject = subject_,                         \
					  .name = name};                               \
		va_list args;                                                          \
                                                                                       \
		va_start(args, format);                                                \
		log_line(&h, format, args);                                            \
		va_end(args);                                                          \
	}

DEFINE_LOG_ABOUT(log_datanode, DATANODE)
DEFINE_LOG_ABOUT(log_peer, PEER)
DEFINE_LOG_ABOUT(log_device, DEVICE)
DEFINE_LOG_ABOUT(log_source, SOURCE)

void log_event(enum log_event event, enum log_level level, const char *name, const char *format,
	       ...)
{
	va_list args;

	va_start(args, format);
	log_line(&(struct heading){.level = level,
				   .event = event,
				   .subject = events[event].subject,
				   .name = name},
		 format, args);
	va_end(args);
}

void log_record(enum log_event event, const char *name, const struct log_field *fields,
		unsigned count, const char *format, ...)
{
	const struct heading h = {.level = LOG_LEVEL_INFO,
				  .event = event,
				  .subject = events[event].subject,
				  .name = name,
				  .fields = fields,
				  .num_fields = count < LOG_MAX_FIELDS ? count : LOG_MAX_FIELDS,
				  .waits = true};
	va_list args;

	va_start(args, format);
	write_and_tell(&h, format, args);
	va_end(args);
}
